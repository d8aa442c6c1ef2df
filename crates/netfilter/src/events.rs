//! Conntrack events: what was created, changed or destroyed, as the kernel says it.
//!
//! Datagrams enter through [`EventSocket::recv`], [`Event`]s leave. Events are lost when the receive buffer is full: the
//! kernel says so once (ENOBUFS), [`Received::Overrun`] passes it on, and only a full dump puts it right.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use neli::utils::Groups;

use crate::channel::{Channel, SocketOptions};
use crate::connection::Connection;
use crate::datagram::{Datagram, Tally};
use crate::error::Error;
use crate::listener::{Heard, Listener};
use crate::malformed::Malformed;
use crate::message::{Message, flag, kind};
use crate::os::attach_filter;
use crate::updates::Updates;

/// Which events are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventGroups {
    /// NFNLGRP_CONNTRACK_NEW.
    pub new: bool,
    /// Of NFNLGRP_CONNTRACK_UPDATE: state, mark or labels changed. Counters never cause one.
    pub updates: Updates,
    /// NFNLGRP_CONNTRACK_DESTROY.
    pub destroy: bool,
}

impl EventGroups {
    /// All that happens.
    pub const ALL: Self = Self {
        new: true,
        updates: Updates::All,
        destroy: true,
    };

    fn numbers(self) -> Groups {
        let update = self.updates != Updates::None;
        let wanted = [(self.new, 1), (update, 2), (self.destroy, 3)];
        let numbers: Vec<u32> = wanted
            .into_iter()
            .filter_map(|(wanted, number)| wanted.then_some(number))
            .collect();
        Groups::new_groups(&numbers)
    }
}

/// How an event socket is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventOptions {
    /// Octets of the socket's receive buffer. One event takes about 1,280 of twice this. SO_RCVBUFFORCE where allowed
    /// (CAP_NET_ADMIN in the first user namespace), else capped by net.core.rmem_max.
    pub receive_buffer: usize,
    /// Which events.
    pub groups: EventGroups,
}

impl Default for EventOptions {
    /// 8 MiB, about 13,000 events, of NEW and DESTROY.
    fn default() -> Self {
        Self {
            receive_buffer: 8 * 1024 * 1024,
            groups: EventGroups {
                updates: Updates::None,
                ..EventGroups::ALL
            },
        }
    }
}

/// What happened to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventKind {
    /// It was created. No counters, no timestamps.
    New,
    /// Its state, mark, status or labels changed. No counters, no timestamps.
    Update,
    /// It is gone: the last counters, start and stop; no labels.
    Destroy,
}

/// One event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event<'a> {
    /// What happened.
    pub kind: EventKind,
    /// To whom; what is not carried is absent (see [`Connection`]).
    pub connection: Connection<'a>,
}

/// What one [`EventSocket::recv`] brought.
pub enum Received<'a> {
    /// One datagram's events (the kernel sends them one by one).
    Events(Events<'a>),
    /// Events were lost, since the last datagram or in it.
    Overrun,
    /// Nothing came in time.
    TimedOut,
}

/// What an event socket has counted since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventCounts {
    /// Events handed out.
    pub events: u64,
    /// Times that the kernel said it had dropped events, or sent one that was cut.
    pub overruns: u64,
    /// Messages that could not be read.
    pub malformed: u64,
    /// The first of them.
    pub first_malformed: Option<Malformed>,
}

/// A socket that listens to conntrack events of the network namespace in which it was opened.
pub struct EventSocket {
    pub(crate) listener: Listener,
    counts: EventCounts,
}

impl EventSocket {
    /// Opens the socket and joins the groups. While nf_conntrack_events is 2 (autodetect), the kernel remembers what to
    /// send for connections that are created from now on only.
    ///
    /// # Errors
    /// [`Error::Permission`] without CAP_NET_ADMIN.
    pub fn open(options: EventOptions) -> Result<Self, Error> {
        let socket = SocketOptions {
            receive_buffer: Some(options.receive_buffer),
            ..SocketOptions::default()
        };
        let EventOptions { groups, .. } = options;
        let operation = "listen to conntrack events";
        let channel = Channel::open(operation, socket)?;
        // The filter first: no message comes that it has not seen.
        if let Some(program) = groups.updates.program() {
            attach_filter(channel.as_fd(), &program)
                .map_err(|source| Error::from_io(operation, source))?;
        }
        channel.join(operation, groups.numbers())?;
        Ok(Self {
            listener: Listener::new(channel, "receive conntrack events"),
            counts: EventCounts::default(),
        })
    }

    /// Waits for a datagram; `None` waits without end, zero not at all. A signal ends the wait as a timeout does.
    ///
    /// # Errors
    /// When the socket fails for another reason than an overrun.
    pub fn recv(&mut self, timeout: Option<Duration>) -> Result<Received<'_>, Error> {
        Ok(match self.listener.hear(timeout)? {
            Heard::TimedOut => Received::TimedOut,
            Heard::Overrun => {
                self.counts.overruns += 1;
                Received::Overrun
            }
            Heard::Datagram(length) => Received::Events(Events::new(
                self.listener.datagram(length),
                &mut self.counts,
            )),
        })
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> EventCounts {
        self.counts
    }

    /// The receive buffer's size as the kernel accounts it: twice what it granted.
    #[must_use]
    pub fn receive_buffer_size(&self) -> usize {
        self.listener.channel.receive_buffer_size()
    }
}

impl AsFd for EventSocket {
    /// For poll(2) beside other descriptors; readable when [`EventSocket::recv`] would not wait.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// The events of one datagram; malformed ones are skipped and counted.
pub struct Events<'a> {
    datagram: Datagram<'a, EventCounts>,
    octets: usize,
}

impl<'a> Events<'a> {
    pub(crate) fn new(datagram: &'a [u8], counts: &'a mut EventCounts) -> Self {
        Self {
            octets: datagram.len(),
            datagram: Datagram::new(datagram, counts),
        }
    }

    /// The datagram's length.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        self.datagram.next()
    }
}

impl Tally for EventCounts {
    type Item<'a> = Event<'a>;

    fn read<'a>(&mut self, message: &Message<'a>) -> Result<Option<Event<'a>>, Malformed> {
        let kind = match message.kind {
            kind::CT_NEW if message.flags & (flag::CREATE | flag::EXCL) != 0 => EventKind::New,
            kind::CT_NEW => EventKind::Update,
            kind::CT_DELETE => EventKind::Destroy,
            _ => return Ok(None),
        };
        let connection = Connection::decode(message.payload)?;
        self.events += 1;
        Ok(Some(Event { kind, connection }))
    }

    fn malformed(&mut self) -> (&mut u64, &mut Option<Malformed>) {
        (&mut self.malformed, &mut self.first_malformed)
    }
}
