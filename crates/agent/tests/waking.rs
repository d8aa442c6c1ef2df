//! Who is woken, for what and how often.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::{EventSource, Heard, Notice, Sockets};
use netfilter::sysctl::Settings;
use netfilter::testing::{Entry, in_tracked_namespace, numbered};
use netfilter::{Connection, Error, Event, EventKind, EventOptions, SocketOptions};
use rustix::event::{EventfdFlags, eventfd};

use support::pace::Point;
use support::scripted::ScriptedKernel;
use support::world::{RealConntrack, World};
use support::{Run, config, with_events};

/// One test at a time: what is counted is how often threads of this process sleep.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

in_both_worlds!(what_is_due_is_told_once_until_something_is_taken);

fn make_and_end(world: &mut impl World, number: u32) {
    world.create([Entry::new(numbered(number))]);
    world.delete([Entry::new(numbered(number))]);
}

fn ended(run: &mut Run, wanted: usize) {
    while run.exporter.stats().table.ended < wanted {
        run.settled();
    }
}

/// How often it was told that something is due since the last call.
fn told(run: &mut Run) -> usize {
    run.settled();
    let notices = run.rest();
    notices.iter().filter(|it| **it == Notice::Due).count()
}

fn what_is_due_is_told_once_until_something_is_taken(mut world: impl World) {
    let _alone = alone();
    let (mut run, _) = world.run(with_events());
    run.poll();
    make_and_end(&mut world, 1);
    run.wait(|notice| *notice == Notice::Due);
    // Nobody takes it, however often the kernel thread looks and whatever else becomes due.
    make_and_end(&mut world, 2);
    ended(&mut run, 2);
    for _ in 0..5 {
        assert_eq!(told(&mut run), 0);
    }
    // Taken: what is due afterwards is news again.
    assert_eq!(run.export().len(), 2);
    make_and_end(&mut world, 3);
    run.wait(|notice| *notice == Notice::Due);
    // Whoever has seen that nothing is due has to be told, whoever has seen that something is has not.
    assert_eq!(run.export().len(), 1);
    assert_eq!(run.exporter.next_deadline_ms(), None);
    make_and_end(&mut world, 4);
    run.wait(|notice| *notice == Notice::Due);
    assert_eq!(run.exporter.next_deadline_ms(), Some(0));
    make_and_end(&mut world, 5);
    ended(&mut run, 2);
    assert_eq!(told(&mut run), 0);
    // Given back, and asked for: known without having been told.
    for (id, _) in run.take() {
        run.exporter.rollback(id).unwrap();
    }
    assert_eq!(run.exporter.next_deadline_ms(), Some(0));
    assert_eq!(told(&mut run), 0);
}

/// TCP alone. The tests' entries are UDP.
fn tcp_alone() -> agent::Config {
    agent::Config {
        selection: agent::Selection {
            protocols: Some(vec![6]),
            ..agent::Selection::default()
        },
        ..with_events()
    }
}

#[test]
fn updates_of_no_interest_wake_no_thread() {
    let _alone = alone();
    in_tracked_namespace(|| {
        const UPDATES: u32 = 500;
        let mut world = RealConntrack::here();
        let (mut run, pace) = world.run(with_events());
        run.poll();
        let entry = |mark| Entry {
            mark,
            ..Entry::new(numbered(1))
        };
        world.create([entry(0)]);
        run.live(1);
        let before = (pace.passed(Point::AfterReceive), sleeps("conntrack"));
        for mark in 1..=UPDATES {
            world.update([entry(mark)]);
        }
        // One that is of interest comes after all the others.
        world.delete([entry(UPDATES)]);
        run.live(0);
        // The DESTROY, and what says that there is no more.
        let received = pace.passed(Point::AfterReceive) - before.0;
        assert!(received <= 2, "{received} receives");
        let slept = sleeps("conntrack") - before.1;
        assert!(slept < u64::from(UPDATES) / 4, "{slept} times");
    });
}

#[test]
fn events_of_connections_that_are_not_selected_wake_the_event_reader_alone() {
    let _alone = alone();
    const EVENTS: u32 = 200;
    let mut kernel = ScriptedKernel::default();
    let (mut run, pace) = World::run(&kernel, tcp_alone());
    run.poll();
    let before = sleeps("conntrack");
    for number in 0..EVENTS {
        let read = pace.passed(Point::FoundEmpty);
        World::create(&mut kernel, [Entry::new(numbered(number))]);
        pace.wait_passed(Point::FoundEmpty, read + 1);
    }
    // It looks after the table once a second, and is woken for nothing else.
    let slept = sleeps("conntrack") - before;
    assert!(slept < u64::from(EVENTS) / 4, "{slept} times");
}

#[test]
fn events_that_follow_one_another_closely_wake_the_reader_once_for_many() {
    let _alone = alone();
    const EVENTS: u32 = 4000;
    let mut kernel = ScriptedKernel::default();
    let (mut run, pace) = World::run(&kernel, with_events());
    run.poll();
    let before = pace.passed(Point::FoundEmpty);
    for number in 0..EVENTS {
        World::create(&mut kernel, [Entry::new(numbered(number))]);
        // Time enough to wake somebody and have it read.
        for _ in 0..50 {
            std::thread::yield_now();
        }
    }
    run.live(EVENTS as usize);
    let woken = pace.passed(Point::FoundEmpty) - before;
    assert!(woken < u64::from(EVENTS) / 10, "{woken} times");
}

/// How often this thread of the process has gone to sleep.
fn sleeps(name: &str) -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let of_thread = tasks
        .map(|task| task.unwrap().path())
        .filter(|path| fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name));
    of_thread
        .map(|path| {
            let status = fs::read_to_string(path.join("status")).unwrap();
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.unwrap().trim().parse::<u64>().unwrap()
        })
        .sum()
}

/// A source that never runs out of NEWs, and counts what is read of it after the exporter was told to
/// close.
#[derive(Clone)]
struct Endless {
    kernel: ScriptedKernel,
    closing: Arc<AtomicBool>,
    read_after: Arc<AtomicU64>,
    readable: Arc<OwnedFd>,
}

impl Sockets for Endless {
    type Requests = ScriptedKernel;
    type Events = Self;

    fn open_requests(&self, options: SocketOptions) -> Result<ScriptedKernel, Error> {
        self.kernel.open_requests(options)
    }

    fn open_events(&self, _: EventOptions) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn settings(&self) -> Result<Settings, Error> {
        self.kernel.settings()
    }
}

impl AsFd for Endless {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}

/// Far more than two looks at whether to stop are apart, and few enough to come to their end where nobody looks.
const ENOUGH: u64 = 1_000_000;

impl EventSource for Endless {
    fn receive(&mut self, each: &mut dyn FnMut(&Event<'_>)) -> Result<Heard, Error> {
        if self.closing.load(Ordering::Relaxed)
            && self.read_after.fetch_add(1, Ordering::Relaxed) >= ENOUGH
        {
            return Ok(Heard::Nothing);
        }
        std::thread::yield_now();
        each(&Event {
            kind: EventKind::New,
            connection: Connection::new(numbered(1), numbered(1)),
        });
        Ok(Heard::Datagram { octets: 200 })
    }

    fn malformed(&self) -> u64 {
        0
    }

    fn granted_buffer(&self) -> usize {
        usize::MAX
    }
}

impl Endless {
    fn new() -> Self {
        let readable = eventfd(1, EventfdFlags::CLOEXEC).unwrap();
        Self {
            kernel: ScriptedKernel::default(),
            closing: Arc::default(),
            read_after: Arc::default(),
            readable: Arc::new(readable),
        }
    }
}

#[test]
fn a_stop_ends_a_poll_that_events_keep_from_its_end() {
    let _alone = alone();
    let endless = Endless::new();
    let (mut run, pace) = Run::start_paced(endless.clone(), with_events());
    run.exporter.poll();
    pace.wait_passed(Point::DumpBuffer, 1);
    endless.closing.store(true, Ordering::Relaxed);
    run.exporter.close();
    assert!(endless.read_after.load(Ordering::Relaxed) < ENOUGH);
    // What it had seen is not taken for all there is.
    assert_eq!(run.exporter.stats().kernel.incomplete_dumps, 1);
}

#[test]
fn a_stop_waits_for_no_backlog_of_events_that_nobody_wants() {
    let _alone = alone();
    let endless = Endless::new();
    let (mut run, pace) = Run::start_paced(endless.clone(), tcp_alone());
    pace.wait_passed(Point::AfterReceive, 10_000);
    endless.closing.store(true, Ordering::Relaxed);
    run.exporter.close();
    assert!(endless.read_after.load(Ordering::Relaxed) < ENOUGH);
}

#[test]
fn only_whoever_asked_is_told_that_the_state_was_saved() {
    let _alone = alone();
    let (mut run, _) = World::run(&ScriptedKernel::default(), config());
    // What the first one's round tells comes before the second one's end.
    run.poll();
    run.poll();
    assert!(!run.rest().contains(&Notice::Saved));
    run.settled();
}
