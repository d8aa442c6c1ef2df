//! `dump` beside the program `conntrack`, field by field, on a table that has everything.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has to stop"
)]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use agent::{Dumped, Selection, dump};
use netfilter::ProtocolState;
use netfilter::testing::{
    Entry, Maker, Zone, address, icmp_echo, in_tracked_namespace, nft, run, send_ip, tcp_exchange,
    tuple, udp_exchange,
};
use serde_json::Value;

/// One of each: protocols, families, zones, NAT, marks, labels, states.
fn fill() {
    nft("table ip nat {
            chain output { type nat hook output priority -100; udp dport 9000 dnat to 127.0.0.1:9001; }
            chain postrouting { type nat hook postrouting priority 100; udp dport 9100 snat to 127.0.0.7:9555; }
        }");
    tcp_exchange(address("127.0.0.1:5001"), 5000, 700);
    tcp_exchange(address("[::1]:5002"), 3, 9000);
    udp_exchange(
        address("127.0.0.1:6001"),
        address("127.0.0.1:6002"),
        100,
        Some(10),
    );
    udp_exchange(address("[::1]:6003"), address("[::1]:6004"), 1, None);
    icmp_echo("127.0.0.1".parse().unwrap(), 77);
    icmp_echo("::1".parse().unwrap(), 78);
    send_ip("127.0.0.1".parse().unwrap(), 253, &[1, 2, 3, 4]);
    let nat = std::net::UdpSocket::bind("127.0.0.1:6100").unwrap();
    nat.send_to(b"dnat", "127.0.0.1:9000").unwrap();
    nat.send_to(b"snat", "127.0.0.1:9100").unwrap();
    let mut labels = [0; 16];
    labels[0] = 0b101; // bits 0 and 2
    labels[15] = 0x80; // bit 127
    let made = |port: u16| Entry::new(tuple(&format!("192.0.2.1:{port}"), "198.51.100.1:53", 17));
    Maker::open()
        .unwrap()
        .create([
            Entry {
                zone: Zone::Shared(7),
                mark: 0x1234,
                ..made(1)
            },
            Entry {
                zone: Zone::Original(8),
                labels: Some(labels),
                ..made(2)
            },
            Entry {
                zone: Zone::Reply(9),
                mark: u32::MAX,
                ..made(3)
            },
            Entry {
                protocol_state: ProtocolState::Tcp(5),
                ..Entry::new(tuple("192.0.2.1:4", "198.51.100.1:80", 6))
            },
            Entry::new(tuple("192.0.2.1:5", "198.51.100.1:2905", 132)),
            Entry::new(tuple("192.0.2.1:6", "198.51.100.1:7", 136)),
            Entry::new(tuple("[2001:db8::1]:8", "[2001:db8::2]:443", 6)),
        ])
        .unwrap();
}

/// `conntrack -L` prints only labels that a file under /etc names. It gets one, in a mount namespace of its own, which
/// calls bit 5 bit5.
fn conntrack_with_all_labels(family: &str) -> String {
    let script = format!(
        "mount -t tmpfs none /etc && mkdir /etc/xtables \
         && seq 0 127 | sed 's/.*/& bit&/' > /etc/xtables/connlabel.conf \
         && TZ=UTC LC_ALL=C exec conntrack -L -f {family} -o extended,id,ktimestamp,labels"
    );
    run("unshare", &["-m", "sh", "-c", &script])
}

/// What both sides say of one connection.
type Fields = BTreeMap<&'static str, String>;

/// A line of `conntrack -L -o extended,id,ktimestamp,labels`: words, then `name=value` twice where it says both
/// directions.
fn from_conntrack(line: &str) -> Fields {
    let mut fields = Fields::new();
    let words: Vec<&str> = line.split_whitespace().collect();
    fields.insert("protocol", words[3].to_owned());
    let mut words_left = words.iter().skip(4).peekable();
    // Offloaded and expired entries have no timeout; this table has none of those.
    fields.insert("timeout", words_left.next().unwrap().to_string());
    if let Some(state) = words_left.next_if(|word| !word.contains(['=', '['])) {
        fields.insert("state", state.to_string());
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let text = line.split_once("[start=").map_or("", |(_, rest)| rest);
    if let Some((start, _)) = text.split_once(']') {
        fields.insert("start", start.to_owned());
    }
    for word in line.split_whitespace() {
        if matches!(word, "[ASSURED]" | "[UNREPLIED]") {
            fields.insert(
                if word == "[ASSURED]" {
                    "assured"
                } else {
                    "unreplied"
                },
                "yes".to_owned(),
            );
        }
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        let count = seen.entry(name).or_default();
        *count += 1;
        let name = match (name, *count) {
            ("src", 1) => "source",
            ("dst", 1) => "destination",
            ("sport", 1) => "source port",
            ("dport", 1) => "destination port",
            ("src", 2) => "reply source",
            ("dst", 2) => "reply destination",
            ("sport", 2) => "reply source port",
            ("dport", 2) => "reply destination port",
            ("type", 1) => "icmp type",
            ("code", 1) => "icmp code",
            ("id", 1) if line.contains(" type=") => "icmp id",
            ("packets", 1) => "packets",
            ("bytes", 1) => "octets",
            ("packets", 2) => "reply packets",
            ("bytes", 2) => "reply octets",
            ("mark", _) => "mark",
            ("zone", _) => "zone",
            ("zone-orig", _) => "original zone",
            ("zone-reply", _) => "reply zone",
            ("labels", _) => {
                let bits = value
                    .split(',')
                    .map(|bit| 1_u128 << bit.trim_start_matches("bit").parse::<u32>().unwrap());
                fields.insert(
                    "labels",
                    format!("{:#x}", bits.fold(0, |sum, bit| sum | bit)),
                );
                continue;
            }
            ("id", _) if !word.contains('[') && *count != 2 => "id",
            _ => continue,
        };
        fields.insert(name, value.trim_end_matches(']').to_owned());
    }
    // The conntrack id is always the last one.
    let id = words
        .iter()
        .rev()
        .find_map(|word| word.strip_prefix("id="))
        .unwrap();
    fields.insert("id", id.to_owned());
    fields
}

/// The same words, from a line of ours.
fn from_dump(record: &Value) -> Fields {
    let mut fields = Fields::new();
    let text = |name: &str| match &record[name] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let either = |v4: &str, v6: &str| text(v4).or_else(|| text(v6));
    let icmp =
        either("icmpTypeCodeIPv4", "icmpTypeCodeIPv6").map(|word| word.parse::<u16>().unwrap());
    let source = either("sourceIPv4Address", "sourceIPv6Address");
    let destination = either("destinationIPv4Address", "destinationIPv6Address");
    let ports = |protocol: &str| matches!(protocol, "6" | "17" | "132" | "136");
    let protocol = text("protocolIdentifier").unwrap();
    let has_ports = ports(&protocol);
    let port = |name: &str| text(name).filter(|_| has_ports);
    let nat = |v4, v6, otherwise: &Option<String>| either(v4, v6).or_else(|| otherwise.clone());
    let (source_port, destination_port) = (
        port("sourceTransportPort"),
        port("destinationTransportPort"),
    );
    let (zone, reply_zone) = (text("ingressVRFID").unwrap(), text("egressVRFID").unwrap());
    let status = |name: &str| {
        record["status"]
            .as_array()
            .unwrap()
            .iter()
            .any(|word| word == name)
    };
    let mut put = |name, value: Option<String>| {
        if let Some(value) = value {
            fields.insert(name, value);
        }
    };
    put(
        "reply source",
        nat(
            "postNATDestinationIPv4Address",
            "postNATDestinationIPv6Address",
            &destination,
        ),
    );
    put(
        "reply destination",
        nat(
            "postNATSourceIPv4Address",
            "postNATSourceIPv6Address",
            &source,
        ),
    );
    put(
        "reply source port",
        port("postNAPTDestinationTransportPort").or_else(|| destination_port.clone()),
    );
    put(
        "reply destination port",
        port("postNAPTSourceTransportPort").or_else(|| source_port.clone()),
    );
    put("protocol", Some(protocol));
    put("source", source);
    put("destination", destination);
    put("source port", source_port);
    put("destination port", destination_port);
    put("icmp type", icmp.map(|word| (word >> 8).to_string()));
    put("icmp code", icmp.map(|word| (word & 0xff).to_string()));
    put("icmp id", text("icmpId"));
    put("packets", text("packetTotalCount"));
    put("octets", text("octetTotalCount"));
    put("reply packets", text("reversePacketTotalCount"));
    put("reply octets", text("reverseOctetTotalCount"));
    put("mark", text("mark"));
    put("id", text("conntrackId"));
    put("timeout", text("timeout"));
    put("state", either("tcpState", "sctpState"));
    put("labels", text("labels").map(|labels| trimmed_hex(&labels)));
    put("assured", status("ASSURED").then(|| "yes".to_owned()));
    put(
        "unreplied",
        (!status("SEEN_REPLY")).then(|| "yes".to_owned()),
    );
    match (zone.as_str(), reply_zone.as_str()) {
        ("0", "0") => {}
        (zone, reply) if zone == reply => put("zone", Some(zone.to_owned())),
        (zone, "0") => put("original zone", Some(zone.to_owned())),
        ("0", reply) => put("reply zone", Some(reply.to_owned())),
        other => panic!("this table has no entry with {other:?}"),
    }
    put("start", text("flowStartMilliseconds"));
    fields
}

/// `0x000…05` as `0x5`.
fn trimmed_hex(text: &str) -> String {
    format!(
        "0x{}",
        text.trim_start_matches("0x").trim_start_matches('0')
    )
}

fn by_id(fields: impl Iterator<Item = Fields>) -> BTreeMap<String, Fields> {
    fields
        .map(|fields| (format!("{} {}", fields["id"], fields["source"]), fields))
        .collect()
}

#[test]
fn dump_says_what_conntrack_says() {
    in_tracked_namespace(|| {
        fill();
        let mut text = String::new();
        for family in ["ipv4", "ipv6"] {
            text += &conntrack_with_all_labels(family);
        }
        let mut lines = Vec::new();
        let dumped = dump(&Selection::default(), None, &Arc::default(), |part| {
            lines.extend(part);
        });
        let theirs = by_id(text.lines().map(from_conntrack));
        let records: Vec<Value> = serde_json::Deserializer::from_slice(&lines)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap();
        let ours = by_id(records.iter().map(from_dump));
        assert_eq!(
            dumped.unwrap(),
            Dumped {
                connections: 16,
                malformed: 0,
                complete: true
            }
        );
        assert_eq!(theirs.len(), 16, "{text}");
        assert_eq!(
            ours.keys().collect::<Vec<_>>(),
            theirs.keys().collect::<Vec<_>>()
        );
        for (id, theirs) in theirs {
            compare(&ours[&id], &theirs);
        }
    });
}

/// All fields are equal, but that the clock may have ticked between the two.
fn compare(ours: &Fields, theirs: &Fields) {
    let names = |fields: &Fields| fields.keys().copied().collect::<Vec<_>>();
    assert_eq!(names(ours), names(theirs), "{ours:#?}\n{theirs:#?}");
    for (name, their) in theirs {
        let our = &ours[name];
        match *name {
            "timeout" => {
                let (our, their) = (our.parse::<i64>().unwrap(), their.parse::<i64>().unwrap());
                assert!((their - our).abs() <= 2, "{ours:#?}\n{theirs:#?}");
            }
            // "Mon Nov 30 09:15:37 2026" and "2026-11-30T09:15:37.123Z".
            "start" => {
                let clock = their.split_whitespace().nth(3).unwrap();
                let day = their.split_whitespace().nth(2).unwrap();
                let year = their.split_whitespace().nth(4).unwrap();
                assert!(our.contains(&format!("T{clock}.")), "{our} {their}");
                assert!(our.starts_with(year), "{our} {their}");
                assert!(our.contains(&format!("-{day:0>2}T")), "{our} {their}");
            }
            "source" | "destination" | "reply source" | "reply destination" => {
                assert_eq!(
                    our.parse::<IpAddr>().unwrap(),
                    their.parse::<IpAddr>().unwrap()
                );
            }
            _ => assert_eq!(our, their, "{name}: {ours:#?}\n{theirs:#?}"),
        }
    }
}
