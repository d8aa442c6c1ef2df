//! A UDP socket that never sends a fragment and hears which of its datagrams were refused.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};

use crate::session_socket::system;
use crate::{Error, os};

/// As much of a refused datagram as tells which one it was: an IPFIX message header and the id of its first set.
const HEAD_OCTETS: usize = 18;
/// Most refusals told at once; the rest is told the next time.
const MOST_REFUSALS: usize = 4_096;

/// A datagram socket on which somebody else sends, through a duplicate of its descriptor.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: OwnedFd,
    ipv6: bool,
    whole: bool,
}

impl DatagramSocket {
    /// Unbound and not connected, with close-on-exec. Datagrams are not cut (IP_MTU_DISCOVER, ip(7)) and refusals are
    /// queued (IP_RECVERR) where the kernel can; where it cannot, the path's MTU counts as unknown, and only the
    /// refusals that a send reports are heard.
    ///
    /// # Errors
    /// [`Error::System`] when there are too many descriptors, or the kernel lacks the family.
    pub fn new(ipv6: bool) -> Result<Self, Error> {
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
        os::queue_errors(&socket, ipv6).ok();
        Ok(Self {
            socket,
            ipv6,
            whole: whole.is_ok(),
        })
    }

    /// The duplicate to send on, with close-on-exec.
    ///
    /// # Errors
    /// [`Error::System`] when there are too many descriptors.
    pub fn duplicate(&self) -> Result<OwnedFd, Error> {
        rustix::io::fcntl_dupfd_cloexec(&self.socket, 3)
            .map_err(|errno| system("duplicate the socket", errno))
    }

    /// Octets of the largest packet, IP header included, that gets to the end of the path, as far as the kernel knows.
    /// None: it does not know, it may cut what is larger, or the socket is not connected.
    pub fn path_mtu(&self) -> Option<u32> {
        let mtu = if self.ipv6 {
            sockopt::ipv6_mtu(&self.socket)
        } else {
            sockopt::ip_mtu(&self.socket)
        };
        mtu.ok().filter(|&mtu| self.whole && mtu > 0)
    }

    /// What came back of the datagrams that were refused since the last call (ICMP; the error queue of ip(7)): the first
    /// 18 octets of each, fewer where the refusal did not quote as many. A datagram that the kernel itself did not take
    /// is among them, quoting nothing.
    pub fn refused(&self) -> Vec<Vec<u8>> {
        let mut heads = Vec::new();
        while heads.len() < MOST_REFUSALS {
            let mut head = [0_u8; HEAD_OCTETS];
            match rustix::net::recv(
                &self.socket,
                head.as_mut_slice(),
                RecvFlags::ERRQUEUE | RecvFlags::DONTWAIT,
            ) {
                Ok((read, _)) => heads.push(head.get(..read).unwrap_or_default().to_vec()),
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        heads
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};

    use super::*;

    fn connected(to: SocketAddr) -> (DatagramSocket, UdpSocket) {
        let socket = DatagramSocket::new(to.is_ipv6()).unwrap();
        let sender = UdpSocket::from(socket.duplicate().unwrap());
        sender.connect(to).unwrap();
        (socket, sender)
    }

    /// A port of loopback on which nobody listens.
    fn nobody(address: &str) -> SocketAddr {
        UdpSocket::bind(address).unwrap().local_addr().unwrap()
    }

    #[test]
    fn the_path_mtu_is_that_of_the_loopback_interface_in_both_families() {
        let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        let mtu: u32 = mtu.trim().parse().unwrap();
        // A packet of IPv4 has at most 65,535 octets.
        for (address, most) in [("127.0.0.1:0", 65_535), ("[::1]:0", u32::MAX)] {
            let to = nobody(address);
            assert_eq!(DatagramSocket::new(to.is_ipv6()).unwrap().path_mtu(), None);
            assert_eq!(connected(to).0.path_mtu(), Some(mtu.min(most)));
        }
    }

    #[test]
    fn each_refused_datagram_is_told_once_by_its_first_octets() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (socket, sender) = connected(nobody(address));
            for text in ["a datagram of more than eighteen octets", "short"] {
                // The send may report the refusal of the one before instead of taking this one.
                while sender.send(text.as_bytes()).is_err() {}
            }
            assert_eq!(
                socket.refused(),
                [b"a datagram of more".to_vec(), b"short".to_vec()]
            );
            assert!(socket.refused().is_empty());
        }
    }
}
