//! What the kernel knows of a socket that somebody else owns: how far a session's octets have come.

use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

use rustix::io::Errno;

use crate::{Error, os};

/// How far TCP has come with the octets written to a socket, each counted from the connection's first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The peer's kernel has acknowledged these.
    pub acknowledged: u64,
    /// These have left at least once. What lies beyond cannot have arrived.
    pub sent: u64,
}

/// A duplicate of a socket's descriptor, made while the socket is alive, so that it can still be asked after its owner
/// has closed the other. It holds back the FIN: drop it when the owner closes.
#[derive(Debug)]
pub struct SessionSocket(OwnedFd);

impl SessionSocket {
    /// Duplicates `fd`, with close-on-exec.
    ///
    /// # Errors
    /// [`Error::System`] when it is no open descriptor, or there are too many.
    pub fn duplicate(fd: RawFd) -> Result<Self, Error> {
        os::duplicate(fd)
            .map(Self)
            .map_err(|errno| system("duplicate the socket", errno))
    }

    /// How far the octets of a TCP client's socket have come (TCP_INFO, SIOCOUTQ; tcp(7)). Also answers after the
    /// connection was reset, for the state in which it ended.
    ///
    /// # Errors
    /// [`Error::System`] for what is no TCP socket, and before Linux 4.6.
    pub fn progress(&self) -> Result<Progress, Error> {
        // Asked for first: an acknowledgement in between makes `sent` too great then, never too small.
        let waiting = os::unacknowledged(&self.0)
            .map_err(|errno| system("ask for unacknowledged octets", errno))?;
        let info = os::tcp_info(&self.0)
            .map_err(|errno| system("ask for a connection's progress", errno))?;
        // The kernel counts the SYN, too.
        let acknowledged = info.acknowledged.saturating_sub(1);
        Ok(Progress {
            acknowledged,
            sent: acknowledged
                .saturating_add(waiting)
                .saturating_sub(info.not_sent),
        })
    }

    /// The last close of this connection is a reset: what is queued is thrown away, nothing more leaves (SO_LINGER of
    /// zero, socket(7)).
    ///
    /// # Errors
    /// [`Error::System`] for what is no socket.
    pub fn reset_on_close(&self) -> Result<(), Error> {
        rustix::net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO))
            .map_err(|errno| system("ask for a reset at the close", errno))
    }
}

pub(crate) fn system(operation: &'static str, errno: Errno) -> Error {
    Error::System {
        operation,
        source: errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    fn of(socket: &impl AsRawFd) -> SessionSocket {
        SessionSocket::duplicate(socket.as_raw_fd()).unwrap()
    }

    /// Asks until the acknowledgement is in.
    fn acknowledged(socket: &SessionSocket, octets: u64) -> Progress {
        loop {
            let progress = socket.progress().unwrap();
            assert!(progress.acknowledged <= octets, "{progress:?}");
            if progress.acknowledged == octets {
                return progress;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn octets_count_from_the_connection_s_first_and_the_handshake_does_not() {
        let (mut near, mut far) = pair();
        let socket = of(&near);
        let nothing = Progress {
            acknowledged: 0,
            sent: 0,
        };
        assert_eq!(acknowledged(&socket, 0), nothing);
        for sum in [1000, 2000] {
            near.write_all(&[1; 1000]).unwrap();
            far.read_exact(&mut [0; 1000]).unwrap();
            assert_eq!(acknowledged(&socket, sum).sent, sum);
        }
        // What comes back is none of ours.
        far.write_all(&[2; 500]).unwrap();
        near.read_exact(&mut [0; 500]).unwrap();
        assert_eq!(acknowledged(&socket, 2000).sent, 2000);
    }

    #[test]
    fn what_a_peer_that_does_not_read_has_no_room_for_is_neither_sent_nor_acknowledged() {
        let (mut near, far) = pair();
        let socket = of(&near);
        near.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(octets) = near.write(&[1; 65_536]) {
            written += octets as u64;
        }
        let progress = socket.progress().unwrap();
        assert!(progress.acknowledged <= progress.sent, "{progress:?}");
        assert!(progress.sent < written, "{progress:?} of {written}");
        // A reset loses the rest; what had come until then is still told.
        drop(far);
        loop {
            match near.write(&[1]) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::thread::yield_now();
                }
                Ok(octets) => written += octets as u64,
                Err(_) => break,
            }
        }
        let after = socket.progress().unwrap();
        assert!(after.acknowledged >= progress.acknowledged);
        assert!(after.acknowledged < written, "{after:?} of {written}");
    }

    #[test]
    fn a_reset_that_was_asked_for_is_what_the_peer_sees() {
        let (near, mut far) = pair();
        let socket = of(&near);
        socket.reset_on_close().unwrap();
        drop(near);
        drop(socket);
        let error = far.read(&mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn the_duplicate_holds_back_the_end() {
        let (near, far) = pair();
        let socket = of(&near);
        drop(near);
        far.set_nonblocking(true).unwrap();
        let error = (&far).read(&mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        drop(socket);
        far.set_nonblocking(false).unwrap();
        assert_eq!((&far).read(&mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn what_is_no_tcp_socket_is_an_error() {
        for fd in [-1, i32::MAX] {
            let error = SessionSocket::duplicate(fd).unwrap_err();
            assert_eq!(error.code(), "ERR_SYSTEM");
        }
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(of(&udp).progress().unwrap_err().code(), "ERR_SYSTEM");
    }
}
