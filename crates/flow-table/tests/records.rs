//! Which records are made: each row of the design's table, with values computed by hand.

mod support;

use flow_table::EndReason::{Active, EndDetected, Idle};
use flow_table::*;
use support::*;

#[test]
fn a_record_ends_with_the_last_packet_where_that_is_told() {
    let told = |ms, packets, last_packet: Option<u64>| {
        let seen = seen(udp(1), Some(wall(1_000)), [packets, packets * 100, 0, 0]);
        let last_packet_ns = last_packet.map(wall);
        (
            ms,
            Observation {
                last_packet_ns,
                ..seen
            },
        )
    };
    let history = [
        (told(5_000, 10, Some(3_000)), 3_000),
        (told(10_000, 20, Some(8_500)), 8_500),
        // Before what had moved already, and after the moment at which it is told.
        (told(15_000, 30, Some(8_000)), 8_500),
        (told(20_000, 40, Some(21_000)), 20_000),
        (told(25_000, 50, None), 25_000),
        // Without movement nothing is learned of an end.
        (told(30_000, 50, Some(29_000)), 25_000),
    ];
    for polls in 1..=history.len() {
        let mut table = FlowTable::new(config());
        for ((ms, seen), _) in &history[..polls] {
            poll(&mut table, 0, *ms, std::slice::from_ref(seen));
        }
        let ((ms, _), end) = &history[polls - 1];
        table.begin_stop(at(*ms));
        settle_down(&mut table, *ms);
        let records = export(&mut table, *ms);
        let ends: Vec<u64> = records.iter().map(|record| record.end_ns).collect();
        assert_eq!(ends, [wall(*end)], "at {ms}");
    }
}

#[test]
fn the_active_timeout_makes_a_record_only_if_counters_moved() {
    let mut table = FlowTable::new(config());
    // Began at 1 s, first seen at 5 s, moves in every poll.
    for (ms, packets) in [
        (5_000, 10),
        (15_000, 20),
        (25_000, 30),
        (35_000, 40),
        (45_000, 50),
        (55_000, 60),
    ] {
        poll(
            &mut table,
            0,
            ms,
            &[seen(
                udp(1),
                Some(wall(1_000)),
                [packets, packets * 100, 0, 0],
            )],
        );
        assert_eq!(brief(&export(&mut table, ms)), []);
    }
    assert_eq!(
        table.next_deadline().map(|deadline| deadline <= 61_000),
        Some(true)
    );
    assert_eq!(brief(&export(&mut table, 60_999)), []);
    assert_eq!(
        brief(&export(&mut table, 61_000)),
        [(1, Active, [60, 6_000, 0, 0])]
    );
    // The next one an active timeout later, with what moved since.
    for (ms, packets) in [(70_000, 61), (84_000, 62), (98_000, 63), (112_000, 64)] {
        poll(
            &mut table,
            0,
            ms,
            &[seen(
                udp(1),
                Some(wall(1_000)),
                [packets, packets * 100, 0, 0],
            )],
        );
        assert_eq!(brief(&export(&mut table, ms)), []);
    }
    assert_eq!(
        brief(&export(&mut table, 121_000)),
        [(1, Active, [4, 400, 0, 0])]
    );
}

#[test]
fn without_movement_the_active_deadline_moves_on() {
    let slow_idle = Config {
        idle_timeout_ms: 100_000,
        ..config()
    };
    let mut table = FlowTable::new(slow_idle);
    poll(
        &mut table,
        0,
        5_000,
        &[seen(udp(1), Some(wall(5_000)), [1, 100, 0, 0])],
    );
    assert_eq!(
        brief(&export(&mut table, 65_000)),
        [(1, Active, [1, 100, 0, 0])]
    );
    // At rest until 100 s after 5 s; the active deadline at 125 s would come later than the idle one at 105 s.
    assert_eq!(brief(&export(&mut table, 105_000)), []);
    assert_eq!(table.stats().idle, 1);
    let mut table = FlowTable::new(Config {
        initial_delta: InitialDelta::Zero,
        idle_timeout_ms: 600_000,
        ..config()
    });
    poll(
        &mut table,
        0,
        5_000,
        &[seen(udp(2), Some(wall(0) - 9_000_000_000), [1, 100, 0, 0])],
    );
    assert_eq!(brief(&export(&mut table, 65_000)), []);
    poll(
        &mut table,
        0,
        66_000,
        &[seen(udp(2), Some(wall(0) - 9_000_000_000), [2, 200, 0, 0])],
    );
    assert_eq!(brief(&export(&mut table, 124_999)), []);
    assert_eq!(
        brief(&export(&mut table, 125_000)),
        [(2, Active, [1, 100, 0, 0])]
    );
}

#[test]
fn the_idle_timeout_makes_one_record_and_movement_brings_it_back() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(4_000));
    poll(
        &mut table,
        0,
        5_000,
        &[seen(udp(1), start, [3, 300, 2, 200])],
    );
    assert_eq!(brief(&export(&mut table, 19_999)), []);
    let records = export(&mut table, 20_000);
    assert_eq!(brief(&records), [(1, Idle, [3, 300, 2, 200])]);
    assert_eq!(
        (records[0].start_ns, records[0].end_ns),
        (wall(4_000), wall(5_000))
    );
    assert_eq!(
        (
            table.stats().idle,
            table.stats().queued,
            table.next_deadline()
        ),
        (1, 0, None)
    );
    for ms in [25_000, 300_000] {
        poll(&mut table, 0, ms, &[seen(udp(1), start, [3, 300, 2, 200])]);
        assert_eq!(brief(&export(&mut table, ms)), []);
    }
    // It moves: its last record was taken at 20 s, so the active timeout has passed.
    poll(
        &mut table,
        0,
        305_000,
        &[seen(udp(1), start, [4, 400, 2, 200])],
    );
    assert_eq!(
        brief(&export(&mut table, 305_000)),
        [(1, Active, [1, 100, 0, 0])]
    );
    // All exported: the next idle timeout makes no record.
    assert_eq!(brief(&export(&mut table, 320_000)), []);
    assert_eq!(table.stats().idle, 1);
}

#[test]
fn a_connection_that_never_moves_gets_one_idle_record_with_zero_deltas() {
    let mut table = FlowTable::new(config());
    let older = Some(wall(0) - 1);
    poll(
        &mut table,
        0,
        5_000,
        &[seen(udp(1), older, [9, 900, 9, 900])],
    );
    let records = export(&mut table, 20_000);
    assert_eq!(brief(&records), [(1, Idle, [0, 0, 0, 0])]);
    assert_eq!(records[0].totals, counters([9, 900, 9, 900]));
    assert_eq!(brief(&export(&mut table, 500_000)), []);
}

#[test]
fn an_end_is_exported_once_and_at_once_even_with_zero_deltas() {
    let mut table = FlowTable::new(config());
    poll(
        &mut table,
        0,
        5_000,
        &[seen(udp(1), Some(wall(4_000)), [3, 300, 0, 0])],
    );
    assert_eq!(
        brief(&export(&mut table, 20_000)),
        [(1, Idle, [3, 300, 0, 0])]
    );
    poll(&mut table, 0, 25_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 25_000)),
        [(1, EndDetected, [0, 0, 0, 0])]
    );
    assert_eq!(table.stats().connections, 0);
    poll(&mut table, 0, 30_000, &[]);
    assert_eq!(brief(&export(&mut table, 30_000)), []);
}

#[test]
fn an_incomplete_poll_ends_nothing_and_scopes_end_only_their_own() {
    let mut table = FlowTable::new(config());
    poll(
        &mut table,
        0,
        1_000,
        &[seen(udp(1), Some(wall(500)), [1, 100, 0, 0])],
    );
    poll(
        &mut table,
        1,
        1_000,
        &[seen(udp6(2), Some(wall(500)), [1, 100, 0, 0])],
    );
    let incomplete = table.begin_poll(Scope(0), at(2_000));
    table.end_poll(incomplete, false, at(2_000));
    settle_down(&mut table, 2_000);
    assert_eq!(brief(&export(&mut table, 2_000)), []);
    poll(&mut table, 1, 3_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 3_000)),
        [(2, EndDetected, [1, 100, 0, 0])]
    );
    assert_eq!(table.stats().connections, 1);
}

#[test]
fn time_wait_and_close_end_a_connection_and_it_stays_until_the_kernel_drops_it() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(4_000));
    poll(
        &mut table,
        0,
        5_000,
        &[seen(tcp(1), start, [5, 500, 4, 400])],
    );
    let closing = Observation {
        protocol_state: 7,
        ..seen(tcp(1), start, [6, 600, 5, 500])
    };
    poll(&mut table, 0, 10_000, std::slice::from_ref(&closing));
    assert_eq!(
        brief(&export(&mut table, 10_000)),
        [(1, EndDetected, [6, 600, 5, 500])]
    );
    for ms in [15_000, 100_000] {
        poll(&mut table, 0, ms, std::slice::from_ref(&closing));
        assert_eq!(brief(&export(&mut table, ms)), []);
        assert_eq!((table.stats().done, table.stats().queued), (1, 0));
    }
    poll(&mut table, 0, 130_000, &[]);
    assert_eq!(brief(&export(&mut table, 130_000)), []);
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn late_counters_after_the_end_are_the_remainder() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(4_000));
    let closed = |totals| Observation {
        protocol_state: 8,
        ..seen(tcp(1), start, totals)
    };
    // Seen closed at first sight: exported once.
    poll(&mut table, 0, 5_000, &[closed([5, 500, 4, 400])]);
    assert_eq!(
        brief(&export(&mut table, 5_000)),
        [(1, EndDetected, [5, 500, 4, 400])]
    );
    // CLOSE that goes on counting: an active timeout after the record.
    poll(&mut table, 0, 10_000, &[closed([9, 900, 8, 800])]);
    assert_eq!(brief(&export(&mut table, 64_999)), []);
    assert_eq!(
        brief(&export(&mut table, 65_000)),
        [(1, EndDetected, [4, 400, 4, 400])]
    );
    // And what is left when the kernel drops it.
    poll(&mut table, 0, 70_000, &[closed([10, 950, 8, 800])]);
    assert_eq!(brief(&export(&mut table, 70_000)), []);
    poll(&mut table, 0, 75_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 75_000)),
        [(1, EndDetected, [1, 50, 0, 0])]
    );
    assert_eq!(table.stats().connections, 0);
}
