//! Lookups of single connections: what is refused, what fails, and what happens beside them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::time::{Duration, Instant};

use netfilter::Masked;
use netfilter::testing::{Entry, numbered, tuple};

use support::pace::{Point, Refused};
use support::world::World;
use support::{config, number, with_events};

/// More than two rounds of lookups.
const MANY: u32 = 1_300;

const MARKED: Masked = Masked {
    value: 1,
    mask: 0xff,
};

fn marked(original: netfilter::Tuple, mark: u32) -> Entry {
    Entry {
        mark,
        ..Entry::new(original)
    }
}

fn many(mark: u32) -> impl Iterator<Item = Entry> {
    (0..MANY).map(move |number| marked(numbered(number), mark))
}

fn with_mark(config: agent::Config) -> agent::Config {
    agent::Config {
        selection: agent::Selection {
            mark: Some(MARKED),
            ..agent::Selection::default()
        },
        ..config
    }
}

in_both_worlds!(
    lookups_that_follow_a_poll_let_events_through,
    a_lookup_that_is_refused_leaves_the_others_their_answers,
    while_every_lookup_is_refused_nothing_ends,
    a_mark_that_enters_the_selection_lets_its_connection_in_without_a_poll,
    a_connection_that_closes_is_looked_up_at_once,
    a_connection_that_is_no_longer_found_is_told_by_its_destroy,
    connections_that_close_one_after_the_other_are_looked_up_together,
    many_that_are_due_are_dumped_instead,
);

fn lookups_that_follow_a_poll_let_events_through(mut world: impl World) {
    let (mut run, pace) = world.run(with_mark(with_events()));
    world.create(many(1));
    run.poll();
    run.live(MANY as usize);
    // They leave the selection without an event that could tell: the reader hears none of the changes.
    pace.hold(Point::BeforeReceive);
    world.update(many(2));
    pace.hold_after(Point::Lookup, 1);
    run.exporter.poll();
    pace.release(Point::BeforeReceive);
    // The second round is about to be asked for, within the poll.
    pace.held(Point::Lookup);
    let empty = pace.passed(Point::FoundEmpty);
    world.create([marked(tuple("192.0.2.1:7", "198.51.100.1:53", 17), 1)]);
    pace.wait_passed(Point::FoundEmpty, empty + 1);
    pace.step(Point::Lookup, 1);
    assert_eq!(
        run.exporter.stats().table.added_total,
        u64::from(MANY) + 1,
        "it is in the table before the third round"
    );
    pace.release(Point::Lookup);
    run.poll_end(true).unwrap();
    run.live(1);
}

fn a_lookup_that_is_refused_leaves_the_others_their_answers(mut world: impl World) {
    let (mut run, pace) = world.run(with_mark(config()));
    let entry = |port: u16, mark| {
        marked(
            tuple(&format!("192.0.2.1:{port}"), "198.51.100.1:53", 17),
            mark,
        )
    };
    world.create([entry(1, 1), entry(2, 1), entry(3, 1)]);
    run.poll();
    // One leaves the selection, one ends, of one the kernel refuses to speak.
    world.update([entry(1, 2), entry(3, 2)]);
    world.delete([entry(2, 1)]);
    pace.refuse(Some(Refused::Port(3)));
    let summary = run.poll();
    assert!(summary.complete);
    let mut ends: Vec<_> = run
        .export()
        .iter()
        .map(|record| {
            (
                number(record, "sourceTransportPort"),
                number(record, "flowEndReason"),
            )
        })
        .collect();
    ends.sort_unstable();
    // 4: it lives on outside the selection. 3: it has ended.
    assert_eq!(ends, [(1, 4), (2, 3)]);
    let stats = run.exporter.stats();
    assert_eq!((stats.kernel.malformed_messages, stats.table.live), (1, 1));
    // When it can be asked for again it is.
    pace.refuse(None);
    run.poll();
    let records = run.export();
    assert_eq!(records.len(), 1);
    assert_eq!(number(&records[0], "sourceTransportPort"), 3);
    assert_eq!(number(&records[0], "flowEndReason"), 4);
}

fn while_every_lookup_is_refused_nothing_ends(mut world: impl World) {
    let (mut run, pace) = world.run(with_mark(config()));
    world.create(many(1));
    run.poll();
    world.flush();
    pace.refuse(Some(Refused::Each));
    let summary = run.poll();
    assert_eq!((summary.complete, summary.ended), (true, 0));
    let stats = run.exporter.stats();
    assert_eq!(stats.table.live, MANY as usize);
    assert_eq!(stats.kernel.malformed_messages, u64::from(MANY));
    pace.refuse(None);
    assert_eq!(run.poll().ended, u64::from(MANY));
    run.live(0);
}

fn a_mark_that_enters_the_selection_lets_its_connection_in_without_a_poll(mut world: impl World) {
    let (mut run, _) = world.run(with_mark(with_events()));
    run.poll();
    let entry = |mark| marked(tuple("192.0.2.1:1", "198.51.100.1:53", 17), mark);
    world.create([entry(2)]);
    world.create([marked(tuple("192.0.2.1:2", "198.51.100.1:53", 17), 1)]);
    run.live(1);
    world.update([entry(1)]);
    run.live(2);
    assert_eq!(run.exporter.stats().kernel.polls, 1);
}

fn a_connection_that_closes_is_looked_up_at_once(mut world: impl World) {
    let (mut run, pace) = world.run(with_events());
    run.poll();
    let in_state = |state| Entry {
        protocol_state: netfilter::ProtocolState::Tcp(state),
        ..Entry::new(tuple("192.0.2.1:1000", "198.51.100.1:443", 6))
    };
    world.create([in_state(3)]);
    run.live(1);
    assert_eq!(pace.passed(Point::Lookup), 0);
    // 7: TIME_WAIT.
    world.update([in_state(7)]);
    let records = run.export_until(|records, _| !records.is_empty());
    assert_eq!(number(&records[0], "flowEndReason"), 3);
    assert_eq!(pace.passed(Point::Lookup), 1);
    assert_eq!(world.entries(), 1, "the kernel still keeps it");
    assert_eq!(run.exporter.stats().kernel.polls, 1);
}

fn connections_that_close_one_after_the_other_are_looked_up_together(mut world: impl World) {
    const CLOSED: u16 = 100;
    let rest = Duration::from_millis(50);
    let (mut run, pace) = world.run(with_events());
    run.poll();
    let in_state = |port: u16, state| Entry {
        protocol_state: netfilter::ProtocolState::Tcp(state),
        ..Entry::new(tuple(&format!("192.0.2.1:{port}"), "198.51.100.1:443", 6))
    };
    world.create((0..CLOSED).map(|port| in_state(port, 3)));
    run.live(CLOSED.into());
    let begun = Instant::now();
    for port in 0..CLOSED {
        let read = pace.passed(Point::FoundEmpty);
        world.update([in_state(port, 7)]);
        pace.wait_passed(Point::FoundEmpty, read + 1);
    }
    let records = run.export_until(|records, _| records.len() == usize::from(CLOSED));
    assert!(
        records
            .iter()
            .all(|record| number(record, "flowEndReason") == 3)
    );
    let rests = begun.elapsed().as_millis() / rest.as_millis();
    let lookups = pace.passed(Point::Lookup);
    assert!(
        u128::from(lookups) <= rests + 1,
        "{lookups} times in {rests} rests"
    );
}

fn many_that_are_due_are_dumped_instead(mut world: impl World) {
    let idle_timeout = Duration::from_secs(1);
    let (mut run, pace) = world.run(agent::Config {
        idle_timeout,
        ..with_events()
    });
    world.create(many(0));
    run.poll();
    run.live(MANY as usize);
    // The first are due. The kernel thread is held until all are.
    pace.hold(Point::Lookup);
    pace.held(Point::Lookup);
    std::thread::sleep(idle_timeout);
    pace.release(Point::Lookup);
    assert!(run.poll_end(false).unwrap().complete);
    // 1,300 entries are worth 764 lookups, in rounds of 512: at most the held round, and two more.
    assert!(pace.passed(Point::Lookup) <= 3);
    let records = run.export_until(|records, _| records.len() == MANY as usize);
    assert!(
        records
            .iter()
            .all(|record| number(record, "flowEndReason") == 1)
    );
}

/// Its DESTROY has its last counters, and was sent before the lookup found nothing.
fn a_connection_that_is_no_longer_found_is_told_by_its_destroy(mut world: impl World) {
    let (mut run, pace) = world.run(with_events());
    run.poll();
    let in_state = |state| Entry {
        protocol_state: netfilter::ProtocolState::Tcp(state),
        ..Entry::new(tuple("192.0.2.1:1000", "198.51.100.1:443", 6))
    };
    world.create([in_state(3)]);
    run.live(1);
    pace.hold(Point::Lookup);
    // 7: TIME_WAIT.
    world.update([in_state(7)]);
    pace.held(Point::Lookup);
    pace.hold(Point::BeforeReceive);
    world.delete([in_state(7)]);
    pace.held(Point::BeforeReceive);
    let looked_up = pace.passed(Point::Lookup);
    pace.release(Point::Lookup);
    pace.wait_passed(Point::Lookup, looked_up + 1);
    // Enough for the kernel thread to judge the answer; should it not be, that is no failure.
    std::thread::sleep(Duration::from_millis(50));
    assert!(run.export().is_empty());
    pace.release(Point::BeforeReceive);
    let records = run.export_until(|records, _| !records.is_empty());
    assert_eq!(number(&records[0], "flowEndReason"), 3);
    assert_eq!(run.exporter.stats().table.ended_total, 1);
}
