//! A dump of the connection table, one receive buffer at a time.
//!
//! Datagrams enter through [`Dump::next_buffer`], decoded entries leave through [`Entries`], and [`Dump::finish`] says
//! whether that was all of them. `DumpState` is the part without a socket: it judges messages and failures.

mod outcome;
#[cfg(test)]
mod tests;

pub use outcome::{DumpOutcome, Incomplete};

use crate::channel::NotReceived;
use crate::connection::Connection;
use crate::error::Error;
use crate::filter::Filter;
use crate::malformed::Malformed;
use crate::message::{Message, Messages, flag, kind};
use crate::socket::ConntrackSocket;

const OPERATION: &str = "dump the connection table";

#[derive(Debug)]
pub(crate) struct DumpState {
    sequence: u32,
    filter: Filter,
    outcome: DumpOutcome,
    /// The kernel said DONE, or reported an error.
    ended: bool,
    /// Reading stopped before that.
    stopped: bool,
    error: Option<Error>,
}

impl DumpState {
    pub(crate) fn new(sequence: u32, filter: Filter) -> Self {
        Self {
            sequence,
            filter,
            outcome: DumpOutcome::default(),
            ended: false,
            stopped: false,
            error: None,
        }
    }

    fn over(&self) -> bool {
        self.ended || self.stopped
    }

    fn incomplete(&mut self, reason: Incomplete) {
        self.outcome.reason.get_or_insert(reason);
    }

    fn stop(&mut self, reason: Incomplete) {
        self.incomplete(reason);
        self.stopped = true;
    }

    #[cold]
    fn malformed(&mut self, fault: Malformed, reason: Incomplete) {
        self.outcome.malformed += 1;
        self.outcome.first_malformed.get_or_insert(fault);
        self.incomplete(reason);
    }

    /// A receive brought nothing. After an overrun the dump goes on; the rest ends it.
    fn not_received(&mut self, reason: NotReceived) {
        match reason {
            NotReceived::Overrun => self.incomplete(Incomplete::Overrun),
            NotReceived::NoProgress => self.stop(Incomplete::NoProgress),
            NotReceived::Cancelled => self.stop(Incomplete::Cancelled),
            NotReceived::Failed(source) => {
                self.stop(Incomplete::Failed);
                self.error = Some(Error::from_io(OPERATION, source));
            }
        }
    }

    /// A datagram of `length` octets arrived in a buffer of `room`.
    fn received(&mut self, length: usize, room: usize) {
        self.outcome.octets += length as u64;
        if length > room {
            self.incomplete(Incomplete::Cut);
        }
    }

    /// Takes a datagram whose first message ends this dump; false for every other.
    fn end_alone(&mut self, datagram: &[u8]) -> bool {
        match Messages::new(datagram).next() {
            Ok(Some(message))
                if message.sequence == self.sequence
                    && matches!(message.kind, kind::DONE | kind::ERROR) =>
            {
                self.look_at_flags(&message);
                self.end(message.errno());
                true
            }
            _ => false,
        }
    }

    /// Of any message of this dump.
    #[inline(always)]
    fn look_at_flags(&mut self, message: &Message<'_>) {
        if message.flags & flag::DUMP_INTR != 0 {
            self.interrupted();
        }
    }

    #[cold]
    fn interrupted(&mut self) {
        self.incomplete(Incomplete::Interrupted);
    }

    /// DONE or ERROR with this errno.
    fn end(&mut self, errno: i32) {
        self.ended = true;
        if errno == 0 {
            return;
        }
        if errno == rustix::io::Errno::INTR.raw_os_error() {
            self.incomplete(Incomplete::Interrupted);
        } else {
            self.incomplete(Incomplete::Failed);
            self.error = Some(self.refusal(errno));
        }
    }

    /// nfnetlink answers EINVAL for a subsystem that is not there, and for a filter that it cannot read.
    fn refusal(&self, errno: i32) -> Error {
        if errno == rustix::io::Errno::INVAL.raw_os_error() && self.filter == Filter::default() {
            return Error::NoConntrack {
                operation: OPERATION,
            };
        }
        Error::from_errno(OPERATION, errno)
    }

    /// Reads the next wanted entry of a datagram into `place`, which is empty; false at the datagram's end.
    #[inline(always)]
    pub(crate) fn next_entry<'a>(
        &mut self,
        messages: &mut Messages<'a>,
        place: &mut Connection<'a>,
    ) -> bool {
        loop {
            let message = match messages.next() {
                Ok(Some(message)) => message,
                Ok(None) => return false,
                Err(fault) => {
                    self.malformed(fault, Incomplete::Cut);
                    return false;
                }
            };
            // Left over from an earlier request.
            if message.sequence != self.sequence {
                continue;
            }
            self.look_at_flags(&message);
            match message.kind {
                kind::CT_NEW => match place.read(message.payload) {
                    Ok(()) if self.filter.matches(place) => {
                        self.outcome.entries += 1;
                        return true;
                    }
                    Ok(()) => self.outcome.unwanted += 1,
                    Err(fault) => self.malformed(fault, Incomplete::Malformed),
                },
                kind::DONE | kind::ERROR => self.end(message.errno()),
                kind::OVERRUN => self.incomplete(Incomplete::Overrun),
                _ => {}
            }
            *place = Connection::EMPTY;
        }
    }

    pub(crate) fn outcome(&mut self) -> DumpOutcome {
        if !self.over() {
            self.incomplete(Incomplete::Abandoned);
        }
        DumpOutcome {
            complete: self.outcome.reason.is_none(),
            ..self.outcome.clone()
        }
    }
}

/// A dump under way. Dropped or finished early, it leaves its rest to be read away by the socket's next request.
pub struct Dump<'s> {
    socket: &'s mut ConntrackSocket,
    state: DumpState,
}

impl<'s> Dump<'s> {
    pub(crate) fn new(socket: &'s mut ConntrackSocket, state: DumpState) -> Self {
        Self { socket, state }
    }

    /// The entries of one receive buffer (about 130); `None` when the dump is over, for whatever reason:
    /// [`Self::finish`] tells which.
    ///
    /// # Errors
    /// What the kernel answered instead of entries; the dump is over then, and incomplete.
    pub fn next_buffer(&mut self) -> Result<Option<Entries<'_>>, Error> {
        let Some(length) = self.receive()? else {
            return Ok(None);
        };
        let buffer = &self.socket.buffer;
        let datagram = buffer.get(..length).unwrap_or(buffer);
        Ok(Some(Entries::new(datagram, &mut self.state)))
    }

    fn receive(&mut self) -> Result<Option<usize>, Error> {
        while !self.state.over() {
            if self.socket.channel.cancelled() {
                self.state.stop(Incomplete::Cancelled);
                break;
            }
            match self.socket.channel.receive(&mut self.socket.buffer) {
                Ok(length) => {
                    let buffer = &self.socket.buffer;
                    self.state.received(length, buffer.len());
                    // An end without entries is no buffer of entries: a refusal is an error of this very call.
                    let datagram = buffer.get(..length).unwrap_or(buffer);
                    if !self.state.end_alone(datagram) {
                        return Ok(Some(length));
                    }
                }
                Err(reason) => self.state.not_received(reason),
            }
        }
        match self.state.error.take() {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// What the dump came to. Before its end it is incomplete ([`Incomplete::Abandoned`]).
    #[must_use]
    pub fn finish(mut self) -> DumpOutcome {
        self.state.outcome()
    }
}

impl Drop for Dump<'_> {
    fn drop(&mut self) {
        if !self.state.ended {
            self.socket.unfinished = Some(self.state.sequence);
        }
    }
}

/// The wanted entries of one receive buffer. Entries not taken are read and counted when this is dropped.
pub struct Entries<'a> {
    messages: Messages<'a>,
    state: &'a mut DumpState,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(datagram: &'a [u8], state: &'a mut DumpState) -> Self {
        Self {
            messages: Messages::new(datagram),
            state,
        }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Connection<'a>;

    #[inline]
    fn next(&mut self) -> Option<Connection<'a>> {
        let mut place = Connection::EMPTY;
        if self.state.next_entry(&mut self.messages, &mut place) {
            Some(place)
        } else {
            None
        }
    }
}

impl Drop for Entries<'_> {
    fn drop(&mut self) {
        // Without this a DONE behind an untaken entry would be missed.
        while self.next().is_some() {}
    }
}
