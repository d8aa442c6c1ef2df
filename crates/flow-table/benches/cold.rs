//! Prints what merging one receive buffer costs after the kernel has walked its own table to fill it: nanoseconds a
//! connection, medians and tenths over a dump's buffers, beside the same without the walk. `cargo bench -p flow-table --bench cold`
//!
//! Before each buffer, outside of what is timed, the benchmark does to the caches what a dump does: for each of 130 entries
//! it reads a bucket head and 256 octets (a connection and its extensions) from where the kernel's table would have them,
//! scattered over a region of 1,048,576 entries that is walked once a dump; writes 244 octets (the entry on the wire) to
//! one buffer of 32 KiB, copies that to another, and builds 130 observations from it. Page tables and caches see what they
//! would see; what a real kernel does beyond that (locks, attributes one by one) costs time and not lines.
//!
//! Figures are this thread's processor time, less what reading that clock costs.
#![allow(missing_docs, clippy::indexing_slicing, reason = "a benchmark")]

mod support;

use std::hint::black_box;
use std::time::Duration;

use flow_table::*;
use support::*;

const SIZE: u32 = 1_000_000;
/// Octets of an entry in a dump, with zone, mark, counters and timestamp.
const ON_THE_WIRE: usize = 244;
/// Entries of the walked region.
const ENTRIES: u32 = 1 << 20;

/// What the kernel's walk touches.
struct Kernel {
    buckets: Vec<u64>,
    entries: Vec<[u64; 32]>,
    message: Vec<u8>,
    received: Vec<u8>,
}

impl Kernel {
    fn new() -> Self {
        Self {
            buckets: vec![1; ENTRIES as usize],
            entries: vec![[1; 32]; ENTRIES as usize],
            message: vec![0; BUFFER * ON_THE_WIRE],
            received: vec![0; BUFFER * ON_THE_WIRE],
        }
    }

    /// Fills a receive buffer with the entries from `first` on, in the order of the kernel's buckets.
    fn walk(&mut self, first: u32) {
        for (n, wire) in self.message.chunks_exact_mut(ON_THE_WIRE).enumerate() {
            let n = first.wrapping_add(n as u32) % ENTRIES;
            let head = self.buckets[n as usize];
            // Entries lie where they were allocated: far from their neighbours in the table.
            let entry = &self.entries[(n.wrapping_mul(0x9e37_79b1) % ENTRIES) as usize];
            for (octets, word) in wire.chunks_exact_mut(8).zip(entry) {
                octets.copy_from_slice(&(word ^ head).to_ne_bytes());
            }
        }
        self.received.copy_from_slice(&self.message);
        black_box(&self.received);
    }
}

/// The cost of reading the clock twice.
fn clock() -> Duration {
    let mut times: Vec<Duration> = (0..1000)
        .map(|_| {
            let begun = spent();
            spent() - begun
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

struct Dump<'a> {
    table: &'a mut FlowTable,
    v6: bool,
    packets: u64,
    ms: u64,
    /// Entries in the order of the dump; empty: as first seen.
    order: Vec<u32>,
}

impl Dump<'_> {
    /// One dump: the times of its buffers, in nanoseconds a connection.
    fn run(
        &mut self,
        size: u32,
        parts: usize,
        mut before: impl FnMut(u32),
        clock: Duration,
    ) -> Vec<f64> {
        self.ms += 5_000;
        let now = at(self.ms);
        let poll = self.table.begin_poll(Scope(0), now);
        let mut times = Vec::new();
        let mut buffer: Vec<Observation> = Vec::with_capacity(BUFFER);
        for first in (0..size).step_by(BUFFER) {
            before(first);
            buffer.clear();
            buffer.extend((first..size.min(first + BUFFER as u32)).map(|n| {
                let n = self.order.get(n as usize).copied().unwrap_or(n);
                flow(n, self.v6, self.packets)
            }));
            let begun = spent();
            for part in buffer.chunks(parts) {
                self.table.observe(poll, part, &mut everyone, now);
            }
            let time = (spent() - begun).saturating_sub(clock);
            times.push(time.as_nanos() as f64 / buffer.len() as f64);
        }
        self.table.end_poll(poll, true, now);
        while self.table.work(now) == Progress::More {}
        times
    }

    fn report(&self, what: &str, mut times: Vec<f64>) {
        times.sort_by(f64::total_cmp);
        let rank = |tenths: usize| times[(times.len() - 1) * tenths / 10];
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        println!(
            "  {what:<36} first tenth {:>6.1}  median {:>6.1}  ninth tenth {:>7.1}  mean {:>6.1}",
            rank(1),
            rank(5),
            rank(9),
            mean
        );
    }
}

fn family(v6: bool) {
    println!(
        "{}, {SIZE} connections, ns a connection",
        if v6 { "IPv6" } else { "IPv4" }
    );
    let clock = clock();
    let mut kernel = Kernel::new();
    let mut table = FlowTable::new(config(SIZE as usize));
    let mut dump = Dump {
        table: &mut table,
        v6,
        packets: 1,
        ms: 1_000,
        order: Vec::new(),
    };
    let times = dump.run(SIZE, BUFFER, |_| {}, clock);
    dump.report("first insert", times);
    let mut passes = |what: &str, moving: u64, parts: usize, cold: bool, order: Vec<u32>| {
        dump.order = order;
        let mut times = Vec::new();
        for _ in 0..3 {
            dump.packets += moving;
            times.extend(dump.run(
                SIZE,
                parts,
                |first| {
                    if cold {
                        kernel.walk(first);
                    }
                },
                clock,
            ));
        }
        dump.report(what, times);
    };
    passes("cold, moved", 1, BUFFER, true, Vec::new());
    passes("cold, not moved", 0, BUFFER, true, Vec::new());
    passes("cold, moved, one by one", 1, 1, true, Vec::new());
    passes("no walk, moved", 1, BUFFER, false, Vec::new());
    passes("no walk, not moved", 0, BUFFER, false, Vec::new());
    passes("no walk, moved, one by one", 1, 1, false, Vec::new());
    let order: Vec<u32> = shuffled((0..SIZE).collect());
    passes("cold, moved, random order", 1, BUFFER, true, order.clone());
    passes("no walk, moved, random order", 1, BUFFER, false, order);
}

fn main() {
    // `cargo test` runs benchmarks too, for a moment: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    family(false);
    family(true);
}
