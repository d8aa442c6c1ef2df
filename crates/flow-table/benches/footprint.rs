//! Prints resident memory for each connection at one million, IPv4 and IPv6, what comes back after a peak, and the longest
//! hold of each kind of call, in processor time (a lock is held longer only while the machine does something else). `cargo bench -p flow-table --bench footprint`
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::time::Duration;

use flow_table::*;
use support::*;

const SIZE: u32 = 1_000_000;

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// The longest and the count of one kind of call.
struct Holds {
    kind: &'static str,
    longest: Duration,
    sum: Duration,
    calls: u32,
}

impl Holds {
    fn new(kind: &'static str) -> Self {
        Self {
            kind,
            longest: Duration::ZERO,
            sum: Duration::ZERO,
            calls: 0,
        }
    }

    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let begun = spent();
        let result = call();
        let time = spent() - begun;
        self.longest = self.longest.max(time);
        self.sum += time;
        self.calls += 1;
        result
    }
}

impl Drop for Holds {
    fn drop(&mut self) {
        let mean = self.sum / self.calls.max(1);
        println!(
            "  {:<58} longest {:>9.1?}, mean {:>9.1?} of {} calls",
            self.kind, self.longest, mean, self.calls
        );
    }
}

fn observe(
    table: &mut FlowTable,
    kind: &'static str,
    ms: u64,
    flows: impl Iterator<Item = Observation>,
) {
    let mut holds = Holds::new(kind);
    let poll = table.begin_poll(Scope(0), at(ms));
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut flows = flows.peekable();
    while flows.peek().is_some() {
        buffer.clear();
        buffer.extend(flows.by_ref().take(BUFFER));
        holds.time(|| table.observe(poll, &buffer, &mut everyone, at(ms)));
    }
    holds.time(|| table.end_poll(poll, true, at(ms)));
}

fn work(table: &mut FlowTable, kind: &'static str, ms: u64) {
    let mut holds = Holds::new(kind);
    while holds.time(|| table.work(at(ms))) == Progress::More {}
}

fn export(table: &mut FlowTable, takes: &'static str, commits: &'static str, ms: u64) {
    let (mut take, mut commit) = (Holds::new(takes), Holds::new(commits));
    let sink = |record: &Record| {
        std::hint::black_box(record);
        Taken::Yes
    };
    while let Some(batch) = take.time(|| table.take_batch(at(ms), 1024, sink)) {
        commit.time(|| table.commit(batch, at(ms)));
    }
}

fn family(v6: bool) {
    println!("{}, {SIZE} connections", if v6 { "IPv6" } else { "IPv4" });
    let before = resident();
    let mut table = FlowTable::new(config(SIZE as usize));
    let all = |packets| (0..SIZE).map(move |n| flow(n, v6, packets));
    observe(
        &mut table,
        "observe, first sight (growth of slots, index, queue)",
        1_000,
        all(1),
    );
    work(&mut table, "work, after a poll without ends", 1_000);
    observe(&mut table, "observe, every counter moved", 6_000, all(2));
    work(&mut table, "work, after that", 6_000);
    observe(&mut table, "observe, every counter moved", 11_000, all(3));
    observe(&mut table, "observe, every counter moved", 17_000, all(4));
    work(
        &mut table,
        "work, every deadline was stale (queue rebuilt)",
        17_000,
    );
    let each = |bytes: usize| bytes as f64 / f64::from(SIZE);
    let stats = table.stats();
    println!(
        "  resident: {:.1} octets a connection ({:.1} by the table's own count)",
        each(resident() - before),
        each(stats.bytes)
    );
    export(
        &mut table,
        "take_batch of 1024, a million due",
        "commit of 1024",
        70_000,
    );
    observe(&mut table, "observe, idle ones move again", 75_000, all(5));
    work(&mut table, "work, after that", 75_000);
    let with_all = resident();
    observe(
        &mut table,
        "observe, a thousand left",
        80_000,
        (0..1000).map(|n| flow(n * 1000, v6, 6)),
    );
    work(&mut table, "work, 999,000 ends swept", 80_000);
    let mut batches = Vec::new();
    {
        let (mut take, mut rollback) = (
            Holds::new("take_batch of 1024, ended ones"),
            Holds::new("rollback of 1024"),
        );
        for _ in 0..100 {
            batches.extend(take.time(|| table.take_batch(at(80_000), 1024, |_| Taken::Yes)));
        }
        batches
            .into_iter()
            .for_each(|batch| rollback.time(|| table.rollback(batch, at(80_000))));
    }
    work(
        &mut table,
        "work, 999,000 stale ends evicted, memory given back",
        380_000,
    );
    for ms in [385_000, 390_000] {
        observe(
            &mut table,
            "observe, a thousand",
            ms,
            (0..1000).map(|n| flow(n * 1000, v6, 7)),
        );
        work(
            &mut table,
            "work, connections moved down, memory given back",
            ms,
        );
    }
    let after = resident();
    println!(
        "  resident after the peak: {:.1} MB of {:.1} MB",
        (after - before.min(after)) as f64 / 1e6,
        (with_all - before) as f64 / 1e6
    );
    println!(
        "  {} connections, {} octets by the table's own count",
        table.stats().connections,
        table.stats().bytes
    );
}

fn evictions() {
    println!("evict-idle, {SIZE} idle connections, all replaced by new ones");
    let mut table = FlowTable::new(Config {
        when_full: WhenFull::EvictIdle,
        ..config(SIZE as usize)
    });
    poll(&mut table, &flows(SIZE, false, 1), 1_000, BUFFER);
    while let Some(batch) = table.take_batch(at(70_000), 1024, |_| Taken::Yes) {
        table.commit(batch, at(70_000));
    }
    assert_eq!(table.stats().idle, SIZE as usize);
    observe(
        &mut table,
        "observe, each evicts one",
        75_000,
        (SIZE..2 * SIZE).map(|n| flow(n, false, 1)),
    );
    println!("  {} evicted", table.stats().evicted_total);
    println!("refusals, a full table and a million new connections");
    observe(
        &mut table,
        "observe, first refusal",
        80_000,
        (2 * SIZE..3 * SIZE).map(|n| flow(n, false, 1)),
    );
    observe(
        &mut table,
        "observe, refused again",
        85_000,
        (2 * SIZE..3 * SIZE).map(|n| flow(n, false, 2)),
    );
    println!(
        "  {} refused once, {} at the last poll",
        table.stats().refused_total,
        table.stats().refused
    );
}

fn state() {
    println!("state of {SIZE} connections");
    let mut table = FlowTable::new(config(SIZE as usize));
    poll(&mut table, &flows(SIZE, false, 1), 1_000, BUFFER);
    let mut cursor = StateCursor::default();
    let mut entries = Vec::new();
    {
        let mut holds = Holds::new("export_state of 1024");
        while holds.time(|| table.export_state(&mut cursor, 1024, |entry| entries.push(*entry)))
            == Progress::More
        {}
    }
    let mut table = FlowTable::new(config(SIZE as usize));
    table.begin_import(EPOCH_NS);
    {
        let mut holds = Holds::new("import_state of 1024");
        entries
            .chunks(1024)
            .for_each(|entries| holds.time(|| table.import_state(entries)));
    }
    observe(
        &mut table,
        "observe, first sight with a state file",
        1_000,
        (0..SIZE / 2).map(|n| flow(n, false, 1)),
    );
    table.end_import();
    work(&mut table, "work, the rest of the state dropped", 1_000);
    table.begin_stop(at(2_000));
    work(&mut table, "work, search at the stop", 2_000);
}

fn main() {
    // `cargo test` runs benchmarks too, for a moment: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    family(false);
    family(true);
    evictions();
    state();
}
