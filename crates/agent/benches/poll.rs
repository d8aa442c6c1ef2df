//! What a poll costs beside a bare dump: decoding, merging into the flow table, deadlines.
//!
//! `cargo bench -p agent --bench poll` makes 240,000 connections (within the kernel's default maximum) in a network
//! namespace of its own and takes turns. User time is the agent's own; system time is the kernel's walk. The caches are
//! as cold as the kernel leaves them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark that cannot go on has to stop"
)]

use std::sync::mpsc::channel;
use std::time::Duration;

use agent::{Config, Exporter, Notice, Selection};
use flow_table::{InitialDelta, WhenFull};
use netfilter::testing::{Entry, Maker, in_tracked_namespace, numbered};
use netfilter::{ConntrackSocket, Filter};

const ENTRIES: u32 = 240_000;
const ROUNDS: usize = 9;

fn main() {
    in_tracked_namespace(|| {
        let entries =
            (0..ENTRIES).map(|number| Entry::new(numbered(number.wrapping_mul(7_919) % (1 << 24))));
        Maker::open()
            .expect("netlink opens")
            .create(entries)
            .expect("entries are made");

        let (wake, woken) = channel();
        let exporter = Exporter::start(
            config(),
            Box::new(move || {
                let _ = wake.send(());
            }),
        )
        .expect("the exporter starts");
        let poll = || {
            exporter.poll();
            loop {
                woken.recv().expect("the kernel thread lives");
                for notice in exporter.notices() {
                    match notice {
                        Notice::Poll(summary) => {
                            assert_eq!(summary.ipv4, u64::from(ENTRIES));
                            return;
                        }
                        Notice::PollFailed { message, .. } => panic!("{message}"),
                        _ => {}
                    }
                }
            }
        };
        let first = measured(poll);
        println!("first poll: {first}");

        let mut socket = ConntrackSocket::open().expect("netlink opens");
        let mut differences = Vec::new();
        for _ in 0..ROUNDS {
            let dump = measured(|| {
                let mut dump = socket.dump(&Filter::default()).expect("the kernel dumps");
                while let Some(buffer) = dump.next_buffer().expect("the dump goes on") {
                    buffer.for_each(|connection| {
                        std::hint::black_box(&connection);
                    });
                }
            });
            let poll = measured(poll);
            println!("dump and decode: {dump}; poll: {poll}");
            differences.push(poll.user - dump.user);
        }
        differences.sort_by(f64::total_cmp);
        println!(
            "the flow table takes {:.0} ns a connection (median of {ROUNDS})",
            differences[ROUNDS / 2] * 1e9 / f64::from(ENTRIES)
        );
    });
}

fn config() -> Config {
    Config {
        selection: Selection::default(),
        netns: None,
        active_timeout: Duration::from_secs(60),
        idle_timeout: Duration::from_secs(600),
        stale_timeout: Duration::from_secs(600),
        max_connections: None,
        when_full: WhenFull::RejectNew,
        initial_delta: InitialDelta::Zero,
        poll_retry_timeout: Duration::from_secs(5),
        events: false,
        event_buffer: 0,
        seconds_end_monotonic: false,
        state_file: None,
        names: Default::default(),
    }
}

/// Processor seconds of this process, all threads.
struct Cost {
    user: f64,
    system: f64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "user {:.3} s, system {:.3} s",
            self.user, self.system
        )
    }
}

fn measured(work: impl FnOnce()) -> Cost {
    let before = spent();
    work();
    let after = spent();
    Cost {
        user: after.user - before.user,
        system: after.system - before.system,
    }
}

/// From /proc/self/stat, in ticks of 10 ms: coarse for one poll, enough for a median over many.
fn spent() -> Cost {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc is mounted");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .expect("a name")
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number") / 100.0;
    Cost {
        user: ticks(11),
        system: ticks(12),
    }
}
