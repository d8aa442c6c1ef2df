//! The decoders on messages that a kernel sent (`examples/capture.rs`), against what another program reads in them.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::fs;
use std::path::PathBuf;

use netfilter::nflog::LoggedPacket;
use netfilter::{Connection, Counters, Counts, Family, ProtocolState, Status, Tuple};

fn data(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn tuple(tuple: &Tuple) -> String {
    let mut text = format!(
        "{}.{}>{}.{}/{}",
        tuple.source, tuple.source_port, tuple.destination, tuple.destination_port, tuple.protocol
    );
    if let Some(zone) = tuple.zone {
        text += &format!("@{zone}");
    }
    text
}

fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}

fn describe(name: &str, entry: &Connection<'_>) -> String {
    let counters = |counters: Counters| format!("{}/{}", counters.packets, counters.octets);
    let both = entry.original_counters.zip(entry.reply_counters);
    format!(
        "{name} original={} reply={} id={} status={:x} mark={:x} zone={} timeout={} state={} counters={} start={} stop={} labels={} helper={} master={}",
        tuple(&entry.original),
        tuple(&entry.reply),
        entry.id,
        entry.status.0,
        entry.mark,
        or_dash(entry.zone),
        or_dash(entry.timeout),
        match entry.protocol_state {
            ProtocolState::None => "-".into(),
            ProtocolState::Tcp(state) => format!("tcp:{state}"),
            ProtocolState::Sctp(state) => format!("sctp:{state}"),
            ProtocolState::Dccp(state) => format!("dccp:{state}"),
        },
        both.map_or("-".into(), |(original, reply)| format!(
            "{},{}",
            counters(original),
            counters(reply)
        )),
        or_dash(entry.start),
        or_dash(entry.stop),
        entry.labels.map_or("-".into(), |labels| labels
            .iter()
            .map(|octet| format!("{octet:02x}"))
            .collect::<String>()),
        entry.helper.unwrap_or("-"),
        entry.master().as_ref().map_or("-".into(), tuple),
    )
}

#[test]
fn every_kind_of_connection_reads_as_another_program_reads_it() {
    let expected = String::from_utf8(data("connection.txt")).unwrap();
    let expected: Vec<&str> = expected
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(expected.len(), 25);
    for line in expected {
        let (name, _) = line.split_once(' ').unwrap();
        let message = data(&format!("connection/{name}.bin"));
        assert_eq!(describe(name, &Connection::decode(&message).unwrap()), line);
    }
}

/// `conntrack` bytes count IP headers: 30 octets of payload, 8 of UDP, 20 of IPv4 make 58; with IPv6's 40 they make 78.
#[test]
fn counters_are_those_of_the_traffic_that_was_sent() {
    for (name, original, reply) in [
        ("udp-v4", (1, 58), (1, 88)),
        ("udp-v6-unreplied", (1, 78), (0, 0)),
        ("tcp-v4-time-wait", (5, 5268), (3, 164)),
        ("event-destroy-counted", (1, 58), (1, 88)),
    ] {
        let message = data(&format!("connection/{name}.bin"));
        let entry = Connection::decode(&message).unwrap();
        let pair = |counters: Option<Counters>| counters.map(|both| (both.packets, both.octets));
        assert_eq!(pair(entry.original_counters), Some(original), "{name}");
        assert_eq!(pair(entry.reply_counters), Some(reply), "{name}");
    }
}

#[test]
fn a_zone_belongs_to_the_directions_it_was_given_for() {
    for (name, original, reply) in [
        ("zone-shared", 7, 7),
        ("zone-original", 7, 0),
        ("zone-reply", 0, 7),
        ("udp-v4", 0, 0),
    ] {
        let message = data(&format!("connection/{name}.bin"));
        let entry = Connection::decode(&message).unwrap();
        assert_eq!(
            (entry.original_zone(), entry.reply_zone()),
            (original, reply),
            "{name}"
        );
    }
}

#[test]
fn families_and_status_bits_have_their_names() {
    let message = data("connection/nat-both-v4.bin");
    let entry = Connection::decode(&message).unwrap();
    assert_eq!(entry.family, Family::Ipv4);
    let names: Vec<_> = entry.status.names().collect();
    assert_eq!(
        names,
        [
            "CONFIRMED",
            "SRC_NAT",
            "DST_NAT",
            "SRC_NAT_DONE",
            "DST_NAT_DONE"
        ]
    );
    let message = data("connection/event-destroy.bin");
    assert!(
        Connection::decode(&message)
            .unwrap()
            .status
            .contains(Status::DYING)
    );
    let message = data("connection/icmp-v6-echo.bin");
    assert_eq!(Connection::decode(&message).unwrap().family, Family::Ipv6);
}

#[test]
fn an_answer_to_counts_reads_as_made() {
    let counts = Counts::decode(&data("counts/three-entries.bin")).unwrap();
    assert_eq!(
        counts,
        Counts {
            entries: 3,
            max: Some(262_144)
        }
    );
}

#[test]
fn a_logged_udp_packet_has_its_rule_and_its_headers() {
    let message = data("nflog/udp-v4-denied.bin");
    let packet = LoggedPacket::decode(&message).unwrap();
    assert_eq!(
        (packet.group, packet.prefix, packet.hook),
        (5, "denied: ", 3)
    );
    assert_eq!(
        (packet.hw_protocol, packet.mark, packet.sequence),
        (0x0800, 0x2a, Some(0))
    );
    assert_eq!(
        (packet.input_interface, packet.output_interface),
        (None, Some(1))
    );
    assert_eq!(packet.timestamp, None);
    let header = packet.header.unwrap();
    let loopback = [127, 0, 0, 1].into();
    assert_eq!(
        header.tuple,
        Tuple::new(loopback, loopback, 17, 40030, 9999)
    );
    assert_eq!((header.octets, header.tcp_flags), (48, None));
}

#[test]
fn a_logged_tcp_packet_over_ipv6_has_its_flags() {
    let message = data("nflog/tcp-v6-rejected.bin");
    let packet = LoggedPacket::decode(&message).unwrap();
    assert_eq!(
        (packet.prefix, packet.hw_protocol, packet.sequence),
        ("denied tcp", 0x86dd, Some(1))
    );
    let header = packet.header.unwrap();
    assert_eq!(
        (header.tuple.protocol, header.tuple.destination_port),
        (6, 9998)
    );
    // A SYN of 40 octets with its options behind IPv6's 40.
    assert_eq!((header.octets, header.tcp_flags), (80, Some(2)));
}
