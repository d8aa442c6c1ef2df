//! Lookups of single connections on a running kernel.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use netfilter::testing::{
    self, Entry, Maker, Zone, address, in_namespace, in_tracked_namespace, numbered, tuple,
};
use netfilter::{ConntrackSocket, Query, Tuple};

/// The marks of what is found, in the order of the queries.
fn marks(queries: &[Query]) -> Vec<Option<u32>> {
    let mut found = Vec::new();
    ConntrackSocket::open()
        .unwrap()
        .lookup(queries, |index, connection| {
            assert_eq!(index, found.len());
            found.push(connection.unwrap().map(|connection| connection.mark));
        })
        .unwrap();
    found
}

#[test]
fn a_thousand_queries_are_answered_in_order_whether_found_or_not() {
    in_namespace(|| {
        let connection = |port: u16| Tuple {
            source_port: port,
            ..tuple("10.0.0.1:1", "10.0.0.2:53", 17)
        };
        let odd = (1..=1000).step_by(2).map(|port| Entry {
            mark: port.into(),
            ..Entry::new(connection(port))
        });
        Maker::open().unwrap().create(odd).unwrap();
        let queries: Vec<Query> = (1..=1000)
            .map(|port| Query {
                tuple: connection(port),
                zone: 0,
            })
            .collect();
        let expected: Vec<_> = (1..=1000)
            .map(|port| (port % 2 == 1).then_some(port))
            .collect();
        assert_eq!(marks(&queries), expected);
        assert_eq!(marks(&[]), []);
    });
}

#[test]
fn every_kind_of_tuple_is_found_by_what_a_dump_said_of_it() {
    in_namespace(|| {
        let echo = |address: &str, protocol, kind: u16| {
            let address = address.parse().unwrap();
            Tuple::new(address, address, protocol, 77, kind << 8)
        };
        let tuples = [
            tuple("10.0.0.1:1000", "10.0.0.2:80", 6),
            tuple("[2001:db8::1]:1000", "[2001:db8::2]:80", 6),
            tuple("10.0.0.1:1000", "10.0.0.2:80", 17),
            tuple("10.0.0.1:1000", "10.0.0.2:80", 132),
            tuple("10.0.0.1:1000", "10.0.0.2:80", 136),
            tuple("10.0.0.1:1000", "10.0.0.2:80", 47),
            tuple("10.0.0.1:0", "10.0.0.2:0", 253),
            echo("127.0.0.1", 1, 8),
            echo("::1", 58, 128),
        ];
        let entries = tuples.iter().zip(1..).map(|(tuple, mark)| Entry {
            mark,
            ..Entry::new(*tuple)
        });
        Maker::open().unwrap().create(entries).unwrap();
        let (dumped, _) = testing::dump(&netfilter::Filter::default(), |entry| {
            let zone = entry.original_zone();
            (
                Query {
                    tuple: entry.original,
                    zone,
                },
                Some(entry.mark),
            )
        });
        assert_eq!(dumped.len(), tuples.len());
        let (queries, expected): (Vec<_>, Vec<_>) = dumped.into_iter().unzip();
        assert_eq!(marks(&queries), expected);
    });
}

#[test]
fn the_zone_of_the_original_direction_tells_equal_tuples_apart() {
    in_namespace(|| {
        let connection = tuple("10.0.0.1:1000", "10.0.0.2:80", 17);
        let zones = [Zone::None, Zone::Shared(1), Zone::Original(2)];
        let entries = zones.into_iter().zip(10..).map(|(zone, mark)| Entry {
            zone,
            mark,
            ..Entry::new(connection)
        });
        // A zone on the original side only: its reply lies in zone 0, where the first entry's is too.
        let mut maker = Maker::open().unwrap();
        for entry in entries {
            let reply = Tuple {
                source_port: 8000 + entry.mark as u16,
                ..entry.reply
            };
            maker.create([Entry { reply, ..entry }]).unwrap();
        }
        let queries = [0, 1, 2, 3].map(|zone| Query {
            tuple: connection,
            zone,
        });
        assert_eq!(marks(&queries), [Some(10), Some(11), Some(12), None]);
    });
}

#[test]
fn a_zone_on_the_reply_side_alone_is_looked_up_in_zone_zero() {
    in_namespace(|| {
        let connection = tuple("10.0.0.1:1000", "10.0.0.2:80", 17);
        Maker::open()
            .unwrap()
            .create([Entry {
                zone: Zone::Reply(5),
                mark: 1,
                ..Entry::new(connection)
            }])
            .unwrap();
        assert_eq!(
            marks(&[0, 5].map(|zone| Query {
                tuple: connection,
                zone
            })),
            [Some(1), None]
        );
    });
}

#[test]
fn a_reply_tuple_does_not_name_its_connection() {
    in_namespace(|| {
        let connection = tuple("10.0.0.1:1000", "10.0.0.2:80", 17);
        Maker::open()
            .unwrap()
            .create([Entry::new(connection)])
            .unwrap();
        let reply = tuple("10.0.0.2:80", "10.0.0.1:1000", 17);
        assert_eq!(
            marks(&[Query {
                tuple: reply,
                zone: 0
            }]),
            [None]
        );
    });
}

#[test]
fn a_query_that_the_kernel_refuses_leaves_its_neighbours_their_answers() {
    in_namespace(|| {
        let there = numbered(1);
        Maker::open().unwrap().create([Entry::new(there)]).unwrap();
        let address = "10.0.0.1".parse().unwrap();
        // No answer belongs to an ICMP message of type 200, so the kernel tracks none: EINVAL.
        let impossible = Tuple::new(address, address, 1, 77, 200 << 8);
        let queries = [there, impossible, numbered(2), there].map(|tuple| Query { tuple, zone: 0 });
        let mut answers = Vec::new();
        let mut socket = ConntrackSocket::open().unwrap();
        socket
            .lookup(&queries, |index, entry| {
                answers.push((index, entry.map(|entry| entry.is_some()).ok()));
            })
            .unwrap();
        let expected = [
            (0, Some(true)),
            (1, None),
            (2, Some(false)),
            (3, Some(true)),
        ];
        assert_eq!(answers, expected);
    });
}

#[test]
fn a_lookup_brings_the_counters_of_this_moment() {
    in_tracked_namespace(|| {
        let (near, far) = ("127.0.0.1:40001", "127.0.0.1:53");
        let mut socket = ConntrackSocket::open().unwrap();
        let query = Query {
            tuple: tuple(near, far, 17),
            zone: 0,
        };
        for round in 1..=3u64 {
            testing::udp_exchange(address(near), address(far), 100, Some(10));
            let mut octets = None;
            let found = |_, entry: Result<Option<&netfilter::Connection<'_>>, _>| {
                octets = entry
                    .unwrap()
                    .and_then(|entry| entry.original_counters)
                    .map(|counters| counters.octets);
            };
            socket.lookup(&[query], found).unwrap();
            assert_eq!(octets, Some(128 * round));
        }
    });
}
