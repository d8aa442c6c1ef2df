//! The conntrack socket: requests of one thread, answered in order.
//!
//! Read [`ConntrackSocket`] and [`crate::Dump`] first. Requests leave through [`ConntrackSocket::dump`],
//! [`ConntrackSocket::lookup`] and [`ConntrackSocket::counts`]; answers come back in the socket's one receive buffer.

use crate::channel::{BUFFER, Channel, NotReceived, SocketOptions};
use crate::dump::{Dump, DumpState};
use crate::error::Error;
use crate::filter::Filter;
use crate::message::{Messages, flag, kind};
use crate::request::{Head, Request};

/// A NETLINK_NETFILTER socket for dumps, lookups and counts, in the network namespace of the thread that opened it.
/// Memory: one receive buffer of 64 KiB, whatever the table's size.
pub struct ConntrackSocket {
    pub(crate) channel: Channel,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) request: Request,
    sequence: u32,
    /// The sequence number of a dump that its reader left early: its rest is still to come.
    pub(crate) unfinished: Option<u32>,
}

impl ConntrackSocket {
    /// Opens a socket with the default [`SocketOptions`]. Opening needs no privilege, the first request does.
    ///
    /// # Errors
    /// [`Error::NoConntrack`] on a kernel without netfilter's netlink, or the system's reason.
    pub fn open() -> Result<Self, Error> {
        Self::open_with(SocketOptions::default())
    }

    /// Opens a socket.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(options: SocketOptions) -> Result<Self, Error> {
        Ok(Self {
            channel: Channel::open("open a conntrack socket", options)?,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            request: Request::new(),
            sequence: 0,
            unfinished: None,
        })
    }

    /// Asks for every entry that `filter` wants. Nothing is received before the first [`Dump::next_buffer`].
    ///
    /// # Errors
    /// When the request cannot be sent, or the rest of an earlier, abandoned dump cannot be read away. What the kernel
    /// says of the request comes from [`Dump::next_buffer`].
    pub fn dump(&mut self, filter: &Filter) -> Result<Dump<'_>, Error> {
        const OPERATION: &str = "dump the connection table";
        self.settle(OPERATION)?;
        let sequence = self.next_sequence(1);
        self.request.clear();
        self.request.message(
            Head {
                kind: kind::CT_GET,
                flags: flag::REQUEST | flag::DUMP,
                sequence,
                family: filter.request_family(),
                resource: 0,
            },
            |request| filter.write(request),
        );
        self.channel.send(OPERATION, self.request.octets())?;
        Ok(Dump::new(self, DumpState::new(sequence, *filter)))
    }

    /// Reserves `count` sequence numbers and returns the first. 0 is left to messages that nobody asked for.
    pub(crate) fn next_sequence(&mut self, count: u32) -> u32 {
        if self.sequence > u32::MAX - count {
            self.sequence = 0;
        }
        let first = self.sequence + 1;
        self.sequence += count;
        first
    }

    /// Reads away the rest of a dump that its reader left: the kernel has one dump a socket and answers the next request
    /// with EBUSY before.
    pub(crate) fn settle(&mut self, operation: &'static str) -> Result<(), Error> {
        while let Some(sequence) = self.unfinished {
            let length = match self.channel.receive(&mut self.buffer) {
                Ok(length) => length,
                Err(NotReceived::Overrun) => continue,
                // Its end was lost, or never comes: should the kernel be at it still, it refuses the next request.
                Err(NotReceived::NoProgress) => {
                    self.unfinished = None;
                    continue;
                }
                Err(reason) => return Err(self.channel.not_received(operation, reason)),
            };
            let mut messages = Messages::new(self.buffer.get(..length).unwrap_or(&self.buffer));
            while let Ok(Some(message)) = messages.next() {
                if message.sequence == sequence && matches!(message.kind, kind::DONE | kind::ERROR)
                {
                    self.unfinished = None;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::dump::Incomplete;

    #[test]
    fn a_dump_that_the_kernel_never_answers_is_incomplete_after_the_receive_timeout() {
        let options = SocketOptions {
            receive_timeout: Duration::from_millis(100),
            ..SocketOptions::default()
        };
        let mut socket = ConntrackSocket::open_with(options).unwrap();
        // As if the request had been sent, and its answer lost.
        let sequence = socket.next_sequence(1);
        let mut dump = Dump::new(&mut socket, DumpState::new(sequence, Filter::default()));
        assert!(dump.next_buffer().unwrap().is_none());
        let outcome = dump.finish();
        assert!(!outcome.complete);
        assert_eq!(outcome.reason, Some(Incomplete::NoProgress));
        // The next request does not wait for that answer for ever.
        assert_eq!(socket.unfinished, Some(sequence));
        socket.settle("settle").unwrap();
        assert_eq!(socket.unfinished, None);
    }

    #[test]
    fn sequence_numbers_wrap_past_zero() {
        let mut socket = ConntrackSocket::open().unwrap();
        socket.sequence = u32::MAX - 2;
        assert_eq!(socket.next_sequence(2), u32::MAX - 1);
        assert_eq!(socket.next_sequence(3), 1);
        assert_eq!(socket.next_sequence(1), 4);
    }
}
