//! Writes netlink requests into one buffer: headers, attributes, nested attributes. Lengths are patched when a scope ends.

use crate::attribute::{NESTED, aligned};
use crate::message::{HEADER, NFGENMSG};
use crate::tuple::{self, Family, ICMP, ICMPV6, Tuple};

/// What stands in the headers of an nfnetlink message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    /// nfgenmsg family; 0 for all.
    pub(crate) family: u8,
    /// nfgenmsg resource id: an NFLOG group, or the subsystem of an nf_tables batch.
    pub(crate) resource: u16,
}

/// Messages for one send.
#[derive(Debug, Default)]
pub(crate) struct Request {
    octets: Vec<u8>,
}

impl Request {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets
    }

    pub(crate) fn clear(&mut self) {
        self.octets.clear();
    }

    /// Appends one nfnetlink message whose attributes `body` writes.
    pub(crate) fn message(&mut self, head: Head, body: impl FnOnce(&mut Self)) {
        let [id0, id1] = head.resource.to_be_bytes();
        self.raw_message(
            head.kind,
            head.flags,
            head.sequence,
            &[head.family, 0, id0, id1],
            body,
        );
    }

    /// Appends one netlink message with the given fixed part after its header.
    pub(crate) fn raw_message(
        &mut self,
        kind: u16,
        flags: u16,
        sequence: u32,
        fixed: &[u8],
        body: impl FnOnce(&mut Self),
    ) {
        let start = self.octets.len();
        debug_assert!(fixed.len() >= NFGENMSG);
        self.octets.extend_from_slice(&[0; 4]);
        self.octets.extend_from_slice(&kind.to_ne_bytes());
        self.octets.extend_from_slice(&flags.to_ne_bytes());
        self.octets.extend_from_slice(&sequence.to_ne_bytes());
        self.octets.extend_from_slice(&[0; HEADER - 12]);
        self.octets.extend_from_slice(fixed);
        body(self);
        let length = (self.octets.len() - start) as u32;
        self.patch(start, &length.to_ne_bytes());
    }

    /// Appends an attribute and its padding.
    pub(crate) fn attribute(&mut self, kind: u16, payload: &[u8]) {
        let length = 4 + payload.len();
        self.octets
            .extend_from_slice(&(length as u16).to_ne_bytes());
        self.octets.extend_from_slice(&kind.to_ne_bytes());
        self.octets.extend_from_slice(payload);
        let padding = aligned(length) - length;
        self.octets.resize(self.octets.len() + padding, 0);
    }

    pub(crate) fn u8(&mut self, kind: u16, value: u8) {
        self.attribute(kind, &[value]);
    }

    pub(crate) fn be16(&mut self, kind: u16, value: u16) {
        self.attribute(kind, &value.to_be_bytes());
    }

    pub(crate) fn be32(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_be_bytes());
    }

    /// Appends a NUL-terminated string.
    pub(crate) fn string(&mut self, kind: u16, value: &str) {
        let mut octets = Vec::with_capacity(value.len() + 1);
        octets.extend_from_slice(value.as_bytes());
        octets.push(0);
        self.attribute(kind, &octets);
    }

    /// Appends an attribute that holds the attributes that `body` writes.
    pub(crate) fn nested(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        let start = self.octets.len();
        self.attribute(kind | NESTED, &[]);
        body(self);
        let length = (self.octets.len() - start) as u16;
        self.patch(start, &length.to_ne_bytes());
    }

    /// Appends a whole tuple, with the zone of its direction if it has one.
    pub(crate) fn tuple(&mut self, kind: u16, tuple: &Tuple) {
        use tuple::cta;
        self.nested(kind, |list| {
            list.nested(cta::IP, |ip| {
                ip.address(cta::V4_SRC, &tuple.source);
                ip.address(cta::V4_DST, &tuple.destination);
            });
            list.nested(cta::PROTO, |proto| {
                proto.u8(cta::NUM, tuple.protocol);
                proto.demultiplexing(
                    tuple.protocol,
                    Some(tuple.source_port),
                    Some(tuple.destination_port),
                );
            });
            if let Some(zone) = tuple.zone {
                list.be16(cta::ZONE, zone);
            }
        });
    }

    /// Appends an address under its IPv4 type, or the IPv6 type that stands two after it.
    pub(crate) fn address(&mut self, v4_kind: u16, address: &std::net::IpAddr) {
        match address {
            std::net::IpAddr::V4(address) => self.attribute(v4_kind, &address.octets()),
            std::net::IpAddr::V6(address) => self.attribute(v4_kind + 2, &address.octets()),
        }
    }

    /// Appends ports, or for ICMP identifier, type and code (packed as [`Tuple`] documents).
    pub(crate) fn demultiplexing(
        &mut self,
        protocol: u8,
        source_port: Option<u16>,
        destination_port: Option<u16>,
    ) {
        use tuple::cta;
        let (id, icmp_type) = match protocol {
            ICMP => (cta::ICMP_ID, cta::ICMP_TYPE),
            ICMPV6 => (cta::ICMPV6_ID, cta::ICMPV6_TYPE),
            _ => {
                if let Some(port) = source_port {
                    self.be16(cta::SRC_PORT, port);
                }
                if let Some(port) = destination_port {
                    self.be16(cta::DST_PORT, port);
                }
                return;
            }
        };
        if let Some(identifier) = source_port {
            self.be16(id, identifier);
        }
        if let Some([icmp, code]) = destination_port.map(u16::to_be_bytes) {
            self.u8(icmp_type, icmp);
            self.u8(icmp_type + 1, code);
        }
    }

    fn patch(&mut self, at: usize, octets: &[u8]) {
        if let Some(place) = self.octets.get_mut(at..at + octets.len()) {
            place.copy_from_slice(octets);
        }
    }
}

/// The family number for a request's header: 0 asks for every family.
pub(crate) fn family_number(family: Option<Family>) -> u8 {
    family.map_or(0, Family::number)
}
