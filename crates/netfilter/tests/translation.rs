//! Translated connections (NAT), by rules and by netlink, read from a running kernel.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::net::UdpSocket;

use netfilter::testing::{self, Entry, Maker, dump, in_tracked_namespace, tuple};
use netfilter::{Filter, Status, Tuple};

/// Both tuples and the status of the only entry.
fn only() -> (Tuple, Tuple, Status) {
    let (entries, outcome) = dump(&Filter::default(), |entry| {
        (entry.original, entry.reply, entry.status)
    });
    assert!(outcome.complete);
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0]
}

#[test]
fn translated_connections_show_both_sides_of_the_translation() {
    in_tracked_namespace(|| {
        // Masquerading takes the interface's first address of more than host scope.
        testing::run("ip", &["address", "add", "192.0.2.1/32", "dev", "lo"]);
        testing::nft(
            "table inet nat {
                chain out { type nat hook output priority -100;
                    ip daddr 127.0.0.2 udp dport 5300 dnat ip to 127.0.0.3:53
                    ip daddr 127.0.0.4 udp dport 5301 dnat ip to 127.0.0.5:53
                    ip6 daddr ::1 udp dport 5302 redirect to :53
                }
                chain post { type nat hook postrouting priority 100;
                    ip daddr 127.0.0.6 meta l4proto udp snat ip to 127.0.0.7:7000
                    ip daddr 127.0.0.5 meta l4proto udp snat ip to 127.0.0.8:7001
                    ip daddr 127.0.0.9 meta l4proto udp masquerade to :7002
                }
            }",
        );
        let (source, destination) = (Status::SRC_NAT, Status::DST_NAT);
        for (near, far, reply_from, reply_to, status) in [
            (
                "127.0.0.1:40010",
                "127.0.0.2:5300",
                "127.0.0.3:53",
                "127.0.0.1:40010",
                destination,
            ),
            (
                "127.0.0.1:40011",
                "127.0.0.4:5301",
                "127.0.0.5:53",
                "127.0.0.8:7001",
                source | destination,
            ),
            (
                "127.0.0.1:40012",
                "127.0.0.6:53",
                "127.0.0.6:53",
                "127.0.0.7:7000",
                source,
            ),
            (
                "127.0.0.1:40013",
                "127.0.0.9:53",
                "127.0.0.9:53",
                "192.0.2.1:7002",
                source,
            ),
            (
                "[::1]:40014",
                "[::1]:5302",
                "[::1]:53",
                "[::1]:40014",
                destination,
            ),
        ] {
            let client = UdpSocket::bind(near).unwrap();
            client.send_to(&[0; 10], far).unwrap();
            let (original, reply, found) = only();
            assert_eq!(original, tuple(near, far, 17));
            assert_eq!(reply, tuple(reply_from, reply_to, 17));
            assert_eq!(Status(found.0 & (source | destination).0), status, "{near}");
            Maker::open().unwrap().flush().unwrap();
        }
    });
}

#[test]
fn translations_made_over_netlink_are_read() {
    in_tracked_namespace(|| {
        let connection = tuple("10.0.0.1:1000", "10.0.0.2:80", 6);
        Maker::open()
            .unwrap()
            .create([Entry {
                source_nat: Some(("192.0.2.1".parse().unwrap(), 2000)),
                destination_nat: Some(("192.0.2.2".parse().unwrap(), 8080)),
                ..Entry::new(connection)
            }])
            .unwrap();
        let (original, reply, found) = only();
        assert_eq!(original, connection);
        assert_eq!(reply, tuple("192.0.2.2:8080", "192.0.2.1:2000", 6));
        assert!(found.contains(Status::SRC_NAT | Status::DST_NAT));
    });
}
