//! Every kind of connection that traffic or netlink can make, read from a running kernel.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::net::IpAddr;

use netfilter::testing::{self, Entry, Maker, Zone, address, dump, in_tracked_namespace, tuple};
use netfilter::{Counters, Filter, ProtocolState, Status, Tuple};

/// What a test compares of an entry.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    original: Tuple,
    reply: Tuple,
    state: ProtocolState,
    counters: Option<[Counters; 2]>,
    status: Status,
    mark: u32,
    zone: Option<u16>,
    labels: Option<[u8; 16]>,
    helper: Option<String>,
    master: Option<Tuple>,
    timeout: Option<u32>,
    start: Option<u64>,
}

fn seen() -> Vec<Seen> {
    let (entries, outcome) = dump(&Filter::default(), |entry| Seen {
        original: entry.original,
        reply: entry.reply,
        state: entry.protocol_state,
        counters: entry
            .original_counters
            .zip(entry.reply_counters)
            .map(|(original, reply)| [original, reply]),
        status: entry.status,
        mark: entry.mark,
        zone: entry.zone,
        labels: entry.labels,
        helper: entry.helper.map(str::to_owned),
        master: entry.master(),
        timeout: entry.timeout,
        start: entry.start,
    });
    assert!(outcome.complete, "{outcome:?}");
    assert_eq!(outcome.entries as usize, entries.len());
    entries
}

fn only() -> Seen {
    let mut entries = seen();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

fn made(entry: Entry) -> Seen {
    let mut maker = Maker::open().unwrap();
    maker.flush().unwrap();
    maker.create([entry]).unwrap();
    only()
}

fn counters(original: (u64, u64), reply: (u64, u64)) -> Option<[Counters; 2]> {
    Some([original, reply].map(|(packets, octets)| Counters { packets, octets }))
}

/// IP headers count: 20 octets for IPv4, 40 for IPv6; UDP's own takes 8.
#[test]
fn udp_is_counted_in_both_directions_with_its_ip_headers() {
    in_tracked_namespace(|| {
        for (near, far, original, reply) in [
            ("127.0.0.1:40001", "127.0.0.1:53", 128, 228),
            ("[::1]:40001", "[::1]:53", 148, 248),
        ] {
            testing::udp_exchange(address(near), address(far), 100, Some(200));
            let entry = only();
            assert_eq!(entry.original, tuple(near, far, 17));
            assert_eq!(entry.reply, tuple(far, near, 17));
            assert_eq!(entry.counters, counters((1, original), (1, reply)));
            assert!(
                entry
                    .status
                    .contains(Status::SEEN_REPLY | Status::CONFIRMED)
            );
            assert!(entry.start.is_some());
            Maker::open().unwrap().flush().unwrap();
        }
    });
}

#[test]
fn tcp_ends_in_time_wait_with_every_octet_counted() {
    in_tracked_namespace(|| {
        for (listen, header) in [("127.0.0.1:8080", 20), ("[::1]:8080", 40)] {
            let client = testing::tcp_exchange(address(listen), 3000, 0);
            let entry = only();
            assert_eq!(entry.original, tuple(&client.to_string(), listen, 6));
            assert_eq!(entry.state, ProtocolState::Tcp(7));
            let [original, _] = entry.counters.unwrap();
            // Each packet has an IP header and 20 octets of TCP, 12 more for timestamps, 20 more on the SYN.
            let overhead = (header + 32) * original.packets + 8;
            assert_eq!(original.octets, 3000 + overhead);
            Maker::open().unwrap().flush().unwrap();
        }
    });
}

#[test]
fn an_echo_has_its_identifier_type_and_code() {
    in_tracked_namespace(|| {
        for (address, protocol, request, reply, octets) in [
            ("127.0.0.1", 1, 0x0800, 0, 28),
            ("::1", 58, 0x8000, 0x8100, 48),
        ] {
            let address: IpAddr = address.parse().unwrap();
            testing::icmp_echo(address, 0x4321);
            let entry = only();
            assert_eq!(
                entry.original,
                Tuple::new(address, address, protocol, 0x4321, request)
            );
            assert_eq!(
                entry.reply,
                Tuple::new(address, address, protocol, 0x4321, reply)
            );
            assert_eq!(entry.counters, counters((1, octets), (1, octets)));
            Maker::open().unwrap().flush().unwrap();
        }
    });
}

#[test]
fn an_unknown_protocol_has_addresses_only() {
    in_tracked_namespace(|| {
        let address: IpAddr = "127.0.0.1".parse().unwrap();
        testing::send_ip(address, 253, &[7; 100]);
        let entry = only();
        assert_eq!(entry.original, Tuple::new(address, address, 253, 0, 0));
        assert_eq!(
            entry.counters.unwrap()[0],
            Counters {
                packets: 1,
                octets: 120
            }
        );
        assert_eq!(entry.state, ProtocolState::None);
    });
}

#[test]
fn udp_lite_has_ports() {
    in_tracked_namespace(|| {
        let (near, far) = ("10.0.0.1:1000", "10.0.0.2:2000");
        let entry = made(Entry::new(tuple(near, far, 136)));
        assert_eq!(entry.original, tuple(near, far, 136));
        assert_eq!(entry.reply, tuple(far, near, 136));
    });
}

#[test]
fn sctp_has_ports_and_a_state() {
    in_tracked_namespace(|| {
        for state in 1..=8 {
            let (near, far) = ("[2001:db8::1]:1000", "[2001:db8::2]:2000");
            let protocol_state = ProtocolState::Sctp(state);
            let entry = made(Entry {
                protocol_state,
                ..Entry::new(tuple(near, far, 132))
            });
            assert_eq!(entry.original, tuple(near, far, 132));
            assert_eq!(entry.state, protocol_state);
        }
    });
}

#[test]
fn every_tcp_state_is_read() {
    in_tracked_namespace(|| {
        for state in 1..=9 {
            let protocol_state = ProtocolState::Tcp(state);
            let connection = tuple("10.0.0.1:1000", "10.0.0.2:80", 6);
            let entry = made(Entry {
                protocol_state,
                ..Entry::new(connection)
            });
            assert_eq!(entry.state, protocol_state);
        }
    });
}

#[test]
fn gre_has_its_keys_where_others_have_ports() {
    in_tracked_namespace(|| {
        let (near, far) = ("10.0.0.1:17", "10.0.0.2:39");
        let entry = made(Entry::new(tuple(near, far, 47)));
        assert_eq!(
            (entry.original.source_port, entry.original.destination_port),
            (17, 39)
        );
        assert_eq!(
            (entry.reply.source_port, entry.reply.destination_port),
            (39, 17)
        );
    });
}

#[test]
fn mark_labels_timeout_and_zones_are_those_that_were_given() {
    in_tracked_namespace(|| {
        let connection = tuple("10.0.0.1:1000", "10.0.0.2:80", 17);
        let labels = Some([0xff, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0x80]);
        for (zone, shared, original, reply) in [
            (Zone::None, None, None, None),
            (Zone::Shared(65_520), Some(65_520), None, None),
            (Zone::Original(9), None, Some(9), None),
            (Zone::Reply(9), None, None, Some(9)),
        ] {
            let entry = made(Entry {
                zone,
                labels,
                mark: 0x8000_0001,
                timeout: 1000,
                ..Entry::new(connection)
            });
            assert_eq!(
                (entry.zone, entry.original.zone, entry.reply.zone),
                (shared, original, reply)
            );
            assert_eq!((entry.mark, entry.labels), (0x8000_0001, labels));
            assert!(matches!(entry.timeout, Some(900..=1000)));
        }
    });
}

#[test]
fn a_helper_and_a_master_are_read() {
    in_tracked_namespace(|| {
        let control = tuple("10.0.0.1:1000", "10.0.0.2:21", 6);
        let data = tuple("10.0.0.1:1001", "10.0.0.2:50000", 6);
        let mut maker = Maker::open().unwrap();
        maker
            .create([Entry {
                helper: Some("ftp"),
                ..Entry::new(control)
            }])
            .unwrap();
        maker
            .create([Entry {
                master: Some(control),
                ..Entry::new(data)
            }])
            .unwrap();
        for entry in seen() {
            if entry.original == control {
                assert_eq!((entry.helper.as_deref(), entry.master), (Some("ftp"), None));
            } else {
                assert_eq!((entry.helper, entry.master), (None, Some(control)));
                assert!(entry.status.contains(Status::EXPECTED));
            }
        }
    });
}

#[test]
fn without_accounting_and_timestamps_there_are_none() {
    in_tracked_namespace(|| {
        netfilter::sysctl::write("netfilter/nf_conntrack_acct", 0).unwrap();
        netfilter::sysctl::write("netfilter/nf_conntrack_timestamp", 0).unwrap();
        testing::udp_exchange(
            address("127.0.0.1:40001"),
            address("127.0.0.1:53"),
            10,
            None,
        );
        let entry = only();
        assert_eq!((entry.counters, entry.start), (None, None));
    });
}
