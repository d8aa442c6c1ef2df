//! What a run leaves in its state file, and what the next one makes of it.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::EndReason::{EndDetected, Idle};
use flow_table::*;
use support::*;

fn flow(port: u16, start_ms: u64, packets: u64) -> Observation {
    seen(
        udp(port),
        Some(wall(start_ms)),
        [packets, packets * 100, 0, 0],
    )
}

#[test]
fn a_connection_goes_on_from_what_the_former_run_exported() {
    let mut table = FlowTable::new(config());
    poll(&mut table, 0, 1_000, &[flow(1, 500, 10)]);
    assert_eq!(
        brief(&export(&mut table, 16_000)),
        [(1, Idle, [10, 1_000, 0, 0])]
    );
    poll(&mut table, 0, 17_000, &[flow(1, 500, 12)]);
    let (file, seen_until) = save(&mut table);
    let mut table = restarted(config(), &file, seen_until, 50_000);
    poll(&mut table, 0, 51_000, &[flow(1, 500, 15)]);
    poll(&mut table, 0, 52_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 52_000)),
        [(1, EndDetected, [5, 500, 0, 0])]
    );
}

#[test]
fn what_began_between_the_last_poll_and_the_writing_is_exported_whole() {
    let mut table = FlowTable::new(config());
    poll(&mut table, 0, 1_000, &[]);
    // It begins at 3 s, the file is written at 4 s, and then the agent dies.
    let (file, seen_until) = save(&mut table);
    assert_eq!(seen_until, at(1_000));
    let mut table = restarted(config(), &file, seen_until, 50_000);
    // And one that the file would know if it had been there.
    poll(
        &mut table,
        0,
        51_000,
        &[flow(1, 3_000, 5_000), flow(2, 900, 7)],
    );
    poll(&mut table, 0, 52_000, &[]);
    let mut records = brief(&export(&mut table, 52_000));
    records.sort_by_key(|record| record.0);
    assert_eq!(
        records,
        [
            (1, EndDetected, [5_000, 500_000, 0, 0]),
            (2, EndDetected, [0, 0, 0, 0])
        ]
    );
}

#[test]
fn what_was_seen_is_the_earliest_beginning_of_the_scopes_last_complete_polls() {
    let mut table = FlowTable::new(config());
    assert_eq!(table.seen_until(), None);
    poll(&mut table, 0, 1_000, &[]);
    let second = table.begin_poll(Scope(1), at(2_000));
    assert_eq!(
        table.seen_until(),
        None,
        "the second scope has not been seen"
    );
    table.end_poll(second, true, at(2_500));
    assert_eq!(table.seen_until(), Some(at(1_000)));
    poll(&mut table, 0, 3_000, &[]);
    assert_eq!(table.seen_until(), Some(at(2_000)));
    let third = table.begin_poll(Scope(1), at(4_000));
    table.end_poll(third, false, at(4_500));
    assert_eq!(table.seen_until(), Some(at(2_000)));
}

#[test]
fn a_new_event_takes_no_other_incarnations_entry() {
    let events = Config {
        events: true,
        ..config()
    };
    let mut table = FlowTable::new(events.clone());
    poll(&mut table, 0, 500, &[flow(1, 100, 1_000)]);
    export(&mut table, 600);
    let (file, seen_until) = save(&mut table);
    let mut table = restarted(events, &file, seen_until, 1_000);
    // The same tuple and id, created after this start.
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(2_000));
    let destroy = destroy_event(udp(1), 7, 2_000, 5_000, [50, 5_000, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(5_000));
    assert_eq!(
        brief(&export(&mut table, 5_000)),
        [(1, EndDetected, [50, 5_000, 0, 0])]
    );
}

#[test]
fn what_was_counted_as_refused_is_not_counted_by_the_next_run() {
    let small = Config {
        max_connections: 1,
        initial_delta: InitialDelta::Total,
        ..config()
    };
    let mut table = FlowTable::new(small.clone());
    poll(&mut table, 0, 1_000, &[flow(1, 500, 1), flow(2, 500, 10)]);
    assert_eq!(lost(&table, Loss::Refused), [1, 10, 1_000]);
    let (file, seen_until) = save(&mut table);
    let mut table = restarted(small, &file, seen_until, 2_000);
    poll(&mut table, 0, 3_000, &[flow(2, 500, 12)]);
    poll(&mut table, 0, 4_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 4_000)),
        [(2, EndDetected, [2, 200, 0, 0])]
    );
}

#[test]
fn an_entry_that_the_first_poll_misses_is_met_by_the_second_one() {
    let mut table = FlowTable::new(config());
    poll(&mut table, 0, 1_000, &[flow(1, 500, 10)]);
    export(&mut table, 16_000);
    let (file, seen_until) = save(&mut table);
    let mut table = restarted(config(), &file, seen_until, 20_000);
    poll(&mut table, 0, 21_000, &[]);
    table.end_import();
    settle_down(&mut table, 21_000);
    poll(&mut table, 0, 22_000, &[flow(1, 500, 13)]);
    poll(&mut table, 0, 23_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 23_000)),
        [(1, EndDetected, [3, 300, 0, 0])]
    );
}

#[test]
fn entries_that_meet_no_connection_are_dropped_after_two_polls() {
    let mut table = FlowTable::new(config());
    let flows: Vec<Observation> = (0..1_000).map(|port| flow(port, 500, 10)).collect();
    poll(&mut table, 0, 1_000, &flows);
    let (file, seen_until) = save(&mut table);
    assert_eq!(file.len(), 1_000);
    let mut table = restarted(config(), &file, seen_until, 20_000);
    assert_eq!(table.stats().remembered, 1_000);
    poll(&mut table, 0, 21_000, &[]);
    table.end_import();
    settle_down(&mut table, 21_000);
    assert_eq!(table.stats().remembered, 1_000);
    poll(&mut table, 0, 22_000, &[]);
    assert_eq!(table.stats().remembered, 0);
}
