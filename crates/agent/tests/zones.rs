//! Zones are selected by one rule, the kernel's, whichever way a connection is met.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;

use agent::{Config, Selection, dump};
use netfilter::testing::{Entry, Maker, Zone, in_tracked_namespace, run, tuple};
use support::{Run, config, number, with_events};

/// A UDP connection that its source port names.
fn entry(port: u16, zone: Zone) -> Entry {
    let original = tuple(&format!("192.0.2.1:{port}"), "198.51.100.1:53", 17);
    Entry {
        zone,
        ..Entry::new(original)
    }
}

/// Zone 7 on either side, on both and on none, and another zone likewise.
fn every_combination() -> [Entry; 7] {
    [
        entry(1, Zone::None),
        entry(2, Zone::Original(7)),
        entry(3, Zone::Reply(7)),
        entry(4, Zone::Shared(7)),
        entry(5, Zone::Original(9)),
        entry(6, Zone::Reply(9)),
        entry(7, Zone::Shared(9)),
    ]
}

fn of(zones: &[u16]) -> Selection {
    Selection {
        zones: zones.to_vec(),
        ..Selection::default()
    }
}

/// The source ports of the connections that `conntrack -L` prints with one of these zones, on whatever side; with zone 0:
/// of those printed without any.
fn by_conntrack(zones: &[u16]) -> BTreeSet<u64> {
    let listed = run("conntrack", &["-L"]);
    let lines = listed.lines().filter(|line| line.contains("src="));
    let value = |line: &str, name: &str| {
        let mut words = line.split_whitespace();
        words.find_map(|word| word.strip_prefix(name)?.parse::<u64>().ok())
    };
    lines
        .filter(|line| {
            let zone = ["zone=", "zone-orig=", "zone-reply="]
                .iter()
                .find_map(|name| value(line, name));
            zones
                .iter()
                .any(|&wanted| u64::from(wanted) == zone.unwrap_or(0))
        })
        .map(|line| value(line, "sport=").unwrap())
        .collect()
}

const SELECTIONS: [&[u16]; 7] = [&[0], &[7], &[7, 7], &[0, 7], &[7, 0], &[7, 9], &[0, 5]];

#[test]
fn a_dump_prints_each_connection_of_the_selected_zones_once() {
    in_tracked_namespace(|| {
        Maker::open().unwrap().create(every_combination()).unwrap();
        for zones in SELECTIONS {
            let mut text = Vec::new();
            let dumped = dump(&of(zones), None, &Arc::default(), |part| text.extend(part)).unwrap();
            let ports: Vec<u64> = text
                .split_inclusive(|&octet| octet == b'\n')
                .map(|line| {
                    number(
                        &serde_json::from_slice(line).unwrap(),
                        "sourceTransportPort",
                    )
                })
                .collect();
            assert!(dumped.complete);
            assert_eq!(ports.len() as u64, dumped.connections);
            assert_eq!(
                ports.iter().copied().collect::<BTreeSet<_>>(),
                by_conntrack(zones),
                "{zones:?}"
            );
            assert_eq!(by_conntrack(zones).len(), ports.len(), "{zones:?}");
        }
    });
}

#[test]
fn polls_of_either_plan_take_the_connections_of_the_selected_zones() {
    in_tracked_namespace(|| {
        let mut maker = Maker::open().unwrap();
        for zones in SELECTIONS {
            // Where nearly all are selected one dump for all zones is the cheaper way, later one for each.
            maker.create(every_combination()).unwrap();
            maker
                .create((100..300).map(|port| entry(port, Zone::None)))
                .unwrap();
            let expected = by_conntrack(zones).len();
            let mut run = Run::start(Config {
                selection: of(zones),
                ..config()
            });
            for round in 0..6 {
                if round == 3 {
                    let others = (1000..3000).map(|port| entry(port, Zone::Shared(8)));
                    maker.create(others).unwrap();
                }
                let summary = run.poll();
                let added = if round == 0 { expected } else { 0 };
                assert_eq!(
                    (summary.ipv4, summary.added, summary.ended),
                    (expected as u64, added as u64, 0),
                    "{zones:?}, poll {round}"
                );
            }
            maker.flush().unwrap();
        }
    });
}

#[test]
fn events_bring_the_connections_of_the_selected_zones_and_a_resync_finds_them_again() {
    in_tracked_namespace(|| {
        let mut maker = Maker::open().unwrap();
        for zones in SELECTIONS {
            let mut run = Run::start(Config {
                selection: of(zones),
                ..with_events()
            });
            run.poll();
            maker.create(every_combination()).unwrap();
            let expected = by_conntrack(zones);
            run.export_until(|_, exporter| exporter.stats().table.live == expected.len());
            for _ in 0..2 {
                let summary = run.poll();
                assert_eq!((summary.added, summary.ended), (0, 0), "{zones:?}");
            }
            maker.flush().unwrap();
            let mut ended = BTreeSet::new();
            let mut count = 0;
            run.export_until(|records, _| {
                count = records.len();
                ended = records
                    .iter()
                    .map(|it| number(it, "sourceTransportPort"))
                    .collect();
                count >= expected.len()
            });
            assert_eq!((&ended, count), (&expected, expected.len()), "{zones:?}");
        }
    });
}
