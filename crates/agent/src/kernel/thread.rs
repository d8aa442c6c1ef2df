//! The thread that owns the netlink socket and the network namespace.
//!
//! It sleeps until it is asked for a poll or to stop, and looks after the table once a second in between, so
//! that stale connections leave whether or not polls succeed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use netfilter::ConntrackSocket;
use netfilter::netns::{Netns, NetnsIdentity};
use netfilter::sysctl::Settings;

use crate::kernel::events::EventReader;
use crate::kernel::notice::{Notice, PollSummary};
use crate::kernel::poll::{Poller, finish_work};
use crate::kernel::shared::Shared;
use crate::kernel::warning::warnings;
use crate::names::collect::look_after_names;
use crate::selection::Selection;
use crate::state_file;
use crate::state_file::keeper::StateKeeper;
use crate::{Error, now};

/// What the thread is started with.
pub(crate) struct KernelSide {
    pub(crate) selection: Selection,
    pub(crate) netns: Option<Netns>,
    pub(crate) retry_timeout: Duration,
    pub(crate) state_file: Option<PathBuf>,
    /// Octets of the event socket's receive buffer; None: no events.
    pub(crate) event_buffer: Option<usize>,
}

impl KernelSide {
    /// Opens a socket for requests in the calling thread's namespace, and asks it how full the table is: the kernel says
    /// then whether it lets us in.
    fn open_socket(&self, shared: &Shared) -> Result<ConntrackSocket, Error> {
        let mut socket = ConntrackSocket::open_with(netfilter::SocketOptions {
            receive_timeout: self.retry_timeout,
            cancel: Some(shared.requests.stop_flag()),
            ..netfilter::SocketOptions::default()
        })?;
        let counts = socket.counts()?;
        shared.set_kernel_counts(&counts);
        Ok(socket)
    }
}

/// How long the table is left alone when nothing happens.
const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// How late a lookup may be.
const SHORT_REST: Duration = Duration::from_millis(50);

/// A storm of events that overruns the buffer again and again leads to polls for a fifth of the time at most: after one
/// the next rests for four times as long as it took.
const RESYNC_REST: u32 = 4;

/// After failures, with events, the next try is 2, 4, … 2^6 seconds later.
const LONGEST_RETRY: u32 = 6;

/// The thread's body. `ready` hears once whether the kernel lets us in: a missing permission ends the start,
/// everything else (no module yet, no namespace yet) is retried at each poll.
pub(crate) fn run(shared: &Arc<Shared>, side: KernelSide, ready: &SyncSender<Result<(), Error>>) {
    let guarded = catch_unwind(AssertUnwindSafe(|| {
        let mut thread = KernelThread {
            shared,
            side,
            poller: None,
            state: None,
            warned: false,
            polled: false,
            next_resync: Instant::now(),
            failures: 0,
        };
        match thread.open() {
            Err(error) if error.code() == "ERR_PERMISSION" => {
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
        shared.tell(Notice::Fatal {
            code: "ERR_INTERNAL",
            message: format!(
                "the kernel thread stopped by an internal error: {}",
                panic_text(&panic)
            ),
        });
    }
}

struct KernelThread<'a> {
    shared: &'a Arc<Shared>,
    side: KernelSide,
    poller: Option<Poller>,
    state: Option<StateKeeper>,
    warned: bool,
    /// A poll was made, or tried.
    polled: bool,
    /// Polls that nobody asked for, because events were lost, wait until then.
    next_resync: Instant,
    /// In a row.
    failures: u32,
}

impl KernelThread<'_> {
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
            self.attend();
            finish_work(self.shared);
            look_after_names(self.shared);
            let save = self.shared.requests.take_save();
            if let Some(state) = &mut self.state {
                if save {
                    state.save(self.shared)
                } else {
                    state.keep(self.shared)
                }
            }
            if save {
                self.shared.tell(Notice::Saved);
            }
        }
    }

    /// How long to sleep. With events, connections are looked up when they become due. A deadline that has passed may be
    /// one that the queue has not moved on yet, with the next one right behind it: then a short rest.
    fn rest(&self) -> Duration {
        let due = match self.side.event_buffer {
            Some(_) => self.shared.table().next_deadline(),
            None => None,
        };
        match due.map(|due| Duration::from_millis(due.saturating_sub(now().monotonic_ms))) {
            Some(wait) => wait.clamp(SHORT_REST, HOUSEKEEPING),
            None => HOUSEKEEPING,
        }
    }

    /// Follows the events, where there are any, and resyncs after a loss of them or a failure.
    fn attend(&mut self) {
        if self.side.event_buffer.is_none() {
            return;
        }
        let resync = match &mut self.poller {
            Some(poller) if poller.hears() => match poller.attend(self.shared) {
                Ok(needed) => needed,
                Err(error) => return self.failed(&error, false),
            },
            // Before the first poll the owner has yet to ask.
            _ => self.polled,
        };
        if resync && self.next_resync <= Instant::now() {
            self.poll(false);
        }
    }

    fn failed(&mut self, error: &Error, asked: bool) {
        if let Some(poller) = &mut self.poller {
            poller.distrust_socket();
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
            Some(poller) => poller.poll(self.shared),
            None => Err(Error::Closed),
        });
        self.next_resync = Instant::now() + begun.elapsed() * RESYNC_REST;
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
        if let Some(poller) = &mut self.poller {
            if poller.distrusts_socket() {
                // Should that fail, events go on being heard.
                poller.replace_socket(self.side.open_socket(self.shared)?);
            }
            return Ok(());
        }
        if let Some(netns) = &self.side.netns {
            netns.enter()?;
        }
        // Events first: what happens before the first dump is then in one of the two.
        let events = match self.side.event_buffer {
            Some(octets) => Some(EventReader::start(
                self.shared,
                &self.side.selection,
                octets,
            )?),
            None => None,
        };
        let socket = self.side.open_socket(self.shared)?;
        self.poller = Some(Poller::new(socket, self.side.selection.clone(), events));
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
        let there_and_heard = matches!(there, Ok(true)) && poller.hears();
        if !there_and_heard {
            poller.merge_events(self.shared);
            if self.side.event_buffer.is_some() && poller.hears() {
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
        for (code, message) in warnings(Settings::read(), self.side.event_buffer.is_some()) {
            self.shared.tell(Notice::Warning { code, message });
        }
    }
}

/// What a panic said.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "unknown panic".to_owned())
}
