//! The standard profile's messages, octet by octet from RFC 7011, sections 3 and 7, and RFC 5103, section 6.1.
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
use ipfix::{Body, BodyEncoder, Denied, Flow, Format, NameTexts, Names, Profile, Pushed, Session};

const EXPORT_TIME: u32 = 0x6957_35b0;

fn format(max: usize) -> Arc<Format> {
    Arc::new(Format::new(&Profile::standard(None).unwrap(), 1, max).unwrap())
}

/// One message with these flows, its header stamped by a new session.
fn message(flows: &[Flow<'_>]) -> Vec<u8> {
    let format = format(65_535);
    let mut encoder = BodyEncoder::new(&format);
    for flow in flows {
        assert_eq!(encoder.push(flow, false), Pushed::Added);
    }
    let bodies = encoder.finish();
    assert_eq!(bodies.len(), 1);
    let body = &bodies[0];
    assert_eq!(body.records as usize, flows.len());
    let mut message = Session::new(format)
        .header(body.sets.len(), body.records, EXPORT_TIME)
        .to_vec();
    message.extend_from_slice(&body.sets);
    message
}

// Field specifiers: element, length; with the enterprise bit the enterprise number follows (0x7279 = 29305 reverse,
// 0x537d = 21373 netfilter).
const TIMES: &str = "0098 0008  0099 0008  0088 0001 # flowStart/EndMilliseconds, flowEndReason\n";
const ADDRESSES_4: &str = "0008 0004  000c 0004 # source/destinationIPv4Address\n";
const ADDRESSES_6: &str = "001b 0010  001c 0010 # source/destinationIPv6Address\n";
const PORTS: &str = "0007 0002  000b 0002 # source/destinationTransportPort\n";
const ICMP_4: &str = "0020 0002 # icmpTypeCodeIPv4\n";
const ICMP_6: &str = "008b 0002 # icmpTypeCodeIPv6\n";
const PROTOCOL: &str = "0004 0001\n";
const COUNTERS: &str = "
    0056 0008  0055 0008  8056 0008 00007279  8055 0008 00007279 # packet/octetTotalCount, and reverse
    0002 0008  0001 0008  8002 0008 00007279  8001 0008 00007279 # packet/octetDeltaCount, and reverse
";
const NAT_4: &str = "00e1 0004  00e2 0004 # postNATSource/DestinationIPv4Address\n";
const NAT_6: &str = "0119 0010  011a 0010 # postNATSource/DestinationIPv6Address\n";
const NAPT: &str = "00e3 0002  00e4 0002 # postNAPTSource/DestinationTransportPort\n";
const KERNEL: &str =
    "00ea 0004  00eb 0004  8004 0004 0000537d  8006 0004 0000537d # VRF ids, mark, conntrackId\n";
const DENIED: &str =
    "00e9 0001  8003 ffff 0000537d # firewallEvent, logPrefix of variable length\n";

#[test]
fn the_twelve_templates_are_as_documented() {
    let template =
        |id: &str, count: &str, parts: &[&str]| format!("{id} {count}\n{}", parts.concat());
    let records = [
        template(
            "0100",
            "0014",
            &[TIMES, ADDRESSES_4, PORTS, PROTOCOL, COUNTERS, KERNEL],
        ),
        template(
            "0101",
            "0018",
            &[
                TIMES,
                ADDRESSES_4,
                PORTS,
                PROTOCOL,
                COUNTERS,
                NAT_4,
                NAPT,
                KERNEL,
            ],
        ),
        template(
            "0102",
            "0016",
            &[
                TIMES,
                ADDRESSES_4,
                PORTS,
                PROTOCOL,
                COUNTERS,
                KERNEL,
                DENIED,
            ],
        ),
        template(
            "0103",
            "0013",
            &[TIMES, ADDRESSES_4, ICMP_4, PROTOCOL, COUNTERS, KERNEL],
        ),
        template(
            "0104",
            "0015",
            &[
                TIMES,
                ADDRESSES_4,
                ICMP_4,
                PROTOCOL,
                COUNTERS,
                NAT_4,
                KERNEL,
            ],
        ),
        template(
            "0105",
            "0015",
            &[
                TIMES,
                ADDRESSES_4,
                ICMP_4,
                PROTOCOL,
                COUNTERS,
                KERNEL,
                DENIED,
            ],
        ),
        template(
            "0106",
            "0014",
            &[TIMES, ADDRESSES_6, PORTS, PROTOCOL, COUNTERS, KERNEL],
        ),
        template(
            "0107",
            "0018",
            &[
                TIMES,
                ADDRESSES_6,
                PORTS,
                PROTOCOL,
                COUNTERS,
                NAT_6,
                NAPT,
                KERNEL,
            ],
        ),
        template(
            "0108",
            "0016",
            &[
                TIMES,
                ADDRESSES_6,
                PORTS,
                PROTOCOL,
                COUNTERS,
                KERNEL,
                DENIED,
            ],
        ),
        template(
            "0109",
            "0013",
            &[TIMES, ADDRESSES_6, ICMP_6, PROTOCOL, COUNTERS, KERNEL],
        ),
        template(
            "010a",
            "0015",
            &[
                TIMES,
                ADDRESSES_6,
                ICMP_6,
                PROTOCOL,
                COUNTERS,
                NAT_6,
                KERNEL,
            ],
        ),
        template(
            "010b",
            "0015",
            &[
                TIMES,
                ADDRESSES_6,
                ICMP_6,
                PROTOCOL,
                COUNTERS,
                KERNEL,
                DENIED,
            ],
        ),
    ];
    // Each record: 4 octets, 4 a field, 4 more for each of the six enterprise elements (seven where denied). Fields:
    // 20+24+22+19+21+21 = 127 twice; 4 * 12 + 4 * 254 + 4 * (12 * 6 + 4) = 1368 = 0x558; set 0x55c, message 0x56c.
    let expected = format!(
        "000a 056c 695735b0 00000000 00000001  0002 055c {}",
        records.concat()
    );
    assert_octets(
        &Session::new(format(65_535)).templates(EXPORT_TIME),
        &octets(&expected),
    );
}

#[test]
fn a_tcp_record_over_ipv4() {
    let expected = octets(
        "000a 0082 695735b0 00000000 00000001  # 130 octets
         0100 0072                             # set of template 256, 4 + 110 octets
         0000019b7ca98f2e 0000019b7ca99c29 03  # start, end in ms; 3 end of flow detected
         c0000201 c6336402 9c40 01bb 06        # 192.0.2.1 > 198.51.100.2, 40000 > 443, TCP
         000000000000000a 00000000000005dc     # total packets, octets
         0000000000000008 0000000100000001     # and back
         0000000000000003 000000000000012c     # delta packets, octets
         0000000000000002 0000000000000201     # and back
         00000007 00000000 deadbeef 01020304   # zones, mark, id",
    );
    assert_octets(&message(&[tcp4()]), &expected);
}

const AFTER_PROTOCOL: &str = "
    000000000000000a 00000000000005dc 0000000000000008 0000000100000001
    0000000000000003 000000000000012c 0000000000000002 0000000000000201
";
const TIMES_VALUES: &str = "0000019b7ca98f2e 0000019b7ca99c29 03\n";
const KERNEL_VALUES: &str = "00000007 00000000 deadbeef 01020304\n";

#[test]
fn a_translated_record_over_ipv4_has_what_replies_say() {
    let flow = Flow {
        translated: true,
        reply_source: ip("10.0.0.9"),
        reply_source_port: 8443,
        reply_destination: ip("203.0.113.5"),
        reply_destination_port: 1024,
        ..tcp4()
    };
    let expected = format!(
        "000a 008e 695735b0 00000000 00000001  0101 007e {TIMES_VALUES}
         c0000201 c6336402 9c40 01bb 06 {AFTER_PROTOCOL}
         cb007105 0a000009 0400 20fb           # source became 203.0.113.5:1024, destination 10.0.0.9:8443
         {KERNEL_VALUES}"
    );
    assert_octets(&message(&[flow]), &octets(&expected));
}

#[test]
fn a_denied_record_has_event_and_prefix_and_no_translation() {
    let denied = Some(Denied {
        firewall_event: 3,
        prefix: "DROP in: ",
    });
    let flow = Flow {
        denied,
        translated: true,
        reply_source: ip("10.0.0.9"),
        ..tcp4()
    };
    let expected = format!(
        "000a 008d 695735b0 00000000 00000001  0102 007d {TIMES_VALUES}
         c0000201 c6336402 9c40 01bb 06 {AFTER_PROTOCOL} {KERNEL_VALUES}
         03  09 44524f5020696e3a20             # denied; 9 octets of prefix"
    );
    assert_octets(&message(&[flow]), &octets(&expected));
}

/// An echo request and its reply: types 8 and 0 are no translation.
fn ping4() -> Flow<'static> {
    Flow {
        protocol: 1,
        source_port: 77,
        destination_port: 0x0800,
        reply_source_port: 77,
        reply_destination_port: 0,
        ..tcp4()
    }
}

#[test]
fn an_icmp_record_over_ipv4_has_type_and_code_for_ports() {
    let expected = format!(
        "000a 0080 695735b0 00000000 00000001  0103 0070 {TIMES_VALUES}
         c0000201 c6336402 0800 01 {AFTER_PROTOCOL} {KERNEL_VALUES}"
    );
    assert_octets(&message(&[ping4()]), &octets(&expected));
}

#[test]
fn a_translated_icmp_record_over_ipv4_has_no_translated_ports() {
    let flow = Flow {
        translated: true,
        reply_destination: ip("203.0.113.5"),
        ..ping4()
    };
    let expected = format!(
        "000a 0088 695735b0 00000000 00000001  0104 0078 {TIMES_VALUES}
         c0000201 c6336402 0800 01 {AFTER_PROTOCOL} cb007105 c6336402 {KERNEL_VALUES}"
    );
    assert_octets(&message(&[flow]), &octets(&expected));
}

#[test]
fn a_denied_icmp_record_over_ipv4() {
    let flow = Flow {
        denied: Some(Denied {
            firewall_event: 3,
            prefix: "",
        }),
        ..ping4()
    };
    let expected = format!(
        "000a 0082 695735b0 00000000 00000001  0105 0072 {TIMES_VALUES}
         c0000201 c6336402 0800 01 {AFTER_PROTOCOL} {KERNEL_VALUES} 03 00"
    );
    assert_octets(&message(&[flow]), &octets(&expected));
}

const ADDRESSES_6_VALUES: &str =
    "20010db8000000000000000000000001 20010db8000000000000000000000002\n";

#[test]
fn a_tcp_record_over_ipv6() {
    let expected = format!(
        "000a 009a 695735b0 00000000 00000001  0106 008a {TIMES_VALUES}
         {ADDRESSES_6_VALUES} 9c40 01bb 06 {AFTER_PROTOCOL} {KERNEL_VALUES}"
    );
    assert_octets(&message(&[tcp6()]), &octets(&expected));
}

#[test]
fn a_translated_record_over_ipv6() {
    let flow = Flow {
        translated: true,
        reply_source: ip("fd00::9"),
        reply_source_port: 8443,
        ..tcp6()
    };
    let expected = format!(
        "000a 00be 695735b0 00000000 00000001  0107 00ae {TIMES_VALUES}
         {ADDRESSES_6_VALUES} 9c40 01bb 06 {AFTER_PROTOCOL}
         20010db8000000000000000000000001 fd000000000000000000000000000009 9c40 20fb {KERNEL_VALUES}"
    );
    assert_octets(&message(&[flow]), &octets(&expected));
}

#[test]
fn a_denied_record_over_ipv6() {
    let flow = Flow {
        denied: Some(Denied {
            firewall_event: 3,
            prefix: "X",
        }),
        ..tcp6()
    };
    let expected = format!(
        "000a 009d 695735b0 00000000 00000001  0108 008d {TIMES_VALUES}
         {ADDRESSES_6_VALUES} 9c40 01bb 06 {AFTER_PROTOCOL} {KERNEL_VALUES} 03 01 58"
    );
    assert_octets(&message(&[flow]), &octets(&expected));
}

#[test]
fn icmpv6_records() {
    let ping = Flow {
        protocol: 58,
        source_port: 77,
        destination_port: 0x8000,
        reply_source_port: 77,
        reply_destination_port: 0x8100,
        ..tcp6()
    };
    let translated = Flow {
        translated: true,
        reply_destination: ip("2001:db8::5"),
        ..ping.clone()
    };
    let denied = Flow {
        denied: Some(Denied {
            firewall_event: 3,
            prefix: "X",
        }),
        ..ping.clone()
    };
    let values = format!("{TIMES_VALUES} {ADDRESSES_6_VALUES} 8000 3a {AFTER_PROTOCOL}");
    // Three sets in one message: 4 + 132, 4 + 164, 4 + 135 octets.
    let expected = format!(
        "000a 01cb 695735b0 00000000 00000001
         0109 0088 {values} {KERNEL_VALUES}
         010a 00a8 {values} 20010db8000000000000000000000005 20010db8000000000000000000000002 {KERNEL_VALUES}
         010b 008b {values} {KERNEL_VALUES} 03 01 58"
    );
    assert_octets(&message(&[ping, translated, denied]), &octets(&expected));
}

#[test]
fn records_of_one_template_share_a_set_whatever_comes_between_them() {
    let flow = |id, flow: Flow<'static>| Flow { id, ..flow };
    let flows = [
        flow(1, tcp4()),
        flow(2, tcp6()),
        flow(3, tcp4()),
        flow(4, tcp6()),
    ];
    let message = message(&flows);
    assert_eq!(message.len(), 16 + (4 + 2 * 110) + (4 + 2 * 134));
    assert_eq!(message[16..20], [1, 0, 0, 224]);
    assert_eq!(message[240..244], [1, 6, 1, 16]);
    // conntrackId is the last element: within a set the order is that of the flows.
    let ids = [20 + 110, 20 + 220, 244 + 134, 244 + 268].map(|end| message[end - 1]);
    assert_eq!(ids, [1, 3, 2, 4]);
}

#[test]
fn a_record_that_does_not_fit_begins_a_message_and_the_former_one_keeps_its_sets() {
    // 16 + (4 + 110) + (4 + 134) = 268: another 110 are too many.
    let format = Arc::new(Format::new(&Profile::standard(None).unwrap(), 1, 377).unwrap());
    let mut encoder = BodyEncoder::new(&format);
    for flow in [tcp4(), tcp6()] {
        assert_eq!(encoder.push(&flow, false), Pushed::Added);
    }
    assert_eq!(encoder.push(&tcp4(), false), Pushed::Full);
    assert_eq!(encoder.push(&tcp4(), true), Pushed::Added);
    let bodies = encoder.finish();
    let shape = |body: &Body| (16 + body.sets.len(), body.records);
    let shapes: Vec<_> = bodies.iter().map(shape).collect();
    assert_eq!(shapes, [(268, 2), (16 + 4 + 110, 1)]);
    assert_eq!(bodies[0].sets[..4], [1, 0, 0, 114]);
    assert_eq!(bodies[0].sets[114..118], [1, 6, 0, 138]);
    assert_eq!(bodies[1].sets[..4], [1, 0, 0, 114]);
}

/// The denied record with a prefix of so many octets: what stands from the prefix on.
fn prefix_of(len: usize) -> Vec<u8> {
    let prefix = "x".repeat(len);
    let flow = Flow {
        denied: Some(Denied {
            firewall_event: 3,
            prefix: &prefix,
        }),
        ..tcp4()
    };
    message(&[flow])[16 + 4 + 111..].to_vec()
}

#[test]
fn a_string_of_254_octets_has_one_octet_of_length() {
    let mut expected = vec![254];
    expected.extend([b'x'; 254]);
    assert_octets(&prefix_of(254), &expected);
}

#[test]
fn a_string_of_255_octets_has_three_octets_of_length() {
    let mut expected = vec![255, 0, 255];
    expected.extend([b'x'; 255]);
    assert_octets(&prefix_of(255), &expected);
}

#[test]
fn a_string_of_65000_octets_fits_a_message() {
    let prefix = prefix_of(65_000);
    assert_eq!(prefix[..3], [255, 0xfd, 0xe8]);
    assert_eq!(prefix[3..], [b'x'; 65_000]);
}

#[test]
fn with_names_every_template_ends_in_names_of_antreas_registry() {
    let format =
        Arc::new(Format::new(&Profile::standard(None).unwrap().with_names(), 1, 65_535).unwrap());
    let templates = Session::new(Arc::clone(&format)).templates(EXPORT_TIME);
    // 0xdcba = 56506.
    let names = octets(
        "8064 ffff 0000dcba  8065 ffff 0000dcba  8068 ffff 0000dcba  8066 ffff 0000dcba  8067 ffff 0000dcba
         8069 ffff 0000dcba  806d ffff 0000dcba  806f ffff 0000dcba  806e ffff 0000dcba  808d ffff 0000dcba
         8071 ffff 0000dcba  8070 ffff 0000dcba  808e ffff 0000dcba
         8073 0001 0000dcba  808b 0001 0000dcba  8076 0001 0000dcba  808c 0001 0000dcba  8089 0001 0000dcba
         8099 ffff 0000dcba  809a ffff 0000dcba  809d ffff 0000dcba  809f ffff 0000dcba  80a0 ffff 0000dcba",
    );
    assert_eq!(
        templates
            .windows(names.len())
            .filter(|window| *window == names)
            .count(),
        12
    );
    let known = Names::new(NameTexts {
        source_pod_name: "web-0".into(),
        source_pod_namespace: "shop".into(),
        ..NameTexts::default()
    });
    let mut encoder = BodyEncoder::new(&format);
    encoder.push(
        &Flow {
            names: Some(&known),
            ..tcp4()
        },
        false,
    );
    encoder.push(&tcp4(), false);
    let body = encoder.finish().remove(0).sets;
    assert_octets(
        &body[114..][..32],
        &octets(
            "04 73686f70  05 7765622d30  00 00 00 00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 00 00",
        ),
    );
    assert_octets(&body[256..], &[0; 23]);
}

#[test]
fn an_end_that_is_no_pod_has_its_networks_name_and_a_pod_its_uuid() {
    let format =
        Arc::new(Format::new(&Profile::standard(None).unwrap().with_names(), 1, 65_535).unwrap());
    let names = Names::new(NameTexts {
        source_pod_name: "web-0".into(),
        source_pod_namespace: "shop".into(),
        source_pod_uuid: Some([0xab; 16]),
        source_network: "pods".into(),
        destination_network: "office".into(),
        flow_type: 3,
        egress_name: "e".into(),
        egress_ip: "1.2.3.4".into(),
        egress_node_name: "k3".into(),
        ..NameTexts::default()
    });
    let mut encoder = BodyEncoder::new(&format);
    encoder.push(
        &Flow {
            names: Some(&names),
            ..tcp4()
        },
        false,
    );
    assert_octets(
        &encoder.finish()[0].sets[114..],
        &octets(
            "04 73686f70  05 7765622d30  00  00  06 6f6666696365  00  00 00 00 00 00 00 00
             00 00 00 00  03  01 65  07 312e322e332e34  02 6b33  10 abababababababababababababababab  00",
        ),
    );
}

#[test]
fn the_node_and_its_cluster_stand_at_the_end_when_asked_for() {
    let profile = Profile::standard(None).unwrap().with_node().with_cluster();
    let format = Arc::new(Format::new(&profile, 1, 65_535).unwrap());
    // observationDomainName is IANA's 300 (0x12c), clusterId Antrea's 158 (0x809e).
    let elements = octets("012c ffff  809e ffff 0000dcba");
    let templates = Session::new(Arc::clone(&format)).templates(EXPORT_TIME);
    let found = templates.windows(elements.len());
    assert_eq!(found.filter(|window| *window == elements).count(), 12);
    let mut encoder = BodyEncoder::new(&format);
    encoder.push(
        &Flow {
            node: "k1",
            cluster: "blue",
            ..tcp4()
        },
        false,
    );
    assert_octets(
        &encoder.finish()[0].sets[114..],
        &octets("02 6b31  04 626c7565"),
    );
}

#[test]
fn fields_select_and_order_elements_and_a_template_takes_what_it_has() {
    let fields = [
        "octetDeltaCount",
        "sourceTransportPort",
        "sourceIPv6Address",
        "sourceIPv4Address",
        "icmpTypeIPv4",
    ];
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    let profile = Profile::standard(Some(&fields)).unwrap();
    let format = Arc::new(Format::new(&profile, 1, 65_535).unwrap());
    let expected = octets(
        "000a 0050 695735b0 00000000 00000001  0002 0040
         0100 0003 0001 0008  0007 0002  0008 0004  # IPv4 with ports
         0101 0003 0001 0008  0008 0004  00b0 0001  # ICMP
         0102 0003 0001 0008  0007 0002  001b 0010  # IPv6 with ports
         0103 0002 0001 0008  001b 0010             # ICMPv6
         ",
    );
    assert_octets(
        &Session::new(Arc::clone(&format)).templates(EXPORT_TIME),
        &expected[..],
    );
    let mut encoder = BodyEncoder::new(&format);
    for flow in [ping4(), tcp4()] {
        encoder.push(&flow, false);
    }
    let expected = octets(
        "000a 0033 00000000 00000000 00000001
         0101 0011 000000000000012c c0000201 08
         0100 0012 000000000000012c 9c40 c0000201",
    );
    assert_octets(&whole(&encoder.finish()[0], 1), &expected);
}
