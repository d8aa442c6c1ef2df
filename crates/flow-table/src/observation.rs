//! What comes in: one conntrack entry as somebody saw it, and the moment at which it is handed over.

use std::net::IpAddr;

/// Addresses and the protocol's 32 bits of demultiplexing.
///
/// TCP, UDP, SCTP, UDP-Lite, DCCP: the ports. ICMP and ICMPv6: `source_port` is the id, `destination_port` is
/// `type << 8 | code` (elements 32 and 139 have this shape). GRE: the keys. Anything else: 0 and 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tuple {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, of the same family as the source.
    pub destination: IpAddr,
    /// IANA protocol number.
    pub protocol: u8,
    /// Source port, or what takes its place.
    pub source_port: u16,
    /// Destination port, or what takes its place.
    pub destination_port: u16,
}

impl Tuple {
    /// The tuple that answers this one when nothing is translated: ends swapped; of ICMP the id stays and the request's
    /// type becomes the reply's (the kernel's `invmap` in `nf_conntrack_proto_icmp.c` and `nf_conntrack_proto_icmpv6.c`).
    #[must_use]
    pub fn inverse(&self) -> Self {
        let (source_port, destination_port) = match self.protocol {
            ICMP | ICMPV6 => (
                self.source_port,
                inverse_icmp(self.protocol, self.destination_port),
            ),
            _ => (self.destination_port, self.source_port),
        };
        Self {
            source: self.destination,
            destination: self.source,
            protocol: self.protocol,
            source_port,
            destination_port,
        }
    }
}

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

fn inverse_icmp(protocol: u8, type_and_code: u16) -> u16 {
    let code = type_and_code & 0xff;
    let kind = match (protocol, type_and_code >> 8) {
        (ICMP, 0) => 8,
        (ICMP, 8) => 0,
        (ICMP, 13) => 14,
        (ICMP, 14) => 13,
        (ICMP, 15) => 16,
        (ICMP, 16) => 15,
        (ICMP, 17) => 18,
        (ICMP, 18) => 17,
        (ICMPV6, 128) => 129,
        (ICMPV6, 129) => 128,
        (ICMPV6, 139) => 140,
        (ICMPV6, 140) => 139,
        (_, other) => other,
    };
    kind << 8 | code
}

/// Packets and octets of one direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Packets.
    pub packets: u64,
    /// Octets as conntrack counts them: IP headers included.
    pub octets: u64,
}

/// The caller's clock at one moment. The table reads none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    /// Milliseconds of a clock that never goes back; below 2^47. Deadlines live here.
    pub monotonic_ms: u64,
    /// Nanoseconds since 1970, steps and all. Record times live here.
    pub wall_ns: u64,
}

/// What a dump, a lookup or an event said of one connection.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The direction of the first packet.
    pub original: Tuple,
    /// The direction of the answers, after translation.
    pub reply: Tuple,
    /// Zone of the original direction.
    pub zone: u16,
    /// Zone of the reply direction.
    pub reply_zone: u16,
    /// CTA_ID. Stable while the entry lives, not unique.
    pub id: u32,
    /// Kernel start time, ns since 1970; None (or 0) where timestamps are off, and in NEW events. With the id it tells
    /// incarnations of a tuple apart.
    pub start_ns: Option<u64>,
    /// Kernel stop time, ns since 1970; DESTROY events only.
    pub stop_ns: Option<u64>,
    /// When the last packet came, ns since 1970, if the counters have moved since the last observation; None where that is
    /// open: the moment of the observation counts then.
    pub last_packet_ns: Option<u64>,
    /// Original, reply. None: accounting is off for this entry, or the message never carries counters (NEW).
    pub counters: Option<[Counters; 2]>,
    /// Connection mark.
    pub mark: u32,
    /// IPS_* bits. The kernel defines sixteen; bits above them are not kept.
    pub status: u32,
    /// TCP or SCTP state number of the kernel, else 0.
    pub protocol_state: u8,
    /// Seconds until the kernel drops the entry.
    pub timeout_s: Option<u32>,
    /// Connection labels; zero: none.
    pub labels: [u8; 16],
}

/// One selection of a poll, a (zone, family) pair as a rule, numbered by the caller: an ended poll of one scope ends no
/// connection of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Scope(pub u8);

impl Observation {
    /// Its protocol is over with it (TCP TIME_WAIT and CLOSE, SCTP CLOSED), though the kernel keeps it for a while.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        closed(self.original.protocol, self.protocol_state)
    }

    /// The kernel's start, if it is told.
    #[inline]
    pub(crate) fn start(&self) -> Option<u64> {
        self.start_ns.filter(|start| *start != 0)
    }
}

/// What the caller knows a connection's names by. Opaque here; 0: no names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NamesId(pub u32);

/// Decides at first sight.
pub trait Admission {
    /// Some: taken into the table with these names, until it is given others ([`FlowTable::rename`](crate::FlowTable::rename)). None: left out. A connection that was left out is not
    /// remembered: the question comes again with its next observation.
    fn admit(&mut self, observation: &Observation) -> Option<NamesId>;
}

impl<F: FnMut(&Observation) -> Option<NamesId>> Admission for F {
    fn admit(&mut self, observation: &Observation) -> Option<NamesId> {
        self(observation)
    }
}

/// The kernel's states after which a connection is over: TCP TIME_WAIT (7) and CLOSE (8), SCTP CLOSED (1).
pub(crate) fn closed(protocol: u8, state: u8) -> bool {
    match protocol {
        6 => matches!(state, 7 | 8),
        132 => state == 1,
        _ => false,
    }
}
