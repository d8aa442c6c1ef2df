//! Refused connections that follow one another on one tuple, with one id: whose counters are whose.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::*;
use support::*;

/// A table with room for one, which it has.
fn full() -> FlowTable {
    let mut table = FlowTable::new(Config {
        events: true,
        max_connections: 1,
        ..config()
    });
    let one = seen(udp(1), Some(wall(500)), [1, 100, 0, 0]);
    poll(&mut table, 0, 1_000, &[one]);
    table
}

/// A refused one, by its start and its packets.
fn two(start_ms: Option<u64>, packets: u64) -> Observation {
    let totals = [packets, packets * 100, 0, 0];
    seen(udp(2), start_ms.map(wall), totals)
}

fn end_of_two(start_ms: Option<u64>, packets: u64) -> Observation {
    let totals = [packets, packets * 100, 0, 0];
    Observation {
        start_ns: start_ms.map(wall),
        ..destroy_event(udp(2), 7, 0, 4_000, totals)
    }
}

#[test]
fn the_end_of_one_known_by_its_new_leaves_the_account_of_its_successor() {
    let mut table = full();
    table.created(Scope(0), &new_event(udp(2), 7), &mut everyone, at(2_000));
    let dump = table.begin_poll(Scope(0), at(3_100));
    table.observe(dump, &[two(Some(3_000), 5)], &mut everyone, at(3_100));
    assert_eq!(lost(&table, Loss::Refused), [2, 5, 500]);
    for (start_ms, packets, all) in [(1_990, 3, [2, 8, 800]), (3_000, 6, [2, 9, 900])] {
        let end = end_of_two(Some(start_ms), packets);
        table.destroyed(Scope(0), &end, &mut everyone, at(4_000));
        assert_eq!(lost(&table, Loss::Refused), all);
    }
    assert_eq!(table.stats().refused_total, 2);
}

#[test]
fn without_start_times_a_late_destroy_leaves_the_account_of_the_successor() {
    let mut table = full();
    let dump = table.begin_poll(Scope(0), at(3_000));
    table.observe(dump, &[two(None, 2)], &mut everyone, at(3_000));
    // What it destroyed had fewer packets than the one that is there.
    let end = end_of_two(None, 1);
    table.destroyed(Scope(0), &end, &mut everyone, at(3_100));
    assert_eq!(lost(&table, Loss::Refused), [2, 3, 300]);
    table.end_poll(dump, false, at(3_200));
    poll(&mut table, 0, 3_300, &[two(None, 2)]);
    assert_eq!(lost(&table, Loss::Refused), [2, 3, 300]);
}

/// Nothing is counted of those that are older than the agent; what follows one of them is not.
#[test]
fn without_start_times_the_successor_of_an_old_one_is_young() {
    let mut table = FlowTable::new(Config {
        max_connections: 1,
        ..config()
    });
    let one = || seen(udp(1), None, [1, 100, 0, 0]);
    for (packets, all) in [(11, [1, 0, 0]), (10, [2, 10, 1_000])] {
        let dump = table.begin_poll(Scope(0), at(1_000));
        table.observe(dump, &[one(), two(None, packets)], &mut everyone, at(1_000));
        assert_eq!(lost(&table, Loss::Refused), all);
    }
}
