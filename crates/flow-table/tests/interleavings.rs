//! Any interleaving of dumps, lookups, NEW, DESTROY and tuple reuse, against what the kernel really counted.
//! `FLOW_TABLE_CASES` sets the number of cases (1,000 in a plain run).
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use std::collections::{HashMap, VecDeque};

use flow_table::EndReason::EndDetected;
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
