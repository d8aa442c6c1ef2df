//! What the kernel knows of a socket that Node owns.

use std::os::fd::OwnedFd;
use std::time::Duration;

use napi_derive::napi;

use crate::convert::count;
use crate::errors::{Result, error};

/// How far TCP has come with the octets written to a socket, each counted from the connection's first.
#[napi(object)]
pub struct NativeProgress {
    /// The peer's kernel has acknowledged these.
    pub acknowledged: f64,
    /// These have left at least once. What lies beyond cannot have arrived.
    pub sent: f64,
}

/// A duplicate of a socket's descriptor, made while the socket is alive, so that it can still be asked after
/// Node has closed its own. It holds back the FIN: close it in the same turn as the socket.
#[napi]
pub struct NativeSocket {
    descriptor: Option<OwnedFd>,
}

#[napi]
impl NativeSocket {
    /// Duplicates `fd`, with close-on-exec.
    #[napi(constructor, catch_unwind)]
    pub fn new(fd: i32) -> Result<Self> {
        let descriptor =
            ioctl::duplicate(fd).map_err(|errno| system("duplicate the socket", errno))?;
        Ok(Self {
            descriptor: Some(descriptor),
        })
    }

    /// How far the octets of a TCP client's socket have come (TCP_INFO, SIOCOUTQ; tcp(7)). Also answers after
    /// the connection was reset, for the state in which it ended.
    #[napi(catch_unwind)]
    pub fn progress(&self) -> Result<NativeProgress> {
        let socket = self.open()?;
        // Asked for first: an acknowledgement in between makes `sent` too great then, never too small.
        let queued =
            ioctl::outq(socket).map_err(|errno| system("ask for unacknowledged octets", errno))?;
        let info = ioctl::tcp_info(socket).ok_or_else(|| {
            error(
                "ERR_SYSTEM",
                "the kernel does not tell a connection's progress",
            )
        })?;
        // The kernel counts the SYN, too.
        let acknowledged = info.tcpi_bytes_acked.saturating_sub(1);
        let waiting = u64::try_from(queued).unwrap_or(0);
        let sent = (acknowledged + waiting).saturating_sub(u64::from(info.tcpi_notsent_bytes));
        Ok(NativeProgress {
            acknowledged: count(acknowledged),
            sent: count(sent),
        })
    }

    /// The last close of this connection is a reset: what is queued is thrown away, nothing more leaves
    /// (SO_LINGER of zero, socket(7)).
    #[napi(catch_unwind)]
    pub fn reset_on_close(&self) -> Result<()> {
        rustix::net::sockopt::set_socket_linger(self.open()?, Some(Duration::ZERO))
            .map_err(|errno| system("ask for a reset at the close", errno))
    }

    /// Closes the duplicate. Calling it again does nothing.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.descriptor = None;
    }

    fn open(&self) -> Result<&OwnedFd> {
        self.descriptor
            .as_ref()
            .ok_or_else(|| error("ERR_CLOSED", "the socket's duplicate is closed"))
    }
}

pub(crate) fn system(
    operation: &str,
    errno: rustix::io::Errno,
) -> napi::Error<crate::errors::Code> {
    error("ERR_SYSTEM", format!("{operation}: {errno}"))
}

/// The only unsafe code of this crate.
pub(crate) mod ioctl {
    #![allow(
        unsafe_code,
        reason = "a raw descriptor comes from Node, and some socket questions lack a safe form"
    )]

    use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

    use rustix::io::Errno;
    use rustix::ioctl::{Getter, ioctl};

    /// From <linux/sockios.h>, where SIOCOUTQ is TIOCOUTQ of <asm-generic/ioctls.h>.
    const SIOCOUTQ: rustix::ioctl::Opcode = 0x5411;

    pub(crate) fn duplicate(fd: RawFd) -> Result<OwnedFd, Errno> {
        if fd < 0 {
            return Err(Errno::BADF);
        }
        // SAFETY: `fd` is not -1, and it is borrowed for this one call only. Were it closed or another
        // file's, the kernel answers EBADF or duplicates that file, and no memory is touched.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        rustix::io::fcntl_dupfd_cloexec(borrowed, 3)
    }

    pub(super) fn outq(socket: &OwnedFd) -> Result<i32, Errno> {
        // SAFETY: SIOCOUTQ writes one int to its argument, which is what Getter passes (tcp(7), udp(7)); on
        // a descriptor that is no socket the kernel answers ENOTTY.
        unsafe { ioctl(socket, Getter::<SIOCOUTQ, i32>::new()) }
    }

    /// None before Linux 4.6, whose answer is shorter than what is read of it.
    pub(super) fn tcp_info(socket: &OwnedFd) -> Option<libc::tcp_info> {
        let mut length = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
        // SAFETY: the structure holds integers only, for which all zeroes is a value.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
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
        let written = usize::try_from(length).ok()?;
        (result == 0 && written >= needed).then_some(info)
    }

    /// Has the errors of a datagram socket queued, each with the datagram that it is about (IP_RECVERR, ip(7)), as far
    /// as the kernel can.
    pub(crate) fn queue_errors(socket: &OwnedFd, ipv6: bool) {
        let (level, name) = if ipv6 {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        } else {
            (libc::IPPROTO_IP, libc::IP_RECVERR)
        };
        let on: libc::c_int = 1;
        // SAFETY: the option is an int (ip(7), ipv6(7)); the kernel reads as many octets of `on` as its size says,
        // and both outlive the call.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                name,
                std::ptr::from_ref(&on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
    }

    /// Ends the process without waiting for any of its threads (_exit(2)).
    pub(crate) fn end_process(code: i32) -> ! {
        // SAFETY: the call takes no memory and does not return; no destructor of this process runs after it.
        unsafe { libc::_exit(code) }
    }
}
