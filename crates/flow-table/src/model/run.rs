//! Drives both tables over a small kernel, and compares.

use std::collections::HashMap;

use flow_table::*;
use proptest::sample::Index;

use super::naive::{ACTIVE, IDLE, Item, Naive, Seen, State, scope_of};
use super::support::{self, EPOCH_NS, at, everyone};

pub const TUPLES: usize = 9;

#[derive(Clone, Debug)]
pub struct Setup {
    pub cap: usize,
    pub evict: bool,
    pub total: bool,
    pub seconds: bool,
    pub timestamps: bool,
    pub accounting: bool,
    pub stale: u64,
}

#[derive(Clone, Debug)]
pub enum Op {
    Step(u64),
    /// A connection begins, in place of any former one.
    Create(usize, u32),
    Grow(usize, u64),
    /// It goes to this TCP state.
    Turn(usize, u8),
    Vanish(usize),
    /// Somebody sets its counters to zero.
    Zero(usize),
    /// A pass that misses some tuples, by the bits of `missed`.
    Poll {
        scope: u8,
        missed: u32,
        complete: bool,
        work: bool,
    },
    Work,
    /// The sink refuses the record at one place and finds it too large at another.
    Take {
        max: usize,
        full: Option<usize>,
        too_large: Option<usize>,
    },
    Settle(Index, u8),
    Forget(usize),
    /// Through the state file, or without it.
    Restart(bool),
}

/// A kernel's entry.
#[derive(Clone, Copy)]
struct Entry {
    id: u32,
    start: u64,
    totals: [u64; 4],
    tcp_state: u8,
    expires: u64,
}

/// Scopes: IPv4 in zone 0, IPv6, and the same IPv4 tuples in zone 5. Every other triple is TCP.
fn tuple_of(number: usize) -> (Tuple, u16) {
    let port = 100 + (number / 3) as u16;
    let tuple = if number % 3 == 1 {
        support::udp6(port)
    } else {
        support::udp(port)
    };
    let protocol = if is_tcp(number) { 6 } else { 17 };
    (
        Tuple { protocol, ..tuple },
        if number % 3 == 2 { 5 } else { 0 },
    )
}

fn is_tcp(number: usize) -> bool {
    number / 3 == 1
}

struct Run {
    setup: Setup,
    table: FlowTable,
    naive: Naive,
    kernel: HashMap<usize, Entry>,
    batches: Vec<(Batch, Vec<Item>)>,
    ms: u64,
}

fn config(setup: &Setup, agent_start_ns: u64) -> Config {
    Config {
        active_timeout_ms: ACTIVE,
        idle_timeout_ms: IDLE,
        stale_timeout_ms: setup.stale,
        max_connections: setup.cap,
        when_full: if setup.evict {
            WhenFull::EvictIdle
        } else {
            WhenFull::RejectNew
        },
        initial_delta: if setup.total {
            InitialDelta::Total
        } else {
            InitialDelta::Zero
        },
        agent_start_ns,
        seconds_end_monotonic: setup.seconds,
        ..Config::default()
    }
}

pub fn run(setup: &Setup, ops: &[Op]) {
    let agent_start = EPOCH_NS + 100_000_000_000;
    let mut run = Run {
        setup: setup.clone(),
        table: FlowTable::new(config(setup, agent_start)),
        naive: Naive::new(setup.clone(), agent_start),
        kernel: HashMap::new(),
        batches: Vec::new(),
        ms: 100_000,
    };
    for (tuple, age) in [(0, 90_000), (3, 5_000), (4, 80_000), (8, 1_000)] {
        let start = run.now().wall_ns - age * 1_000_000;
        run.kernel.insert(
            tuple,
            Entry {
                id: 1,
                start,
                totals: [5, 500, 4, 400],
                tcp_state: 3,
                expires: 200,
            },
        );
    }
    for op in ops {
        run.step(op);
        run.compare();
    }
    run.finish();
}

impl Run {
    fn now(&self) -> Now {
        at(self.ms)
    }

    fn step(&mut self, op: &Op) {
        self.ms += 1;
        let now = self.now();
        match *op {
            Op::Step(ms) => self.ms += ms,
            Op::Create(tuple, id) => {
                let entry = Entry {
                    id,
                    start: now.wall_ns,
                    totals: [1, 100, 0, 0],
                    tcp_state: 1,
                    expires: self.ms / 1000 + 30,
                };
                self.kernel.insert(tuple, entry);
            }
            Op::Grow(tuple, packets) => {
                let expires = self.ms / 1000 + 30;
                if let Some(entry) = self.kernel.get_mut(&tuple) {
                    entry.totals[0] += packets;
                    entry.totals[1] += packets * 50;
                    entry.totals[3] += packets % 3;
                    entry.expires = expires;
                }
            }
            Op::Turn(tuple, state) => {
                if let Some(entry) = self.kernel.get_mut(&tuple) {
                    entry.tcp_state = state;
                }
            }
            Op::Vanish(tuple) => {
                self.kernel.remove(&tuple);
            }
            Op::Zero(tuple) => {
                if let Some(entry) = self.kernel.get_mut(&tuple) {
                    entry.totals = [0; 4];
                }
            }
            Op::Poll {
                scope,
                missed,
                complete,
                work,
            } => self.poll(scope, missed, complete, work),
            Op::Work => self.work(),
            Op::Take {
                max,
                full,
                too_large,
            } => self.take(max, full, too_large),
            Op::Settle(which, how) => self.settle(which, how),
            Op::Forget(number) => {
                let (tuple, _) = tuple_of(number);
                self.table.forget(&tuple, now);
                (0..TUPLES)
                    .filter(|other| tuple_of(*other).0 == tuple)
                    .for_each(|other| self.naive.forget(other));
            }
            Op::Restart(with_file) => self.restart(with_file),
        }
    }

    fn seen(&self, number: usize, entry: &Entry) -> (Observation, Seen) {
        let (tuple, zone) = tuple_of(number);
        let seen = Seen {
            tuple: number,
            tcp: is_tcp(number),
            id: entry.id,
            start: self.setup.timestamps.then_some(entry.start),
            totals: self.setup.accounting.then_some(entry.totals),
            tcp_state: if is_tcp(number) { entry.tcp_state } else { 0 },
            timeout: entry.expires.saturating_sub(self.ms / 1000) as u32,
        };
        // Some are translated and labelled: the side storage moves along.
        let mut reply = tuple.inverse();
        let labelled = number >= 6;
        if labelled {
            reply.destination_port += 1000;
        }
        let observation = Observation {
            original: tuple,
            reply,
            zone,
            reply_zone: zone,
            id: seen.id,
            start_ns: seen.start,
            stop_ns: None,
            last_packet_ns: None,
            counters: seen.totals.map(support::counters),
            mark: number as u32,
            status: 0xe,
            protocol_state: seen.tcp_state,
            timeout_s: Some(seen.timeout),
            labels: [if labelled { number as u8 } else { 0 }; 16],
        };
        (observation, seen)
    }

    fn poll(&mut self, scope: u8, missed: u32, complete: bool, work: bool) {
        let began = self.ms;
        let poll = self.table.begin_poll(Scope(scope), self.now());
        let sequence = self.naive.begin(scope);
        for number in
            (0..TUPLES).filter(|number| scope_of(*number) == scope && missed >> number & 1 == 0)
        {
            let Some(entry) = self.kernel.get(&number).copied() else {
                continue;
            };
            // Every observation has its own time, so that no two connections have been quiet equally long.
            self.ms += 4;
            let (observation, seen) = self.seen(number, &entry);
            self.table.observe(
                poll,
                std::slice::from_ref(&observation),
                &mut everyone,
                self.now(),
            );
            self.naive.observe(sequence, &seen, self.now());
        }
        self.table.end_poll(poll, complete, self.now());
        if complete {
            self.naive.end_poll(scope, sequence, began);
        }
        if work {
            self.work();
        }
    }

    fn work(&mut self) {
        support::settle_down(&mut self.table, self.ms);
        self.naive.work(self.now());
        let stats = self.table.stats();
        assert!(
            stats.queue_entries <= stats.queued * 3 / 2 + 64,
            "{stats:?}"
        );
    }

    fn take(&mut self, max: usize, full: Option<usize>, too_large: Option<usize>) {
        let certain = self.take_once(max, full, too_large);
        if !certain {
            // Which of several equally due ones without a record were met is open: meet them all.
            self.take_once(1000, None, None);
            if let Some((batch, items)) = self.batches.pop() {
                self.table.rollback(batch, self.now());
                items
                    .iter()
                    .for_each(|item| self.naive.unsettle(item, at(self.ms)));
            }
        }
    }

    /// False: the naive table cannot tell which of several connections with one deadline were looked at.
    fn take_once(&mut self, max: usize, full: Option<usize>, too_large: Option<usize>) -> bool {
        let now = self.now();
        let mut records = Vec::new();
        let mut answers = Vec::new();
        let batch = self.table.take_batch(now, max, |record| {
            let answer = match answers.len() {
                at if Some(at) == full => Taken::Full,
                at if Some(at) == too_large => Taken::TooLarge,
                _ => Taken::Yes,
            };
            answers.push(answer);
            records.push(record.clone());
            answer
        });
        let mut items = Vec::new();
        let mut last = None;
        for (record, answer) in records.iter().zip(&answers) {
            let number = record.mark as usize;
            let stopping = self.naive.stopping;
            // Several incarnations of one tuple may be due: the one with these counters, in the order of their turns.
            let mut due: Vec<_> = (0..self.naive.flows.len())
                .filter(|flow| self.naive.flows[*flow].tuple == number)
                .filter_map(|flow| {
                    Some((
                        self.naive.flows[flow].due(now.monotonic_ms, stopping)?,
                        flow,
                    ))
                })
                .filter(|(_, flow)| {
                    // Equally due ones may come in any order; the order of turns is checked below.
                    let flow = &self.naive.flows[*flow];
                    let reason = self.naive.reason(flow, now.monotonic_ms);
                    let start = flow.start.min(now.wall_ns);
                    support::counters(flow.now_totals()) == record.totals
                        && (flow.id, start) == (record.id, record.start_ns)
                        && reason == Some(record.reason)
                })
                .collect();
            due.sort();
            let Some((turn, at_flow)) = due.first().copied() else {
                panic!("not due: {record:?}")
            };
            self.meet_before(turn);
            let flow = &self.naive.flows[at_flow];
            let reason = self
                .naive
                .reason(flow, now.monotonic_ms)
                .expect("a record is made");
            let expected = self.naive.record(flow, reason, now);
            let (tuple, zone) = tuple_of(number);
            assert_eq!(
                (record.original, record.zone, record.reason),
                (tuple, zone, expected.reason)
            );
            assert_eq!(
                (record.start_ns, record.end_ns),
                (expected.start, expected.end),
                "{record:?}"
            );
            assert_eq!(record.deltas, support::counters(expected.deltas));
            assert_eq!(record.labels[0], if number >= 6 { number as u8 } else { 0 });
            assert_eq!(record.reply == tuple.inverse(), number < 6);
            last = Some(turn);
            if *answer == Taken::Full {
                break;
            }
            let item = self.naive.take(at_flow, &expected, now.monotonic_ms);
            match answer {
                Taken::TooLarge => self.naive.settle(&item, Some(Loss::TooLarge), now),
                _ => items.push(item),
            }
        }
        assert_eq!(batch.as_ref().map_or(0, Batch::len), items.len());
        let stopped_early = items.len() == max || answers.last() == Some(&Taken::Full);
        let certain = match (stopped_early, last) {
            (false, _) => {
                self.meet_before((true, u64::MAX));
                true
            }
            (true, Some(last)) => !self.silent().iter().any(|(turn, _)| *turn == last),
            (true, None) => true,
        };
        if let Some(batch) = batch {
            self.batches.push((batch, items));
        }
        certain
    }

    /// Due, and without a record.
    fn silent(&self) -> Vec<((bool, u64), u64)> {
        let naive = &self.naive;
        let turns = naive
            .flows
            .iter()
            .filter(|flow| naive.reason(flow, self.ms).is_none());
        turns
            .filter_map(|flow| Some((flow.due(self.ms, naive.stopping)?, flow.number)))
            .collect()
    }

    /// Every due connection whose turn is before this one has been met: none of them had a record to give.
    fn meet_before(&mut self, turn: (bool, u64)) {
        loop {
            let before = |flow: &&super::naive::Flow| {
                flow.due(self.ms, self.naive.stopping)
                    .is_some_and(|due| due < turn)
            };
            let Some(flow) = self.naive.flows.iter().find(before) else {
                return;
            };
            assert_eq!(
                self.naive.reason(flow, self.ms),
                None,
                "passed over: {flow:?}"
            );
            let number = flow.number;
            let at = self
                .naive
                .flows
                .iter()
                .position(|flow| flow.number == number)
                .expect("just found");
            self.naive.without_record(at, self.ms);
        }
    }

    fn settle(&mut self, which: Index, how: u8) {
        if !self.batches.is_empty() {
            self.settle_at(which.index(self.batches.len()), how);
        }
    }

    fn settle_at(&mut self, which: usize, how: u8) {
        let now = self.now();
        let (batch, items) = self.batches.swap_remove(which);
        match how {
            0..5 => {
                self.table.commit(batch, now);
                items
                    .iter()
                    .for_each(|item| self.naive.settle(item, None, now));
            }
            5..7 => {
                self.table.rollback(batch, now);
                items.iter().for_each(|item| self.naive.unsettle(item, now));
            }
            7..9 => {
                self.table.lose(batch, Loss::UdpSend, now);
                items
                    .iter()
                    .for_each(|item| self.naive.settle(item, Some(Loss::UdpSend), now));
            }
            _ => {
                let dropped = self.table.stats().dropped_batches;
                std::thread::spawn(move || drop(batch))
                    .join()
                    .expect("dropping does not panic");
                self.table.forget(&support::udp(9), now);
                assert_eq!(self.table.stats().dropped_batches, dropped + 1);
                items.iter().for_each(|item| self.naive.unsettle(item, now));
            }
        }
    }

    fn restart(&mut self, with_file: bool) {
        // The batches die with the process.
        while let Some((batch, items)) = self.batches.pop() {
            self.table.rollback(batch, self.now());
            items
                .iter()
                .for_each(|item| self.naive.unsettle(item, at(self.ms)));
        }
        let mut entries = Vec::new();
        let mut cursor = StateCursor::default();
        while self
            .table
            .export_state(&mut cursor, 2, |entry| entries.push(*entry))
            == Progress::More
        {}
        let saved = self.naive.save();
        assert_eq!(entries.len(), saved.values().map(Vec::len).sum::<usize>());
        self.ms += 10;
        let written = self.now().wall_ns;
        self.ms += 10;
        let agent_start = self.now().wall_ns;
        self.table = FlowTable::new(config(&self.setup, agent_start));
        self.naive = Naive::new(self.setup.clone(), agent_start);
        if with_file {
            self.table.begin_import(written);
            entries
                .chunks(2)
                .for_each(|entries| self.table.import_state(entries));
            self.naive.saved = Some((written, saved));
        }
    }

    fn compare(&mut self) {
        let stats = self.table.stats();
        let count = |state| {
            self.naive
                .flows
                .iter()
                .filter(|flow| flow.state == state)
                .count()
        };
        assert_eq!(
            (
                stats.connections,
                stats.live,
                stats.idle,
                stats.ended,
                stats.done
            ),
            (
                self.naive.flows.len(),
                count(State::Live),
                count(State::Resting),
                count(State::Ended),
                count(State::Done)
            )
        );
        assert!(stats.connections <= self.setup.cap);
        assert_eq!(
            stats.in_flight,
            self.naive
                .flows
                .iter()
                .filter(|flow| flow.in_flight)
                .count()
        );
        assert_eq!(
            (stats.refused, stats.refused_total),
            (self.naive.refused.iter().sum(), self.naive.refused_total)
        );
        for (reason, lost) in stats.losses.iter() {
            let expected = self.naive.losses.get(&reason).copied().unwrap_or_default();
            assert_eq!(
                [lost.records, lost.packets, lost.octets],
                expected,
                "{reason:?}"
            );
        }
        // Never late.
        let due = self
            .naive
            .flows
            .iter()
            .any(|flow| flow.due(self.ms, self.naive.stopping).is_some());
        assert!(
            !due || self
                .table
                .next_deadline()
                .is_some_and(|deadline| deadline <= self.ms)
        );
    }

    /// A stop: everything that is left goes out once, or is counted.
    fn finish(&mut self) {
        self.table.begin_stop(self.now());
        support::settle_down(&mut self.table, self.ms);
        self.naive.stopping = true;
        self.naive.work(at(self.ms));
        self.naive.stop(at(self.ms));
        while !self.batches.is_empty() {
            self.settle_at(0, 0);
            self.compare();
        }
        loop {
            self.take(2, None, None);
            self.compare();
            if self.batches.is_empty() {
                break;
            }
            self.settle_at(0, 0);
            self.compare();
        }
        assert!(
            self.naive
                .flows
                .iter()
                .all(|flow| flow.totals.is_none_or(|totals| totals == flow.exported))
        );
        assert_eq!(self.table.next_deadline(), None);
        self.table.left_at_stop(self.now());
        assert_eq!(
            self.table.stats().losses.get(Loss::LeftAtStop),
            Lost::default()
        );
    }
}
