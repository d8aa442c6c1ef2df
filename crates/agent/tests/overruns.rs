//! What was lost of the kernel's events, and how it is put right: the tests decide when the threads go on.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::time::{Duration, Instant};

use netfilter::testing::{Entry, numbered};

use support::pace::{Pace, Point};
use support::world::World;
use support::{Run, config, with_events};

/// Octets of a receive buffer that holds some hundreds of events: more than the reader hands on at once.
const SMALL: usize = 256 * 1024;

/// Receives after which the reader hands on what it has.
const HANDED_ON: u64 = 256;

fn small() -> agent::Config {
    agent::Config {
        event_buffer: SMALL,
        ..with_events()
    }
}

fn entries(numbers: std::ops::Range<u32>) -> impl Iterator<Item = Entry> {
    numbers.map(|number| Entry::new(numbered(number)))
}

/// Holds the reader, and fills its socket with NEWs of connections whose DESTROYs then find no room.
fn overrun(world: &mut impl World, pace: &Pace, numbers: std::ops::Range<u32>) {
    pace.hold(Point::BeforeReceive);
    world.create(entries(numbers.clone()));
    pace.held(Point::BeforeReceive);
    world.delete(entries(numbers));
}

/// As [`overrun`], and lets the reader come to the middle of what it must read until the loss is over.
fn overrun_half_read(world: &mut impl World, run: &mut Run, pace: &Pace) {
    overrun(world, pace, 0..2000);
    // The kernel drops from here on: no event will ever tell of these.
    world.create(entries(5000..5500));
    pace.step(Point::BeforeReceive, HANDED_ON);
    run.settled();
    let stats = run.exporter.stats();
    assert_eq!(stats.kernel.event_overruns, 1);
    assert_eq!(
        stats.table.live as u64,
        HANDED_ON - 1,
        "all but the overrun"
    );
}

/// Waits until the losses are put right, and compares: a complete dump that adds nothing and ends nothing has found in the
/// kernel what is in the table.
fn equals_the_kernel(run: &mut Run, world: &mut impl World) {
    let entries = world.entries();
    run.live(entries);
    let summary = run.poll();
    assert_eq!((summary.added, summary.ended), (0, 0), "{summary:?}");
    assert!(summary.complete);
    assert_eq!(summary.kernel_entries as usize, entries);
}

in_both_worlds!(
    the_repairing_dump_begins_only_when_the_overrun_is_over,
    a_poll_that_is_asked_for_when_an_overrun_is_ending_repairs_it,
    a_poll_that_sees_no_end_of_an_overrun_does_not_stand_for_its_repair,
    what_is_lost_while_a_repair_runs_leads_to_another,
    a_reader_that_is_starved_loses_what_does_not_fit_and_it_is_put_right,
    a_full_queue_leaves_the_rest_to_the_kernels_buffer,
    a_dump_that_stops_early_ends_nothing_and_is_made_again,
    without_events_a_dump_that_stops_early_ends_nothing_and_waits_to_be_asked,
    a_dump_ends_nothing_before_the_events_that_came_before_its_end,
);

fn the_repairing_dump_begins_only_when_the_overrun_is_over(mut world: impl World) {
    let (mut run, pace) = world.run(small());
    run.poll();
    overrun_half_read(&mut world, &mut run, &pace);
    assert_eq!(pace.passed(Point::Dump), 1, "the one that was asked for");
    pace.release(Point::BeforeReceive);
    assert!(run.poll_end(false).unwrap().complete);
    equals_the_kernel(&mut run, &mut world);
    assert_eq!(run.exporter.stats().kernel.event_overruns, 1);
}

fn a_poll_that_is_asked_for_when_an_overrun_is_ending_repairs_it(mut world: impl World) {
    let (mut run, pace) = world.run(small());
    run.poll();
    overrun_half_read(&mut world, &mut run, &pace);
    pace.hold(Point::Counted);
    run.exporter.poll();
    pace.held(Point::Counted);
    pace.release(Point::Counted);
    // Enough for the kernel thread to come to where it waits for the reader; should it not be, that is no failure.
    std::thread::sleep(Duration::from_millis(50));
    pace.release(Point::BeforeReceive);
    assert!(run.poll_end(true).unwrap().complete);
    // Where it did not stand for the repair another one follows, after a rest.
    std::thread::sleep(Duration::from_secs(1));
    run.settled();
    assert_eq!(run.exporter.stats().kernel.polls, 2);
    equals_the_kernel(&mut run, &mut world);
}

fn a_poll_that_sees_no_end_of_an_overrun_does_not_stand_for_its_repair(mut world: impl World) {
    let (mut run, pace) = world.run(small());
    run.poll();
    overrun_half_read(&mut world, &mut run, &pace);
    let summary = run.poll();
    assert!(
        !summary.complete,
        "events that came before its end are still to be read"
    );
    assert_eq!((summary.added, summary.ended), (500, 0));
    assert_eq!(run.exporter.stats().kernel.incomplete_dumps, 1);
    // As long as the loss goes on nothing is repaired, however long ago the last poll was.
    std::thread::sleep(Duration::from_millis(200));
    run.settled();
    assert_eq!(pace.passed(Point::Dump), 2);
    pace.release(Point::BeforeReceive);
    let released = Instant::now();
    assert!(run.poll_end(false).unwrap().complete);
    // It waited for the reader for two seconds. A repair does not rest for four times as long.
    assert!(released.elapsed() < Duration::from_secs(6));
    equals_the_kernel(&mut run, &mut world);
}

fn what_is_lost_while_a_repair_runs_leads_to_another(mut world: impl World) {
    let (mut run, pace) = world.run(small());
    run.poll();
    overrun(&mut world, &pace, 0..2000);
    pace.hold(Point::DumpBuffer);
    pace.release(Point::BeforeReceive);
    pace.held(Point::DumpBuffer);
    overrun(&mut world, &pace, 2000..4000);
    world.create(entries(5000..5500));
    pace.release(Point::BeforeReceive);
    pace.release(Point::DumpBuffer);
    for _ in 0..2 {
        assert!(run.poll_end(false).unwrap().complete);
    }
    equals_the_kernel(&mut run, &mut world);
    assert_eq!(run.exporter.stats().kernel.event_overruns, 2);
}

fn a_reader_that_is_starved_loses_what_does_not_fit_and_it_is_put_right(mut world: impl World) {
    let (mut run, pace) = world.run(small());
    run.poll();
    pace.hold(Point::BeforeReceive);
    for round in 0..5 {
        world.create(entries(1000 * round..1000 * (round + 1)));
        world.delete(entries(1000 * round..1000 * round + 900));
    }
    run.settled();
    assert_eq!(run.exporter.stats().table.live, 0, "nothing was read");
    pace.release(Point::BeforeReceive);
    assert!(run.poll_end(false).unwrap().complete);
    assert_eq!(world.entries(), 500);
    equals_the_kernel(&mut run, &mut world);
}

fn a_full_queue_leaves_the_rest_to_the_kernels_buffer(mut world: impl World) {
    const CONNECTIONS: u32 = 36_000;
    const STEP: usize = 3_000;
    const QUEUE: u32 = 65_536;
    let (mut run, pace) = world.run(with_events());
    run.poll();
    pace.hold(Point::DumpBuffer);
    run.exporter.poll();
    pace.held(Point::DumpBuffer);
    // No more at once than the kernel's buffer holds beside what the queue has no room for.
    let empty_before = pace.passed(Point::FoundEmpty);
    let before = pace.passed(Point::AfterReceive);
    let read = |events: u32| pace.wait_passed(Point::AfterReceive, before + u64::from(events));
    for first in (0..CONNECTIONS).step_by(STEP) {
        world.create(entries(first..first + STEP as u32));
        read(first + STEP as u32);
    }
    for first in (0..CONNECTIONS).step_by(STEP) {
        world.delete(entries(first..first + STEP as u32));
        read((CONNECTIONS + first + STEP as u32).min(QUEUE));
    }
    // It would go on where it has no bound; enough for that, and no failure where it is not.
    std::thread::sleep(Duration::from_millis(200));
    let empty = pace.passed(Point::FoundEmpty) - empty_before;
    let events = pace.passed(Point::AfterReceive) - before - empty;
    assert!(events <= u64::from(QUEUE), "{events} in the queue");
    pace.release(Point::DumpBuffer);
    assert!(run.poll_end(true).unwrap().complete);
    equals_the_kernel(&mut run, &mut world);
    let stats = run.exporter.stats();
    assert_eq!(stats.kernel.event_overruns, 0);
    assert_eq!(stats.table.added_total, u64::from(CONNECTIONS));
}

fn a_dump_that_stops_early_ends_nothing_and_is_made_again(mut world: impl World) {
    let (mut run, pace) = world.run(with_events());
    world.create(entries(0..1000));
    run.poll();
    pace.stop_dumps_after(Some(2));
    let summary = run.poll();
    assert_eq!((summary.complete, summary.ended), (false, 0));
    pace.stop_dumps_after(None);
    while !run.poll_end(false).unwrap().complete {}
    equals_the_kernel(&mut run, &mut world);
    assert!(run.exporter.stats().kernel.incomplete_dumps > 0);
}

fn without_events_a_dump_that_stops_early_ends_nothing_and_waits_to_be_asked(
    mut world: impl World,
) {
    let (mut run, pace) = world.run(config());
    world.create(entries(0..1000));
    run.poll();
    world.delete(entries(0..10));
    pace.stop_dumps_after(Some(2));
    let summary = run.poll();
    assert_eq!((summary.complete, summary.ended), (false, 0));
    pace.stop_dumps_after(None);
    run.settled();
    assert_eq!(pace.passed(Point::Dump), 2);
    let summary = run.poll();
    assert_eq!((summary.complete, summary.ended), (true, 10));
}

fn a_dump_ends_nothing_before_the_events_that_came_before_its_end(mut world: impl World) {
    let (mut run, pace) = world.run(with_events());
    world.create(entries(0..1));
    run.poll();
    pace.hold(Point::BeforeReceive);
    world.delete(entries(0..1));
    // What is missing from the dump has its DESTROY in the socket, where it stays.
    let summary = run.poll();
    assert_eq!((summary.complete, summary.ended), (false, 0));
    pace.release(Point::BeforeReceive);
    assert!(run.poll_end(false).unwrap().complete);
    equals_the_kernel(&mut run, &mut world);
    let stats = run.exporter.stats();
    assert_eq!((stats.table.ended_total, stats.table.connections), (1, 0));
}
