//! What an exporter asks of the kernel, and who answers: netlink, or what a test puts in its place.
//!
//! [`Sockets`] opens two kinds of socket in the calling thread's network namespace. The poller asks through a
//! [`RequestSocket`]; the event reader hears through an [`EventSource`]. [`Netlink`] is the kernel itself.

use std::os::fd::AsFd;
use std::time::Duration;

use netfilter::sysctl::Settings;
use netfilter::{
    Connection, ConntrackSocket, Counts, Dump, DumpOutcome, Error, Event, EventOptions,
    EventSocket, Filter, Query, Received, SocketOptions, Timeouts,
};

/// Opens sockets and reads settings, each of the calling thread's network namespace.
pub trait Sockets: Send + 'static {
    /// For counts, dumps and lookups.
    type Requests: RequestSocket;
    /// For events.
    type Events: EventSource + 'static;

    /// Opens a socket for requests. Nothing is asked yet.
    fn open_requests(&self, options: SocketOptions) -> Result<Self::Requests, Error>;

    /// Opens a socket that hears from now on.
    fn open_events(&self, options: EventOptions) -> Result<Self::Events, Error>;

    /// What the namespace counts, stamps and tells.
    fn settings(&self) -> Result<Settings, Error>;

    /// How long the namespace keeps entries without packets. None is known where there is no namespace.
    fn timeouts(&self) -> Timeouts {
        Timeouts::default()
    }
}

/// Answers requests, one after the other.
pub trait RequestSocket {
    /// A dump under way.
    type Dump<'a>: DumpSource
    where
        Self: 'a;

    /// How full the table is.
    fn counts(&mut self) -> Result<Counts, Error>;

    /// Asks for every entry that `filter` wants.
    fn dump(&mut self, filter: &Filter) -> Result<Self::Dump<'_>, Error>;

    /// As [`ConntrackSocket::lookup`].
    fn lookup(
        &mut self,
        queries: &[Query],
        found: impl FnMut(usize, Result<Option<&Connection<'_>>, Error>),
    ) -> Result<(), Error>;
}

/// A dump, one receive buffer at a time.
pub trait DumpSource {
    /// Hands each entry of the next receive buffer out. False: the dump is over, for whatever reason.
    fn next_buffer(&mut self, each: impl FnMut(&Connection<'_>)) -> Result<bool, Error>;

    /// What the dump came to.
    fn finish(self) -> DumpOutcome;
}

/// What one receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// There is nothing: whatever the kernel had sent has been received.
    Nothing,
    /// Events are missing, and the kernel drops more until [`Heard::Nothing`].
    Overrun,
    /// A datagram of so many octets, whose events were handed out.
    Datagram {
        /// Its length.
        octets: usize,
    },
}

/// Hears events. Its descriptor is readable when [`EventSource::receive`] would bring something.
pub trait EventSource: AsFd + Send {
    /// Takes one datagram, if there is one, and hands its events out. Never waits.
    fn receive(&mut self, each: &mut dyn FnMut(&Event<'_>)) -> Result<Heard, Error>;

    /// Messages that could not be read, since it was opened.
    fn malformed(&self) -> u64;

    /// Octets of the receive buffer that was granted, which may be less than was asked for.
    fn granted_buffer(&self) -> usize;
}

/// The kernel's own sockets.
#[derive(Clone, Copy, Debug)]
pub struct Netlink;

impl Sockets for Netlink {
    type Requests = ConntrackSocket;
    type Events = EventSocket;

    fn open_requests(&self, options: SocketOptions) -> Result<ConntrackSocket, Error> {
        ConntrackSocket::open_with(options)
    }

    fn open_events(&self, options: EventOptions) -> Result<EventSocket, Error> {
        EventSocket::open(options)
    }

    fn settings(&self) -> Result<Settings, Error> {
        Settings::read()
    }

    fn timeouts(&self) -> Timeouts {
        Timeouts::read()
    }
}

impl RequestSocket for ConntrackSocket {
    type Dump<'a> = Dump<'a>;

    fn counts(&mut self) -> Result<Counts, Error> {
        Self::counts(self)
    }

    fn dump(&mut self, filter: &Filter) -> Result<Dump<'_>, Error> {
        Self::dump(self, filter)
    }

    fn lookup(
        &mut self,
        queries: &[Query],
        found: impl FnMut(usize, Result<Option<&Connection<'_>>, Error>),
    ) -> Result<(), Error> {
        Self::lookup(self, queries, found)
    }
}

impl DumpSource for Dump<'_> {
    fn next_buffer(&mut self, mut each: impl FnMut(&Connection<'_>)) -> Result<bool, Error> {
        let Some(entries) = Self::next_buffer(self)? else {
            return Ok(false);
        };
        for connection in entries {
            each(&connection);
        }
        Ok(true)
    }

    fn finish(self) -> DumpOutcome {
        Self::finish(self)
    }
}

impl EventSource for EventSocket {
    fn receive(&mut self, each: &mut dyn FnMut(&Event<'_>)) -> Result<Heard, Error> {
        Ok(match self.recv(Some(Duration::ZERO))? {
            Received::TimedOut => Heard::Nothing,
            Received::Overrun => Heard::Overrun,
            Received::Events(events) => {
                let octets = events.octets();
                for event in events {
                    each(&event);
                }
                Heard::Datagram { octets }
            }
        })
    }

    fn malformed(&self) -> u64 {
        self.counts().malformed
    }

    fn granted_buffer(&self) -> usize {
        // The kernel accounts twice what it granted.
        self.receive_buffer_size() / 2
    }
}
