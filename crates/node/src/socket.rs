//! What the kernel knows of a socket that Node owns.

use std::os::fd::OwnedFd;

use napi_derive::napi;

use crate::errors::{Result, error};

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

    /// Octets that were written and not acknowledged by the peer's kernel (SIOCOUTQ, tcp(7)); over UDP those
    /// that have not left yet.
    #[napi(catch_unwind)]
    pub fn unacknowledged(&self) -> Result<u32> {
        let queued = ioctl::outq(self.open()?)
            .map_err(|errno| system("ask for unacknowledged octets", errno))?;
        Ok(u32::try_from(queued).unwrap_or(0))
    }

    /// The path MTU in octets, IP header included, as far as the kernel knows it. Null when it does not.
    #[napi(catch_unwind)]
    pub fn path_mtu(&self) -> Result<Option<u32>> {
        Ok(ioctl::path_mtu(self.open()?))
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

fn system(operation: &str, errno: rustix::io::Errno) -> napi::Error<crate::errors::Code> {
    error("ERR_SYSTEM", format!("{operation}: {errno}"))
}

/// The only unsafe code of this crate.
mod ioctl {
    #![allow(
        unsafe_code,
        reason = "a raw descriptor comes from Node, and two socket questions lack a safe form"
    )]

    use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

    use rustix::io::Errno;
    use rustix::ioctl::{Getter, ioctl};

    /// From <linux/sockios.h>, where SIOCOUTQ is TIOCOUTQ of <asm-generic/ioctls.h>.
    const SIOCOUTQ: rustix::ioctl::Opcode = 0x5411;

    pub(super) fn duplicate(fd: RawFd) -> Result<OwnedFd, Errno> {
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

    pub(super) fn path_mtu(socket: &OwnedFd) -> Option<u32> {
        let mtu = match rustix::net::sockopt::socket_domain(socket).ok()? {
            rustix::net::AddressFamily::INET6 => option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU),
            _ => option(socket, libc::IPPROTO_IP, libc::IP_MTU),
        }?;
        u32::try_from(mtu).ok().filter(|&mtu| mtu > 0)
    }

    fn option(socket: &OwnedFd, level: i32, name: i32) -> Option<i32> {
        let mut value: libc::c_int = 0;
        let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).ok()?;
        // SAFETY: the option is an int (ip(7), ipv6(7)); `value` has room for it, `length` says so, and both
        // outlive the call.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                level,
                name,
                std::ptr::from_mut(&mut value).cast(),
                &raw mut length,
            )
        };
        (result == 0).then_some(value)
    }
}
