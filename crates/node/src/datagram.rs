//! `NativeDatagramSocket`: a UDP socket that never sends a fragment and hears which of its datagrams were refused.

use std::os::fd::{IntoRawFd, OwnedFd};

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};

use crate::errors::{Result, error};
use crate::socket::{ioctl, system};

/// As much of a refused datagram as tells which one it was: an IPFIX message header and the id of its first set.
const HEAD_OCTETS: usize = 18;
/// Most refusals told at once; the rest is told the next time.
const MOST_REFUSALS: usize = 4_096;

/// A datagram socket, and a duplicate of its descriptor for Node, which sends on it.
#[napi]
pub struct NativeDatagramSocket {
    descriptor: Option<OwnedFd>,
    ipv6: bool,
    whole: bool,
}

#[napi]
impl NativeDatagramSocket {
    /// Unbound and not connected, with close-on-exec; with path MTU discovery (IP_MTU_DISCOVER, ip(7)) and refusals
    /// queued (IP_RECVERR) where the kernel can.
    #[napi(constructor, catch_unwind)]
    pub fn new(ipv6: bool) -> Result<Self> {
        let family = if ipv6 {
            AddressFamily::INET6
        } else {
            AddressFamily::INET
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)
            .map_err(|errno| system("open a datagram socket", errno))?;
        let whole = if ipv6 {
            sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO)
        } else {
            sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)
        };
        // Without it the refusals that a send reports are still heard.
        ioctl::queue_errors(&socket, ipv6);
        Ok(Self {
            descriptor: Some(socket),
            ipv6,
            whole: whole.is_ok(),
        })
    }

    /// A duplicate of the descriptor, which the caller owns.
    #[napi(catch_unwind)]
    pub fn descriptor(&self) -> Result<i32> {
        let copy = rustix::io::fcntl_dupfd_cloexec(self.open()?, 3)
            .map_err(|errno| system("duplicate the socket", errno))?;
        Ok(copy.into_raw_fd())
    }

    /// Octets of the largest packet, IP header included, that gets to the end of the path, as far as the kernel
    /// knows. Null: it does not know, or may cut what is larger into fragments. The socket must be connected.
    #[napi(catch_unwind)]
    pub fn path_mtu(&self) -> Result<Option<u32>> {
        let socket = self.open()?;
        let mtu = if self.ipv6 {
            sockopt::ipv6_mtu(socket)
        } else {
            sockopt::ip_mtu(socket)
        };
        Ok(mtu.ok().filter(|&mtu| self.whole && mtu > 0))
    }

    /// What came back of the datagrams that were refused since the last call (ICMP; the error queue of ip(7)): the
    /// first octets of each, none where the refusal did not quote any. One that the kernel itself did not take is in
    /// it, too, quoting nothing.
    #[napi(catch_unwind)]
    pub fn refused(&self) -> Result<Vec<Buffer>> {
        let socket = self.open()?;
        let mut heads = Vec::new();
        while heads.len() < MOST_REFUSALS {
            let mut head = [0_u8; HEAD_OCTETS];
            match rustix::net::recv(
                socket,
                head.as_mut_slice(),
                RecvFlags::ERRQUEUE | RecvFlags::DONTWAIT,
            ) {
                Ok((read, _)) => heads.push(head.get(..read).unwrap_or_default().to_vec().into()),
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        Ok(heads)
    }

    /// Closes this descriptor, not Node's. Calling it again does nothing.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.descriptor = None;
    }

    fn open(&self) -> Result<&OwnedFd> {
        self.descriptor
            .as_ref()
            .ok_or_else(|| error("ERR_CLOSED", "the datagram socket is closed"))
    }
}
