//! A storm of connections that the event reader cannot follow. `cargo bench -p agent --bench storm` makes one of a minute.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::ops::Range;

use netfilter::testing::{Entry, numbered};

use support::pace::Point;
use support::with_events;
use support::world::World;

in_both_worlds!(after_a_storm_with_a_starved_reader_table_and_kernel_are_equal);

/// Connections made at a stretch, each of which the reader hears a tenth of.
const AT_ONCE: u32 = 1_000;
const ROUNDS: u32 = 40;
/// Of each stretch so many stay.
const STAY: u32 = 10;
/// Octets of a receive buffer that holds some hundred events.
const BUFFER: usize = 128 * 1024;
/// The queue of events has room for 16 MB, the table takes some 200 octets a connection.
const MOST_MEMORY: usize = 64 << 20;

fn entries(numbers: Range<u32>) -> impl Iterator<Item = Entry> {
    numbers.map(|number| Entry::new(numbered(number)))
}

/// Resident octets of this process.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn after_a_storm_with_a_starved_reader_table_and_kernel_are_equal(mut world: impl World) {
    let (mut run, pace) = world.run(agent::Config {
        event_buffer: BUFFER,
        ..with_events()
    });
    run.poll();
    let before = resident();
    pace.hold(Point::BeforeReceive);
    for round in 0..ROUNDS {
        let first = round * AT_ONCE;
        world.create(entries(first..first + AT_ONCE));
        pace.hold_after(Point::BeforeReceive, u64::from(AT_ONCE) / 10);
        world.delete(entries(first + STAY..first + AT_ONCE));
        run.export();
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < MOST_MEMORY, "{grown} octets");
    pace.release(Point::BeforeReceive);
    let staying = (ROUNDS * STAY) as usize;
    assert_eq!(world.entries(), staying);
    run.live(staying);
    // A complete dump that adds nothing and ends nothing has found in the kernel what is in the table.
    let summary = run.poll();
    assert_eq!(
        (summary.complete, summary.added, summary.ended),
        (true, 0, 0)
    );
    let stats = run.exporter.stats();
    assert!(stats.kernel.event_overruns > 0);
    assert!(stats.kernel.polls > 2, "repairs that nobody asked for");
    // What was heard of and has ended is exported.
    run.export_until(|_, exporter| {
        let table = exporter.stats().table;
        (table.ended, table.queued) == (0, table.live)
    });
}
