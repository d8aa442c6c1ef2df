//! Passes over all slots, in slices, miss nobody, whatever happens to the table between them. Ranges of slots are tiny here,
//! so that connections move.
#![allow(unreachable_pub, reason = "the support is of the test binaries")]

#[path = "../../tests/support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use flow_table::*;
use proptest::prelude::*;

use self::support::{at, config, export, seen, settle_down, udp, udp6};

/// A table whose connections have their number as their name; every third is IPv6.
struct Named {
    table: FlowTable,
    live: BTreeSet<u16>,
    ms: u64,
}

impl Named {
    fn new() -> Self {
        Self {
            table: FlowTable::new(config()),
            live: BTreeSet::new(),
            ms: 1_000,
        }
    }

    /// The kernel holds these and no others: what is gone is exported and leaves, and the rest moves down.
    fn becomes(&mut self, live: BTreeSet<u16>) {
        self.live = live;
        // The first poll misses what is gone, and the second one is sure of it.
        self.poll();
        export(&mut self.table, self.ms);
        self.poll();
        let stats = self.table.stats();
        assert_eq!((stats.connections, stats.remembered), (self.live.len(), 0));
    }

    fn poll(&mut self) {
        self.ms += 1_000;
        let observations: Vec<_> = self
            .live
            .iter()
            .map(|&number| {
                let tuple = match number % 3 {
                    0 => udp6(number),
                    _ => udp(number),
                };
                seen(tuple, Some(1), [1, 1, 0, 0])
            })
            .collect();
        let mut naming = |seen: &Observation| Some(NamesId(u32::from(seen.original.source_port)));
        let poll = self.table.begin_poll(Scope(0), at(self.ms));
        self.table
            .observe(poll, &observations, &mut naming, at(self.ms));
        self.table.end_poll(poll, true, at(self.ms));
        settle_down(&mut self.table, self.ms);
    }

    fn slice(&self, cursor: &mut NamesCursor, slots: u32, told: &mut BTreeSet<u32>) -> Progress {
        self.table.names_in_use(cursor, slots, |names| {
            told.insert(names.0);
        })
    }
}

#[test]
fn a_connection_that_moves_down_during_a_pass_is_told_all_the_same() {
    let mut moved = 0;
    for slices in 0..20 {
        let mut named = Named::new();
        named.becomes((1..=40).collect());
        let before = named.table.store.end();
        let (mut cursor, mut told) = (NamesCursor::default(), BTreeSet::new());
        for _ in 0..slices {
            named.slice(&mut cursor, 3, &mut told);
        }
        named.becomes((31..=40).collect());
        moved += usize::from(named.table.store.end() < before);
        while named.slice(&mut cursor, 3, &mut told) == Progress::More {}
        let left: BTreeSet<u32> = (31..=40).collect();
        assert!(told.is_superset(&left), "after {slices} slices: {told:?}");
    }
    assert_eq!(moved, 20, "the connections have moved each time");
}

#[test]
fn a_connection_that_moves_down_during_a_state_export_is_handed_out_all_the_same() {
    let mut moved = 0;
    for slices in 0..20 {
        let mut named = Named::new();
        named.becomes((1..=40).collect());
        let before = named.table.store.end();
        let (mut cursor, mut told) = (StateCursor::default(), BTreeSet::new());
        let slice = |table: &mut FlowTable, cursor: &mut StateCursor, told: &mut BTreeSet<u16>| {
            table.export_state(cursor, 1, |entry| {
                told.insert(entry.original.source_port);
            })
        };
        for _ in 0..slices {
            slice(&mut named.table, &mut cursor, &mut told);
        }
        named.becomes((31..=40).collect());
        moved += usize::from(named.table.store.end() < before);
        while slice(&mut named.table, &mut cursor, &mut told) == Progress::More {}
        assert!(
            told.is_superset(&(31..=40).collect()),
            "after {slices} slices: {told:?}"
        );
    }
    assert_eq!(moved, 20, "the connections have moved each time");
}

#[test]
fn a_pass_tells_no_names_that_nobody_holds() {
    let mut named = Named::new();
    named.becomes((1..=40).collect());
    named.becomes([2, 3, 39].into());
    let (mut cursor, mut told) = (NamesCursor::default(), BTreeSet::new());
    assert_eq!(
        named.slice(&mut cursor, u32::MAX, &mut told),
        Progress::Done
    );
    assert_eq!(told, [2, 3, 39].into());
}

#[test]
fn a_renamed_connection_tells_its_new_name_and_what_names_depend_on() {
    let mut named = Named::new();
    let mut seen = seen(udp(1), Some(7), [1, 1, 0, 0]);
    seen.mark = 5;
    seen.labels[3] = 9;
    seen.reply.source = [203, 0, 113, 9].into();
    let other = self::support::seen(udp6(2), None, [1, 1, 0, 0]);
    let poll = named.table.begin_poll(Scope(0), at(1_000));
    let mut admission = |_: &Observation| Some(NamesId(1));
    named
        .table
        .observe(poll, &[seen.clone(), other], &mut admission, at(1_000));
    named.table.end_poll(poll, true, at(1_000));
    let mut offered = Vec::new();
    let progress = named
        .table
        .rename(&mut NamesCursor::default(), u32::MAX, |it| {
            offered.push(*it);
            (it.mark == 5).then_some(NamesId(2))
        });
    assert_eq!((progress, offered.len()), (Progress::Done, 2));
    assert!(offered.contains(&flow_table::Named {
        original: seen.original,
        reply: seen.reply,
        mark: 5,
        labels: seen.labels,
        start_ns: 7,
        names: NamesId(1),
    }));
    let mut names = BTreeSet::new();
    named.slice(&mut NamesCursor::default(), u32::MAX, &mut names);
    assert_eq!(names, [1, 2].into());
    assert!(
        offered
            .iter()
            .any(|it| it.reply == it.original.inverse() && it.labels == [0; 16])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whoever_is_there_from_the_first_slice_to_the_last_is_told(
        before in prop::collection::btree_set(1..60_u16, 0..60),
        steps in prop::collection::vec((prop::collection::btree_set(1..60_u16, 0..60), 0..4_usize, 1..9_u32), 0..12),
    ) {
        let mut named = Named::new();
        named.becomes(before);
        let mut throughout = named.live.clone();
        let (mut cursor, mut told) = (NamesCursor::default(), BTreeSet::new());
        let mut progress = Progress::More;
        for (live, slices, slots) in steps {
            for _ in 0..slices {
                if progress == Progress::More {
                    progress = named.slice(&mut cursor, slots, &mut told);
                }
            }
            if progress == Progress::Done {
                break;
            }
            throughout.retain(|number| live.contains(number));
            named.becomes(live);
        }
        while progress == Progress::More {
            progress = named.slice(&mut cursor, 5, &mut told);
        }
        for number in throughout {
            prop_assert!(told.contains(&u32::from(number)), "{number} is missing from {told:?}");
        }
    }

    /// Whoever is there throughout has its new name afterwards, and nobody another's.
    #[test]
    fn whoever_is_there_from_the_first_slice_to_the_last_is_renamed(
        before in prop::collection::btree_set(1..60_u16, 0..60),
        steps in prop::collection::vec((prop::collection::btree_set(1..60_u16, 0..60), 0..4_usize, 1..9_u32), 0..12),
    ) {
        let mut named = Named::new();
        named.becomes(before);
        let mut throughout = named.live.clone();
        let mut cursor = NamesCursor::default();
        let mut progress = Progress::More;
        let mut wrong = None;
        let mut slice = |table: &mut FlowTable, cursor: &mut NamesCursor, slots| {
            table.rename(cursor, slots, |it| {
                let number = u32::from(it.original.source_port);
                if ![number, number + 1_000].contains(&it.names.0) {
                    wrong = Some(*it);
                }
                Some(NamesId(number + 1_000))
            })
        };
        for (live, slices, slots) in steps {
            for _ in 0..slices {
                if progress == Progress::More {
                    progress = slice(&mut named.table, &mut cursor, slots);
                }
            }
            if progress == Progress::Done {
                break;
            }
            throughout.retain(|number| live.contains(number));
            named.becomes(live);
        }
        while progress == Progress::More {
            progress = slice(&mut named.table, &mut cursor, 5);
        }
        prop_assert_eq!(wrong, None);
        let mut told = BTreeSet::new();
        named.slice(&mut NamesCursor::default(), u32::MAX, &mut told);
        for number in throughout {
            prop_assert!(told.contains(&(u32::from(number) + 1_000)), "{} is missing from {:?}", number, told);
        }
    }
}
