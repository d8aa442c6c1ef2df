//! A clock, observations and batches as the tests write them.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

use flow_table::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Wall clock at monotonic 0: ten seconds into a second of 2026, so that whole seconds are easy to see.
pub const EPOCH_NS: u64 = 1_780_000_010_000_000_000;

/// The moment `ms` after the clock's start; the wall clock goes with it.
pub fn at(ms: u64) -> Now {
    Now {
        monotonic_ms: ms,
        wall_ns: EPOCH_NS + ms * 1_000_000,
    }
}

/// Wall-clock ns of the same moment.
pub fn wall(ms: u64) -> u64 {
    at(ms).wall_ns
}

/// Packets and octets, original and reply.
pub fn counters(values: [u64; 4]) -> [Counters; 2] {
    let [packets, octets, reply_packets, reply_octets] = values;
    [
        Counters { packets, octets },
        Counters {
            packets: reply_packets,
            octets: reply_octets,
        },
    ]
}

pub fn udp(port: u16) -> Tuple {
    Tuple {
        source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
        destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        protocol: 17,
        source_port: port,
        destination_port: 53,
    }
}

pub fn udp6(port: u16) -> Tuple {
    Tuple {
        source: IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
        destination: IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
        protocol: 17,
        source_port: port,
        destination_port: 53,
    }
}

pub fn tcp(port: u16) -> Tuple {
    Tuple {
        protocol: 6,
        destination_port: 80,
        ..udp(port)
    }
}

/// Zone 0, id 7, no NAT, no labels, accounting on.
pub fn seen(original: Tuple, start_ns: Option<u64>, totals: [u64; 4]) -> Observation {
    Observation {
        original,
        reply: original.inverse(),
        zone: 0,
        reply_zone: 0,
        id: 7,
        start_ns,
        stop_ns: None,
        last_packet_ns: None,
        counters: Some(counters(totals)),
        mark: 0,
        status: 0xe,
        protocol_state: if original.protocol == 6 { 3 } else { 0 },
        timeout_s: Some(30),
        labels: [0; 16],
    }
}

/// NEW: no counters, no start.
pub fn new_event(original: Tuple, id: u32) -> Observation {
    Observation {
        id,
        start_ns: None,
        counters: None,
        ..seen(original, None, [0; 4])
    }
}

/// DESTROY: final counters, and the kernel's stop.
pub fn destroy_event(
    original: Tuple,
    id: u32,
    start_ms: u64,
    stop_ms: u64,
    totals: [u64; 4],
) -> Observation {
    let stop_ns = Some(wall(stop_ms));
    Observation {
        id,
        stop_ns,
        timeout_s: None,
        ..seen(original, Some(wall(start_ms)), totals)
    }
}

/// 60 s active, 15 s idle, 5 min stale; the agent starts at monotonic 0.
pub fn config() -> Config {
    Config {
        agent_start: at(0),
        ..Config::default()
    }
}

pub fn everyone(_: &Observation) -> Option<NamesId> {
    Some(NamesId(0))
}

/// One complete poll of a scope.
pub fn poll(table: &mut FlowTable, scope: u8, ms: u64, observations: &[Observation]) {
    let poll = table.begin_poll(Scope(scope), at(ms));
    table.observe(poll, observations, &mut everyone, at(ms));
    table.end_poll(poll, true, at(ms));
    settle_down(table, ms);
}

/// Housekeeping until there is none.
pub fn settle_down(table: &mut FlowTable, ms: u64) {
    let ends = (0..1_000_000).any(|_| table.work(at(ms)) == Progress::Done);
    assert!(ends, "housekeeping never ends");
}

/// One batch and its records.
pub fn take(table: &mut FlowTable, ms: u64) -> (Vec<Record>, Option<Batch>) {
    let mut records = Vec::new();
    let batch = table.take_batch(at(ms), 1024, |record| {
        records.push(record.clone());
        Taken::Yes
    });
    assert_eq!(records.len(), batch.as_ref().map_or(0, Batch::len));
    (records, batch)
}

/// Everything that is due, committed at once.
pub fn export(table: &mut FlowTable, ms: u64) -> Vec<Record> {
    let mut all = Vec::new();
    loop {
        let (records, batch) = take(table, ms);
        all.extend(records);
        match batch {
            Some(batch) => table.commit(batch, at(ms)),
            None => return all,
        }
    }
}

/// What the tests compare of a record.
pub fn brief(records: &[Record]) -> Vec<(u16, EndReason, [u64; 4])> {
    records
        .iter()
        .map(|record| {
            let [original, reply] = record.deltas;
            let deltas = [
                original.packets,
                original.octets,
                reply.packets,
                reply.octets,
            ];
            (record.original.source_port, record.reason, deltas)
        })
        .collect()
}

/// The lookups that are asked for, by source port.
pub fn lookups(table: &mut FlowTable, ms: u64) -> Vec<RefreshKey> {
    let mut keys = Vec::new();
    table.refresh_due(at(ms), &mut keys, 1_000_000);
    keys.sort_by_key(|key| key.original.source_port);
    keys
}

/// What was lost for a reason: records, packets, octets.
pub fn lost(table: &FlowTable, reason: Loss) -> [u64; 3] {
    let lost = table.stats().losses.get(reason);
    [lost.records, lost.packets, lost.octets]
}

/// The state file as it would be written now, and its stamp.
pub fn save(table: &mut FlowTable) -> (Vec<StateEntry>, Now) {
    let seen_until = table.seen_until().expect("a complete poll");
    let (mut entries, mut cursor) = (Vec::new(), StateCursor::default());
    while table.export_state(&mut cursor, 100, |entry| entries.push(*entry)) == Progress::More {}
    (entries, seen_until)
}

/// The next run's table.
pub fn restarted(config: Config, file: &[StateEntry], seen_until: Now, ms: u64) -> FlowTable {
    let mut table = FlowTable::new(Config {
        agent_start: at(ms),
        ..config
    });
    table.begin_import(seen_until);
    table.import_state(file);
    table
}
