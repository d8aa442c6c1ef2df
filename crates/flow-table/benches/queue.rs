//! The expiry queue against two priority-queue crates and a plain indexed binary heap, on the same operations: a million
//! keys (or fewer), idle timeout 15 s with up to 5 s of jitter that each key keeps.
//!
//! `poll`: every key gets a later deadline, then the due ones are asked for. `earlier`: every key gets an earlier one.
//! `remove`: a fifth of the keys. `drain`: all of them by deadline. Figures are for the whole
//! pass, in the thread's processor time.
#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark"
)]

mod support;

use std::cmp::Reverse;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use flow_table::expiry_queue::{Deadlines, ExpiryQueue, Key};
use support::spent;

/// What every contestant can do.
trait Queue {
    fn new() -> Self;
    fn push(&mut self, key: u32, deadline: u64);
    fn later(&mut self, key: u32, deadline: u64);
    fn earlier(&mut self, key: u32, deadline: u64);
    fn remove(&mut self, key: u32);
    fn pop_due(&mut self, now: u64) -> Option<u32>;
    fn upkeep(&mut self, _now: u64) {}
}

#[derive(Default)]
struct Slab(Vec<(u32, Option<u64>)>);

impl Deadlines for Slab {
    fn deadline(&self, key: Key) -> Option<u64> {
        self.0
            .get(key.slot as usize)
            .filter(|slot| slot.0 == key.generation)?
            .1
    }
}

struct Ours(ExpiryQueue, Slab);

impl Queue for Ours {
    fn new() -> Self {
        Self(ExpiryQueue::new(), Slab::default())
    }

    fn push(&mut self, slot: u32, deadline: u64) {
        if self.1.0.len() <= slot as usize {
            self.1.0.resize(slot as usize + 1, (0, None));
        }
        let generation = self.1.0[slot as usize].0 + 1;
        self.1.0[slot as usize] = (generation, Some(deadline));
        self.0.insert(Key { slot, generation }, deadline);
    }

    fn later(&mut self, slot: u32, deadline: u64) {
        self.1.0[slot as usize].1 = Some(deadline);
    }

    fn earlier(&mut self, slot: u32, deadline: u64) {
        let generation = self.1.0[slot as usize].0 + 1;
        self.1.0[slot as usize] = (generation, Some(deadline));
        let former = Key {
            slot,
            generation: generation - 1,
        };
        self.0.remove(former, &self.1);
        self.0.insert(Key { slot, generation }, deadline);
    }

    fn remove(&mut self, slot: u32) {
        let generation = self.1.0[slot as usize].0;
        self.1.0[slot as usize].1 = None;
        self.0.remove(Key { slot, generation }, &self.1);
    }

    fn pop_due(&mut self, now: u64) -> Option<u32> {
        let mut budget = usize::MAX;
        let (_, key) = self.0.pop_due(now, &self.1, &mut budget)?;
        self.1.0[key.slot as usize].1 = None;
        Some(key.slot)
    }

    fn upkeep(&mut self, now: u64) {
        while self.0.maintain(now, &self.1) {}
    }
}

struct PriorityQueue(priority_queue::PriorityQueue<u32, Reverse<u64>>);

impl Queue for PriorityQueue {
    fn new() -> Self {
        Self(priority_queue::PriorityQueue::new())
    }

    fn push(&mut self, key: u32, deadline: u64) {
        self.0.push(key, Reverse(deadline));
    }

    fn later(&mut self, key: u32, deadline: u64) {
        self.0.change_priority(&key, Reverse(deadline));
    }

    fn earlier(&mut self, key: u32, deadline: u64) {
        self.0.change_priority(&key, Reverse(deadline));
    }

    fn remove(&mut self, key: u32) {
        self.0.remove(&key);
    }

    fn pop_due(&mut self, now: u64) -> Option<u32> {
        self.0.peek().filter(|(_, deadline)| deadline.0 <= now)?;
        self.0.pop().map(|(key, _)| key)
    }
}

struct Keyed(keyed_priority_queue::KeyedPriorityQueue<u32, Reverse<u64>>);

impl Queue for Keyed {
    fn new() -> Self {
        Self(keyed_priority_queue::KeyedPriorityQueue::new())
    }

    fn push(&mut self, key: u32, deadline: u64) {
        self.0.push(key, Reverse(deadline));
    }

    fn later(&mut self, key: u32, deadline: u64) {
        self.0.set_priority(&key, Reverse(deadline)).unwrap();
    }

    fn earlier(&mut self, key: u32, deadline: u64) {
        self.0.set_priority(&key, Reverse(deadline)).unwrap();
    }

    fn remove(&mut self, key: u32) {
        self.0.remove(&key);
    }

    fn pop_due(&mut self, now: u64) -> Option<u32> {
        self.0.peek().filter(|(_, deadline)| deadline.0 <= now)?;
        self.0.pop().map(|(key, _)| key)
    }
}

/// A binary heap that knows where each key is.
#[derive(Default)]
struct Indexed {
    heap: Vec<(u64, u32)>,
    place: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Indexed {
    fn put(&mut self, at: usize, entry: (u64, u32)) {
        self.heap[at] = entry;
        self.place[entry.1 as usize] = at as u32;
    }

    fn up(&mut self, mut at: usize, entry: (u64, u32)) {
        while at > 0 && self.heap[(at - 1) / 2].0 > entry.0 {
            self.put(at, self.heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        self.put(at, entry);
    }

    fn down(&mut self, mut at: usize, entry: (u64, u32)) {
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                break;
            }
            let right = left + 1;
            let child = if right < self.heap.len() && self.heap[right].0 < self.heap[left].0 {
                right
            } else {
                left
            };
            if self.heap[child].0 >= entry.0 {
                break;
            }
            self.put(at, self.heap[child]);
            at = child;
        }
        self.put(at, entry);
    }
}

impl Queue for Indexed {
    fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, key: u32, deadline: u64) {
        if self.place.len() <= key as usize {
            self.place.resize(key as usize + 1, NOWHERE);
        }
        self.heap.push((deadline, key));
        self.up(self.heap.len() - 1, (deadline, key));
    }

    fn later(&mut self, key: u32, deadline: u64) {
        self.down(self.place[key as usize] as usize, (deadline, key));
    }

    fn earlier(&mut self, key: u32, deadline: u64) {
        self.up(self.place[key as usize] as usize, (deadline, key));
    }

    fn remove(&mut self, key: u32) {
        let at = self.place[key as usize] as usize;
        self.place[key as usize] = NOWHERE;
        let last = self.heap.pop().unwrap();
        if last.1 != key {
            let former = self.heap[at].0;
            if last.0 < former {
                self.up(at, last)
            } else {
                self.down(at, last)
            }
        }
    }

    fn pop_due(&mut self, now: u64) -> Option<u32> {
        let (deadline, key) = *self.heap.first()?;
        if deadline > now {
            return None;
        }
        self.remove(key);
        Some(key)
    }
}

fn jitter(key: u32) -> u64 {
    u64::from(key.wrapping_mul(0x9e37_79b9) >> 8) % 5_000
}

fn filled<Q: Queue>(size: u32) -> Q {
    let mut queue = Q::new();
    (0..size).for_each(|key| queue.push(key, 15_000 + jitter(key)));
    queue
}

/// Ten polls, 5 s apart; the mean of one.
fn polls<Q: Queue>(size: u32) -> Duration {
    let mut queue = filled::<Q>(size);
    let begun = spent();
    for n in 1..=10 {
        let now = n * 5_000;
        (0..size).for_each(|key| queue.later(key, now + 15_000 + jitter(key)));
        queue.upkeep(now);
        assert_eq!(queue.pop_due(now), None);
    }
    (spent() - begun) / 10
}

fn earlier<Q: Queue>(size: u32) -> Duration {
    let mut queue = filled::<Q>(size);
    let begun = spent();
    (0..size).for_each(|key| queue.earlier(key, 5_000 + jitter(key)));
    spent() - begun
}

fn remove<Q: Queue>(size: u32) -> Duration {
    let mut queue = filled::<Q>(size);
    let begun = spent();
    (0..size).step_by(5).for_each(|key| queue.remove(key));
    spent() - begun
}

fn drain<Q: Queue>(size: u32) -> Duration {
    let mut queue = filled::<Q>(size);
    let begun = spent();
    while queue.pop_due(u64::MAX - 1).is_some() {}
    spent() - begun
}

fn contest<Q: Queue>(c: &mut Criterion, name: &str) {
    for size in [10_000, 100_000, 1_000_000] {
        let mut group = c.benchmark_group(format!("{name}/{size}"));
        group
            .sample_size(10)
            .sampling_mode(SamplingMode::Flat)
            .measurement_time(Duration::from_millis(100))
            .warm_up_time(Duration::from_millis(1));
        group.throughput(Throughput::Elements(u64::from(size)));
        let timed = |pass: fn(u32) -> Duration| move |times| (0..times).map(|_| pass(size)).sum();
        let insert = |size| {
            let begun = spent();
            std::hint::black_box(filled::<Q>(size));
            spent() - begun
        };
        group.bench_function("insert", |b| b.iter_custom(timed(insert)));
        group.bench_function("poll", |b| b.iter_custom(timed(polls::<Q>)));
        group.bench_function("earlier", |b| b.iter_custom(timed(earlier::<Q>)));
        group.bench_function("remove", |b| b.iter_custom(timed(remove::<Q>)));
        group.bench_function("drain", |b| b.iter_custom(timed(drain::<Q>)));
        group.finish();
    }
}

fn queues(c: &mut Criterion) {
    contest::<Ours>(c, "ExpiryQueue");
    contest::<Indexed>(c, "indexed heap");
    contest::<PriorityQueue>(c, "priority-queue");
    contest::<Keyed>(c, "keyed_priority_queue");
}

criterion_group!(benches, queues);
criterion_main!(benches);
