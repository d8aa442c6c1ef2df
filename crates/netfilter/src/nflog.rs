//! Packets that a rule logs to an NFLOG group (`log group N` in nft, `-j NFLOG` in iptables): the source of denied
//! connections.
//!
//! Datagrams enter through [`NflogSocket::recv`], [`LoggedPacket`]s leave. What was lost on the way is known exactly: the
//! kernel numbers the packets of a group.

mod packet;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

pub use packet::{LoggedPacket, PacketHeader};

use crate::channel::{Channel, SocketOptions};
use crate::datagram::{Datagram, Tally};
use crate::error::Error;
use crate::listener::{Heard, Listener};
use crate::malformed::Malformed;
use crate::message::{Message, flag, kind};
use crate::request::{Head, Request};

const OPERATION: &str = "read an NFLOG group";

/// NFNL_SUBSYS_ULOG << 8; messages NFULNL_MSG_PACKET 0 and NFULNL_MSG_CONFIG 1
/// (include/uapi/linux/netfilter/nfnetlink_log.h).
const ULOG: u16 = 4 << 8;
const MSG_PACKET: u16 = ULOG;
const MSG_CONFIG: u16 = ULOG | 1;

/// How a group is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NflogOptions {
    /// The group's number, as in the rule. One socket at a time can read a group of a network namespace.
    pub group: u16,
    /// Octets of each packet that the kernel copies; the headers need about 128.
    pub copy_range: u32,
    /// Packets that the kernel may collect before it sends them.
    pub queue_threshold: u32,
    /// How long it may collect them; counted in hundredths of a second.
    pub flush_interval: Duration,
    /// Octets of the socket's receive buffer.
    pub receive_buffer: usize,
}

impl NflogOptions {
    /// 128 octets a packet, sent after 32 packets or 100 ms, 1 MiB of receive buffer.
    #[must_use]
    pub const fn new(group: u16) -> Self {
        Self {
            group,
            copy_range: 128,
            queue_threshold: 32,
            flush_interval: Duration::from_millis(100),
            receive_buffer: 1024 * 1024,
        }
    }
}

/// What a socket has counted since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NflogCounts {
    /// Packets handed out.
    pub packets: u64,
    /// Packets that the kernel numbered and we never got.
    pub lost: u64,
    /// Times that the kernel said it had dropped messages.
    pub overruns: u64,
    /// Messages that could not be read.
    pub malformed: u64,
    /// The first of them.
    pub first_malformed: Option<Malformed>,
    next_sequence: u32,
}

/// What one [`NflogSocket::recv`] brought.
pub enum NflogReceived<'a> {
    /// One datagram's packets.
    Packets(LoggedPackets<'a>),
    /// Messages were lost; [`NflogCounts::lost`] grows with the next packet.
    Overrun,
    /// Nothing came in time.
    TimedOut,
}

/// A socket bound to one NFLOG group of the network namespace in which it was opened.
pub struct NflogSocket {
    pub(crate) listener: Listener,
    counts: NflogCounts,
}

impl NflogSocket {
    /// Binds the group.
    ///
    /// # Errors
    /// [`Error::NflogGroupTaken`] while another socket reads the group, [`Error::Permission`] without CAP_NET_ADMIN.
    pub fn open(options: NflogOptions) -> Result<Self, Error> {
        let socket = SocketOptions {
            receive_buffer: Some(options.receive_buffer),
            ..SocketOptions::default()
        };
        let channel = Channel::open(OPERATION, socket)?;
        let mut listener = Listener::new(channel, OPERATION);
        configure(&mut listener, options, 1, |config| {
            config.u8(1, 1); // NFULA_CFG_CMD: NFULNL_CFG_CMD_BIND
        })
        .map_err(|error| why_not_bound(&mut listener, options.group, error))?;
        configure(&mut listener, options, 2, |config| {
            // NFULA_CFG_MODE: copy range be32, NFULNL_COPY_PACKET, padding.
            let [r0, r1, r2, r3] = options.copy_range.to_be_bytes();
            config.attribute(2, &[r0, r1, r2, r3, 2, 0]);
            let hundredths = options.flush_interval.as_millis() / 10;
            config.be32(4, u32::try_from(hundredths).unwrap_or(u32::MAX)); // NFULA_CFG_TIMEOUT
            config.be32(5, options.queue_threshold); // NFULA_CFG_QTHRESH
            config.be16(6, 1); // NFULA_CFG_FLAGS: NFULNL_CFG_F_SEQ
        })?;
        Ok(Self {
            listener,
            counts: NflogCounts::default(),
        })
    }

    /// Waits for a datagram; `None` waits without end, zero not at all. A signal ends the wait as a timeout does.
    ///
    /// # Errors
    /// When the socket fails for another reason than an overrun.
    pub fn recv(&mut self, timeout: Option<Duration>) -> Result<NflogReceived<'_>, Error> {
        Ok(match self.listener.hear(timeout)? {
            Heard::TimedOut => NflogReceived::TimedOut,
            Heard::Overrun => {
                self.counts.overruns += 1;
                NflogReceived::Overrun
            }
            Heard::Datagram(length) => NflogReceived::Packets(LoggedPackets::new(
                self.listener.datagram(length),
                &mut self.counts,
            )),
        })
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> NflogCounts {
        self.counts
    }
}

impl AsFd for NflogSocket {
    /// For poll(2) beside other descriptors; readable when [`NflogSocket::recv`] would not wait.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// The kernel answers EPERM for a group that another socket has, as it does without CAP_NET_ADMIN. Any other request
/// tells the two apart.
fn why_not_bound(listener: &mut Listener, group: u16, error: Error) -> Error {
    if !matches!(error, Error::Permission { .. }) {
        return error;
    }
    let mut request = Request::new();
    let head = Head {
        kind: kind::CT_STATS,
        flags: flag::REQUEST | flag::ACK,
        sequence: 3,
        family: 0,
        resource: 0,
    };
    request.message(head, |_| {});
    match listener.configure(request.octets(), 3) {
        Err(Error::Permission { .. }) => error,
        _ => Error::NflogGroupTaken { group },
    }
}

/// Sends one acknowledged configuration message. Packets that arrive before its acknowledgement are counted as lost by
/// their numbers later on.
fn configure(
    listener: &mut Listener,
    options: NflogOptions,
    sequence: u32,
    body: impl FnOnce(&mut Request),
) -> Result<(), Error> {
    let mut request = Request::new();
    let head = Head {
        kind: MSG_CONFIG,
        flags: flag::REQUEST | flag::ACK,
        sequence,
        family: 0,
        resource: options.group,
    };
    request.message(head, body);
    listener.configure(request.octets(), sequence)
}

/// The packets of one datagram; malformed messages are skipped and counted.
pub struct LoggedPackets<'a>(Datagram<'a, NflogCounts>);

impl<'a> LoggedPackets<'a> {
    pub(crate) fn new(datagram: &'a [u8], counts: &'a mut NflogCounts) -> Self {
        Self(Datagram::new(datagram, counts))
    }
}

impl<'a> Iterator for LoggedPackets<'a> {
    type Item = LoggedPacket<'a>;

    fn next(&mut self) -> Option<LoggedPacket<'a>> {
        self.0.next()
    }
}

impl Tally for NflogCounts {
    type Item<'a> = LoggedPacket<'a>;

    fn read<'a>(&mut self, message: &Message<'a>) -> Result<Option<LoggedPacket<'a>>, Malformed> {
        if message.kind != MSG_PACKET {
            return Ok(None);
        }
        let packet = LoggedPacket::decode(message.payload)?;
        self.number(packet.sequence);
        Ok(Some(packet))
    }

    fn malformed(&mut self) -> (&mut u64, &mut Option<Malformed>) {
        (&mut self.malformed, &mut self.first_malformed)
    }
}

impl NflogCounts {
    /// A packet with this number arrived: the numbers between the last one's and this one's are lost.
    fn number(&mut self, sequence: Option<u32>) {
        self.packets += 1;
        if let Some(sequence) = sequence {
            self.lost += u64::from(sequence.wrapping_sub(self.next_sequence));
            self.next_sequence = sequence.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_never_came_are_counted_as_lost_across_the_wrap() {
        let mut counts = NflogCounts {
            next_sequence: u32::MAX - 1,
            ..NflogCounts::default()
        };
        for sequence in [u32::MAX - 1, u32::MAX, 2, 3] {
            counts.number(Some(sequence));
        }
        assert_eq!((counts.packets, counts.lost), (4, 2));
    }
}
