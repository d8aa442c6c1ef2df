//! One conntrack entry, decoded from a message and borrowed from the receive buffer.
//!
//! [`Connection::decode`] is the hot path: one walk over the attributes, no allocation. The attributes and their
//! meanings are those of include/uapi/linux/netfilter/nfnetlink_conntrack.h.

use crate::attribute::{Attribute, Attributes};
use crate::malformed::{Malformed, Problem};
use crate::message::NFGENMSG;
use crate::state::{ProtocolState, Status};
use crate::tuple::{Family, Tuple};
use crate::zone::zone_id;

/// Attribute types of a conntrack message.
pub(crate) mod cta {
    pub(crate) const TUPLE_ORIG: u16 = 1;
    pub(crate) const TUPLE_REPLY: u16 = 2;
    pub(crate) const STATUS: u16 = 3;
    pub(crate) const PROTOINFO: u16 = 4;
    pub(crate) const HELP: u16 = 5;
    pub(crate) const TIMEOUT: u16 = 7;
    pub(crate) const MARK: u16 = 8;
    pub(crate) const COUNTERS_ORIG: u16 = 9;
    pub(crate) const COUNTERS_REPLY: u16 = 10;
    pub(crate) const ID: u16 = 12;
    pub(crate) const TUPLE_MASTER: u16 = 14;
    pub(crate) const ZONE: u16 = 18;
    pub(crate) const TIMESTAMP: u16 = 20;
    pub(crate) const MARK_MASK: u16 = 21;
    pub(crate) const LABELS: u16 = 22;
    pub(crate) const FILTER: u16 = 25;
    pub(crate) const STATUS_MASK: u16 = 26;
}

/// What passed in one direction since the entry was created. Octets count IP headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets.
    pub packets: u64,
    /// Octets, IP headers included.
    pub octets: u64,
}

/// One conntrack entry as a dump, a lookup or an event describes it.
///
/// What a message does not carry is `None`, 0 or empty. Events before DESTROY carry no counters and no timestamps;
/// DESTROY carries no labels.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Connection<'a> {
    /// The addresses' family.
    pub family: Family,
    /// The direction of the first packet.
    pub original: Tuple,
    /// The direction of the answers, as they arrive before NAT is undone.
    pub reply: Tuple,
    /// CTA_ID: stable while the entry lives, but neither unique among live entries nor unused afterwards.
    pub id: u32,
    /// CTA_STATUS.
    pub status: Status,
    /// CTA_MARK; 0 when absent.
    pub mark: u32,
    /// CTA_ZONE: the zone of both directions; `None` for none, or for a zone on one side (see [`Tuple::zone`]).
    pub zone: Option<u16>,
    /// CTA_TIMEOUT: seconds until the kernel drops the entry if no packet comes.
    pub timeout: Option<u32>,
    /// CTA_PROTOINFO.
    pub protocol_state: ProtocolState,
    /// CTA_COUNTERS_ORIG; `None` where accounting was off when the entry was created.
    pub original_counters: Option<Counters>,
    /// CTA_COUNTERS_REPLY, likewise.
    pub reply_counters: Option<Counters>,
    /// Creation, in ns since 1970; `None` where nf_conntrack_timestamp was off at creation.
    pub start: Option<u64>,
    /// End, in ns since 1970; in DESTROY events only.
    pub stop: Option<u64>,
    /// CTA_LABELS as sent: host-order longs (on little-endian machines bit n is octet n/8, bit n%8).
    pub labels: Option<[u8; 16]>,
    /// The name of the helper (`ftp`, `sip`, …).
    pub helper: Option<&'a str>,
    master: &'a [u8],
}

impl<'a> Connection<'a> {
    pub(crate) const EMPTY: Self = Self::new(Tuple::NOWHERE, Tuple::NOWHERE);

    /// An entry of which nothing but its tuples is known.
    #[must_use]
    pub const fn new(original: Tuple, reply: Tuple) -> Self {
        Self {
            family: original.family(),
            original,
            reply,
            id: 0,
            status: Status(0),
            mark: 0,
            zone: None,
            timeout: None,
            protocol_state: ProtocolState::None,
            original_counters: None,
            reply_counters: None,
            start: None,
            stop: None,
            labels: None,
            helper: None,
            master: &[],
        }
    }

    /// Reads the payload of a conntrack message: `struct nfgenmsg`, then attributes. Unknown attributes are skipped; both
    /// tuples are mandatory.
    ///
    /// # Errors
    /// The path and offset of the first attribute that cannot be read. Nothing of such a message is used.
    #[inline]
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut connection = Self::EMPTY;
        connection.read(message)?;
        Ok(connection)
    }

    /// [`Self::decode`] into a place that exists already and is [`Self::EMPTY`]. After an error its content is of no use.
    #[inline(always)]
    pub(crate) fn read(&mut self, message: &'a [u8]) -> Result<(), Malformed> {
        let Some(([number, _, _, _], attributes)) = message.split_first_chunk::<NFGENMSG>() else {
            let available = message.len() as u32;
            return Err(Malformed::new(0, Problem::Truncated { available }));
        };
        let Some(family) = Family::from_number(*number) else {
            return Err(Malformed::new(0, Problem::Family(*number)));
        };
        self.family = family;
        self.read_attributes(attributes)
            .map_err(|fault| fault.shifted(NFGENMSG))
    }

    #[inline(always)]
    fn read_attributes(&mut self, attributes: &'a [u8]) -> Result<(), Malformed> {
        let mut tuples = 0u8;
        let mut list = Attributes::new(attributes);
        while let Some(attribute) = list.next()? {
            match attribute.kind {
                cta::TUPLE_ORIG => {
                    let read = self.original.read(&attribute);
                    read.map_err(|fault| attribute.around(fault))?;
                    tuples |= 1;
                }
                cta::TUPLE_REPLY => {
                    let read = self.reply.read(&attribute);
                    read.map_err(|fault| attribute.around(fault))?;
                    tuples |= 2;
                }
                cta::STATUS => self.status = Status(attribute.be32()?),
                cta::PROTOINFO => {
                    self.protocol_state = decode_protocol_info(&attribute)
                        .map_err(|fault| attribute.around(fault))?;
                }
                cta::HELP => {
                    self.helper =
                        decode_helper(&attribute).map_err(|fault| attribute.around(fault))?;
                }
                cta::TIMEOUT => self.timeout = Some(attribute.be32()?),
                cta::MARK => self.mark = attribute.be32()?,
                cta::COUNTERS_ORIG => {
                    self.original_counters =
                        Some(decode_counters(&attribute).map_err(|fault| attribute.around(fault))?);
                }
                cta::COUNTERS_REPLY => {
                    self.reply_counters =
                        Some(decode_counters(&attribute).map_err(|fault| attribute.around(fault))?);
                }
                cta::ID => self.id = attribute.be32()?,
                cta::TUPLE_MASTER => self.master = attribute.payload,
                cta::ZONE => self.zone = Some(attribute.be16()?),
                cta::TIMESTAMP => {
                    (self.start, self.stop) =
                        decode_timestamp(&attribute).map_err(|fault| attribute.around(fault))?;
                }
                cta::LABELS => self.labels = Some(attribute.array()?),
                _ => {}
            }
        }
        let missing = match tuples {
            3 => return Ok(()),
            1 => cta::TUPLE_REPLY,
            _ => cta::TUPLE_ORIG,
        };
        Err(Malformed::new(attributes.len(), Problem::Missing).within(missing, 0))
    }

    /// The original tuple of the connection whose helper expected this one; `None` also when it cannot be read.
    #[must_use]
    pub fn master(&self) -> Option<Tuple> {
        if self.master.is_empty() {
            return None;
        }
        Tuple::decode(&Attribute {
            kind: cta::TUPLE_MASTER,
            payload: self.master,
            offset: 0,
        })
        .ok()
    }

    /// The zone in which the original direction is looked up: the shared one, else the original tuple's own, else 0.
    #[must_use]
    pub fn original_zone(&self) -> u16 {
        self.zone.or(self.original.zone).unwrap_or(0)
    }

    /// The zone in which the reply direction is looked up.
    #[must_use]
    pub fn reply_zone(&self) -> u16 {
        self.zone.or(self.reply.zone).unwrap_or(0)
    }

    /// The id of its zone, whichever directions it holds for; 0 without one. See [`zone_id`].
    #[must_use]
    #[inline]
    pub fn zone_id(&self) -> u16 {
        zone_id(self.original_zone(), self.reply_zone())
    }
}

/// CTA_COUNTERS_*: 1 packets, 2 octets, both be64. (3 and 4 are their 32-bit ancestors, which no kernel sends now.)
#[inline(always)]
fn decode_counters(attribute: &Attribute<'_>) -> Result<Counters, Malformed> {
    let mut counters = Counters::default();
    let mut list = attribute.nested();
    while let Some(part) = list.next()? {
        match part.kind {
            1 => counters.packets = part.be64()?,
            2 => counters.octets = part.be64()?,
            _ => {}
        }
    }
    Ok(counters)
}

/// CTA_TIMESTAMP: 1 start, 2 stop, be64 ns since 1970.
#[inline(always)]
fn decode_timestamp(attribute: &Attribute<'_>) -> Result<(Option<u64>, Option<u64>), Malformed> {
    let (mut start, mut stop) = (None, None);
    let mut list = attribute.nested();
    while let Some(part) = list.next()? {
        match part.kind {
            1 => start = Some(part.be64()?),
            2 => stop = Some(part.be64()?),
            _ => {}
        }
    }
    Ok((start, stop))
}

/// CTA_PROTOINFO: 1 TCP, 2 DCCP, 3 SCTP; in each, attribute 1 is the state.
#[inline(always)]
fn decode_protocol_info(attribute: &Attribute<'_>) -> Result<ProtocolState, Malformed> {
    let mut state = ProtocolState::None;
    let mut list = attribute.nested();
    while let Some(protocol) = list.next()? {
        let mut parts = protocol.nested();
        while let Some(part) = parts.next().map_err(|fault| protocol.around(fault))? {
            if part.kind == 1 {
                let number = part.u8().map_err(|fault| protocol.around(fault))?;
                state = match protocol.kind {
                    1 => ProtocolState::Tcp(number),
                    2 => ProtocolState::Dccp(number),
                    3 => ProtocolState::Sctp(number),
                    _ => continue,
                };
            }
        }
    }
    Ok(state)
}

/// CTA_HELP: 1 name.
fn decode_helper<'a>(attribute: &Attribute<'a>) -> Result<Option<&'a str>, Malformed> {
    let mut list = attribute.nested();
    while let Some(part) = list.next()? {
        if part.kind == 1 {
            return part.name().map(Some);
        }
    }
    Ok(None)
}
