//! One NETLINK_NETFILTER socket: sends requests, receives datagrams, waits no longer than told.
//!
//! The conntrack, event and NFLOG sockets are made of it. It belongs to the network namespace of the thread that opened
//! it, for its whole life.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use neli::consts::socket::{Msg, NlFamily};
use neli::socket::NlSocket;
use neli::utils::Groups;
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::error::Error;
use crate::message::{Messages, kind};
use crate::os::descriptor;

/// Octets of a receive buffer. The kernel's dump chunks are at most 32,428; a larger buffer gains nothing.
pub(crate) const BUFFER: usize = 64 * 1024;

/// How long a blocked receive sleeps before it looks at the cancel flag.
const SLICE: Duration = Duration::from_millis(50);

/// How a socket is opened.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// A request fails, and a dump is incomplete, when the kernel sends nothing for this long (rounded up to 50 ms).
    pub receive_timeout: Duration,
    /// Octets of the socket's receive buffer; `None` leaves the system's default. SO_RCVBUFFORCE where allowed, else
    /// capped by net.core.rmem_max.
    pub receive_buffer: Option<usize>,
    /// When set to true, whatever waits or dumps ends within about 50 ms.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for SocketOptions {
    /// Five seconds without progress, the system's buffer size, not cancellable.
    fn default() -> Self {
        Self {
            receive_timeout: Duration::from_secs(5),
            receive_buffer: None,
            cancel: None,
        }
    }
}

/// Why nothing was received.
#[derive(Debug)]
pub(crate) enum NotReceived {
    NoProgress,
    Cancelled,
    Overrun,
    Failed(io::Error),
}

pub(crate) struct Channel {
    socket: NlSocket,
    options: SocketOptions,
}

impl Channel {
    /// A socket that hears answers, and nothing else before [`Self::join`].
    pub(crate) fn open(operation: &'static str, options: SocketOptions) -> Result<Self, Error> {
        let failed = |source| Error::from_io(operation, source);
        let socket =
            NlSocket::connect(NlFamily::Netfilter, None, Groups::empty()).map_err(failed)?;
        if let Some(size) = options.receive_buffer {
            let fd = descriptor(&socket);
            sockopt::set_socket_recv_buffer_size_force(fd, size)
                .or_else(|_| sockopt::set_socket_recv_buffer_size(fd, size))
                .map_err(|errno| failed(errno.into()))?;
        }
        sockopt::set_socket_timeout(descriptor(&socket), sockopt::Timeout::Recv, Some(SLICE))
            .map_err(|errno| failed(errno.into()))?;
        Ok(Self { socket, options })
    }

    /// Joins groups: the last step, so that their messages find the buffer at its full size and the filter in place.
    pub(crate) fn join(&self, operation: &'static str, groups: Groups) -> Result<(), Error> {
        let joined = self.socket.add_mcast_membership(groups);
        joined.map_err(|source| Error::from_io(operation, source))
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.options
            .cancel
            .as_ref()
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// The receive buffer's size as the kernel accounts it (twice what was asked for).
    pub(crate) fn receive_buffer_size(&self) -> usize {
        sockopt::socket_recv_buffer_size(self.as_fd()).unwrap_or(0)
    }

    pub(crate) fn send(&self, operation: &'static str, octets: &[u8]) -> Result<(), Error> {
        loop {
            match self.socket.send(octets, Msg::empty()) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::from_io(operation, error)),
            }
        }
    }

    /// One datagram into `buffer`. Returns its real length, which exceeds the buffer's when it was cut.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<usize, NotReceived> {
        let slices = self
            .options
            .receive_timeout
            .as_millis()
            .div_ceil(SLICE.as_millis())
            .max(1);
        for _ in 0..slices {
            if self.cancelled() {
                return Err(NotReceived::Cancelled);
            }
            match self.receive_once(buffer, Msg::TRUNC) {
                Ok(Some(length)) => return Ok(length),
                Ok(None) => {}
                Err(error) => return Err(error),
            }
        }
        Err(NotReceived::NoProgress)
    }

    /// One datagram if there is one now.
    pub(crate) fn receive_now(&self, buffer: &mut [u8]) -> Result<Option<usize>, NotReceived> {
        self.receive_once(buffer, Msg::TRUNC | Msg::DONTWAIT)
    }

    fn receive_once(&self, buffer: &mut [u8], flags: Msg) -> Result<Option<usize>, NotReceived> {
        loop {
            let error = match self.socket.recv(&mut *buffer, flags) {
                Ok((length, _)) => return Ok(Some(length)),
                Err(error) => error,
            };
            match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::INTR) => {}
                Some(Errno::AGAIN) => return Ok(None),
                Some(Errno::NOBUFS) => return Err(NotReceived::Overrun),
                _ => return Err(NotReceived::Failed(error)),
            }
        }
    }

    /// The error for a receive that a request cannot do without.
    pub(crate) fn not_received(&self, operation: &'static str, reason: NotReceived) -> Error {
        match reason {
            NotReceived::NoProgress => Error::NoProgress {
                operation,
                milliseconds: u64::try_from(self.options.receive_timeout.as_millis())
                    .unwrap_or(u64::MAX),
            },
            NotReceived::Cancelled => Error::Cancelled { operation },
            NotReceived::Overrun => Error::Overrun { operation },
            NotReceived::Failed(source) => Error::from_io(operation, source),
        }
    }

    /// Receives until every one of `count` requests, numbered from `first`, is acknowledged.
    ///
    /// # Errors
    /// The first errno among the acknowledgements, after all of them are in; a refusal of all at once, at once.
    pub(crate) fn acknowledged(
        &self,
        operation: &'static str,
        buffer: &mut [u8],
        first: u32,
        count: u32,
    ) -> Result<(), Error> {
        let mut refused = None;
        let mut outstanding = count;
        while outstanding > 0 {
            let length = self
                .receive(buffer)
                .map_err(|reason| self.not_received(operation, reason))?;
            let mut messages = Messages::new(buffer.get(..length).unwrap_or(buffer));
            while let Some(message) = messages.next().map_err(|malformed| Error::Reply {
                operation,
                malformed,
            })? {
                if message.kind != kind::ERROR {
                    continue;
                }
                let refusal = match message.errno() {
                    0 => None,
                    errno => Some(Error::from_errno(operation, errno)),
                };
                // Without the permission everything that was sent is refused by one answer; a batch that cannot begin
                // is refused in its first message, which asks for no acknowledgement.
                let begin = message.sequence == first.wrapping_sub(1);
                if let Some(error @ Error::Permission { .. }) = refusal {
                    return Err(error);
                } else if message.sequence.wrapping_sub(first) < count {
                    outstanding = outstanding.saturating_sub(1);
                    refused = refused.or(refusal);
                } else if let (true, Some(error)) = (begin, refusal) {
                    return Err(error);
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        descriptor(&self.socket)
    }
}
