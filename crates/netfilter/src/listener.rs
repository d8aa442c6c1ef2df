//! The receiving half that events and NFLOG share: a socket nobody asks anything, read when there is something.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::channel::{BUFFER, Channel, NotReceived};
use crate::error::Error;

/// What came.
pub(crate) enum Heard {
    /// A datagram of this many octets, whole, in [`Listener::datagram`].
    Datagram(usize),
    /// The kernel dropped messages, or the datagram was larger than the buffer.
    Overrun,
    TimedOut,
}

pub(crate) struct Listener {
    pub(crate) channel: Channel,
    buffer: Box<[u8]>,
    operation: &'static str,
}

impl Listener {
    pub(crate) fn new(channel: Channel, operation: &'static str) -> Self {
        Self {
            channel,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            operation,
        }
    }

    pub(crate) fn datagram(&self, length: usize) -> &[u8] {
        self.buffer.get(..length).unwrap_or_default()
    }

    /// Sends a configuration message with this sequence number and waits for its acknowledgement. Other messages that
    /// arrive before it are dropped.
    pub(crate) fn configure(&mut self, octets: &[u8], sequence: u32) -> Result<(), Error> {
        self.channel.send(self.operation, octets)?;
        self.channel
            .acknowledged(self.operation, &mut self.buffer, sequence, 1)
    }

    /// Waits for a datagram; `None` waits without end, zero not at all. A signal ends the wait as a timeout does.
    pub(crate) fn hear(&mut self, timeout: Option<Duration>) -> Result<Heard, Error> {
        let heard = self.hear_now()?;
        if !matches!(heard, Heard::TimedOut) || timeout == Some(Duration::ZERO) {
            return Ok(heard);
        }
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut ready = [PollFd::new(&self.channel, PollFlags::IN)];
        match poll(&mut ready, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => self.hear_now(),
            Err(errno) => Err(Error::from_io(self.operation, errno.into())),
        }
    }

    fn hear_now(&mut self) -> Result<Heard, Error> {
        match self.channel.receive_now(&mut self.buffer) {
            Ok(Some(length)) if length <= self.buffer.len() => Ok(Heard::Datagram(length)),
            Ok(None) => Ok(Heard::TimedOut),
            Ok(Some(_)) | Err(NotReceived::Overrun) => Ok(Heard::Overrun),
            Err(reason) => Err(self.channel.not_received(self.operation, reason)),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
