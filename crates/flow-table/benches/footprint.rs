//! Prints resident memory for each connection at one million, IPv4 and IPv6, what comes back after a peak, and the longest
//! hold of each kind of call. `cargo bench -p flow-table --bench footprint`
//!
//! Holds are the thread's processor time. That of a virtual machine contains what its host and its neighbours on the caches
//! take now and then, which thousands of calls are sure to meet; so everything runs three times, and a call counts with the
//! least of its three times. The longest single one is printed beside it.
#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark"
)]

mod support;

use std::cell::RefCell;
use std::process::Command;
use std::time::Duration;

use flow_table::*;
use support::*;

const SIZE: u32 = 1_000_000;

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

const RUNS: usize = 3;

type Times = (&'static str, Vec<Duration>);

thread_local! {
    /// The holds of the runs so far, each in the same order.
    static BOOK: RefCell<Vec<Vec<Times>>> = const { RefCell::new(Vec::new()) };
}

/// How long each call of one kind took.
struct Holds {
    kind: &'static str,
    times: Vec<Duration>,
}

impl Holds {
    fn new(kind: &'static str) -> Self {
        Self {
            kind,
            times: Vec::new(),
        }
    }

    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let begun = spent();
        let result = call();
        self.times.push(spent() - begun);
        result
    }
}

impl Drop for Holds {
    fn drop(&mut self) {
        let times = std::mem::take(&mut self.times);
        BOOK.with_borrow_mut(|book| book.last_mut().unwrap().push((self.kind, times)));
    }
}

/// Runs a scenario some times and prints its holds.
fn scenario(name: &str, mut run: impl FnMut(bool)) {
    println!("{name}");
    BOOK.with_borrow_mut(Vec::clear);
    for n in 1..=RUNS {
        BOOK.with_borrow_mut(|book| book.push(Vec::new()));
        run(n == 1);
    }
    let runs = BOOK.take();
    for (at, (kind, first)) in runs[0].iter().enumerate() {
        let of_run = |run: &Vec<Times>, call: usize| run[at].1.get(call).copied();
        let longest = (0..first.len())
            .filter_map(|call| runs.iter().filter_map(|run| of_run(run, call)).min())
            .max();
        let once = runs.iter().flat_map(|run| &run[at].1).max();
        let sum: Duration = runs.iter().flat_map(|run| &run[at].1).sum();
        let calls: usize = runs.iter().map(|run| run[at].1.len()).sum();
        println!(
            "  {kind:<58} longest {:>9.1?} (once {:>9.1?}), mean {:>9.1?} of {} calls",
            longest.unwrap_or_default(),
            once.copied().unwrap_or_default(),
            sum / calls.max(1) as u32,
            first.len()
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

/// `say`: print what is not a hold.
fn family(v6: bool, say: bool) {
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
    say.then(|| {
        println!(
            "  resident: {:.1} octets a connection ({:.1} by the table's own count)",
            each(resident() - before.min(resident())),
            each(stats.bytes)
        )
    });
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
    say.then(|| {
        println!(
            "  resident after the peak: {:.1} MB of {:.1} MB",
            (after - before.min(after)) as f64 / 1e6,
            (with_all - before.min(with_all)) as f64 / 1e6
        )
    });
    say.then(|| {
        println!(
            "  {} connections, {} octets by the table's own count",
            table.stats().connections,
            table.stats().bytes
        )
    });
}

/// The own sessions of an agent that sees every zone.
fn zones() {
    let mut table = FlowTable::new(config(SIZE as usize));
    let mut flows = flows(SIZE, false, 1);
    for (flow, zone) in flows.iter_mut().zip((0..=u16::MAX).cycle()) {
        flow.zone = zone;
    }
    poll(&mut table, &flows, 1_000, BUFFER);
    let (mut forget, mut work) = (
        Holds::new("forget an own session"),
        Holds::new("work, the zones above the first 4,096"),
    );
    for flow in flows.iter().step_by(10_000) {
        forget.time(|| table.forget(&flow.original, at(2_000)));
        while work.time(|| table.work(at(2_000))) == Progress::More {}
    }
    assert_eq!(
        table.stats().connections,
        SIZE as usize - forget.times.len()
    );
}

fn evictions() {
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
    assert_eq!(table.stats().evicted_total, u64::from(SIZE));
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
    assert_eq!(table.stats().refused, SIZE as usize);
}

fn state() {
    let mut table = FlowTable::new(config(SIZE as usize));
    poll(&mut table, &flows(SIZE, false, 1), 1_000, BUFFER);
    let mut cursor = StateCursor::default();
    let mut entries = Vec::with_capacity(SIZE as usize);
    {
        let mut holds = Holds::new("export_state of 1024");
        while holds.time(|| table.export_state(&mut cursor, 1024, |entry| entries.push(*entry)))
            == Progress::More
        {}
    }
    let mut table = FlowTable::new(config(SIZE as usize));
    table.begin_import(at(0));
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

/// A NEW and a DESTROY for each of 20,000 incarnations, half of them while a dump runs.
fn events(same: bool) {
    let mut table = FlowTable::new(Config {
        events: true,
        ..config(SIZE as usize)
    });
    poll(&mut table, &[], 1_000, BUFFER);
    let mut pairs = Holds::new("NEW, then DESTROY");
    for n in 0..20_000_u32 {
        if n == 10_000 {
            table.begin_poll(Scope(0), at(2_000));
        }
        let destroy = Observation {
            id: n,
            start_ns: Some(EPOCH_NS + 2_000_000_000 + u64::from(n)),
            ..flow(if same { 1 } else { n }, false, 3)
        };
        let new = Observation {
            start_ns: None,
            counters: None,
            ..destroy.clone()
        };
        pairs.time(|| {
            table.created(Scope(0), &new, &mut everyone, at(2_001));
            table.destroyed(Scope(0), &destroy, &mut everyone, at(2_001));
        });
    }
    println!("  {} octets by the table's own count", table.stats().bytes);
}

fn main() {
    // `cargo test` runs benchmarks too, for a moment: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    // Each in a process of its own: memory that one has given back would be missing from what the next one takes.
    let Some(chosen) =
        std::env::args().find_map(|argument| argument.strip_prefix("--scenario=")?.parse().ok())
    else {
        for number in 0..7 {
            let program = std::env::current_exe().unwrap();
            let status = Command::new(program)
                .arg(format!("--scenario={number}"))
                .status();
            assert!(status.unwrap().success());
        }
        return;
    };
    match chosen {
        0 => scenario(&format!("IPv4, {SIZE} connections"), |say| {
            family(false, say)
        }),
        1 => scenario(&format!("IPv6, {SIZE} connections"), |say| {
            family(true, say)
        }),
        2 => scenario(
            &format!(
                "evict-idle, {SIZE} idle connections and as many new ones, then as many that are refused"
            ),
            |_| evictions(),
        ),
        3 => scenario(&format!("{SIZE} connections in 65,536 zones"), |_| zones()),
        4 => scenario(&format!("state of {SIZE} connections"), |_| state()),
        5 => scenario(
            "events: 20,000 distinct tuples, created and destroyed, nothing settled",
            |_| {
                events(false);
            },
        ),
        _ => scenario(
            "events: one tuple created and destroyed 20,000 times, nothing settled",
            |_| {
                events(true);
            },
        ),
    }
}
