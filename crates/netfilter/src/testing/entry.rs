//! Conntrack entries made, changed and deleted over netlink.

use std::net::IpAddr;

use crate::channel::{BUFFER, Channel, SocketOptions};
use crate::connection::cta;
use crate::error::Error;
use crate::message::{flag, kind};
use crate::request::{Head, Request};
use crate::state::{ProtocolState, Status};
use crate::tuple::Tuple;

/// CTA_NAT_SRC and CTA_NAT_DST.
const NAT_SRC: u16 = 6;
const NAT_DST: u16 = 13;

/// Octets that one send may take: below the send buffer's default of 212,992.
const SEND: usize = 64 * 1024;

/// The zone of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Zone {
    /// No zone.
    #[default]
    None,
    /// CTA_ZONE: both directions.
    Shared(u16),
    /// The original direction alone.
    Original(u16),
    /// The reply direction alone.
    Reply(u16),
}

/// An entry to make. Counters cannot be given: they start at zero.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The original tuple; an ICMP echo's packing is that of [`Tuple`].
    pub original: Tuple,
    /// The reply tuple, before NAT changes it.
    pub reply: Tuple,
    /// The zone; what the tuples themselves say of zones is not used.
    pub zone: Zone,
    /// CTA_MARK.
    pub mark: u32,
    /// CTA_LABELS.
    pub labels: Option<[u8; 16]>,
    /// CTA_STATUS, beside CONFIRMED and the NAT bits, which the kernel sets.
    pub status: Status,
    /// CTA_TIMEOUT in seconds.
    pub timeout: u32,
    /// CTA_PROTOINFO.
    pub protocol_state: ProtocolState,
    /// Source NAT to this address and port.
    pub source_nat: Option<(IpAddr, u16)>,
    /// Destination NAT to this address and port.
    pub destination_nat: Option<(IpAddr, u16)>,
    /// The name of a helper that the kernel has.
    pub helper: Option<&'static str>,
    /// The original tuple of an existing connection that expected this one.
    pub master: Option<Tuple>,
}

impl Entry {
    /// An assured entry that answers from where it was sent to, in the state ESTABLISHED where the protocol has states,
    /// with a timeout of an hour.
    #[must_use]
    pub fn new(original: Tuple) -> Self {
        Self {
            original,
            reply: inverse(&original),
            zone: Zone::None,
            mark: 0,
            labels: None,
            status: Status::SEEN_REPLY | Status::ASSURED,
            timeout: 3600,
            protocol_state: match original.protocol {
                6 => ProtocolState::Tcp(3),
                132 => ProtocolState::Sctp(4),
                _ => ProtocolState::None,
            },
            source_nat: None,
            destination_nat: None,
            helper: None,
            master: None,
        }
    }

    fn key(&self, request: &mut Request) {
        let side = |tuple: &Tuple, zone| Tuple { zone, ..*tuple };
        let (original, reply) = match self.zone {
            Zone::Original(zone) => (Some(zone), None),
            Zone::Reply(zone) => (None, Some(zone)),
            Zone::None | Zone::Shared(_) => (None, None),
        };
        request.tuple(cta::TUPLE_ORIG, &side(&self.original, original));
        request.tuple(cta::TUPLE_REPLY, &side(&self.reply, reply));
        if let Zone::Shared(zone) = self.zone {
            request.be16(cta::ZONE, zone);
        }
    }

    fn write(&self, request: &mut Request, create: bool) {
        self.key(request);
        request.be32(cta::STATUS, self.status.0 | Status::CONFIRMED.0);
        request.be32(cta::TIMEOUT, self.timeout);
        request.be32(cta::MARK, self.mark);
        if let Some(labels) = &self.labels {
            request.attribute(cta::LABELS, labels);
        }
        match self.protocol_state {
            ProtocolState::None => {}
            ProtocolState::Tcp(state) => request.nested(cta::PROTOINFO, |info| {
                info.nested(1, |tcp| tcp.u8(1, state));
            }),
            ProtocolState::Dccp(state) => request.nested(cta::PROTOINFO, |info| {
                info.nested(2, |dccp| dccp.u8(1, state));
            }),
            // The kernel wants both verification tags as well.
            ProtocolState::Sctp(state) => request.nested(cta::PROTOINFO, |info| {
                info.nested(3, |sctp| {
                    sctp.u8(1, state);
                    sctp.be32(2, 0x0a0b_0c0d);
                    sctp.be32(3, 0x0d0c_0b0a);
                });
            }),
        }
        if let Some(helper) = self.helper {
            request.nested(cta::HELP, |help| help.string(1, helper));
        }
        if !create {
            return;
        }
        for (kind, nat) in [(NAT_SRC, self.source_nat), (NAT_DST, self.destination_nat)] {
            if let Some((address, port)) = nat {
                request.nested(kind, |nat| {
                    // CTA_NAT_V4_MINIP 1, V4_MAXIP 2, PROTO 3, V6_MINIP 4, V6_MAXIP 5.
                    match address {
                        IpAddr::V4(address) => {
                            nat.attribute(1, &address.octets());
                            nat.attribute(2, &address.octets());
                        }
                        IpAddr::V6(address) => {
                            nat.attribute(4, &address.octets());
                            nat.attribute(5, &address.octets());
                        }
                    }
                    nat.nested(3, |proto| {
                        proto.be16(1, port);
                        proto.be16(2, port);
                    });
                });
            }
        }
        if let Some(master) = &self.master {
            request.tuple(cta::TUPLE_MASTER, master);
        }
    }
}

/// The tuple of the answers where nothing is rewritten; an echo request is answered by an echo reply.
fn inverse(tuple: &Tuple) -> Tuple {
    let (source_port, destination_port) = match (tuple.protocol, tuple.destination_port >> 8) {
        (1, 8) => (tuple.source_port, 0),
        (58, 128) => (tuple.source_port, 129 << 8),
        _ => (tuple.destination_port, tuple.source_port),
    };
    Tuple {
        source: tuple.destination,
        destination: tuple.source,
        source_port,
        destination_port,
        ..*tuple
    }
}

/// Makes entries in the network namespace of the thread that opened it.
pub struct Maker {
    channel: Channel,
    request: Request,
    buffer: Box<[u8]>,
    sequence: u32,
}

impl Maker {
    /// Opens a socket.
    ///
    /// # Errors
    /// As [`crate::ConntrackSocket::open`].
    pub fn open() -> Result<Self, Error> {
        let options = SocketOptions {
            receive_buffer: Some(1024 * 1024),
            ..SocketOptions::default()
        };
        Ok(Self {
            channel: Channel::open("open a conntrack socket", options)?,
            request: Request::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            sequence: 0,
        })
    }

    /// Makes entries, hundreds in one send.
    ///
    /// # Errors
    /// The first refusal in a send (EEXIST for a tuple that is there, ENOMEM for a full table); the other entries of the
    /// same send are made all the same.
    pub fn create(&mut self, entries: impl IntoIterator<Item = Entry>) -> Result<(), Error> {
        let flags = flag::CREATE | flag::EXCL;
        self.send_all("create entries", kind::CT_NEW, flags, entries, |e, r| {
            e.write(r, true);
        })
    }

    /// Changes existing entries to what is given: status, timeout, mark, labels, protocol state.
    ///
    /// # Errors
    /// The first refusal (ENOENT for an entry that is not there).
    pub fn update(&mut self, entries: impl IntoIterator<Item = Entry>) -> Result<(), Error> {
        self.send_all("change entries", kind::CT_NEW, 0, entries, |e, r| {
            e.write(r, false);
        })
    }

    /// Deletes entries, by their original tuple and zone.
    ///
    /// # Errors
    /// The first refusal (ENOENT for an entry that is not there).
    pub fn delete(&mut self, entries: impl IntoIterator<Item = Entry>) -> Result<(), Error> {
        self.send_all("delete entries", kind::CT_DELETE, 0, entries, |e, r| {
            e.key(r);
        })
    }

    /// Deletes every entry of the namespace.
    ///
    /// # Errors
    /// [`Error::Permission`].
    pub fn flush(&mut self) -> Result<(), Error> {
        let first = self.sequence.wrapping_add(1);
        self.append(kind::CT_DELETE, 0, 0, |_| {});
        self.send("delete every entry", first)
    }

    fn send_all(
        &mut self,
        operation: &'static str,
        kind: u16,
        flags: u16,
        entries: impl IntoIterator<Item = Entry>,
        write: impl Fn(&Entry, &mut Request),
    ) -> Result<(), Error> {
        let mut first = self.sequence.wrapping_add(1);
        for entry in entries {
            let family = entry.original.family().number();
            self.append(kind, flags, family, |request| write(&entry, request));
            if self.request.octets().len() > SEND {
                self.send(operation, first)?;
                first = self.sequence.wrapping_add(1);
            }
        }
        if self.request.octets().is_empty() {
            return Ok(());
        }
        self.send(operation, first)
    }

    fn append(&mut self, kind: u16, flags: u16, family: u8, body: impl FnOnce(&mut Request)) {
        self.sequence = self.sequence.wrapping_add(1);
        let head = Head {
            kind,
            flags: flag::REQUEST | flag::ACK | flags,
            sequence: self.sequence,
            family,
            resource: 0,
        };
        self.request.message(head, body);
    }

    fn send(&mut self, operation: &'static str, first: u32) -> Result<(), Error> {
        self.channel.send(operation, self.request.octets())?;
        self.request.clear();
        let count = self.sequence.wrapping_sub(first).wrapping_add(1);
        self.channel
            .acknowledged(operation, &mut self.buffer, first, count)
    }
}
