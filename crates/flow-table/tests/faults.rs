//! The faults that exporters of this kind have had, each by its name.

mod support;

use std::collections::HashMap;

use flow_table::EndReason::{EndDetected, Idle};
use flow_table::*;
use support::*;

/// Without a collector nobody takes a batch; without polls nobody ends one. Time alone must be enough.
#[test]
fn stale_connections_leave_with_no_exporter() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(1_000));
    let flows: Vec<Observation> = (0..1000)
        .map(|port| seen(udp(port), start, [3, 300, 1, 100]))
        .collect();
    poll(&mut table, 0, 5_000, &flows);
    poll(&mut table, 0, 10_000, &[]);
    assert_eq!((table.stats().ended, table.stats().queued), (1000, 1000));
    settle_down(&mut table, 309_999);
    assert_eq!(table.stats().connections, 1000);
    settle_down(&mut table, 310_000);
    let stats = table.stats();
    assert_eq!(
        (stats.connections, stats.queued, stats.queue_entries),
        (0, 0, 0)
    );
    assert_eq!(
        stats.losses.get(Loss::Stale),
        Lost {
            records: 1000,
            packets: 4_000,
            octets: 400_000
        }
    );
    assert_eq!(table.next_deadline(), None);
    assert_eq!(brief(&export(&mut table, 310_000)), []);
}

/// What has never been exported was not "last exported at zero": it is as old as its start, and it is queued once.
#[test]
fn an_unexported_connection_is_not_infinitely_old_and_is_queued_once() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(4_000_000));
    poll(
        &mut table,
        0,
        4_001_000,
        &[seen(udp(1), start, [1, 100, 0, 0])],
    );
    settle_down(&mut table, 4_002_000);
    assert_eq!(brief(&export(&mut table, 4_002_000)), []);
    assert_eq!(table.stats().losses, Losses::default());
    // Every poll moves its deadline, both ways of asking find one entry, and an end does not leave a second one.
    for n in 0..1000 {
        let ms = 4_002_000 + n * 20;
        poll(
            &mut table,
            0,
            ms,
            &[seen(udp(1), start, [n + 2, n * 100 + 200, 0, 0])],
        );
        let stats = table.stats();
        assert_eq!((stats.connections, stats.queued), (1, 1));
        assert!(stats.queue_entries <= 2);
    }
    poll(&mut table, 0, 4_030_000, &[]);
    let stats = table.stats();
    assert_eq!((stats.queued, stats.ended), (1, 1));
    // Ended now: it is stale five minutes after that, not before.
    settle_down(&mut table, 4_329_999);
    assert_eq!(
        brief(&export(&mut table, 4_329_999)),
        [(1, EndDetected, [1001, 100_100, 0, 0])]
    );
    assert_eq!((table.stats().queued, table.stats().connections), (0, 0));
}

/// A collector that fails for an hour while ever more connections become due.
#[test]
fn a_failed_send_neither_grows_a_batch_nor_exports_a_connection_twice() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(1_000));
    let mut exported: HashMap<u16, u64> = HashMap::new();
    for round in 0..60u64 {
        let ms = 5_000 + round * 60_000;
        let flow = |port: u16| {
            // From the hundredth on each one begins in its own round.
            let began = if port < 100 {
                start
            } else {
                Some(wall(ms - 60_000 * (round + 99 - u64::from(port)) - 1_000))
            };
            seen(udp(port), began, [round + 1, (round + 1) * 100, 0, 0])
        };
        let flows: Vec<Observation> = (0..100 + round as u16).map(flow).collect();
        poll(&mut table, 0, ms, &flows);
        // Two batches at a time, settled in the other order; neither names a connection of the other.
        let mut names = Vec::new();
        let mut batches = Vec::new();
        for _ in 0..2 {
            let batch = table.take_batch(at(ms), 16, |record| {
                names.push(record.original.source_port);
                Taken::Yes
            });
            batches.extend(batch);
        }
        assert!(batches.iter().all(|batch| batch.len() <= 16));
        let taken = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), taken);
        batches.reverse();
        batches
            .into_iter()
            .for_each(|batch| table.rollback(batch, at(ms)));
        let stats = table.stats();
        assert_eq!((stats.in_flight, stats.queued), (0, 100 + round as usize));
        assert!(stats.queue_entries <= stats.queued * 3 / 2 + 64);
    }
    // It comes back.
    for record in export(&mut table, 3_600_000) {
        assert_eq!(record.reason, Idle);
        *exported.entry(record.original.source_port).or_default() += record.deltas[0].packets;
    }
    assert_eq!(exported.len(), 159);
    assert!(
        exported.values().all(|packets| *packets == 60),
        "{exported:?}"
    );
    assert_eq!(brief(&export(&mut table, 3_600_000)), []);
}

/// The old incarnation keeps its slot and its counters, whatever becomes of its batch.
#[test]
fn a_tuple_reused_while_in_flight_rolls_back_as_two() {
    let mut table = FlowTable::new(config());
    poll(
        &mut table,
        0,
        5_000,
        &[seen(udp(1), Some(wall(1_000)), [5, 500, 0, 0])],
    );
    let (records, batch) = take(&mut table, 61_000);
    assert_eq!(records.len(), 1);
    poll(
        &mut table,
        0,
        62_000,
        &[seen(udp(1), Some(wall(61_500)), [1, 100, 0, 0])],
    );
    assert_eq!(table.stats().connections, 2);
    table.rollback(batch.expect("one record"), at(62_000));
    assert_eq!(
        brief(&export(&mut table, 62_000)),
        [(1, EndDetected, [5, 500, 0, 0])]
    );
    poll(&mut table, 0, 70_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 70_000)),
        [(1, EndDetected, [1, 100, 0, 0])]
    );
    assert_eq!(table.stats().connections, 0);
}

#[test]
fn a_dropped_batch_is_rolled_back_at_the_next_call() {
    let mut table = FlowTable::new(config());
    poll(
        &mut table,
        0,
        5_000,
        &[seen(udp(1), Some(wall(1_000)), [5, 500, 0, 0])],
    );
    drop(take(&mut table, 30_000));
    assert_eq!(brief(&export(&mut table, 30_000)).len(), 1);
    assert_eq!(table.stats().in_flight, 0);
}

/// After a peak the upper slots drain, what is left moves down, and nothing is lost or doubled by the move.
#[test]
fn memory_goes_back_after_a_peak_and_connections_survive_the_move() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(1_000));
    let flow = |n: u32, packets: u64| {
        let mut original = udp((n % 50_000) as u16);
        original.destination_port = (n / 50_000) as u16;
        let mut flow = seen(original, start, [packets, packets * 100, 0, 0]);
        // A label on some: side storage moves along.
        flow.labels[0] = u8::from(n.is_multiple_of(7));
        flow.mark = n;
        flow
    };
    let peak: Vec<Observation> = (0..60_000).map(|n| flow(n, 1)).collect();
    poll(&mut table, 0, 5_000, &peak);
    let full = table.stats().bytes;
    // The last ones live on, in the highest slots.
    let rest: Vec<Observation> = (59_000..60_000).map(|n| flow(n, 2)).collect();
    poll(&mut table, 0, 10_000, &rest);
    let ended = export(&mut table, 10_000);
    assert_eq!(ended.len(), 59_000);
    poll(&mut table, 0, 15_000, &rest);
    let stats = table.stats();
    assert_eq!(stats.connections, 1000);
    assert!(stats.bytes * 3 < full, "{} of {full}", stats.bytes);
    let mut records = export(&mut table, 25_000);
    records.sort_by_key(|record| record.mark);
    assert_eq!(
        records.iter().map(|record| record.mark).collect::<Vec<_>>(),
        (59_000..60_000).collect::<Vec<_>>()
    );
    assert!(records.iter().all(|record| record.deltas[0].packets == 2));
    assert!(
        records
            .iter()
            .all(|record| record.labels[0] == u8::from(record.mark.is_multiple_of(7)))
    );
    // Half of them go, and others' labels move into their places: each still has its own.
    let half: Vec<Observation> = (59_000..60_000).step_by(2).map(|n| flow(n, 3)).collect();
    poll(&mut table, 0, 30_000, &half);
    assert_eq!(export(&mut table, 30_000).len(), 500);
    let records = export(&mut table, 100_000);
    assert_eq!(records.len(), 500);
    assert!(
        records
            .iter()
            .all(|record| record.labels[0] == u8::from(record.mark.is_multiple_of(7)))
    );
}
