//! The wall clock is set, forwards and back: start times do not compare across that.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::EndReason::{Active, EndDetected};
use flow_table::*;
use support::*;

/// Antrea's aggregator discards a record whose end, in seconds, is not after the one before.
#[test]
fn ends_in_whole_seconds_always_advance_where_asked() {
    let mut table = FlowTable::new(Config {
        seconds_end_monotonic: true,
        active_timeout_ms: 100,
        ..config()
    });
    let start = Some(wall(1_000));
    let mut ends = Vec::new();
    for n in 0..5 {
        let ms = 5_000 + n * 200;
        poll(
            &mut table,
            0,
            ms,
            &[seen(udp(1), start, [n + 1, 100, 0, 0])],
        );
        ends.extend(
            export(&mut table, ms)
                .iter()
                .map(|record| record.end_ns / 1_000_000_000),
        );
    }
    let first = wall(5_000) / 1_000_000_000;
    assert_eq!(ends, [first, first + 1, first + 2, first + 3, first + 4]);
}

#[test]
fn clock_steps_and_odd_start_times_make_no_negative_durations() {
    let mut table = FlowTable::new(config());
    let future = wall(500_000);
    poll(
        &mut table,
        0,
        5_000,
        &[
            seen(udp(1), Some(future), [1, 100, 0, 0]),
            seen(udp(2), Some(0), [1, 100, 0, 0]),
        ],
    );
    // The wall clock is set back by an hour.
    let back = |ms: u64| Now {
        monotonic_ms: ms,
        wall_ns: wall(ms) - 3_600_000_000_000,
    };
    let mut records = Vec::new();
    let batch = table.take_batch(back(70_000), 10, |record| {
        records.push(record.clone());
        Taken::Yes
    });
    assert_eq!(batch.map(|batch| batch.len()), Some(2));
    for record in records {
        assert!(record.start_ns <= record.end_ns, "{record:?}");
        assert!(record.start_ns > 0);
    }
}

const HOUR_NS: u64 = 3_600_000_000_000;

/// The moment `ms` after the clock's start, after the wall clock was set back by an hour.
fn back(ms: u64) -> Now {
    Now {
        wall_ns: at(ms).wall_ns - HOUR_NS,
        ..at(ms)
    }
}

/// The same, after it was set forward by an hour.
fn forward(ms: u64) -> Now {
    Now {
        wall_ns: at(ms).wall_ns + HOUR_NS,
        ..at(ms)
    }
}

fn poll_at(table: &mut FlowTable, now: Now, observations: &[Observation]) {
    let poll = table.begin_poll(Scope(0), now);
    table.observe(poll, observations, &mut everyone, now);
    table.end_poll(poll, true, now);
    while table.work(now) == Progress::More {}
}

fn export_at(table: &mut FlowTable, now: Now) -> Vec<Record> {
    let mut records = Vec::new();
    let batch = table.take_batch(now, 100, |record| {
        records.push(record.clone());
        Taken::Yes
    });
    batch.into_iter().for_each(|batch| table.commit(batch, now));
    records
}

#[test]
fn what_begins_after_the_clock_was_set_back_is_not_older_than_the_agent() {
    let mut table = FlowTable::new(config());
    poll(&mut table, 0, 1_000, &[]);
    for ms in (20_000..60_000).step_by(5_000) {
        poll_at(&mut table, back(ms), &[]);
    }
    // An hour less than the agent's start on the clock, and ten minutes after it.
    let flow = seen(
        udp(1),
        Some(back(607_000).wall_ns),
        [5_000, 7_000_000, 0, 0],
    );
    poll_at(&mut table, back(610_000), &[flow]);
    poll_at(&mut table, back(615_000), &[]);
    assert_eq!(
        brief(&export_at(&mut table, back(615_000))),
        [(1, EndDetected, [5_000, 7_000_000, 0, 0])]
    );
}

#[test]
fn what_began_before_the_clock_was_set_forward_is_no_hour_old() {
    let mut table = FlowTable::new(config());
    poll(&mut table, 0, 1_000, &[]);
    // It began at 3 s, and is seen after the step.
    poll_at(
        &mut table,
        forward(5_000),
        &[seen(udp(1), Some(wall(3_000)), [6, 600, 0, 0])],
    );
    assert_eq!(
        export_at(&mut table, forward(5_000)),
        [],
        "its active timeout has not passed"
    );
    poll_at(&mut table, forward(10_000), &[]);
    assert_eq!(
        brief(&export_at(&mut table, forward(10_000))),
        [(1, EndDetected, [6, 600, 0, 0])]
    );
}

#[test]
fn what_is_older_than_the_agent_stays_so_when_the_clock_is_set() {
    for now in [at, back, forward] {
        let mut table = FlowTable::new(config());
        // Ninety minutes before the agent: no clock of this run has shown that.
        let start = Some(wall(0) - HOUR_NS * 3 / 2);
        poll_at(
            &mut table,
            now(5_000),
            &[seen(udp(1), start, [9, 900, 0, 0])],
        );
        poll_at(&mut table, now(10_000), &[]);
        assert_eq!(
            brief(&export_at(&mut table, now(10_000))),
            [(1, EndDetected, [0, 0, 0, 0])]
        );
    }
}

#[test]
fn a_start_that_was_exported_stays_and_no_end_lies_before_it() {
    let mut table = FlowTable::new(config());
    let flow = |packets: u64| seen(udp(1), Some(wall(4_000)), [packets, packets * 100, 0, 0]);
    for ms in [5_000, 15_000, 25_000, 35_000, 45_000, 55_000, 64_000] {
        poll(&mut table, 0, ms, &[flow(ms / 1_000)]);
    }
    let first = export(&mut table, 64_000);
    assert_eq!(brief(&first), [(1, Active, [64, 6_400, 0, 0])]);
    let mut records = Vec::new();
    for ms in (70_000..200_000).step_by(10_000) {
        poll_at(&mut table, back(ms), &[flow(ms / 1_000)]);
        records.extend(export_at(&mut table, back(ms)));
    }
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!(record.start_ns, wall(4_000));
        assert!(record.end_ns >= record.start_ns, "{record:?}");
    }
}

/// Known by its NEW alone its start is when that was heard; its DESTROY knows better, but that was told already.
#[test]
fn a_start_that_was_told_before_the_kernels_was_known_stays() {
    let mut table = FlowTable::new(Config {
        events: true,
        ..config()
    });
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_005));
    let keys = lookups(&mut table, 16_005);
    table.refreshed(&keys[0], Answer::Absent, &mut everyone, at(16_010));
    let first = export(&mut table, 16_010);
    let destroy = destroy_event(udp(1), 7, 1_000, 16_000, [3, 300, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(16_020));
    let second = export(&mut table, 16_020);
    assert_eq!(
        (brief(&first), brief(&second)),
        (
            vec![(1, EndDetected, [0, 0, 0, 0])],
            vec![(1, EndDetected, [3, 300, 0, 0])]
        )
    );
    assert_eq!(
        (first[0].start_ns, second[0].start_ns),
        (wall(1_005), wall(1_005))
    );
}
