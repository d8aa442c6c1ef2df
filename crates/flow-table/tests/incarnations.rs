//! Which connection an observation speaks of, where the tuple is the same.
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

fn events() -> FlowTable {
    FlowTable::new(Config {
        events: true,
        ..config()
    })
}

/// 5,000 incarnations come and go, half of them while a dump runs, and nobody takes a record.
fn churn(port: impl Fn(u16) -> u16) -> FlowTable {
    let mut table = events();
    poll(&mut table, 0, 1_000, &[]);
    let mut dump = None;
    for n in 0..5_000u16 {
        if n == 2_500 {
            dump = Some(table.begin_poll(Scope(0), at(2_000)));
        }
        let (tuple, id) = (udp(port(n)), u32::from(n % 7));
        let ms = 2_001 + u64::from(n);
        table.created(Scope(0), &new_event(tuple, id), &mut everyone, at(ms));
        let destroy = destroy_event(tuple, id, ms, ms, [2, 200, 0, 0]);
        table.destroyed(Scope(0), &destroy, &mut everyone, at(ms));
    }
    table.end_poll(dump.expect("begun above"), true, at(8_000));
    table
}

/// What it costs is measured by the benchmark `footprint`; here, that nothing grows with the incarnations of one tuple.
#[test]
fn one_tuple_closed_and_reopened_takes_no_more_than_distinct_ones() {
    let mut same = churn(|_| 1);
    let distinct = churn(|n| n);
    let (bytes, bound) = (same.stats().bytes, distinct.stats().bytes);
    assert!(
        bytes <= bound,
        "{bytes} octets, {bound} for distinct tuples"
    );
    settle_down(&mut same, 8_000);
    let records = export(&mut same, 8_000);
    assert_eq!(records.len(), 5_000);
    assert!(
        records
            .iter()
            .all(|it| it.reason == EndDetected && it.deltas[0].packets == 2)
    );
    let stats = same.stats();
    assert_eq!(
        (stats.connections, stats.remembered, stats.forgotten_total),
        (0, 0, 0)
    );
}

#[test]
fn past_incarnations_of_one_tuple_are_bounded_and_those_let_go_are_counted() {
    let mut table = events();
    poll(&mut table, 0, 1_000, &[]);
    // Each is shown in place of the former one, whose DESTROY does not come, by dumps that are cut short.
    for n in 0..20u32 {
        let ms = 2_000 + u64::from(n) * 10;
        let dump = table.begin_poll(Scope(0), at(ms));
        let flow = Observation {
            id: n,
            ..seen(udp(1), Some(wall(ms)), [2, 200, 0, 0])
        };
        table.observe(dump, &[flow], &mut everyone, at(ms));
        table.end_poll(dump, false, at(ms));
    }
    // The one that is there, eight past ones that are found by their tuple, and eleven that are not.
    assert_eq!(table.stats().forgotten_total, 11);
    assert_eq!((table.stats().live, table.stats().ended), (1, 19));
    let records = export(&mut table, 3_000);
    assert_eq!(records.len(), 19);
    assert!(
        records
            .iter()
            .all(|it| it.reason == EndDetected && it.deltas[0].packets == 2)
    );
}

#[test]
fn a_connection_that_one_dump_misses_is_exported_once_with_and_without_timestamps() {
    for start in [None, Some(wall(700))] {
        let flow = |packets: u64| seen(udp(1), start, [packets, packets * 100, 0, 0]);
        let mut table = FlowTable::new(config());
        poll(&mut table, 0, 500, &[]);
        poll(&mut table, 0, 600, &[]);
        poll(&mut table, 0, 1_000, &[flow(10)]);
        poll(&mut table, 0, 2_000, &[]);
        assert_eq!(
            brief(&export(&mut table, 2_000)),
            [(1, EndDetected, [10, 1_000, 0, 0])]
        );
        poll(&mut table, 0, 3_000, &[flow(1_000)]);
        assert_eq!(
            brief(&export(&mut table, 18_000)),
            [(1, Idle, [990, 99_000, 0, 0])],
            "start {start:?}"
        );
        // Its end was told, and nothing has come since.
        poll(&mut table, 0, 19_000, &[]);
        poll(&mut table, 0, 20_000, &[]);
        assert_eq!(brief(&export(&mut table, 20_000)), []);
        let stats = table.stats();
        assert_eq!((stats.connections, stats.remembered), (0, 0));
        assert_eq!(stats.losses, Losses::default());
    }
}

#[test]
fn a_connection_that_a_dump_misses_before_its_end_is_taken_has_no_end() {
    let mut table = FlowTable::new(config());
    let flow = |packets: u64| seen(udp(1), Some(wall(700)), [packets, packets * 100, 0, 0]);
    poll(&mut table, 0, 1_000, &[flow(10)]);
    poll(&mut table, 0, 2_000, &[]);
    poll(&mut table, 0, 3_000, &[flow(11)]);
    assert_eq!(brief(&export(&mut table, 3_000)), []);
    assert_eq!(
        brief(&export(&mut table, 18_000)),
        [(1, Idle, [11, 1_100, 0, 0])]
    );
}

/// Known by its NEW alone; its DESTROY is lost, and another one gets its id.
#[test]
fn a_connection_known_by_its_new_alone_is_not_one_that_began_later() {
    let mut table = events();
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_000));
    poll(&mut table, 0, 2_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 2_000)),
        [(1, EndDetected, [0, 0, 0, 0])]
    );
    let later = seen(udp(1), Some(wall(2_500)), [5, 500, 0, 0]);
    poll(&mut table, 0, 3_000, &[later]);
    let records = export(&mut table, 18_000);
    assert_eq!(brief(&records), []);
    let keys = lookups(&mut table, 18_000);
    let rests = seen(udp(1), Some(wall(2_500)), [5, 500, 0, 0]);
    table.refreshed(&keys[0], Answer::Present(&rests), &mut everyone, at(18_000));
    let records = export(&mut table, 18_000);
    assert_eq!(brief(&records), [(1, Idle, [5, 500, 0, 0])]);
    assert_eq!(records[0].start_ns, wall(2_500));
}

#[test]
fn due_connections_that_are_destroyed_before_a_lookup_leave_nothing_behind() {
    let mut table = events();
    let mut most = 0;
    for round in 0..50u64 {
        let ms = 1_000 + round * 20_000;
        for port in 0..500 {
            table.created(Scope(0), &new_event(udp(port), 7), &mut everyone, at(ms));
        }
        // They become due, and nobody looks them up.
        assert!(
            table
                .take_batch(at(ms + 15_000), 1_000, |_| Taken::Yes)
                .is_none()
        );
        for port in 0..500 {
            let destroy = destroy_event(udp(port), 7, ms, ms + 16_000, [1, 100, 0, 0]);
            table.destroyed(Scope(0), &destroy, &mut everyone, at(ms + 16_000));
        }
        settle_down(&mut table, ms + 16_000);
        assert_eq!(export(&mut table, ms + 16_000).len(), 500);
        if round == 1 {
            most = 2 * table.stats().bytes;
        }
    }
    let bytes = table.stats().bytes;
    assert!(bytes <= most, "{bytes} octets, {most} allowed");
    assert_eq!(lookups(&mut table, 2_000_000), []);
}

/// Events come in their order: its NEW says that the DESTROY of the former one with its id is lost.
#[test]
fn without_start_times_a_destroy_ends_the_one_whose_new_came_last() {
    let mut table = events();
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(1_000));
    for (ms, id, packets) in [(2_000, 8, 3), (3_000, 7, 1)] {
        let totals = [packets, packets * 100, 0, 0];
        let shown = Observation {
            id,
            ..seen(udp(1), None, totals)
        };
        let dump = table.begin_poll(Scope(0), at(ms));
        table.observe(dump, &[shown], &mut everyone, at(ms));
        table.end_poll(dump, false, at(ms));
    }
    table.created(Scope(0), &new_event(udp(1), 7), &mut everyone, at(3_500));
    let destroy = Observation {
        start_ns: None,
        ..destroy_event(udp(1), 7, 0, 4_000, [1, 100, 0, 0])
    };
    table.destroyed(Scope(0), &destroy, &mut everyone, at(4_000));
    poll(&mut table, 0, 5_000, &[]);
    let mut packets: Vec<u64> = export(&mut table, 5_000)
        .iter()
        .map(|record| record.deltas[0].packets)
        .collect();
    packets.sort();
    assert_eq!(packets, [0, 1, 3]);
}
