//! The antrea profile's messages, octet by octet: 43 elements in the order that Antrea's flow aggregator expects, one
//! set a message, one record a template set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod golden;

use std::sync::Arc;

use golden::{assert_octets, ip, octets, tcp4, tcp6, whole};
use ipfix::{
    BodyEncoder, Flow, Format, NameTexts, Names, PolicyNames, Profile, Pushed, Session, Statistics,
};

fn format(max: usize) -> Arc<Format> {
    Arc::new(Format::new(&Profile::antrea(), 0x811c_9dc5, max).unwrap())
}

// 0x7279 = 29305 reverse, 0xdcba = 56506 Antrea.
const HEAD: &str = "
    0096 0004  0097 0004  0088 0001  0007 0002  000b 0002  0004 0001
    0056 0008  0055 0008  0002 0008  0001 0008
";
const NAMES: &str = "
    8056 0008 00007279  8055 0008 00007279  8002 0008 00007279  8001 0008 00007279
    8065 ffff 0000dcba  8064 ffff 0000dcba  8068 ffff 0000dcba # 101 100 104: source pod, namespace, node
    8067 ffff 0000dcba  8066 ffff 0000dcba  8069 ffff 0000dcba # 103 102 105: destination
    806c 0002 0000dcba  806d ffff 0000dcba                     # 108 109: service port, name
    806e ffff 0000dcba  806f ffff 0000dcba  8073 0001 0000dcba # 110 111 115: ingress policy
    808d ffff 0000dcba  808b 0001 0000dcba                     # 141 139: its rule, action
    8070 ffff 0000dcba  8071 ffff 0000dcba  8076 0001 0000dcba # 112 113 118: egress policy
    808e ffff 0000dcba  808c 0001 0000dcba                     # 142 140
    8088 ffff 0000dcba  8089 0001 0000dcba                     # 136 137: TCP state, flow type
    8099 ffff 0000dcba  809a ffff 0000dcba  809d ffff 0000dcba # 153 154 157: egress
    80ac 0002 0000dcba                                         # 172 proxySnatPort
";

#[test]
fn the_template_messages_are_320_octets_with_one_record_each() {
    let header = "000a 0140 695735b0 00000000 811c9dc5  0002 0130";
    let v4 = format!(
        "{header} 0100 002b {HEAD} 0008 0004 000c 0004 {NAMES} 806a 0004 0000dcba 80aa 0004 0000dcba 80a8 0004 0000dcba"
    );
    let v6 = format!(
        "{header} 0101 002b {HEAD} 001b 0010 001c 0010 {NAMES} 806b 0010 0000dcba 80ab 0010 0000dcba 80a9 0010 0000dcba"
    );
    let expected = [octets(&v4), octets(&v6)];
    assert_eq!(expected[0].len(), 320);
    assert_eq!(expected[1].len(), 320);
    assert_octets(
        &Session::new(format(65_535)).templates(0x6957_35b0),
        &expected.concat(),
    );
    // The aggregator reads UDP into 1,024 octets.
    assert_octets(
        &Session::new(format(1024)).templates(0x6957_35b0),
        &expected.concat(),
    );
}

#[test]
fn a_flow_without_names_is_124_octets_of_ipv4_or_184_of_ipv6() {
    let mut encoder = BodyEncoder::new(&format(65_535));
    // UDP, so that there is no TCP state either.
    let udp = Flow {
        protocol: 17,
        ..tcp4()
    };
    assert_eq!(encoder.push(&udp, false), Pushed::Added);
    assert_eq!(
        encoder.push(
            &Flow {
                protocol: 17,
                ..tcp6()
            },
            false
        ),
        Pushed::Added
    );
    let bodies = encoder.finish();
    let lengths: Vec<_> = bodies.iter().map(|body| body.sets.len() - 4).collect();
    assert_eq!(lengths, [124, 184]);
    let expected = octets(
        "000a 0090 00000000 00000000 811c9dc5  0100 0080
         695735a5 695735a9 03 9c40 01bb 11                                    # seconds, reason, ports, UDP
         000000000000000a 00000000000005dc 0000000000000003 000000000000012c  # total, delta
         c0000201 c6336402
         0000000000000008 0000000100000001 0000000000000002 0000000000000201  # reverse total, delta
         00 00 00 00 00 00  0000 00  00 00 00 00 00  00 00 00 00 00  00 00  00 00 00  0000
         00000000 00000000 00000000",
    );
    assert_octets(&whole(&bodies[0], 0x811c_9dc5), &expected);
}

fn policy(name: &str, action: u8) -> PolicyNames {
    PolicyNames {
        name: name.into(),
        namespace: "n".into(),
        policy_type: 2,
        rule_name: "r".into(),
        rule_action: action,
    }
}

#[test]
fn a_service_flow_with_all_names() {
    let names = Names::new(NameTexts {
        source_pod_name: "web-0".into(),
        source_pod_namespace: "shop".into(),
        source_node_name: "k1".into(),
        destination_pod_name: "db-0".into(),
        destination_pod_namespace: "data".into(),
        destination_node_name: "k2".into(),
        destination_service_port_name: "data/db:sql".into(),
        ingress_policy: policy("in", 1),
        egress_policy: policy("out", 2),
        flow_type: 2,
        egress_name: "e".into(),
        egress_ip: "1.2.3.4".into(),
        egress_node_name: "k3".into(),
        // None of these has an element here.
        source_pod_uuid: Some([7; 16]),
        destination_pod_uuid: Some([8; 16]),
        source_network: "no".into(),
        destination_network: "neither".into(),
    });
    // 192.0.2.1 > 198.51.100.2:443, a Service; the endpoint is 10.0.0.9:8443, which sees 203.0.113.5:1024.
    let flow = Flow {
        translated: true,
        reply_source: ip("10.0.0.9"),
        reply_source_port: 8443,
        reply_destination: ip("203.0.113.5"),
        reply_destination_port: 1024,
        service: true,
        tcp_state: 3,
        names: Some(&names),
        ..tcp4()
    };
    let mut encoder = BodyEncoder::new(&format(65_535));
    assert_eq!(encoder.push(&flow, false), Pushed::Added);
    let expected = octets(
        "695735a5 695735a9 03 9c40 20fb 06
         000000000000000a 00000000000005dc 0000000000000003 000000000000012c
         c0000201 0a000009
         0000000000000008 0000000100000001 0000000000000002 0000000000000201
         05 7765622d30  04 73686f70  02 6b31      # web-0 shop k1
         04 64622d30  04 64617461  02 6b32        # db-0 data k2
         01bb  0b 646174612f64623a73716c          # 443 data/db:sql
         02 696e  01 6e  02  01 72  01            # in n 2 r allow
         03 6f7574  01 6e  02  01 72  02          # out n 2 r drop
         0b 45535441424c4953484544  02            # ESTABLISHED, between nodes
         01 65  07 312e322e332e34  02 6b33        # e 1.2.3.4 k3
         0400                                     # proxySnatPort
         c6336402 cb007105 c6336402               # cluster, proxy SNAT, service",
    );
    assert_octets(&encoder.finish()[0].sets[4..], &expected);
}

#[test]
fn icmp_has_no_ports() {
    let ping = Flow {
        protocol: 1,
        source_port: 77,
        destination_port: 0x0800,
        reply_source_port: 77,
        reply_destination_port: 0,
        ..tcp4()
    };
    let mut encoder = BodyEncoder::new(&format(65_535));
    assert_eq!(encoder.push(&ping, false), Pushed::Added);
    assert_octets(&encoder.finish()[0].sets[13..18], &octets("0000 0000 01"));
}

#[test]
fn tcp_states_have_the_names_of_the_kernel() {
    for (state, text) in [
        (0, "NONE"),
        (1, "SYN_SENT"),
        (2, "SYN_RECV"),
        (6, "LAST_ACK"),
        (9, "SYN_SENT2"),
        (10, ""),
    ] {
        let mut encoder = BodyEncoder::new(&format(65_535));
        encoder.push(
            &Flow {
                tcp_state: state,
                ..tcp4()
            },
            false,
        );
        let record = &encoder.finish()[0].sets[4..];
        // The state follows 104 octets: 46 + 8 + 32 fixed, 18 more of names, policies and the service's port.
        assert_eq!(usize::from(record[105]), text.len(), "{state}");
        assert_eq!(&record[106..106 + text.len()], text.as_bytes());
    }
}

#[test]
fn each_message_holds_one_set() {
    let mut encoder = BodyEncoder::new(&format(65_535));
    for flow in [tcp4(), tcp6(), tcp4(), tcp6(), tcp4()] {
        assert_eq!(encoder.push(&flow, false), Pushed::Added);
    }
    let bodies = encoder.finish();
    assert_eq!(
        bodies.iter().map(|body| body.records).collect::<Vec<_>>(),
        [3, 2]
    );
    for (body, id) in bodies.iter().zip([256_u16, 257]) {
        assert_eq!(body.sets[..2], id.to_be_bytes());
        let set = u16::from_be_bytes([body.sets[2], body.sets[3]]);
        assert_eq!(usize::from(set), body.sets.len());
    }
}

#[test]
fn there_are_no_options_messages() {
    assert!(
        Session::new(format(65_535))
            .options(&Statistics::default(), 1)
            .is_empty()
    );
}
