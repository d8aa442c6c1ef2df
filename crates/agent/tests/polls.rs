//! What a poll tells of itself, when the next one follows, and what is said when a thread ends by a panic.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::time::{Duration, Instant};

use agent::Notice;
use netfilter::testing::{Entry, numbered, tuple};

use support::pace::Point;
use support::world::World;
use support::{config, with_events};

in_both_worlds!(
    a_poll_tells_what_it_met_and_how_long_it_took,
    a_repair_rests_four_times_as_long_as_the_former_took,
    a_kernel_thread_that_panics_says_so,
    an_event_reader_that_panics_is_replaced,
    messages_that_cannot_be_read_are_counted_once,
);

fn a_poll_tells_what_it_met_and_how_long_it_took(mut world: impl World) {
    const HELD: Duration = Duration::from_millis(30);
    let (mut run, pace) = world.run(config());
    world.create((0..300).map(|number| Entry::new(numbered(number))));
    world.create([Entry::new(tuple("[2001:db8::1]:1", "[2001:db8::2]:2", 17))]);
    pace.hold(Point::DumpBuffer);
    run.exporter.poll();
    pace.held(Point::DumpBuffer);
    std::thread::sleep(HELD);
    pace.release(Point::DumpBuffer);
    let summary = run.poll_end(true).unwrap();
    assert_eq!((summary.ipv4, summary.ipv6), (300, 1));
    assert_eq!((summary.added, summary.ended), (301, 0));
    assert_eq!((summary.kernel_entries, summary.complete), (301, true));
    assert!(summary.kernel_max > 0);
    assert!(summary.duration_ms >= HELD.as_secs_f64() * 1000.0);
    let kernel = run.exporter.stats().kernel;
    assert_eq!((kernel.polls, kernel.poll_failures), (1, 0));
    assert_eq!((kernel.entries, kernel.max), (301, summary.kernel_max));
    assert_eq!((kernel.incomplete_dumps, kernel.malformed_messages), (0, 0));
    assert_eq!(kernel.event_overruns, 0);
}

fn a_repair_rests_four_times_as_long_as_the_former_took(mut world: impl World) {
    const HELD: Duration = Duration::from_millis(200);
    let (mut run, pace) = world.run(with_events());
    world.create((0..1000).map(|number| Entry::new(numbered(number))));
    run.poll();
    // An incomplete dump has to be made again.
    pace.stop_dumps_after(Some(1));
    pace.hold(Point::DumpBuffer);
    run.exporter.poll();
    pace.held(Point::DumpBuffer);
    std::thread::sleep(HELD);
    pace.hold(Point::Dump);
    pace.release(Point::DumpBuffer);
    assert!(!run.poll_end(true).unwrap().complete);
    let ended = Instant::now();
    pace.stop_dumps_after(None);
    pace.held(Point::Dump);
    // A little less, for the notice comes after the end.
    assert!(ended.elapsed() >= HELD * 3);
    pace.release(Point::Dump);
    assert!(run.poll_end(false).unwrap().complete);
}

fn a_kernel_thread_that_panics_says_so(world: impl World) {
    let (mut run, pace) = world.run(config());
    run.poll();
    pace.panic_at(Point::Dump);
    run.exporter.poll();
    let fatal = run.wait(|notice| matches!(notice, Notice::Fatal { .. }));
    let Notice::Fatal { code, message } = fatal else {
        unreachable!("{fatal:?}")
    };
    assert_eq!(code, "ERR_INTERNAL");
    assert!(message.contains("kernel thread"), "{message}");
    assert!(message.contains("as the test wants it"), "{message}");
    // What is in the table is still its owner's.
    assert_eq!(run.exporter.stats().kernel.polls, 1);
    run.exporter.close();
}

fn an_event_reader_that_panics_is_replaced(mut world: impl World) {
    let (mut run, pace) = world.run(with_events());
    run.poll();
    pace.panic_at(Point::BeforeReceive);
    world.create([Entry::new(numbered(1))]);
    run.warning("EVENTS_ENDED");
    assert!(run.poll_end(false).unwrap().complete);
    run.live(1);
    world.create([Entry::new(numbered(2))]);
    run.live(2);
    let kernel = run.exporter.stats().kernel;
    assert_eq!((kernel.polls, kernel.event_overruns), (2, 1));
    assert_eq!((kernel.poll_failures, kernel.malformed_messages), (0, 0));
}

fn messages_that_cannot_be_read_are_counted_once(mut world: impl World) {
    let (mut run, pace) = world.run(with_events());
    let malformed = |run: &support::Run| run.exporter.stats().kernel.malformed_messages;
    run.poll();
    pace.malform_dumps(2);
    run.poll();
    assert_eq!(malformed(&run), 2);
    pace.malform_dumps(0);
    run.poll();
    assert_eq!(malformed(&run), 2);
    for (number, messages, counted) in [(1, 3, 5), (2, 3, 5), (3, 4, 6)] {
        pace.malform_events(messages);
        let read = pace.passed(Point::FoundEmpty);
        world.create([Entry::new(numbered(number))]);
        pace.wait_passed(Point::FoundEmpty, read + 1);
        // Counted with what was read, before the reader is asked the next time.
        run.poll();
        assert_eq!(malformed(&run), counted);
    }
}
