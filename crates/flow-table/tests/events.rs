//! Events: each race rule by hand, then any interleaving of dumps, lookups, NEW, DESTROY and tuple reuse, against what the
//! kernel really counted. `FLOW_TABLE_CASES` sets the number of cases (1,000 in a plain run).
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use std::collections::{HashMap, VecDeque};

use flow_table::EndReason::{Active, EndDetected, Idle};
use flow_table::*;
use proptest::prelude::*;
use proptest::sample::Index;
use support::*;

fn table() -> FlowTable {
    FlowTable::new(Config {
        events: true,
        ..config()
    })
}

/// NEW: no counters, no start.
fn new_event(original: Tuple, id: u32) -> Observation {
    Observation {
        id,
        start_ns: None,
        counters: None,
        ..seen(original, None, [0; 4])
    }
}

fn destroy_event(
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
    assert_eq!(table.stats().done, 1);
    poll(&mut table, 0, 160_000, &[]);
    assert_eq!(table.stats().connections, 0);
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

/// One life of a tuple in the simulated kernel; `mark` in its observations is its number.
#[derive(Clone, Debug)]
struct Life {
    tuple: u16,
    id: u32,
    start_ms: u64,
    stop_ms: Option<u64>,
    totals: [u64; 4],
}

#[derive(Clone, Debug)]
enum Op {
    Step(u64),
    Create(u16, u32),
    Grow(u16, u64),
    Destroy(u16),
    /// An UPDATE, late or not, that asks for a lookup.
    LookAgain(u16),
    /// No dump and no lookup shows it any more; its DESTROY waits for the garbage collection.
    Expire(u16),
    Collect(u16),
    Deliver(usize),
    BeginDump,
    /// The next entries of the dump are read, and wait to be merged.
    Read(usize),
    Merge,
    EndDump(bool),
    Refresh(usize),
    Look(Index),
    Answer(Index, bool),
    Work,
    Take(usize),
    Settle(Index, bool),
}

const TUPLES: u16 = 4;

fn op() -> impl Strategy<Value = Op> {
    let tuple = 0..TUPLES;
    prop_oneof![
        2 => prop_oneof![1..50u64, 5_000..20_000u64].prop_map(Op::Step),
        4 => (tuple.clone(), 0..2u32).prop_map(|(tuple, id)| Op::Create(tuple, id)),
        4 => (tuple.clone(), 1..20u64).prop_map(|(tuple, packets)| Op::Grow(tuple, packets)),
        3 => tuple.clone().prop_map(Op::Destroy),
        2 => tuple.clone().prop_map(Op::LookAgain),
        1 => tuple.clone().prop_map(Op::Expire),
        1 => tuple.prop_map(Op::Collect),
        5 => (1..4usize).prop_map(Op::Deliver),
        3 => Just(Op::BeginDump),
        4 => (1..4usize).prop_map(Op::Read),
        4 => Just(Op::Merge),
        3 => any::<bool>().prop_map(Op::EndDump),
        3 => (1..4usize).prop_map(Op::Refresh),
        3 => any::<Index>().prop_map(Op::Look),
        3 => (any::<Index>(), prop::bool::weighted(0.1)).prop_map(|(which, fails)| Op::Answer(which, fails)),
        2 => Just(Op::Work),
        4 => (1..4usize).prop_map(Op::Take),
        4 => (any::<Index>(), prop::bool::weighted(0.7)).prop_map(|(which, commit)| Op::Settle(which, commit)),
    ]
}

#[derive(Clone)]
enum Event {
    New(usize),
    Destroy(usize),
}

struct Dump {
    poll: Poll,
    next: u16,
    read: VecDeque<Vec<Observation>>,
}

type Held = (RefreshKey, Option<Option<Observation>>);

struct World {
    table: FlowTable,
    ms: u64,
    timestamps: bool,
    lives: Vec<Life>,
    alive: HashMap<u16, usize>,
    expired: HashMap<u16, usize>,
    events: VecDeque<Event>,
    dump: Option<Dump>,
    lookups: Vec<Held>,
    batches: Vec<(Batch, Vec<Record>)>,
    exported: HashMap<usize, ([u64; 4], Vec<EndReason>)>,
}

impl World {
    fn new(timestamps: bool) -> Self {
        let mut table = table();
        // Without timestamps everything is older that the first complete dump shows.
        poll(&mut table, 0, 1_000, &[]);
        Self {
            table,
            ms: 1_000,
            timestamps,
            lives: Vec::new(),
            alive: HashMap::new(),
            expired: HashMap::new(),
            events: VecDeque::new(),
            dump: None,
            lookups: Vec::new(),
            batches: Vec::new(),
            exported: HashMap::new(),
        }
    }

    fn observation(&self, life: usize) -> Observation {
        let it = &self.lives[life];
        let start = self.timestamps.then_some(wall(it.start_ms));
        // Without timestamps only ids tell lives apart: then they are not reused.
        let id = if self.timestamps { it.id } else { life as u32 };
        Observation {
            id,
            mark: life as u32,
            ..seen(udp(it.tuple), start, it.totals)
        }
    }

    fn step(&mut self, op: &Op) {
        self.ms += 1;
        let now = at(self.ms);
        match *op {
            Op::Step(ms) => self.ms += ms,
            Op::Create(tuple, id) => {
                self.destroy(tuple);
                self.collect(tuple);
                let start_ms = self.ms;
                self.alive.insert(tuple, self.lives.len());
                self.events.push_back(Event::New(self.lives.len()));
                self.lives.push(Life {
                    tuple,
                    id,
                    start_ms,
                    stop_ms: None,
                    totals: [1, 100, 0, 0],
                });
            }
            Op::Grow(tuple, packets) => {
                if let Some(life) = self.alive.get(&tuple) {
                    let totals = &mut self.lives[*life].totals;
                    totals[0] += packets;
                    totals[1] += packets * 100;
                    totals[3] += 1;
                }
            }
            Op::Destroy(tuple) => self.destroy(tuple),
            Op::LookAgain(tuple) => {
                if let Some(life) = self.alive.get(&tuple) {
                    let seen = self.observation(*life);
                    self.table.look_again(Scope(0), &seen, now);
                }
            }
            Op::Expire(tuple) => {
                if let Some(life) = self.alive.remove(&tuple) {
                    self.lives[life].stop_ms = Some(self.ms);
                    self.collect(tuple);
                    self.expired.insert(tuple, life);
                }
            }
            Op::Collect(tuple) => self.collect(tuple),
            Op::Deliver(count) => self.deliver(count),
            Op::BeginDump => {
                if self.dump.is_none() {
                    let poll = self.table.begin_poll(Scope(0), now);
                    self.dump = Some(Dump {
                        poll,
                        next: 0,
                        read: VecDeque::new(),
                    });
                }
            }
            Op::Read(count) => self.read(count),
            Op::Merge => {
                if let Some(dump) = &mut self.dump
                    && let Some(buffer) = dump.read.pop_front()
                {
                    self.table.observe(dump.poll, &buffer, &mut everyone, now);
                }
            }
            Op::EndDump(complete) => self.end_dump(complete),
            Op::Refresh(limit) => {
                let mut keys = Vec::new();
                self.table.refresh_due(now, &mut keys, limit);
                self.lookups.extend(keys.into_iter().map(|key| (key, None)));
            }
            Op::Look(which) => {
                if !self.lookups.is_empty() {
                    let which = which.index(self.lookups.len());
                    let tuple = self.lookups[which].0.original.source_port;
                    let found = self.alive.get(&tuple).map(|life| self.observation(*life));
                    self.lookups[which].1 = Some(found);
                }
            }
            Op::Answer(which, fails) => {
                if !self.lookups.is_empty() {
                    let (key, found) = self.lookups.swap_remove(which.index(self.lookups.len()));
                    let answer = match &found {
                        _ if fails => Answer::Failed,
                        None => Answer::Unreadable,
                        Some(None) => Answer::Absent,
                        Some(Some(seen)) => Answer::Present(seen),
                    };
                    self.table.refreshed(&key, answer, &mut everyone, now);
                }
            }
            Op::Work => settle_down(&mut self.table, self.ms),
            Op::Take(max) => {
                let mut records = Vec::new();
                let batch = self.table.take_batch(now, max, |record| {
                    records.push(record.clone());
                    Taken::Yes
                });
                self.batches.extend(batch.map(|batch| (batch, records)));
            }
            Op::Settle(which, commit) => {
                if !self.batches.is_empty() {
                    let which = which.index(self.batches.len());
                    self.settle(which, commit);
                }
            }
        }
    }

    fn destroy(&mut self, tuple: u16) {
        if let Some(life) = self.alive.remove(&tuple) {
            self.lives[life].stop_ms = Some(self.ms);
            self.events.push_back(Event::Destroy(life));
        }
    }

    fn collect(&mut self, tuple: u16) {
        self.events
            .extend(self.expired.remove(&tuple).map(Event::Destroy));
    }

    fn deliver(&mut self, count: usize) {
        for _ in 0..count {
            let now = at(self.ms);
            match self.events.pop_front() {
                Some(Event::New(life)) => {
                    let event = Observation {
                        start_ns: None,
                        counters: None,
                        ..self.observation(life)
                    };
                    self.table.created(Scope(0), &event, &mut everyone, now);
                }
                Some(Event::Destroy(life)) => {
                    let stop_ns = self.lives[life]
                        .stop_ms
                        .filter(|_| self.timestamps)
                        .map(wall);
                    let event = Observation {
                        stop_ns,
                        timeout_s: None,
                        ..self.observation(life)
                    };
                    self.table.destroyed(Scope(0), &event, &mut everyone, now);
                }
                None => return,
            }
        }
    }

    fn read(&mut self, count: usize) {
        let Some(dump) = &self.dump else { return };
        let tuples = dump.next..(dump.next + count as u16).min(TUPLES);
        let buffer = tuples
            .clone()
            .filter_map(|tuple| Some(self.observation(*self.alive.get(&tuple)?)))
            .collect();
        if let Some(dump) = &mut self.dump {
            dump.next = tuples.end;
            dump.read.push_back(buffer);
        }
    }

    fn end_dump(&mut self, complete: bool) {
        if complete && self.dump.is_some() {
            self.read(usize::from(TUPLES));
            // What the caller owes: events queued up to here come first.
            self.deliver(usize::MAX);
        }
        if let Some(dump) = self.dump.take() {
            let now = at(self.ms);
            for buffer in dump.read.iter().filter(|_| complete) {
                self.table.observe(dump.poll, buffer, &mut everyone, now);
            }
            self.table.end_poll(dump.poll, complete, now);
        }
    }

    fn settle(&mut self, which: usize, commit: bool) {
        let now = at(self.ms);
        let (batch, records) = self.batches.swap_remove(which);
        if !commit {
            return self.table.rollback(batch, now);
        }
        self.table.commit(batch, now);
        for record in records {
            let (sums, reasons) = self.exported.entry(record.mark as usize).or_default();
            let [original, reply] = record.deltas;
            let deltas = [
                original.packets,
                original.octets,
                reply.packets,
                reply.octets,
            ];
            sums.iter_mut()
                .zip(deltas)
                .for_each(|(sum, delta)| *sum += delta);
            let again = record.reason == EndDetected && reasons.contains(&EndDetected);
            assert!(
                !again || deltas != [0; 4],
                "a second end with nothing new: {record:?}"
            );
            reasons.push(record.reason);
        }
    }

    /// Everything dies; after a few resyncs every life has been exported exactly once, and the table is empty.
    fn finish(&mut self) {
        for tuple in 0..TUPLES {
            self.destroy(tuple);
            self.collect(tuple);
        }
        for _ in 0..4 {
            self.end_dump(true);
            self.lookups
                .drain(..)
                .collect::<Vec<Held>>()
                .iter()
                .for_each(|(key, _)| {
                    self.table
                        .refreshed(key, Answer::Absent, &mut everyone, at(self.ms));
                });
            while !self.batches.is_empty() {
                self.settle(0, true);
            }
            settle_down(&mut self.table, self.ms);
            loop {
                self.step(&Op::Take(2));
                if self.batches.is_empty() {
                    break;
                }
                self.settle(0, true);
            }
            self.ms += 130_000;
            self.step(&Op::BeginDump);
        }
        self.end_dump(true);
        settle_down(&mut self.table, self.ms);
        for (number, life) in self.lives.iter().enumerate() {
            let (sums, reasons) = self.exported.get(&number).cloned().unwrap_or_default();
            assert_eq!(sums, life.totals, "life {number}: {life:?} by {reasons:?}");
            assert!(
                reasons.contains(&EndDetected),
                "life {number} has no end: {reasons:?}"
            );
        }
        assert_eq!(self.table.stats().connections, 0);
    }
}

fn cases() -> u32 {
    std::env::var("FLOW_TABLE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(1_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_exports_each_life_exactly_once(
        timestamps in any::<bool>(),
        ops in prop::collection::vec(op(), 1..150),
    ) {
        let mut world = World::new(timestamps);
        ops.iter().for_each(|op| world.step(op));
        world.finish();
    }
}
