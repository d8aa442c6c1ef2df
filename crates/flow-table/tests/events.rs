//! Events: each race rule by hand.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::EndReason::{Active, EndDetected, Idle};
use flow_table::*;
use support::*;

fn table() -> FlowTable {
    FlowTable::new(Config {
        events: true,
        ..config()
    })
}

#[test]
fn a_flow_shorter_than_any_poll_is_exported_once_with_its_final_counters() {
    let mut table = table();
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_000));
    let destroy = destroy_event(udp(1), 7, 1_000, 3_000, [4, 400, 3, 300]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(3_500));
    let records = export(&mut table, 3_500);
    assert_eq!(brief(&records), [(1, EndDetected, [4, 400, 3, 300])]);
    assert_eq!(
        (records[0].start_ns, records[0].end_ns),
        (wall(1_000), wall(3_000))
    );
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn a_connection_created_while_a_dump_runs_is_not_ended_by_it() {
    let mut table = table();
    let poll = table.begin_poll(Scope(0), at(1_000));
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_500));
    table.end_poll(poll, true, at(2_000));
    settle_down(&mut table, 2_000);
    assert_eq!(brief(&export(&mut table, 2_000)), []);
    assert_eq!(table.stats().live, 1);
}

#[test]
fn a_dump_that_shows_a_destroyed_connection_does_not_bring_it_back() {
    let mut table = table();
    let old = seen(udp(1), Some(wall(500)), [4, 400, 0, 0]);
    let poll = table.begin_poll(Scope(0), at(1_000));
    let destroy = destroy_event(udp(1), 7, 500, 1_500, [5, 500, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(1_500));
    assert_eq!(
        brief(&export(&mut table, 1_500)),
        [(1, EndDetected, [5, 500, 0, 0])]
    );
    // Read before the DESTROY, merged after it.
    table.observe(poll, &[old], &mut everyone, at(1_600));
    table.end_poll(poll, true, at(2_000));
    settle_down(&mut table, 2_000);
    assert_eq!(brief(&export(&mut table, 2_000)), []);
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn destroy_ends_only_the_incarnation_with_its_id_and_start() {
    let mut table = table();
    // The dump has shown the second incarnation before the events of the first are read.
    let mut seen_second = seen(udp(1), Some(wall(2_000)), [1, 100, 0, 0]);
    seen_second.id = 7;
    let poll = table.begin_poll(Scope(0), at(2_100));
    table.observe(poll, &[seen_second], &mut everyone, at(2_100));
    let destroy = destroy_event(udp(1), 7, 500, 1_900, [5, 500, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(2_200));
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(2_200));
    table.end_poll(poll, true, at(2_300));
    settle_down(&mut table, 2_300);
    assert_eq!(
        brief(&export(&mut table, 2_300)),
        [(1, EndDetected, [5, 500, 0, 0])]
    );
    assert_eq!((table.stats().connections, table.stats().live), (1, 1));
    let destroy = destroy_event(udp(1), 7, 2_000, 3_000, [9, 900, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(3_000));
    assert_eq!(
        brief(&export(&mut table, 3_000)),
        [(1, EndDetected, [9, 900, 0, 0])]
    );
}

#[test]
fn an_answer_requested_before_a_newer_observation_changes_nothing() {
    let mut table = table();
    let start = Some(wall(500));
    poll(&mut table, 0, 1_000, &[seen(udp(1), start, [1, 100, 0, 0])]);
    let mut keys = Vec::new();
    table.refresh_due(at(16_000), &mut keys, 10);
    assert_eq!(keys.len(), 1);
    // A poll asked later is merged first.
    poll(
        &mut table,
        0,
        16_100,
        &[seen(udp(1), start, [3, 300, 0, 0])],
    );
    table.refreshed(
        &keys[0],
        Answer::Present(&seen(udp(1), start, [2, 200, 0, 0])),
        &mut everyone,
        at(16_200),
    );
    let mut again = Vec::new();
    table.refresh_due(at(31_100), &mut again, 10);
    table.refreshed(
        &again[0],
        Answer::Present(&seen(udp(1), start, [3, 300, 0, 0])),
        &mut everyone,
        at(31_100),
    );
    assert_eq!(
        brief(&export(&mut table, 31_100)),
        [(1, Idle, [3, 300, 0, 0])]
    );
}

#[test]
fn a_connection_that_cannot_be_looked_up_is_exported_as_it_was_last_seen() {
    let mut table = table();
    let start = Some(wall(999));
    poll(&mut table, 0, 1_000, &[seen(udp(1), start, [6, 600, 0, 0])]);
    let mut keys = Vec::new();
    table.refresh_due(at(16_000), &mut keys, 10);
    table.refreshed(&keys[0], Answer::Unreadable, &mut everyone, at(16_000));
    keys.clear();
    table.refresh_due(at(16_000), &mut keys, 10);
    assert_eq!(keys, [], "it is not asked for again and again");
    assert_eq!(
        brief(&export(&mut table, 16_000)),
        [(1, Idle, [6, 600, 0, 0])]
    );
}

#[test]
fn a_deadline_acts_only_after_a_lookup() {
    let mut table = table();
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_000));
    let mut keys = Vec::new();
    table.refresh_due(at(15_999), &mut keys, 10);
    assert_eq!(keys, []);
    // Without a lookup nothing is exported, and the connection is handed out for one.
    assert_eq!(brief(&export(&mut table, 16_000)), []);
    table.refresh_due(at(16_000), &mut keys, 10);
    assert_eq!(
        keys.iter().map(|key| key.original).collect::<Vec<_>>(),
        [udp(1)]
    );
    // It has moved: no record before the idle timeout after that.
    table.refreshed(
        &keys[0],
        Answer::Present(&seen(udp(1), Some(wall(999)), [6, 600, 0, 0])),
        &mut everyone,
        at(16_100),
    );
    assert_eq!(brief(&export(&mut table, 31_099)), []);
    keys.clear();
    table.refresh_due(at(31_100), &mut keys, 10);
    table.refreshed(&keys[0], Answer::Failed, &mut everyone, at(31_200));
    keys.clear();
    table.refresh_due(at(31_300), &mut keys, 10);
    table.refreshed(
        &keys[0],
        Answer::Present(&seen(udp(1), Some(wall(999)), [6, 600, 0, 0])),
        &mut everyone,
        at(31_300),
    );
    let records = export(&mut table, 31_300);
    assert_eq!(brief(&records), [(1, Idle, [6, 600, 0, 0])]);
    assert_eq!(
        (records[0].start_ns, records[0].end_ns),
        (wall(999), wall(16_100))
    );
    // Its end, found by a lookup of a connection that became active again.
    poll(
        &mut table,
        0,
        40_000,
        &[seen(udp(1), Some(wall(999)), [7, 700, 0, 0])],
    );
    keys.clear();
    assert_eq!(brief(&export(&mut table, 91_299)), []);
    table.refresh_due(at(91_300), &mut keys, 10);
    assert_eq!(keys.len(), 1);
    table.refreshed(&keys[0], Answer::Absent, &mut everyone, at(91_300));
    assert_eq!(
        brief(&export(&mut table, 91_300)),
        [(1, EndDetected, [1, 100, 0, 0])]
    );
}

#[test]
fn a_late_destroy_of_a_connection_that_a_dump_missed_brings_the_remainder() {
    let mut table = table();
    let start = Some(wall(500));
    poll(&mut table, 0, 1_000, &[seen(udp(1), start, [1, 100, 0, 0])]);
    // Expired, not yet collected: no dump shows it, its DESTROY is to come.
    poll(&mut table, 0, 40_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 40_000)),
        [(1, EndDetected, [1, 100, 0, 0])]
    );
    let destroy = destroy_event(udp(1), 7, 500, 35_000, [3, 300, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(70_000));
    assert_eq!(
        brief(&export(&mut table, 70_000)),
        [(1, EndDetected, [2, 200, 0, 0])]
    );
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn a_destroy_that_never_comes_does_not_keep_the_connection_forever() {
    let mut table = table();
    poll(
        &mut table,
        0,
        1_000,
        &[seen(udp(1), Some(wall(500)), [1, 100, 0, 0])],
    );
    poll(&mut table, 0, 40_000, &[]);
    assert_eq!(export(&mut table, 40_000).len(), 1);
    poll(&mut table, 0, 100_000, &[]);
    assert_eq!(
        (table.stats().connections, table.stats().remembered),
        (0, 1)
    );
    poll(&mut table, 0, 160_000, &[]);
    assert_eq!(table.stats().remembered, 0);
}

#[test]
fn an_active_connection_is_exported_at_its_refreshed_deadline() {
    let mut table = table();
    let start = Some(wall(1_000));
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_000));
    for (ms, packets) in [
        (10_000, 1),
        (20_000, 2),
        (30_000, 3),
        (40_000, 4),
        (50_000, 5),
    ] {
        poll(
            &mut table,
            0,
            ms,
            &[seen(udp(1), start, [packets, packets * 100, 0, 0])],
        );
    }
    let mut keys = Vec::new();
    table.refresh_due(at(61_000), &mut keys, 10);
    table.refreshed(
        &keys[0],
        Answer::Present(&seen(udp(1), start, [6, 600, 0, 0])),
        &mut everyone,
        at(61_000),
    );
    assert_eq!(
        brief(&export(&mut table, 61_000)),
        [(1, Active, [6, 600, 0, 0])]
    );
}

/// The kernel repeats a DESTROY that another listener has missed.
#[test]
fn a_repeated_destroy_is_no_other_flow() {
    for during_a_dump in [true, false] {
        let mut table = table();
        table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_000));
        let dump = during_a_dump.then(|| table.begin_poll(Scope(0), at(1_500)));
        let destroy = destroy_event(udp(1), 7, 1_000, 2_000, [4, 400, 0, 0]);
        for _ in 0..2 {
            table.destroyed(Scope(0), &destroy, &mut everyone, at(2_000));
        }
        if let Some(poll) = dump {
            table.end_poll(poll, true, at(2_500));
        }
        settle_down(&mut table, 2_500);
        assert_eq!(
            brief(&export(&mut table, 2_500)),
            [(1, EndDetected, [4, 400, 0, 0])]
        );
        // Long after its slot is free, and when another one has its place and its id.
        table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(80_000));
        table.destroyed(Scope(0), &destroy, &mut everyone, at(90_000));
        assert_eq!(table.stats().live, 1);
        assert_eq!(brief(&export(&mut table, 90_000)), []);
    }
}

/// What is known of them has a bound, and the latest are known.
#[test]
fn many_ends_are_remembered_within_a_bound() {
    let mut table = table();
    let empty = table.stats().bytes;
    let destroy = |n: u64| destroy_event(udp(1), 7, n, n, [4, 400, 0, 0]);
    for n in 1..=300_000 {
        table.destroyed(Scope(0), &destroy(n), &mut everyone, at(n));
        if n % 1_000 == 0 {
            export(&mut table, n);
        }
    }
    for n in 300_000 - 65_000..=300_000 {
        table.destroyed(Scope(0), &destroy(n), &mut everyone, at(300_001));
    }
    assert_eq!(brief(&export(&mut table, 300_001)), []);
    settle_down(&mut table, 300_001);
    let grown = table.stats().bytes - empty;
    assert!(grown < 4 << 20, "{grown} octets");
}
