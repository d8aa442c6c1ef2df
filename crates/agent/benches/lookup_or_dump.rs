//! What one lookup costs, in entries of a dump: the figure behind `LOOKUP_IN_TENTHS` in `src/refresh.rs`.
//!
//! `cargo bench -p agent --bench lookup_or_dump` makes a table in a network namespace of its own (root, or a user
//! namespace) and takes turns, so that a noisy machine disturbs both alike.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on has to stop"
)]

use std::time::{Duration, Instant};

use netfilter::testing::{Entry, Maker, in_tracked_namespace, numbered};
use netfilter::{ConntrackSocket, Filter, Query};

const ENTRIES: u32 = 100_000;
const ROUNDS: usize = 9;

fn main() {
    in_tracked_namespace(|| {
        let entries = (0..ENTRIES).map(|number| Entry::new(numbered(number)));
        Maker::open()
            .expect("netlink opens")
            .create(entries)
            .expect("entries are made");
        let mut socket = ConntrackSocket::open().expect("netlink opens");
        // In an order that is not the kernel's, as deadlines come.
        let queries: Vec<Query> = (0..ENTRIES)
            .map(|number| Query {
                tuple: numbered(number.wrapping_mul(7_919) % ENTRIES),
                zone: 0,
            })
            .collect();
        let mut ratios: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let (dump, dumped) = timed(|| {
                    let mut count = 0_u32;
                    let mut dump = socket.dump(&Filter::default()).expect("the kernel dumps");
                    while let Some(buffer) = dump.next_buffer().expect("the dump goes on") {
                        count += u32::try_from(buffer.count()).unwrap_or(u32::MAX);
                    }
                    count
                });
                let (lookup, found) = timed(|| {
                    let mut count = 0_u32;
                    for round in queries.chunks(512) {
                        socket
                            .lookup(round, |_, connection| {
                                count += u32::from(connection.is_ok_and(|it| it.is_some()))
                            })
                            .expect("the kernel answers");
                    }
                    count
                });
                assert_eq!((dumped, found), (ENTRIES, ENTRIES));
                let each = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(ENTRIES);
                println!(
                    "dump {:6.0} ns an entry, lookup {:6.0} ns each",
                    each(dump),
                    each(lookup)
                );
                lookup.as_secs_f64() / dump.as_secs_f64()
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "one lookup costs {:.2} dumped entries (median of {ROUNDS})",
            ratios[ROUNDS / 2]
        );
    });
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let result = work();
    (begun.elapsed(), result)
}
