//! The thread that reads the event socket, so that the kernel's receive buffer is emptied also while the kernel thread
//! waits for a dump.
//!
//! After an overrun the kernel drops whatever it would send until the socket has been read empty, and says so no second
//! time: the loss ends when nothing is left to read.
//!
//! NETLINK_BROADCAST_ERROR would make the kernel keep the DESTROYs that find no room, and send them again: nothing would be
//! lost. But each keeps its entry, which goes on counting against nf_conntrack_max. An agent that is stopped (SIGSTOP, a
//! frozen cgroup) would fill the node's table with connections that are over, until the kernel refuses new ones: measured,
//! after 262,144 of them. What watches the network must not be able to stop it, so the option stays off.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netfilter::{Event, EventGroups, EventOptions, Updates};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Error;
use crate::kernel::event_queue::{EventQueue, Heard};
use crate::kernel::observation::observation;
use crate::kernel::shared::Shared;
use crate::kernel::sockets::{self, EventSource, Sockets};
use crate::kernel::wake::Requests;
use crate::selection::Selection;

/// Events read before they are put into the queue and the kernel thread is woken.
const AT_ONCE: usize = 256;

/// Octets read between two looks at whether to stop, however few of the events in them are selected. An event has some 200.
const OCTETS_AT_ONCE: usize = 256 * 1024;

/// Between two times that the reader has read everything: events that follow one another closely wake it, and the kernel
/// thread, once for all of them. A wake-up costs more than reading and merging what it brings.
const REST: Duration = Duration::from_millis(5);

/// No rest when what was read the last time took more than a part of the receive buffer: of the 2 × 16 times as many octets
/// that the kernel grants, an event takes some seven times its own.
const RESTFUL: usize = 16;

/// The reading thread and its queue. Dropping it ends the thread and waits for that.
pub(crate) struct EventReader {
    queue: Arc<EventQueue>,
    thread: Option<JoinHandle<()>>,
    granted_buffer: usize,
}

impl EventReader {
    /// Opens the socket in the calling thread's namespace, before a dump is asked for: what happens in between is
    /// then in the dump, in the events, or in both, and never in neither.
    pub(crate) fn start(
        sockets: &impl Sockets,
        shared: &Arc<Shared>,
        selection: &Selection,
        receive_buffer: usize,
    ) -> Result<Self, Error> {
        let source = sockets.open_events(EventOptions {
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
        let granted_buffer = source.granted_buffer();
        let queue = EventQueue::new().map_err(|errno| Error::System {
            operation: "make an eventfd",
            source: errno.into(),
        })?;
        let queue = Arc::new(queue);
        let (for_thread, shared) = (Arc::clone(&queue), Arc::clone(shared));
        let selection = selection.clone();
        let thread = std::thread::Builder::new()
            .name("conntrack-event".to_owned())
            .spawn(move || {
                let read = AssertUnwindSafe(|| read(source, &for_thread, &shared, &selection));
                if !matches!(catch_unwind(read), Ok(Ok(()))) {
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
            granted_buffer,
        })
    }

    /// Octets of the receive buffer that the kernel granted.
    pub(crate) fn granted_buffer(&self) -> usize {
        self.granted_buffer
    }

    /// Takes up to `limit` of what was heard.
    pub(crate) fn take(&self, limit: usize, into: &mut Vec<Heard>) {
        self.queue.take(limit, into);
    }

    /// See [`EventQueue::catch_up`].
    pub(crate) fn catch_up(&self, requests: &Requests, merge: impl FnMut()) -> bool {
        self.queue.catch_up(requests, || self.is_alive(), merge)
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
        self.queue.halt();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How long events may gather before they are read, after so many octets were read the last time, which ended `since`.
fn rest(octets_read: usize, granted_buffer: usize, since: Duration) -> Option<Duration> {
    let restful = octets_read.saturating_mul(RESTFUL) < granted_buffer;
    REST.checked_sub(since)
        .filter(|rest| restful && !rest.is_zero())
}

fn news(event: &Event<'_>, selection: &Selection) -> Option<Heard> {
    selection.admits(&event.connection).then(|| Heard::Event {
        kind: event.kind,
        seen: observation(&event.connection, None),
    })
}

/// What the reader does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    WaitForEvents,
    WaitForRoom,
}

fn read(
    mut source: impl EventSource,
    queue: &EventQueue,
    shared: &Shared,
    selection: &Selection,
) -> Result<(), Error> {
    let mut heard: Vec<Heard> = Vec::with_capacity(AT_ONCE);
    let mut losing = false;
    let mut malformed = 0;
    let mut next = Next::WaitForEvents;
    let (mut octets_read, mut read_at) = (0_usize, Instant::now());
    loop {
        let mut bells = [
            PollFd::new(queue.bell(), PollFlags::IN),
            PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN),
        ];
        let bells = match next {
            Next::Read => &mut [][..],
            Next::WaitForEvents => &mut bells[..],
            Next::WaitForRoom => &mut bells[..1],
        };
        if !bells.is_empty() {
            // EINTR and the like only look again.
            let _ = poll(bells, None);
        }
        if next == Next::WaitForEvents {
            let rest = rest(octets_read, source.granted_buffer(), read_at.elapsed());
            if let Some(Ok(rest)) = rest.map(Timespec::try_from) {
                // Whoever wants the reader now rings.
                let _ = poll(&mut [PollFd::new(queue.bell(), PollFlags::IN)], Some(&rest));
            }
            octets_read = 0;
        }
        queue.bell().silence();
        if queue.halted() {
            return Ok(());
        }
        let wanted = queue.wanted();
        let room = queue.room().min(AT_ONCE);
        let mut octets_left = OCTETS_AT_ONCE;
        next = Next::WaitForRoom;
        while heard.len() < room {
            next = Next::Read;
            if octets_left == 0 {
                break;
            }
            let received = source.receive(&mut |event| heard.extend(news(event, selection)))?;
            match received {
                sockets::Heard::Datagram { octets } => {
                    octets_left = octets_left.saturating_sub(octets);
                    octets_read = octets_read.saturating_add(octets);
                }
                sockets::Heard::Overrun => {
                    shared.count_overrun();
                    if !std::mem::replace(&mut losing, true) {
                        heard.push(Heard::LossBegins);
                    }
                }
                sockets::Heard::Nothing => {
                    if std::mem::take(&mut losing) {
                        heard.push(Heard::LossEnds);
                    }
                    next = Next::WaitForEvents;
                    read_at = Instant::now();
                    break;
                }
            }
        }
        let any = !heard.is_empty();
        queue.put(&mut heard, (next == Next::WaitForEvents).then_some(wanted));
        let counted = source.malformed();
        if counted > malformed {
            shared.count_malformed(counted - malformed);
            malformed = counted;
        }
        if any {
            shared.requests.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_gather_for_five_milliseconds_unless_their_buffer_is_small_for_what_came() {
        let ms = Duration::from_millis;
        assert_eq!(rest(999, 16_000, ms(0)), Some(ms(5)));
        assert_eq!(rest(999, 16_000, ms(2)), Some(ms(3)));
        assert_eq!(rest(999, 16_000, ms(5)), None);
        assert_eq!(rest(999, 16_000, ms(60_000)), None);
        assert_eq!(rest(1000, 16_000, ms(0)), None);
        assert_eq!(rest(usize::MAX, 16_000, ms(0)), None);
        assert_eq!(rest(0, 16_000, ms(1)), Some(ms(4)));
    }
}
