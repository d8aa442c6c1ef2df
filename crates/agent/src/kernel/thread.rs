//! The thread that owns the netlink socket and the network namespace.
//!
//! It sleeps until it is asked for a poll or to stop, and looks after the table once a second in between, so
//! that stale connections leave whether or not polls succeed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use netfilter::netns::NetnsIdentity;

use crate::kernel::notice::{Notice, PollSummary};
use crate::kernel::poll::{Poller, finish_work};
use crate::kernel::shared::Shared;
use crate::kernel::side::KernelSide;
use crate::kernel::sockets::Sockets;
use crate::kernel::warning::{event_buffer_capped, warnings};
use crate::names::collect::look_after_names;
use crate::state_file;
use crate::state_file::keeper::StateKeeper;
use crate::{Error, now};

/// How long the table is left alone when nothing happens.
const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// How late a lookup may be.
const SHORT_REST: Duration = Duration::from_millis(50);

/// A storm of events that overruns the buffer again and again leads to polls for a fifth of the time at most: after one
/// the next rests for four times as long as it worked.
const RESYNC_REST: u32 = 4;

/// After failures, with events, the next try is 2, 4, … 2^6 seconds later.
const LONGEST_RETRY: u32 = 6;

/// The thread's body. `ready` hears once whether the kernel lets us in: a missing permission ends the start,
/// everything else (no module yet, no namespace yet) is retried at each poll.
pub(crate) fn run(
    shared: &Arc<Shared>,
    side: KernelSide<impl Sockets>,
    ready: &SyncSender<Result<(), Error>>,
) {
    let guarded = catch_unwind(AssertUnwindSafe(|| {
        let mut thread = KernelThread {
            shared,
            side,
            poller: None,
            state: None,
            warned: false,
            polled: false,
            resync_wanted: false,
            next_resync: Instant::now(),
            failures: 0,
        };
        match thread.open() {
            Err(error) if error.is_permission() => {
                let _ = ready.send(Err(error));
                return;
            }
            Err(_) | Ok(()) => {
                let _ = ready.send(Ok(()));
            }
        }
        thread.serve();
    }));
    if let Err(panic) = guarded {
        shared.tell_panic("kernel", &*panic);
    }
}

struct KernelThread<'a, S: Sockets> {
    shared: &'a Arc<Shared>,
    side: KernelSide<S>,
    poller: Option<Poller<S::Requests>>,
    state: Option<StateKeeper>,
    /// What falsifies the export in this namespace was said.
    warned: bool,
    /// A poll was made, or tried.
    polled: bool,
    /// A poll that nobody asked for is needed.
    resync_wanted: bool,
    /// It waits until then.
    next_resync: Instant,
    /// In a row.
    failures: u32,
}

impl<S: Sockets> KernelThread<'_, S> {
    fn serve(&mut self) {
        self.state = self
            .side
            .state_file
            .take()
            .and_then(|path| StateKeeper::open(path, state_file::boot_id(), self.shared));
        while !self.shared.requests.stopped() {
            self.shared.requests.wait(self.rest());
            if self.shared.requests.take_poll() && !self.shared.requests.stopped() {
                self.poll(true);
            }
            self.follow_events();
            finish_work(self.shared);
            look_after_names(self.shared);
            let save = self.shared.requests.take_save();
            match &mut self.state {
                Some(state) => state.keep(self.shared, save),
                None if save => self.shared.tell(Notice::Saved),
                None => {}
            }
        }
    }

    /// How long to sleep. With events, connections are looked up when they become due. A deadline that has passed may be
    /// one that the queue has not moved on yet, with the next one right behind it: then a short rest.
    fn rest(&self) -> Duration {
        if self.side.event_buffer.is_none() {
            return HOUSEKEEPING;
        }
        if self.poller.as_ref().is_some_and(Poller::lookups_wait) {
            return SHORT_REST;
        }
        let due = self.shared.table().next_deadline();
        let due = due.map(|due| Duration::from_millis(due.saturating_sub(now().monotonic_ms)));
        let resync = self
            .resync_wanted
            .then(|| self.next_resync.saturating_duration_since(Instant::now()));
        let wait = due.into_iter().chain(resync).min();
        wait.map_or(HOUSEKEEPING, |wait| wait.clamp(SHORT_REST, HOUSEKEEPING))
    }

    /// Follows the events, where there are any, and resyncs after a loss of them or a failure.
    fn follow_events(&mut self) {
        if self.side.event_buffer.is_none() {
            return;
        }
        self.resync_wanted = match &mut self.poller {
            Some(poller) if poller.events_are_read() => match poller.follow_events(self.shared) {
                Ok(wanted) => wanted,
                Err(error) => return self.failed(&error, false),
            },
            // Before the first poll the owner has yet to ask.
            _ => self.polled,
        };
        if self.resync_wanted && self.next_resync <= Instant::now() {
            self.poll(false);
        }
    }

    fn failed(&mut self, error: &Error, asked: bool) {
        if let Some(poller) = &mut self.poller {
            poller.give_up_request_socket();
        }
        self.failures = self.failures.saturating_add(1);
        let wait = Duration::from_secs(1 << self.failures.min(LONGEST_RETRY));
        self.next_resync = Instant::now() + wait;
        self.shared.count_poll_failure();
        self.shared.tell(Notice::PollFailed {
            code: error.code(),
            message: error.to_string(),
            asked,
        });
    }

    fn poll(&mut self, asked: bool) {
        self.polled = true;
        let begun = Instant::now();
        let result = self.open().and_then(|()| match &mut self.poller {
            Some(poller) => poller.poll(self.side.sockets.timeouts(), self.shared),
            None => Err(Error::Closed),
        });
        let waited = self.poller.as_ref().map_or(Duration::ZERO, Poller::waited);
        let worked = begun.elapsed().saturating_sub(waited);
        self.next_resync = Instant::now() + worked * RESYNC_REST;
        match result {
            Ok(summary) => {
                self.failures = 0;
                self.warn_once();
                if let (true, Some(state)) = (summary.complete, &mut self.state) {
                    state.complete_poll(self.shared);
                }
                self.shared.count_poll();
                self.shared
                    .tell(Notice::Poll(PollSummary { asked, ..summary }));
            }
            Err(error) => self.failed(&error, asked),
        }
    }

    /// Enters the namespace and opens the sockets where that is not done yet, or has to be done again.
    fn open(&mut self) -> Result<(), Error> {
        self.leave_what_is_gone()?;
        match &mut self.poller {
            Some(poller) if poller.request_socket_failed() => {
                // Should that fail, events go on being heard.
                poller.replace_request_socket(self.side.open_requests(self.shared)?);
            }
            Some(_) => {}
            None => self.poller = Some(self.side.open(self.shared)?),
        }
        Ok(())
    }

    /// Closes the sockets of a namespace whose name is gone or means another one by now, which they would keep alive, and
    /// those of a listener that has died. What was heard until then is merged.
    fn leave_what_is_gone(&mut self) -> Result<(), Error> {
        let Some(poller) = &mut self.poller else {
            return Ok(());
        };
        let there = match &self.side.netns {
            Some(netns) => netns.identity().and_then(|named| {
                let here = NetnsIdentity::of_this_thread()?;
                Ok(named == here)
            }),
            None => Ok(true),
        };
        let there_still = matches!(there, Ok(true));
        if !there_still {
            // What is there instead may falsify the export in other ways.
            self.warned = false;
        }
        if !there_still || !poller.events_are_read() {
            poller.merge_events(self.shared);
            if self.side.event_buffer.is_some() && poller.events_are_read() {
                // What happens until the next listener is there is not heard. Where one died, it said so.
                self.shared.count_overrun();
            }
            self.poller = None;
        }
        there.map(drop).map_err(Error::from)
    }

    /// Says what falsifies the export in this namespace. Read here, because /proc/sys/net shows the namespace of the
    /// thread that reads it.
    fn warn_once(&mut self) {
        if std::mem::replace(&mut self.warned, true) {
            return;
        }
        let settings = self.side.sockets.settings();
        let capped = self
            .side
            .event_buffer
            .zip(self.poller.as_ref().and_then(Poller::granted_event_buffer))
            .and_then(|(asked, granted)| event_buffer_capped(asked, granted));
        let said = warnings(settings, self.side.event_buffer.is_some());
        for (code, message) in said.into_iter().chain(capped) {
            self.shared.tell(Notice::Warning { code, message });
        }
    }
}
