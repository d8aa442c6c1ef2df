//! Writes the golden messages of `tests/data`: makes one connection of each kind in a network namespace of its own and
//! saves what the kernel says of it, one message a file without its netlink header.
//!
//! `unshare -Urn cargo run -p netfilter --example capture -- DIRECTORY` (needs `nft`). Ids, ports chosen by the system and
//! times differ from run to run: `tests/golden.rs` has to follow.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a preparation that fails ends the program"
)]

use std::fs;
use std::path::PathBuf;

use netfilter::nflog::{NflogOptions, NflogSocket};
use netfilter::testing::{self, Entry, Maker, RawMessage, Zone, address, tuple};
use netfilter::{EventGroups, EventOptions, EventSocket, ProtocolState, Tuple, sysctl};

/// Where the files go, and the entries that earlier files hold already.
struct Capture {
    directory: PathBuf,
    maker: Maker,
}

impl Capture {
    fn save(&self, name: &str, message: &RawMessage) {
        let path = self.directory.join(name).with_extension("bin");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &message.payload).unwrap();
        println!("{} ({} octets)", path.display(), message.payload.len());
    }

    /// Saves the one entry that `make` leaves in the table, and empties the table.
    fn entry(&mut self, name: &str, make: impl FnOnce(&mut Maker)) {
        self.maker.flush().unwrap();
        make(&mut self.maker);
        let messages = testing::raw_dump();
        assert_eq!(messages.len(), 1, "{name}");
        self.save(name, &messages[0]);
        self.maker.flush().unwrap();
    }

    fn made(&mut self, name: &str, entry: Entry) {
        self.entry(name, |maker| maker.create([entry]).unwrap());
    }
}

fn main() {
    let directory = std::env::args().nth(1).expect("usage: capture DIRECTORY");
    netfilter::tracking::loopback_up().unwrap();
    testing::track();
    let mut capture = Capture {
        directory: directory.into(),
        maker: Maker::open().unwrap(),
    };
    by_traffic(&mut capture);
    by_netlink(&mut capture);
    whole(&mut capture);
    translated(&mut capture);
    events(&mut capture);
    logged(&mut capture);
}

fn by_traffic(capture: &mut Capture) {
    capture.entry("connection/tcp-v4-time-wait", |_| {
        testing::tcp_exchange(address("127.0.0.1:4739"), 5000, 0);
    });
    capture.entry("connection/tcp-v6-time-wait", |_| {
        testing::tcp_exchange(address("[::1]:4739"), 5000, 0);
    });
    capture.entry("connection/udp-v4", |_| {
        testing::udp_exchange(
            address("127.0.0.1:40001"),
            address("127.0.0.1:53"),
            30,
            Some(60),
        );
    });
    capture.entry("connection/udp-v6-unreplied", |_| {
        testing::udp_exchange(address("[::1]:40002"), address("[::1]:53"), 30, None);
    });
    capture.entry("connection/icmp-v4-echo", |_| {
        testing::icmp_echo([127, 0, 0, 1].into(), 0x1234);
    });
    capture.entry("connection/icmp-v6-echo", |_| {
        testing::icmp_echo(std::net::Ipv6Addr::LOCALHOST.into(), 0x5678);
    });
    capture.entry("connection/unknown-protocol-253", |_| {
        testing::send_ip([127, 0, 0, 1].into(), 253, &[1; 12]);
    });
    sysctl::write("netfilter/nf_conntrack_acct", 0).unwrap();
    sysctl::write("netfilter/nf_conntrack_timestamp", 0).unwrap();
    capture.entry("connection/udp-v4-uncounted", |_| {
        testing::udp_exchange(
            address("127.0.0.1:40003"),
            address("127.0.0.1:53"),
            30,
            None,
        );
    });
    testing::track();
}

fn by_netlink(capture: &mut Capture) {
    let udp = tuple("10.0.0.1:1000", "10.0.0.2:2000", 17);
    let ftp = tuple("10.0.0.1:40000", "10.0.0.2:21", 6);
    let tcp = tuple("[2001:db8::1]:40000", "[2001:db8::2]:443", 6);
    capture.made(
        "connection/udplite-v6",
        Entry::new(Tuple {
            protocol: 136,
            ..tcp
        }),
    );
    capture.made(
        "connection/sctp-v4-established",
        Entry::new(Tuple {
            protocol: 132,
            ..udp
        }),
    );
    capture.made(
        "connection/gre-v4-keys",
        Entry::new(Tuple {
            protocol: 47,
            ..udp
        }),
    );
    capture.made(
        "connection/zone-shared",
        Entry {
            zone: Zone::Shared(7),
            ..Entry::new(udp)
        },
    );
    capture.made(
        "connection/zone-original",
        Entry {
            zone: Zone::Original(7),
            ..Entry::new(udp)
        },
    );
    capture.made(
        "connection/zone-reply",
        Entry {
            zone: Zone::Reply(7),
            ..Entry::new(udp)
        },
    );
    capture.made(
        "connection/tcp-v6-syn-sent-mark-labels",
        Entry {
            mark: 0xdead_beef,
            labels: Some([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
            protocol_state: ProtocolState::Tcp(1),
            timeout: 119,
            ..Entry::new(tcp)
        },
    );
    capture.made(
        "connection/helper-ftp",
        Entry {
            helper: Some("ftp"),
            ..Entry::new(ftp)
        },
    );
    // The master stays in the table while its file is made: the entry under test is the other one.
    capture.maker.create([Entry::new(ftp)]).unwrap();
    let data = Entry {
        master: Some(ftp),
        ..Entry::new(tuple("10.0.0.1:40001", "10.0.0.2:50000", 6))
    };
    capture.maker.create([data]).unwrap();
    let messages = testing::raw_dump();
    let expected = messages.iter().max_by_key(|message| message.payload.len());
    capture.save("connection/master-of-ftp-data", expected.unwrap());
    capture.maker.flush().unwrap();
}

/// The answer to a request for counts, and datagrams with their netlink headers.
fn whole(capture: &mut Capture) {
    let entries =
        (0..3).map(|port| Entry::new(tuple(&format!("10.0.0.1:{port}"), "10.0.0.2:53", 17)));
    capture.maker.create(entries).unwrap();
    capture.save("counts/three-entries", &testing::raw_counts());
    for (datagram, number) in testing::raw_datagrams().into_iter().zip(1..) {
        let message = RawMessage {
            kind: 0,
            flags: 0,
            payload: datagram,
        };
        capture.save(&format!("datagram/dump-of-three-{number}"), &message);
    }
    capture.maker.flush().unwrap();
}

fn translated(capture: &mut Capture) {
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
            }
        }",
    );
    for (name, client, server) in [
        (
            "connection/nat-destination-v4",
            "127.0.0.1:40010",
            "127.0.0.2:5300",
        ),
        (
            "connection/nat-both-v4",
            "127.0.0.1:40011",
            "127.0.0.4:5301",
        ),
        (
            "connection/nat-source-v4",
            "127.0.0.1:40012",
            "127.0.0.6:5302",
        ),
        ("connection/nat-redirect-v6", "[::1]:40013", "[::1]:5302"),
    ] {
        capture.entry(name, |_| {
            let near = std::net::UdpSocket::bind(client).unwrap();
            near.send_to(&[0; 20], server).unwrap();
        });
    }
}

fn events(capture: &mut Capture) {
    let groups = EventGroups::ALL;
    let mut listener = EventSocket::open(EventOptions {
        groups,
        ..EventOptions::default()
    })
    .unwrap();
    let entry = Entry {
        mark: 3,
        zone: Zone::Shared(65520),
        ..Entry::new(tuple("10.0.0.1:40000", "10.0.0.2:80", 6))
    };
    capture.maker.create([entry.clone()]).unwrap();
    let closing = Entry {
        protocol_state: ProtocolState::Tcp(7),
        mark: 4,
        ..entry.clone()
    };
    capture.maker.update([closing]).unwrap();
    capture.maker.delete([entry]).unwrap();
    let messages = testing::raw_events(&mut listener);
    for (message, name) in messages.iter().zip([
        "connection/event-new",
        "connection/event-update",
        "connection/event-destroy",
    ]) {
        println!("type {:#x} flags {:#x}", message.kind, message.flags);
        capture.save(name, message);
    }
    assert_eq!(messages.len(), 3);
    testing::udp_exchange(
        address("127.0.0.1:40020"),
        address("127.0.0.1:53"),
        30,
        Some(60),
    );
    capture.maker.flush().unwrap();
    let messages = testing::raw_events(&mut listener);
    capture.save("connection/event-destroy-counted", messages.last().unwrap());
}

fn logged(capture: &mut Capture) {
    testing::nft(
        "table inet deny {
            chain out { type filter hook output priority 10;
            udp dport 9999 meta mark set 0x2a log prefix \"denied: \" group 5 drop
            tcp dport 9998 log prefix \"denied tcp\" group 5 reject with tcp reset
            }
        }",
    );
    let mut log = NflogSocket::open(NflogOptions::new(5)).unwrap();
    let near = std::net::UdpSocket::bind("127.0.0.1:40030").unwrap();
    // The rule drops it: the system says so to the sender.
    let _ = near.send_to(&[0; 20], "127.0.0.1:9999");
    let _ = std::net::TcpStream::connect("[::1]:9998");
    let messages: Vec<_> = testing::raw_packets(&mut log);
    let packets: Vec<_> = messages
        .iter()
        .filter(|message| message.kind == 4 << 8)
        .collect();
    capture.save("nflog/udp-v4-denied", packets[0]);
    capture.save("nflog/tcp-v6-rejected", packets[1]);
}
