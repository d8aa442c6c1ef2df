//! One direction of a connection: addresses, protocol, and what tells apart connections between the same hosts.
//!
//! [`Tuple::decode`] reads CTA_TUPLE_ORIG, CTA_TUPLE_REPLY and CTA_TUPLE_MASTER
//! (include/uapi/linux/netfilter/nfnetlink_conntrack.h).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::attribute::{Attribute, NESTED, aligned};
use crate::malformed::{Malformed, Problem};

/// Protocol numbers that need a case of their own.
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const ICMPV6: u8 = 58;

/// Attribute types inside a tuple.
pub(crate) mod cta {
    pub(crate) const IP: u16 = 1;
    pub(crate) const PROTO: u16 = 2;
    pub(crate) const ZONE: u16 = 3;
    pub(crate) const V4_SRC: u16 = 1;
    pub(crate) const V4_DST: u16 = 2;
    pub(crate) const V6_SRC: u16 = 3;
    pub(crate) const V6_DST: u16 = 4;
    pub(crate) const NUM: u16 = 1;
    pub(crate) const SRC_PORT: u16 = 2;
    pub(crate) const DST_PORT: u16 = 3;
    pub(crate) const ICMP_ID: u16 = 4;
    pub(crate) const ICMP_TYPE: u16 = 5;
    pub(crate) const ICMP_CODE: u16 = 6;
    pub(crate) const ICMPV6_ID: u16 = 7;
    pub(crate) const ICMPV6_TYPE: u16 = 8;
    pub(crate) const ICMPV6_CODE: u16 = 9;
}

/// The address family of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// AF_INET.
    Ipv4,
    /// AF_INET6.
    Ipv6,
}

impl Family {
    /// The kernel's number: AF_INET 2, AF_INET6 10.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Ipv4 => 2,
            Self::Ipv6 => 10,
        }
    }

    /// The family with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            2 => Some(Self::Ipv4),
            10 => Some(Self::Ipv6),
            _ => None,
        }
    }

    /// The family of an address.
    #[must_use]
    pub const fn of(address: &IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Ipv4,
            IpAddr::V6(_) => Self::Ipv6,
        }
    }
}

/// Addresses, protocol, and the protocol's 32 bits of demultiplexing.
///
/// | protocol | `source_port` | `destination_port` |
/// |---|---|---|
/// | TCP, UDP, UDP-Lite, SCTP | port | port |
/// | DCCP | port, 0 where the kernel sends none | port, 0 likewise |
/// | ICMP, ICMPv6 | identifier | type << 8 \| code |
/// | GRE | source key | destination key |
/// | others | 0 | 0 |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tuple {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IP protocol number.
    pub protocol: u8,
    /// See the table above.
    pub source_port: u16,
    /// See the table above.
    pub destination_port: u16,
    /// CTA_TUPLE_ZONE: the zone of this direction alone; `None` when both directions share one, or there is none.
    pub zone: Option<u16>,
}

impl Tuple {
    pub(crate) const NOWHERE: Self = Self::new(
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        0,
        0,
        0,
    );

    /// A tuple without a zone of its own.
    #[must_use]
    pub const fn new(
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        source_port: u16,
        destination_port: u16,
    ) -> Self {
        Self {
            source,
            destination,
            protocol,
            source_port,
            destination_port,
            zone: None,
        }
    }

    /// The family of its addresses.
    #[must_use]
    pub const fn family(&self) -> Family {
        Family::of(&self.source)
    }

    /// Whether the port fields hold an identifier, a type and a code.
    #[must_use]
    pub const fn is_icmp(&self) -> bool {
        matches!(self.protocol, ICMP | ICMPV6)
    }

    /// Reads a tuple attribute. Offsets of faults count from the attribute's payload.
    pub(crate) fn decode(attribute: &Attribute<'_>) -> Result<Self, Malformed> {
        let mut tuple = Self::NOWHERE;
        tuple.read(attribute)?;
        Ok(tuple)
    }

    /// [`Self::decode`] into a place that exists already. After an error its content is of no use.
    #[inline(always)]
    pub(crate) fn read(&mut self, attribute: &Attribute<'_>) -> Result<(), Malformed> {
        if self.read_usual(attribute.payload).is_none() {
            *self = Self::decode_any(attribute)?;
        }
        Ok(())
    }

    /// The shape in which the kernel writes the tuple of a protocol with ports: addresses, protocol number, ports, maybe a
    /// zone, in this order and nothing else. Half of a message is tuples, and knowing what comes next halves their cost.
    /// `None` for any other shape; the content is of no use then. Every field is written where it stays: a whole tuple
    /// moved from elsewhere would wait for its own octets to be stored.
    #[inline(always)]
    fn read_usual(&mut self, payload: &[u8]) -> Option<()> {
        let mut list = Expected(payload);
        if list.header(cta::IP | NESTED, 16).is_some() {
            self.source = IpAddr::V4(list.value(cta::V4_SRC)?.into());
            self.destination = IpAddr::V4(list.value(cta::V4_DST)?.into());
        } else {
            list.header(cta::IP | NESTED, 40)?;
            self.source = IpAddr::V6(list.value(cta::V6_SRC)?.into());
            self.destination = IpAddr::V6(list.value(cta::V6_DST)?.into());
        }
        list.header(cta::PROTO | NESTED, 24)?;
        [self.protocol] = list.value(cta::NUM)?;
        self.source_port = u16::from_be_bytes(list.value(cta::SRC_PORT)?);
        self.destination_port = u16::from_be_bytes(list.value(cta::DST_PORT)?);
        self.zone = match list.0 {
            [] => None,
            _ => Some(u16::from_be_bytes(list.value(cta::ZONE)?)),
        };
        list.0.is_empty().then_some(())
    }

    /// Any order, any parts.
    fn decode_any(attribute: &Attribute<'_>) -> Result<Self, Malformed> {
        let mut tuple = Self::NOWHERE;
        let mut addresses = 0u8;
        let mut list = attribute.nested();
        while let Some(part) = list.next()? {
            match part.kind {
                cta::IP => {
                    addresses |= tuple
                        .decode_addresses(&part)
                        .map_err(|fault| part.around(fault))?;
                }
                cta::PROTO => tuple
                    .decode_protocol(&part)
                    .map_err(|fault| part.around(fault))?,
                cta::ZONE => tuple.zone = Some(part.be16()?),
                _ => {}
            }
        }
        // Both addresses of one family: source and destination of IPv4, or of IPv6.
        if addresses != 0b0011 && addresses != 0b1100 {
            return Err(Malformed::new(0, Problem::Missing).within(cta::IP, 0));
        }
        Ok(tuple)
    }

    fn decode_addresses(&mut self, attribute: &Attribute<'_>) -> Result<u8, Malformed> {
        let mut seen = 0;
        let mut list = attribute.nested();
        while let Some(part) = list.next()? {
            match part.kind {
                cta::V4_SRC => self.source = IpAddr::V4(Ipv4Addr::from(part.array::<4>()?)),
                cta::V4_DST => self.destination = IpAddr::V4(Ipv4Addr::from(part.array::<4>()?)),
                cta::V6_SRC => self.source = IpAddr::V6(Ipv6Addr::from(part.array::<16>()?)),
                cta::V6_DST => self.destination = IpAddr::V6(Ipv6Addr::from(part.array::<16>()?)),
                _ => continue,
            }
            seen |= 1 << (part.kind - cta::V4_SRC);
        }
        Ok(seen)
    }

    fn decode_protocol(&mut self, attribute: &Attribute<'_>) -> Result<(), Malformed> {
        let mut list = attribute.nested();
        while let Some(part) = list.next()? {
            match part.kind {
                cta::NUM => self.protocol = part.u8()?,
                cta::SRC_PORT | cta::ICMP_ID | cta::ICMPV6_ID => self.source_port = part.be16()?,
                cta::DST_PORT => self.destination_port = part.be16()?,
                cta::ICMP_TYPE | cta::ICMPV6_TYPE => {
                    self.destination_port =
                        self.destination_port & 0x00ff | u16::from(part.u8()?) << 8;
                }
                cta::ICMP_CODE | cta::ICMPV6_CODE => {
                    self.destination_port = self.destination_port & 0xff00 | u16::from(part.u8()?);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Attributes of which type and size are known beforehand.
struct Expected<'a>(&'a [u8]);

impl Expected<'_> {
    /// Passes the header of an attribute with a payload of this size, if it comes next.
    #[inline(always)]
    fn header(&mut self, kind: u16, size: u16) -> Option<()> {
        let ([len0, len1, kind0, kind1], rest) = self.0.split_first_chunk::<4>()?;
        let found = (
            u16::from_ne_bytes([*len0, *len1]),
            u16::from_ne_bytes([*kind0, *kind1]),
        );
        (found == (size + 4, kind)).then(|| self.0 = rest)
    }

    /// The payload of an attribute of `N` octets, if it comes next, past its padding.
    #[inline(always)]
    fn value<const N: usize>(&mut self, kind: u16) -> Option<[u8; N]> {
        self.header(kind, N as u16)?;
        let value = self.0.first_chunk::<N>()?;
        self.0 = self.0.get(aligned(N)..)?;
        Some(*value)
    }
}

#[cfg(test)]
mod tests;
