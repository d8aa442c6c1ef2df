//! Decides when the threads of an exporter go on: [`Paced`] sockets stop at points that a test names, fail where it says,
//! and go on when it lets them.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use agent::{DumpSource, EventSource, Heard, RequestSocket, Sockets};
use netfilter::sysctl::Settings;
use netfilter::{
    Connection, Counts, DumpOutcome, Error, Event, EventOptions, Filter, Incomplete, Query,
    SocketOptions,
};

use super::PATIENCE;

/// A place at which a thread of the exporter passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// The event reader is about to receive.
    BeforeReceive,
    /// It has received, whatever that brought.
    AfterReceive,
    /// It was told of an overrun.
    AfterOverrun,
    /// It found the socket empty.
    FoundEmpty,
    /// The kernel thread has asked how full the table is, with which a poll begins.
    Counted,
    /// It is about to ask for a dump.
    Dump,
    /// It is about to receive a dump's next buffer.
    DumpBuffer,
    /// It is about to look connections up.
    Lookup,
}

/// The test's hand on the exporter's threads. Counting begins when it is made.
#[derive(Clone, Default)]
pub struct Pace(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    passed: HashMap<Point, u64>,
    /// From this passing on whoever comes waits.
    holds: HashMap<Point, u64>,
    waiting: HashMap<Point, usize>,
    /// Buffers after which each dump stops.
    dump_buffers: Option<u32>,
    refused: Option<Refused>,
    panics: Option<Point>,
    malformed_events: u64,
    malformed_entries: u64,
    unwanted_entries: u64,
}

/// Which lookups are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The query for this source port, each time.
    Port(u16),
    /// Every query, each by itself.
    Each,
}

impl Pace {
    /// Lets everybody go.
    pub fn release_all(&self) {
        self.lock().holds.clear();
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap()
    }

    /// Holds whoever comes to `point` from its next passing on.
    pub fn hold(&self, point: Point) {
        self.hold_after(point, 0);
    }

    /// Holds whoever comes to `point` after `more` further passings.
    pub fn hold_after(&self, point: Point, more: u64) {
        let mut state = self.lock();
        let passed = state.passed.get(&point).copied().unwrap_or(0);
        state.holds.insert(point, passed + more);
        self.0.1.notify_all();
    }

    /// Lets whoever is held at `point` pass it so often, and waits until it is held there again.
    pub fn step(&self, point: Point, times: u64) {
        let passed = self.passed(point);
        self.hold_after(point, times);
        self.wait_passed(point, passed + times);
        self.held(point);
    }

    /// Lets go whoever waits at `point`, and nobody waits there any more.
    pub fn release(&self, point: Point) {
        self.lock().holds.remove(&point);
        self.0.1.notify_all();
    }

    /// Waits until somebody waits at `point`.
    pub fn held(&self, point: Point) {
        self.wait(&format!("somebody is held at {point:?}"), |state| {
            state.waiting.get(&point).is_some_and(|&count| count > 0)
        });
    }

    /// How often `point` was passed.
    pub fn passed(&self, point: Point) -> u64 {
        self.lock().passed.get(&point).copied().unwrap_or(0)
    }

    /// Waits until `point` was passed so often.
    pub fn wait_passed(&self, point: Point, times: u64) {
        self.wait(&format!("{point:?} is passed {times} times"), |state| {
            state.passed.get(&point).copied().unwrap_or(0) >= times
        });
    }

    /// Makes each dump stop after so many buffers, as one whose rest does not come; `None`: no longer.
    pub fn stop_dumps_after(&self, buffers: Option<u32>) {
        self.lock().dump_buffers = buffers;
    }

    /// Has lookups refused; `None`: no longer.
    pub fn refuse(&self, refused: Option<Refused>) {
        self.lock().refused = refused;
    }

    /// Says that so many messages of the event socket could not be read, since it was opened.
    pub fn malform_events(&self, messages: u64) {
        self.lock().malformed_events = messages;
    }

    /// Says of each dump that so many of its messages could not be read.
    pub fn malform_dumps(&self, messages: u64) {
        self.lock().malformed_entries = messages;
    }

    /// Says of each dump that the kernel sent so many entries of zones that nobody asked for.
    pub fn ignore_filters(&self, entries: u64) {
        self.lock().unwanted_entries = entries;
    }

    /// Makes whoever comes to `point` next panic there.
    pub fn panic_at(&self, point: Point) {
        self.lock().panics = Some(point);
    }

    fn wait(&self, what: &str, done: impl Fn(&State) -> bool) {
        let waited = self
            .0
            .1
            .wait_timeout_while(self.lock(), PATIENCE, |state| !done(state));
        assert!(
            !waited.unwrap().1.timed_out(),
            "it did not come that {what}"
        );
    }

    fn pass(&self, point: Point) {
        let mut state = self.lock();
        *state.waiting.entry(point).or_default() += 1;
        self.0.1.notify_all();
        let passed = |state: &State| state.passed.get(&point).copied().unwrap_or(0);
        let held = |state: &mut State| {
            let passed = passed(state);
            state.holds.get(&point).is_some_and(|&from| passed >= from)
        };
        let waited = self.0.1.wait_timeout_while(state, PATIENCE, held);
        let (waited, timeout) = waited.unwrap();
        state = waited;
        if timeout.timed_out() {
            // The test has failed: it holds nobody any more.
            state.holds.clear();
        }
        *state.waiting.entry(point).or_default() -= 1;
        if state.panics == Some(point) {
            state.panics = None;
            drop(state);
            panic!("as the test wants it");
        }
        *state.passed.entry(point).or_default() += 1;
        self.0.1.notify_all();
    }
}

/// Sockets whose users pass at the points of a [`Pace`].
pub struct Paced<S>(pub S, pub Pace);

impl<S: Sockets> Sockets for Paced<S> {
    type Requests = PacedRequests<S::Requests>;
    type Events = PacedEvents<S::Events>;

    fn open_requests(&self, options: SocketOptions) -> Result<Self::Requests, Error> {
        let socket = self.0.open_requests(options)?;
        Ok(PacedRequests(socket, self.1.clone()))
    }

    fn open_events(&self, options: EventOptions) -> Result<Self::Events, Error> {
        let source = self.0.open_events(options)?;
        Ok(PacedEvents(source, self.1.clone()))
    }

    fn settings(&self) -> Result<Settings, Error> {
        self.0.settings()
    }
}

pub struct PacedEvents<E>(E, Pace);

impl<E: AsFd> AsFd for PacedEvents<E> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<E: EventSource> EventSource for PacedEvents<E> {
    fn receive(&mut self, each: &mut dyn FnMut(&Event<'_>)) -> Result<Heard, Error> {
        let Self(source, pace) = self;
        pace.pass(Point::BeforeReceive);
        let heard = source.receive(each)?;
        match heard {
            Heard::Overrun => pace.pass(Point::AfterOverrun),
            Heard::Nothing => pace.pass(Point::FoundEmpty),
            Heard::Datagram { .. } => {}
        }
        pace.pass(Point::AfterReceive);
        Ok(heard)
    }

    fn malformed(&self) -> u64 {
        self.0.malformed() + self.1.lock().malformed_events
    }

    fn granted_buffer(&self) -> usize {
        self.0.granted_buffer()
    }
}

pub struct PacedRequests<R>(R, Pace);

impl<R: RequestSocket> RequestSocket for PacedRequests<R> {
    type Dump<'a>
        = PacedDump<R::Dump<'a>>
    where
        Self: 'a;

    fn counts(&mut self) -> Result<Counts, Error> {
        let counts = self.0.counts();
        self.1.pass(Point::Counted);
        counts
    }

    fn dump(&mut self, filter: &Filter) -> Result<Self::Dump<'_>, Error> {
        let Self(socket, pace) = self;
        pace.pass(Point::Dump);
        Ok(PacedDump {
            dump: socket.dump(filter)?,
            left: pace.lock().dump_buffers,
            pace: pace.clone(),
        })
    }

    fn lookup(
        &mut self,
        queries: &[Query],
        mut found: impl FnMut(usize, Result<Option<&Connection<'_>>, Error>),
    ) -> Result<(), Error> {
        let Self(socket, pace) = self;
        pace.pass(Point::Lookup);
        let refused = pace.lock().refused;
        let refuses = |query: &Query| match refused {
            None => false,
            Some(Refused::Each) => true,
            Some(Refused::Port(port)) => query.tuple.source_port == port,
        };
        let refusal = || Error::Netlink {
            operation: "look connections up",
            errno: 22,
            meaning: std::io::Error::from_raw_os_error(22),
        };
        socket.lookup(queries, |index, answer| {
            if refuses(&queries[index]) {
                found(index, Err(refusal()));
            } else {
                found(index, answer);
            }
        })
    }
}

pub struct PacedDump<D> {
    dump: D,
    left: Option<u32>,
    pace: Pace,
}

impl<D: DumpSource> DumpSource for PacedDump<D> {
    fn next_buffer(&mut self, each: impl FnMut(&Connection<'_>)) -> Result<bool, Error> {
        self.pace.pass(Point::DumpBuffer);
        match &mut self.left {
            Some(0) => return Ok(false),
            Some(left) => *left -= 1,
            None => {}
        }
        self.dump.next_buffer(each)
    }

    fn finish(self) -> DumpOutcome {
        let mut outcome = self.dump.finish();
        {
            let state = self.pace.lock();
            outcome.malformed += state.malformed_entries;
            outcome.unwanted += state.unwanted_entries;
        }
        match self.left {
            Some(0) => DumpOutcome {
                complete: false,
                reason: Some(Incomplete::NoProgress),
                ..outcome
            },
            _ => outcome,
        }
    }
}
