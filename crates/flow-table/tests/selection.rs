//! Connections leave a selection by mark while they live, and come back.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::EndReason::{EndDetected, Forced};
use flow_table::*;
use support::*;

fn table(events: bool) -> FlowTable {
    let mut table = FlowTable::new(Config {
        events,
        confirm_absent: true,
        ..config()
    });
    poll(&mut table, 0, 500, &[]);
    table
}

fn flow(start_ns: Option<u64>, packets: u64) -> Observation {
    seen(udp(1), start_ns, [packets, packets * 100, 0, 0])
}

/// Its mark has changed: the filtered dump does not show it, and a lookup does.
fn leaves(table: &mut FlowTable, ms: u64, as_it_is: &Observation) {
    poll(table, 0, ms, &[]);
    let keys = lookups(table, ms);
    assert_eq!(keys.len(), 1);
    table.refreshed(
        &keys[0],
        Answer::LeftSelection(as_it_is),
        &mut everyone,
        at(ms),
    );
}

/// An UPDATE whose mark is selected, and the answer to the lookup that it asks for.
fn comes_by_update(table: &mut FlowTable, ms: u64, as_it_is: &Observation) {
    table.look_again(Scope(0), &new_event(udp(1), 7), at(ms));
    assert_eq!(
        table.stats().live,
        0,
        "an event tells too little to begin with"
    );
    let keys = lookups(table, ms);
    assert_eq!(keys.len(), 1);
    table.refreshed(&keys[0], Answer::Present(as_it_is), &mut everyone, at(ms));
    assert_eq!(table.stats().live, 1);
}

#[test]
fn leaving_the_selection_makes_one_record_with_reason_4() {
    let mut table = FlowTable::new(Config {
        confirm_absent: true,
        ..config()
    });
    let start = Some(wall(4_000));
    poll(
        &mut table,
        0,
        5_000,
        &[
            seen(udp(1), start, [1, 100, 0, 0]),
            seen(udp(2), start, [2, 200, 0, 0]),
        ],
    );
    poll(&mut table, 0, 6_000, &[]);
    assert_eq!(brief(&export(&mut table, 6_000)), []);
    let mut keys = Vec::new();
    table.refresh_due(at(6_000), &mut keys, 10);
    keys.sort_by_key(|key| key.original.source_port);
    assert_eq!(
        keys.iter()
            .map(|key| key.original.source_port)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let moved = seen(udp(1), start, [4, 400, 0, 0]);
    table.refreshed(
        &keys[0],
        Answer::LeftSelection(&moved),
        &mut everyone,
        at(6_100),
    );
    table.refreshed(&keys[1], Answer::Absent, &mut everyone, at(6_100));
    let records = brief(&export(&mut table, 6_100));
    assert_eq!(
        records,
        [
            (1, Forced, [4, 400, 0, 0]),
            (2, EndDetected, [2, 200, 0, 0])
        ]
    );
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn who_left_and_comes_back_by_update_is_exported_once() {
    let mut table = table(true);
    let start = Some(wall(600));
    poll(&mut table, 0, 1_000, &[flow(start, 10)]);
    leaves(&mut table, 2_000, &flow(start, 10));
    assert_eq!(
        brief(&export(&mut table, 2_000)),
        [(1, Forced, [10, 1_000, 0, 0])]
    );
    comes_by_update(&mut table, 3_000, &flow(start, 11));
    let destroy = destroy_event(udp(1), 7, 600, 5_000, [12, 1_200, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(5_000));
    assert_eq!(
        brief(&export(&mut table, 5_000)),
        [(1, EndDetected, [2, 200, 0, 0])]
    );
}

#[test]
fn an_older_connection_that_comes_in_by_update_starts_from_its_totals() {
    let mut table = table(true);
    let older = Some(wall(0) - 3_600_000_000_000);
    comes_by_update(&mut table, 3_000, &flow(older, 1_000_000));
    poll(&mut table, 0, 4_000, &[flow(older, 1_000_003)]);
    let destroy = Observation {
        stop_ns: Some(wall(5_000)),
        ..flow(older, 1_000_005)
    };
    table.destroyed(Scope(0), &destroy, &mut everyone, at(5_000));
    assert_eq!(
        brief(&export(&mut table, 5_000)),
        [(1, EndDetected, [5, 500, 0, 0])]
    );
}

#[test]
fn without_a_mark_filter_an_update_of_an_unknown_connection_asks_for_nothing() {
    let mut table = FlowTable::new(Config {
        events: true,
        ..config()
    });
    table.look_again(Scope(0), &new_event(udp(1), 7), at(1_000));
    assert_eq!(lookups(&mut table, 1_000), []);
}

#[test]
fn lookups_of_unknown_connections_are_bounded_and_those_not_made_are_counted() {
    let mut table = table(true);
    for port in 0..20_000 {
        table.look_again(Scope(0), &new_event(udp(port), 7), at(1_000));
    }
    assert_eq!(table.stats().unasked_total, 20_000 - 16_384);
    assert_eq!(lookups(&mut table, 1_000).len(), 16_384);
}

#[test]
fn an_answer_about_what_was_destroyed_meanwhile_brings_nothing_back() {
    let mut table = table(true);
    table.look_again(Scope(0), &new_event(udp(1), 7), at(1_000));
    let keys = lookups(&mut table, 1_000);
    let destroy = destroy_event(udp(1), 7, 600, 1_100, [3, 300, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(1_100));
    let late = flow(Some(wall(600)), 3);
    table.refreshed(&keys[0], Answer::Present(&late), &mut everyone, at(1_200));
    assert_eq!(
        brief(&export(&mut table, 1_200)),
        [(1, EndDetected, [3, 300, 0, 0])]
    );
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn who_left_and_returns_is_exported_once_with_and_without_timestamps() {
    for start in [None, Some(wall(600))] {
        let mut table = table(false);
        poll(&mut table, 0, 1_000, &[flow(start, 10)]);
        leaves(&mut table, 2_000, &flow(start, 10));
        assert_eq!(
            brief(&export(&mut table, 2_000)),
            [(1, Forced, [10, 1_000, 0, 0])]
        );
        assert_eq!(
            (table.stats().connections, table.stats().remembered),
            (0, 1)
        );
        for ms in [3_000, 4_000, 5_000] {
            poll(&mut table, 0, ms, &[]);
        }
        poll(&mut table, 0, 6_000, &[flow(start, 12)]);
        poll(&mut table, 0, 7_000, &[]);
        let keys = lookups(&mut table, 7_000);
        table.refreshed(&keys[0], Answer::Absent, &mut everyone, at(7_000));
        assert_eq!(
            brief(&export(&mut table, 7_000)),
            [(1, EndDetected, [2, 200, 0, 0])],
            "start {start:?}"
        );
    }
}

#[test]
fn what_grows_while_the_last_record_is_under_way_is_exported_too() {
    let mut table = table(false);
    let start = Some(wall(600));
    poll(&mut table, 0, 1_000, &[flow(start, 10)]);
    // An idle record is under way when it leaves.
    let (records, batch) = take(&mut table, 16_000);
    assert_eq!(records.len(), 1);
    leaves(&mut table, 17_000, &flow(start, 13));
    batch
        .into_iter()
        .for_each(|batch| table.commit(batch, at(17_000)));
    let (records, batch) = take(&mut table, 17_000);
    assert_eq!(brief(&records), [(1, Forced, [3, 300, 0, 0])]);
    // A dump shows it once more, and it leaves again, before that one is settled.
    poll(&mut table, 0, 18_000, &[flow(start, 15)]);
    batch
        .into_iter()
        .for_each(|batch| table.commit(batch, at(18_000)));
    leaves(&mut table, 19_000, &flow(start, 16));
    assert_eq!(
        brief(&export(&mut table, 19_000)),
        [(1, Forced, [3, 300, 0, 0])]
    );
}

#[test]
fn a_record_of_one_that_left_that_waits_for_the_next_poll_tells_no_end() {
    let mut table = table(false);
    let start = Some(wall(600));
    poll(&mut table, 0, 1_000, &[flow(start, 10)]);
    leaves(&mut table, 2_000, &flow(start, 10));
    poll(&mut table, 0, 3_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 3_000)),
        [(1, Forced, [10, 1_000, 0, 0])]
    );
}

#[test]
fn a_new_event_of_one_that_has_left_is_looked_up() {
    let (former, later) = (Some(wall(600)), Some(wall(2_000)));
    let outside = flow(former, 1);
    let successor = flow(later, 4);
    let answers = [
        (Answer::LeftSelection(&outside), vec![]),
        (
            Answer::Present(&successor),
            vec![(1, EndDetected, [4, 400, 0, 0])],
        ),
    ];
    for (answer, told) in answers {
        let mut table = table(true);
        poll(&mut table, 0, 1_000, &[flow(former, 1)]);
        leaves(&mut table, 1_500, &outside);
        assert_eq!(export(&mut table, 1_500).len(), 1);
        // Its own, heard late, or another one's: it has no start.
        table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(2_100));
        let keys = lookups(&mut table, 2_100);
        table.refreshed(&keys[0], answer, &mut everyone, at(2_100));
        let end = destroy_event(udp(1), 7, 2_000, 3_000, [4, 400, 0, 0]);
        if !told.is_empty() {
            table.destroyed(Scope(0), &end, &mut everyone, at(3_000));
        }
        assert_eq!(brief(&export(&mut table, 3_000)), told);
        assert_eq!(table.stats().live, 0);
    }
}
