//! Events between the thread that reads them and the one that merges them: bounded, in the order in which they were sent.
//!
//! Losses stand in the queue at their place, so that whoever merges knows what was heard before and after them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flow_table::Observation;
use netfilter::EventKind;
use rustix::io::Errno;

use crate::kernel::shared::lock;
use crate::kernel::wake::{Bell, Requests};

/// What was heard, in its order.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are events, and none is worth an allocation"
)]
pub(crate) enum Heard {
    /// One event, copied out of the receive buffer.
    Event { kind: EventKind, seen: Observation },
    /// From here on events are missing.
    LossBegins,
    /// The socket was read empty after a loss: whatever the kernel sends from here on arrives.
    LossEnds,
}

/// Events that wait for the kernel thread: at about 250 octets each, 16 MB. With more the reader lets the kernel's own
/// buffer fill: what does not fit there is an overrun.
pub(crate) const MAX_QUEUED: usize = 65_536;

/// How long a reader that makes no headway is waited for.
const NO_HEADWAY: Duration = Duration::from_secs(1);

/// How long the waiting lasts before it looks whether it is still worth while.
const LOOK_AROUND: Duration = Duration::from_millis(20);

/// The queue and what its two ends say to each other.
pub(crate) struct EventQueue {
    state: Mutex<State>,
    /// Something was put in, or a call of [`EventQueue::catch_up`] was answered.
    progress: Condvar,
    /// Wakes the reader.
    look: Bell,
    halted: AtomicBool,
    /// Counts the calls of [`EventQueue::catch_up`].
    wanted: AtomicU64,
}

#[derive(Default)]
struct State {
    heard: VecDeque<Heard>,
    /// The last call of [`EventQueue::catch_up`] after which the socket was found empty.
    reached: u64,
}

impl EventQueue {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            state: Mutex::default(),
            progress: Condvar::new(),
            look: Bell::new()?,
            halted: AtomicBool::new(false),
            wanted: AtomicU64::new(0),
        })
    }

    /// The bell that the reader waits for beside its socket.
    pub(crate) fn bell(&self) -> &Bell {
        &self.look
    }

    /// Ends the reader.
    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::Release);
        self.look.ring();
    }

    pub(crate) fn halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// The latest call of [`EventQueue::catch_up`]; to be read before the socket is.
    pub(crate) fn wanted(&self) -> u64 {
        self.wanted.load(Ordering::Acquire)
    }

    /// How many events fit. Only the reader puts some in, so that it never gets less.
    pub(crate) fn room(&self) -> usize {
        MAX_QUEUED.saturating_sub(lock(&self.state).heard.len())
    }

    /// Puts in what was heard. `reached`: the socket was found empty, after that call had been made.
    pub(crate) fn put(&self, heard: &mut Vec<Heard>, reached: Option<u64>) {
        let mut state = lock(&self.state);
        state.heard.extend(heard.drain(..));
        if let Some(call) = reached {
            state.reached = call;
        }
        self.progress.notify_one();
    }

    /// Takes up to `limit` of what was heard.
    pub(crate) fn take(&self, limit: usize, into: &mut Vec<Heard>) {
        let mut state = lock(&self.state);
        let full = state.heard.len() >= MAX_QUEUED;
        let count = state.heard.len().min(limit);
        into.extend(state.heard.drain(..count));
        if full {
            self.look.ring();
        }
    }

    /// Merges until everything is merged that the kernel had sent when this was called. False when the reader makes no
    /// headway for a second, has died, or the exporter is being stopped.
    pub(crate) fn catch_up(
        &self,
        requests: &Requests,
        alive: impl Fn() -> bool,
        mut merge: impl FnMut(),
    ) -> bool {
        let call = self.wanted.fetch_add(1, Ordering::AcqRel) + 1;
        self.look.ring();
        let mut end = Instant::now() + NO_HEADWAY;
        loop {
            let state = lock(&self.state);
            let (reached, empty) = (state.reached >= call, state.heard.is_empty());
            if !empty {
                // The reader may be waiting for room.
                drop(state);
                merge();
                end = Instant::now() + NO_HEADWAY;
            } else if reached {
                return true;
            } else if Instant::now() >= end || !alive() {
                return false;
            } else {
                let waited = self.progress.wait_timeout(state, LOOK_AROUND);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
            if requests.stopped() {
                return false;
            }
        }
    }
}
