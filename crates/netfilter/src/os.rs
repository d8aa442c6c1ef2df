//! The crate's only unsafe code: calls whose safety the compiler cannot see.
#![allow(
    unsafe_code,
    reason = "kept in this module alone, each block with its proof"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use neli::socket::NlSocket;

/// The socket's descriptor, borrowed for as long as the socket is.
pub(crate) fn descriptor(socket: &NlSocket) -> BorrowedFd<'_> {
    // SAFETY: `NlSocket` owns an open descriptor from its construction to its drop and never closes it before; the
    // returned borrow cannot outlive `socket`. It is not -1, because `NlSocket` is only made from a successful socket(2).
    unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) }
}

/// Attaches a classic BPF program, which the kernel runs on every message for this socket (SO_ATTACH_FILTER, socket(7)).
///
/// # Errors
/// EINVAL for a program that the kernel does not accept.
pub(crate) fn attach_filter(
    socket: BorrowedFd<'_>,
    program: &[libc::sock_filter],
) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap_or(u16::MAX),
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads a `sock_fprog` of the size given, and `len` instructions where it points, and writes to
    // neither: `filter` is not const in C for old times' sake. Both outlive the call. Its own length is at most the
    // slice's, which no caller makes longer than a u16 counts (the kernel takes 4,096 instructions).
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            std::ptr::from_ref(&program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Moves the calling thread into a fresh network namespace.
#[cfg(feature = "testing")]
pub(crate) fn unshare_network() -> rustix::io::Result<()> {
    // SAFETY: unshare is unsafe for UnshareFlags::FILES alone, which would give this thread its own descriptor table.
    // NEWNET changes which network namespace the thread's later sockets belong to; no memory or descriptor is affected.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
}
