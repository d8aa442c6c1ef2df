//! A storm of 20,000 connections a second for a minute, with an event reader that gets a tenth of the time it would need:
//! what is lost, what it costs, and how long after its end the table is the kernel's again.
//!
//! `cargo bench -p agent --bench storm` makes entries over netlink in a network namespace of its own.
#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot go on has to stop"
)]

mod support;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use agent::{EventSource, Heard, Netlink, Sockets};
use netfilter::sysctl::Settings;
use netfilter::testing::{Entry, Maker, in_tracked_namespace, numbered};
use netfilter::{ConntrackSocket, Error, Event, EventOptions, EventSocket, SocketOptions};

use support::{Run, on_processor, resident};

const RATE: u32 = 20_000;
const SECONDS: u32 = 60;
/// Made, and deleted, at a stretch.
const AT_ONCE: u32 = 500;
/// Connections that are there at a time.
const ALIVE: u32 = 10_000;
/// Events that the starved reader may read a second; 40,000 come.
const READ: u32 = 4_000;

struct Starved;

impl Sockets for Starved {
    type Requests = ConntrackSocket;
    type Events = StarvedEvents;

    fn open_requests(&self, options: SocketOptions) -> Result<ConntrackSocket, Error> {
        Netlink.open_requests(options)
    }

    fn open_events(&self, options: EventOptions) -> Result<StarvedEvents, Error> {
        Ok(StarvedEvents {
            source: Netlink.open_events(options)?,
            received: 0,
        })
    }

    fn settings(&self) -> Result<Settings, Error> {
        Netlink.settings()
    }
}

struct StarvedEvents {
    source: EventSocket,
    received: u32,
}

impl AsFd for StarvedEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

impl EventSource for StarvedEvents {
    fn receive(&mut self, each: &mut dyn FnMut(&Event<'_>)) -> Result<Heard, Error> {
        self.received += 1;
        if self.received.is_multiple_of(READ / 100) {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.source.receive(each)
    }

    fn malformed(&self) -> u64 {
        EventSource::malformed(&self.source)
    }

    fn granted_buffer(&self) -> usize {
        EventSource::granted_buffer(&self.source)
    }
}

fn main() {
    in_tracked_namespace(|| {
        let mut run = Run::start(Starved, true);
        run.poll();
        let mut maker = Maker::open().expect("netlink opens");
        let entries =
            |first: u32| (first..first + AT_ONCE).map(|number| Entry::new(numbered(number)));
        let begun = Instant::now();
        for made in (0..RATE * SECONDS).step_by(AT_ONCE as usize) {
            maker.create(entries(made)).expect("entries are made");
            if let Some(oldest) = made.checked_sub(ALIVE) {
                maker.delete(entries(oldest)).expect("entries are deleted");
            }
            if made % (10 * RATE) == 0 {
                say(&run, begun);
            }
            run.export();
            let due = Duration::from_secs_f64(f64::from(made + AT_ONCE) / f64::from(RATE));
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        let took = begun.elapsed().as_secs_f64();
        println!(
            "{:.0} connections a second",
            f64::from(RATE * SECONDS) / took
        );
        let ended = Instant::now();
        let entries = ConntrackSocket::open()
            .and_then(|mut socket| socket.counts())
            .expect("the kernel counts")
            .entries as usize;
        let held = |run: &Run| {
            let table = run.exporter.stats().table;
            table.live + table.idle
        };
        while held(&run) != entries {
            run.export();
            std::thread::sleep(Duration::from_millis(20));
        }
        println!(
            "{entries} connections in both, {:.1} s after the end",
            ended.elapsed().as_secs_f64()
        );
        say(&run, begun);
        let summary = run.poll();
        println!(
            "a poll more: {} added, {} ended",
            summary.added, summary.ended
        );
    });
}

fn say(run: &Run, begun: Instant) {
    let stats = run.exporter.stats();
    let (now, most) = resident();
    println!(
        "{:5.1} s: live {}, overruns {}, polls {} ({} incomplete), refused {}, resident {now} MiB, at most {most}; threads {:.1} s, {:.1} s",
        begun.elapsed().as_secs_f64(),
        stats.table.live,
        stats.kernel.event_overruns,
        stats.kernel.polls,
        stats.kernel.incomplete_dumps,
        stats.table.refused_total,
        on_processor("conntrack-event"),
        on_processor("conntrack"),
    );
}
