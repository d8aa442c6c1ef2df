//! Filters on a running kernel: what is asked for is what comes, and the kernel itself leaves the rest out.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::collections::BTreeSet;

use netfilter::testing::{Entry, Maker, Zone, dump, in_tracked_namespace, tuple};
use netfilter::{Connection, Family, Filter, Masked, ProtocolState, Status, Tuple, TupleFilter};

/// Sixteen entries that differ in everything a filter can ask for; their source ports name them.
fn table() -> Vec<Entry> {
    let mut entries = Vec::new();
    for zone in [
        Zone::None,
        Zone::Shared(7),
        Zone::Original(7),
        Zone::Reply(7),
    ] {
        for (source, destination, protocol) in [
            ("10.0.0.1", "10.0.0.2:80", 6),
            ("[2001:db8::1]", "[2001:db8::2]:53", 17),
        ] {
            for mark in [0x10, 0x21] {
                let number = 1000 + entries.len();
                let assured = if mark == 0x21 { Status::ASSURED.0 } else { 0 };
                entries.push(Entry {
                    zone,
                    mark,
                    status: Status(Status::SEEN_REPLY.0 | assured),
                    protocol_state: if protocol == 6 {
                        ProtocolState::Tcp(3)
                    } else {
                        ProtocolState::None
                    },
                    ..Entry::new(tuple(&format!("{source}:{number}"), destination, protocol))
                });
            }
        }
    }
    entries
}

fn numbers(filter: &Filter) -> BTreeSet<u16> {
    let (numbers, unwanted) = numbers_and_unwanted(filter);
    assert_eq!(unwanted, 0, "this kernel applies {filter:?} itself");
    numbers
}

/// The entries that came, and how many the kernel sent in vain.
fn numbers_and_unwanted(filter: &Filter) -> (BTreeSet<u16>, u64) {
    let (numbers, outcome) = dump(filter, |entry| entry.original.source_port);
    assert!(outcome.complete);
    assert_eq!(numbers.len(), numbers.iter().collect::<BTreeSet<_>>().len());
    (numbers.into_iter().collect(), outcome.unwanted)
}

fn all() -> Filter {
    Filter::default()
}

#[test]
fn each_filter_brings_exactly_the_entries_that_it_names() {
    in_tracked_namespace(|| {
        Maker::open().unwrap().create(table()).unwrap();
        let masked = |value, mask| Some(Masked { value, mask });
        let (zones, families, marks): (Vec<u16>, Vec<u16>, Vec<u16>) = (
            (1004..1016).collect(),
            [1000, 1001, 1004, 1005, 1008, 1009, 1012, 1013].into(),
            (1001..1016).step_by(2).collect(),
        );
        for (filter, expected) in [
            (all(), (1000..1016).collect()),
            (
                Filter {
                    zone: Some(7),
                    ..all()
                },
                zones,
            ),
            (
                Filter {
                    zone: Some(0),
                    ..all()
                },
                (1000..1004).collect(),
            ),
            (
                Filter {
                    zone: Some(8),
                    ..all()
                },
                vec![],
            ),
            (
                Filter {
                    family: Some(Family::Ipv4),
                    ..all()
                },
                families,
            ),
            (
                Filter {
                    mark: masked(0x20, 0x20),
                    ..all()
                },
                marks.clone(),
            ),
            (
                Filter {
                    mark: masked(0x21, 0xffff_ffff),
                    ..all()
                },
                marks.clone(),
            ),
            (
                Filter {
                    mark: masked(0x30, 0x20),
                    ..all()
                },
                vec![],
            ),
            (
                Filter {
                    status: masked(Status::ASSURED.0, Status::ASSURED.0),
                    ..all()
                },
                marks,
            ),
            (
                Filter {
                    zone: Some(7),
                    family: Some(Family::Ipv6),
                    mark: masked(1, 1),
                    ..all()
                },
                vec![1007, 1011, 1015],
            ),
        ] {
            assert_eq!(
                numbers(&filter),
                expected.into_iter().collect(),
                "{filter:?}"
            );
        }
    });
}

#[test]
fn a_status_bit_can_be_asked_to_be_unset_although_the_kernel_cannot() {
    in_tracked_namespace(|| {
        Maker::open().unwrap().create(table()).unwrap();
        let status = Some(Masked {
            value: 0,
            mask: Status::ASSURED.0,
        });
        let (numbers, outcome) = dump(&Filter { status, ..all() }, |entry| {
            entry.original.source_port
        });
        assert_eq!(
            numbers.into_iter().collect::<BTreeSet<_>>(),
            (1000..1016).step_by(2).collect()
        );
        assert_eq!(outcome.unwanted, 8);
    });
}

#[test]
fn a_tuple_is_filtered_by_each_of_its_parts() {
    in_tracked_namespace(|| {
        Maker::open().unwrap().create(table()).unwrap();
        let part = TupleFilter::default();
        let v6 = "2001:db8::1".parse().unwrap();
        for (tuple, count) in [
            (
                TupleFilter {
                    source: Some(v6),
                    ..part
                },
                8,
            ),
            (
                TupleFilter {
                    destination: Some("10.0.0.2".parse().unwrap()),
                    ..part
                },
                8,
            ),
            (
                TupleFilter {
                    protocol: Some(6),
                    ..part
                },
                8,
            ),
            (
                TupleFilter {
                    protocol: Some(17),
                    destination_port: Some(53),
                    ..part
                },
                8,
            ),
            (
                TupleFilter {
                    protocol: Some(17),
                    source_port: Some(1002),
                    ..part
                },
                1,
            ),
            (
                TupleFilter {
                    protocol: Some(6),
                    source_port: Some(1002),
                    ..part
                },
                0,
            ),
            (
                TupleFilter {
                    source: Some(v6),
                    protocol: Some(6),
                    ..part
                },
                0,
            ),
            (
                TupleFilter::exactly(&tuple("[2001:db8::1]:1003", "[2001:db8::2]:53", 17)),
                1,
            ),
        ] {
            let (mut found, mut by_family) = (0, 0);
            // With a family the kernel compares protocol and ports itself; without one it sends everything.
            for family in [Some(Family::Ipv4), Some(Family::Ipv6), None] {
                let filter = Filter {
                    tuple: Some(tuple),
                    family,
                    ..all()
                };
                let (numbers, unwanted) = numbers_and_unwanted(&filter);
                match family {
                    None => found += numbers.len(),
                    Some(family) => {
                        let address = tuple.source.or(tuple.destination);
                        let asked = address.is_none_or(|address| Family::of(&address) == family);
                        assert!(!asked || unwanted == 0, "{filter:?}");
                        by_family += numbers.len();
                    }
                }
            }
            assert_eq!((found, by_family), (count, count), "{tuple:?}");
        }
    });
}

#[test]
fn an_echo_is_found_by_identifier_type_and_code() {
    in_tracked_namespace(|| {
        let addresses = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let echo = |identifier| Tuple::new(addresses.0, addresses.1, 1, identifier, 0x0800);
        Maker::open()
            .unwrap()
            .create([1, 2, 3].map(|identifier| Entry::new(echo(identifier))))
            .unwrap();
        let filter = Filter {
            tuple: Some(TupleFilter::exactly(&echo(2))),
            ..all()
        };
        assert_eq!(numbers(&filter), [2].into());
    });
}

#[test]
fn what_the_kernel_filters_is_what_the_check_of_every_entry_would_leave() {
    in_tracked_namespace(|| {
        Maker::open().unwrap().create(table()).unwrap();
        for zone in [None, Some(0), Some(7)] {
            for mark in [
                None,
                Some(Masked {
                    value: 0x20,
                    mask: 0x30,
                }),
            ] {
                for family in [None, Some(Family::Ipv6)] {
                    let filter = Filter {
                        zone,
                        mark,
                        family,
                        ..all()
                    };
                    let matches = |entry: &Connection<'_>| {
                        filter.matches(entry).then_some(entry.original.source_port)
                    };
                    let (checked, _) = dump(&all(), matches);
                    assert_eq!(
                        numbers(&filter),
                        checked.into_iter().flatten().collect(),
                        "{filter:?}"
                    );
                }
            }
        }
    });
}
