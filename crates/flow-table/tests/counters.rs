//! Another reader zeroes the kernel's counters (`conntrack -L -z`): the connection is the same one.
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

fn flow(packets: u64) -> Observation {
    seen(
        udp(1),
        Some(wall(500)),
        [packets, packets * 100, packets, packets * 10],
    )
}

/// Packets of the original direction that each record tells: delta and total.
fn told(records: &[Record]) -> Vec<(EndReason, u64, u64)> {
    let told = |record: &Record| {
        let [deltas, totals] = [record.deltas[0], record.totals[0]];
        (record.reason, deltas.packets, totals.packets)
    };
    records.iter().map(told).collect()
}

#[test]
fn counters_that_are_zeroed_end_no_connection_and_totals_go_on() {
    let mut table = FlowTable::new(config());
    poll(&mut table, 0, 1_000, &[flow(10)]);
    // Zeroed twice, before anything was exported.
    for (ms, packets) in [(10_000, 4), (25_000, 6), (40_000, 3), (55_000, 5)] {
        poll(&mut table, 0, ms, &[flow(packets)]);
    }
    assert_eq!(told(&export(&mut table, 60_500)), [(Active, 21, 21)]);
    // Zeroed to nothing, then it moves.
    poll(&mut table, 0, 61_000, &[flow(0)]);
    assert_eq!(told(&export(&mut table, 61_000)), []);
    poll(&mut table, 0, 115_000, &[flow(2)]);
    assert_eq!(told(&export(&mut table, 120_500)), [(Active, 2, 23)]);
    poll(&mut table, 0, 121_000, &[]);
    assert_eq!(told(&export(&mut table, 121_000)), [(EndDetected, 0, 23)]);
    assert_eq!(
        (table.stats().added_total, table.stats().ended_total),
        (1, 1)
    );
    assert_eq!(table.stats().losses, Losses::default());
}

#[test]
fn a_batch_that_was_taken_before_counters_were_zeroed_settles_what_it_held() {
    for commit in [true, false] {
        let mut table = FlowTable::new(config());
        poll(&mut table, 0, 1_000, &[flow(10)]);
        let (records, batch) = take(&mut table, 16_000);
        assert_eq!(records.len(), 1);
        poll(&mut table, 0, 17_000, &[flow(3)]);
        let batch = batch.expect("one record");
        if commit {
            table.commit(batch, at(17_000));
        } else {
            table.rollback(batch, at(17_000));
        }
        poll(&mut table, 0, 18_000, &[]);
        let delta = if commit { 3 } else { 13 };
        assert_eq!(
            told(&export(&mut table, 18_000)),
            [(EndDetected, delta, 13)]
        );
    }
}

#[test]
fn a_destroy_after_counters_were_zeroed_brings_what_was_counted_since() {
    let mut table = FlowTable::new(Config {
        events: true,
        ..config()
    });
    poll(&mut table, 0, 1_000, &[flow(10)]);
    let destroy = Observation {
        stop_ns: Some(wall(2_000)),
        ..flow(3)
    };
    table.destroyed(Scope(0), &destroy, &mut everyone, at(2_000));
    assert_eq!(told(&export(&mut table, 2_000)), [(EndDetected, 13, 13)]);
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn counters_of_a_refused_connection_that_are_zeroed_are_counted_from_zero() {
    let mut table = FlowTable::new(Config {
        max_connections: 1,
        ..config()
    });
    let refused = |packets: u64| seen(udp(2), Some(wall(500)), [packets, packets * 100, 0, 0]);
    poll(&mut table, 0, 1_000, &[flow(1), refused(10)]);
    poll(&mut table, 0, 2_000, &[flow(1), refused(3)]);
    assert_eq!(lost(&table, Loss::Refused), [1, 13, 1_300]);
    assert_eq!(table.stats().refused_total, 1);
}

#[test]
fn totals_go_on_across_a_restart() {
    let mut table = FlowTable::new(config());
    poll(&mut table, 0, 1_000, &[flow(10)]);
    poll(&mut table, 0, 2_000, &[flow(4)]);
    assert_eq!(
        told(&export(&mut table, 17_000)),
        [(EndReason::Idle, 14, 14)]
    );
    let (file, seen_until) = save(&mut table);
    let mut table = restarted(config(), &file, seen_until, 20_000);
    // Zeroed once more in between.
    poll(&mut table, 0, 21_000, &[flow(2)]);
    poll(&mut table, 0, 22_000, &[]);
    assert_eq!(told(&export(&mut table, 22_000)), [(EndDetected, 2, 16)]);
}

/// Without timestamps they are two incarnations as far as can be told: what is counted is the same.
#[test]
fn without_timestamps_what_was_counted_before_and_after_is_exported() {
    let mut table = FlowTable::new(config());
    let flow = |packets: u64| seen(udp(1), None, [packets, packets * 100, 0, 0]);
    poll(&mut table, 0, 500, &[]);
    poll(&mut table, 0, 1_000, &[flow(10)]);
    poll(&mut table, 0, 2_000, &[flow(3)]);
    poll(&mut table, 0, 3_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 3_000)),
        [
            (1, EndDetected, [10, 1_000, 0, 0]),
            (1, EndDetected, [3, 300, 0, 0])
        ]
    );
}
