//! The crate's only unsafe code: two calls whose safety the compiler cannot see.
#![allow(
    unsafe_code,
    reason = "kept in this module alone, each block with its proof"
)]

use std::os::fd::{AsRawFd, BorrowedFd};

use neli::socket::NlSocket;

/// The socket's descriptor, borrowed for as long as the socket is.
pub(crate) fn descriptor(socket: &NlSocket) -> BorrowedFd<'_> {
    // SAFETY: `NlSocket` owns an open descriptor from its construction to its drop and never closes it before; the
    // returned borrow cannot outlive `socket`. It is not -1, because `NlSocket` is only made from a successful socket(2).
    unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) }
}

/// Moves the calling thread into a fresh network namespace.
#[cfg(feature = "testing")]
pub(crate) fn unshare_network() -> rustix::io::Result<()> {
    // SAFETY: unshare is unsafe for UnshareFlags::FILES alone, which would give this thread its own descriptor table.
    // NEWNET changes which network namespace the thread's later sockets belong to; no memory or descriptor is affected.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
}
