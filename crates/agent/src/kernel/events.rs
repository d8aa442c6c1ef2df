//! Conntrack events on their way into the flow table (`--source events`).
//!
//! A thread of its own reads the event socket, so that the kernel's receive buffer is emptied also while the kernel
//! thread waits for a dump. It copies each event into a bounded queue; the kernel thread merges the queue between the
//! buffers of a dump and whenever it is woken. What the kernel had to drop, or the queue, is an overrun: only a dump
//! puts it right.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flow_table::{Observation, Scope};
use netfilter::{EventGroups, EventKind, EventOptions, EventSocket, Received, Updates};
use rustix::event::{PollFd, PollFlags};

use crate::kernel::admission::Strangers;
use crate::kernel::observation::observation;
use crate::kernel::shared::{Shared, lock};
use crate::kernel::wake::{Bell, Requests};
use crate::selection::Selection;
use crate::{Error, now};

/// One event, copied out of the receive buffer.
pub(crate) struct QueuedEvent {
    pub(crate) kind: EventKind,
    pub(crate) seen: Observation,
}

/// Events that wait for the kernel thread: at about 250 octets each, 16 MB.
const MAX_QUEUED: usize = 65_536;

/// What the reader and the kernel thread share.
struct Queue {
    events: Mutex<VecDeque<QueuedEvent>>,
    /// Wakes the reader.
    look: Bell,
    halted: AtomicBool,
    /// Counts the calls of [`EventReader::catch_up`].
    wanted: AtomicU64,
    /// The last of these calls after which the socket was found empty.
    reached: Mutex<u64>,
    has_reached: Condvar,
    overrun: AtomicBool,
    malformed: AtomicU64,
}

/// The reading thread and its queue. Dropping it ends the thread and waits for that.
pub(crate) struct EventReader {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl EventReader {
    /// Opens the socket in the calling thread's namespace, before a dump is asked for: what happens in between is
    /// then in the dump, in the events, or in both, and never in neither.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        selection: &Selection,
        receive_buffer: usize,
    ) -> Result<Self, Error> {
        let socket = EventSocket::open(EventOptions {
            receive_buffer,
            groups: EventGroups {
                // Of what changes while a connection lives two things matter: that it closed, and a mark by which it is
                // selected now.
                updates: match selection.mark {
                    Some(_) => Updates::ClosingOrMarked,
                    None => Updates::Closing,
                },
                ..EventGroups::ALL
            },
        })?;
        let look = Bell::new().map_err(|errno| Error::System {
            operation: "make an eventfd",
            source: errno.into(),
        })?;
        let queue = Arc::new(Queue {
            events: Mutex::default(),
            look,
            halted: AtomicBool::new(false),
            wanted: AtomicU64::new(0),
            reached: Mutex::default(),
            has_reached: Condvar::new(),
            overrun: AtomicBool::new(false),
            malformed: AtomicU64::new(0),
        });
        let for_thread = (Arc::clone(&queue), Arc::clone(shared), selection.clone());
        let thread = std::thread::Builder::new()
            .name("conntrack-event".to_owned())
            .spawn(move || {
                let (queue, shared, selection) = for_thread;
                let result = catch_unwind(AssertUnwindSafe(|| {
                    read(socket, &queue, &shared, &selection)
                }));
                if !matches!(result, Ok(Ok(()))) {
                    // Deaf from here on, until the kernel thread sees it and opens another socket.
                    shared.events_ended();
                }
            })
            .map_err(|source| Error::System {
                operation: "start the event thread",
                source,
            })?;
        Ok(Self {
            queue,
            thread: Some(thread),
        })
    }

    /// Waits until every event is in the queue that the kernel had sent when this was called. False when the reader does not
    /// get to the end of them in time, has died, or the exporter is being stopped.
    pub(crate) fn catch_up(&self, requests: &Requests) -> bool {
        let call = self.queue.wanted.fetch_add(1, Ordering::AcqRel) + 1;
        self.queue.look.ring();
        let end = Instant::now() + CATCH_UP;
        let mut reached = lock(&self.queue.reached);
        while *reached < call {
            if Instant::now() >= end || !self.is_alive() || requests.stopped() {
                return false;
            }
            let waited = self.queue.has_reached.wait_timeout(reached, LOOK_AROUND);
            reached = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Takes up to `limit` events, in the order in which the kernel sent them.
    pub(crate) fn take(&self, limit: usize, into: &mut Vec<QueuedEvent>) {
        let mut events = lock(&self.queue.events);
        let count = events.len().min(limit);
        into.extend(events.drain(..count));
    }

    /// Whether events were dropped since the last call.
    pub(crate) fn take_overrun(&self) -> bool {
        self.queue.overrun.swap(false, Ordering::AcqRel)
    }

    /// Malformed events since the last call.
    pub(crate) fn take_malformed(&self) -> u64 {
        self.queue.malformed.swap(0, Ordering::AcqRel)
    }

    /// Whether the thread is still reading.
    pub(crate) fn is_alive(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.queue.halted.store(true, Ordering::Release);
        self.queue.look.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Merges what waits in the queue. Returns whether events were dropped, so that a dump is needed.
pub(crate) fn merge(reader: &EventReader, selection: &Selection, shared: &Shared) -> bool {
    let mut events = Vec::with_capacity(AT_ONCE);
    loop {
        reader.take(AT_ONCE, &mut events);
        if events.is_empty() {
            break;
        }
        let mut table = shared.table();
        let mut own = shared.own();
        let mut names = shared.names();
        for QueuedEvent { kind, seen } in events.drain(..) {
            let Some(scope) = selection.scope(seen.zone, seen.reply_zone) else {
                continue;
            };
            let Ok(scope) = u8::try_from(scope).map(Scope) else {
                continue;
            };
            let mut admission = Strangers::new(&mut own, &mut names, selection);
            match kind {
                EventKind::New => table.created(scope, &seen, &mut admission, now()),
                // The kernel keeps a closed connection for two minutes: its DESTROY would come late.
                EventKind::Update if seen.is_closed() => table.look_again(&seen, now()),
                EventKind::Update => table.created(scope, &seen, &mut admission, now()),
                EventKind::Destroy => table.destroyed(scope, &seen, &mut admission, now()),
            }
        }
        drop((table, own, names));
        // As in `finish_work`: whoever waits for the table may have it.
        std::thread::yield_now();
    }
    shared.count_malformed(reader.take_malformed());
    reader.take_overrun()
}

/// How long the end of a dump waits for the events that came before it.
const CATCH_UP: Duration = Duration::from_secs(1);

/// How long it waits before it looks whether that is still worth while.
const LOOK_AROUND: Duration = Duration::from_millis(20);

/// Datagrams read before the queue is filled and the kernel thread is woken.
const AT_ONCE: usize = 256;

fn read(
    mut socket: EventSocket,
    queue: &Queue,
    shared: &Shared,
    selection: &Selection,
) -> Result<(), Error> {
    let mut batch: Vec<QueuedEvent> = Vec::with_capacity(AT_ONCE);
    let mut malformed = 0;
    let mut emptied = true;
    while !queue.halted.load(Ordering::Acquire) {
        let mut waiting = [
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
            PollFd::new(&queue.look, PollFlags::IN),
        ];
        // EINTR and the like only look again.
        if emptied {
            let _ = rustix::event::poll(&mut waiting, None);
        }
        queue.look.silence();
        let wanted = queue.wanted.load(Ordering::Acquire);
        let mut overrun = false;
        emptied = false;
        while batch.len() < AT_ONCE && !emptied {
            match socket.recv(Some(Duration::ZERO))? {
                Received::TimedOut => emptied = true,
                Received::Overrun => overrun = true,
                Received::Events(events) => batch.extend(
                    events
                        .filter(|event| selection.admits(&event.connection))
                        .map(|event| QueuedEvent {
                            kind: event.kind,
                            seen: observation(&event.connection),
                        }),
                ),
            }
        }
        let mut events = lock(&queue.events);
        let room = MAX_QUEUED.saturating_sub(events.len());
        overrun |= room < batch.len();
        events.extend(batch.drain(..).take(room));
        drop(events);
        if emptied {
            *lock(&queue.reached) = wanted;
            queue.has_reached.notify_one();
        }
        if overrun {
            queue.overrun.store(true, Ordering::Release);
            shared.count_overrun();
        }
        let counted = socket.counts().malformed;
        queue
            .malformed
            .fetch_add(counted - malformed, Ordering::AcqRel);
        malformed = counted;
        shared.requests.ring();
    }
    Ok(())
}
