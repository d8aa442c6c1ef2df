//! The crate's only unsafe code: what has no safe form, mostly questions to a socket.
#![allow(
    unsafe_code,
    reason = "kept in this module alone, each block with its proof"
)]

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::ioctl::{Getter, ioctl};

/// From <linux/sockios.h>, where SIOCOUTQ is TIOCOUTQ of <asm-generic/ioctls.h>.
const SIOCOUTQ: rustix::ioctl::Opcode = 0x5411;

/// A duplicate of a descriptor by its number, with close-on-exec.
pub(crate) fn duplicate(fd: RawFd) -> Result<OwnedFd, Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: `fd` is not -1, and it is borrowed for this one call only. Were it closed or another file's, the kernel
    // answers EBADF or duplicates that file, and no memory is touched.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    rustix::io::fcntl_dupfd_cloexec(borrowed, 3)
}

/// Octets written to a TCP socket that are not acknowledged.
pub(crate) fn unacknowledged(socket: &OwnedFd) -> Result<u64, Errno> {
    // SAFETY: SIOCOUTQ writes one int to its argument, which is what Getter passes (tcp(7), udp(7)); on a descriptor that
    // is no socket the kernel answers ENOTTY.
    let octets = unsafe { ioctl(socket, Getter::<SIOCOUTQ, i32>::new()) }?;
    Ok(u64::try_from(octets).unwrap_or(0))
}

/// Of TCP_INFO what tells a connection's progress.
pub(crate) struct TcpInfo {
    /// `tcpi_bytes_acked`: octets acknowledged, the SYN among them.
    pub(crate) acknowledged: u64,
    /// `tcpi_notsent_bytes`: octets that have not left yet.
    pub(crate) not_sent: u64,
}

/// ENOPROTOOPT before Linux 4.6, whose answer is shorter than what is read of it.
pub(crate) fn tcp_info(socket: &OwnedFd) -> Result<TcpInfo, Errno> {
    // SAFETY: the structure holds integers only, for which all zeroes is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::tcp_info>() as libc::socklen_t;
    let mut length = size;
    // SAFETY: the kernel writes at most `length` octets, which is the size of `info`; both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &raw mut length,
        )
    };
    let needed = std::mem::offset_of!(libc::tcp_info, tcpi_notsent_bytes) + size_of::<u32>();
    if result != 0 {
        return Err(last_error());
    }
    if (length as usize) < needed {
        return Err(Errno::NOPROTOOPT);
    }
    Ok(TcpInfo {
        acknowledged: info.tcpi_bytes_acked,
        not_sent: info.tcpi_notsent_bytes.into(),
    })
}

/// Has the errors of a datagram socket queued, each with the datagram that it is about (IP_RECVERR, ip(7)).
pub(crate) fn queue_errors(socket: &OwnedFd, ipv6: bool) -> Result<(), Errno> {
    let (level, name) = if ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    };
    let on: libc::c_int = 1;
    // SAFETY: the option is an int (ip(7), ipv6(7)); the kernel reads as many octets of `on` as its size says, and both
    // outlive the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

/// Ends the process without waiting for any of its threads (_exit(2)).
pub(crate) fn end_process(code: i32) -> ! {
    // SAFETY: the call takes no memory and does not return; nothing of this process runs after it.
    unsafe { libc::_exit(code) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
