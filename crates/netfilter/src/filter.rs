//! Which entries a dump is asked for. The request carries the filter, so that the kernel skips what does not match at a
//! seventh of an entry's cost; every entry is checked again, because older kernels ignore parts of it (CTA_ZONE before
//! 6.8, CTA_FILTER before 5.8, CTA_STATUS before 5.12).

use std::net::IpAddr;

use crate::connection::{Connection, cta};
use crate::request::{Request, family_number};
use crate::tuple::{self, Family, ICMP, ICMPV6, Tuple};

/// CTA_FILTER's flags, one a tuple attribute (include/uapi/linux/netfilter/nfnetlink_conntrack.h and
/// net/netfilter/nf_internals.h): which attributes of the request's tuple an entry has to match.
mod flag {
    pub(super) const IP_SRC: u32 = 1 << 0;
    pub(super) const IP_DST: u32 = 1 << 1;
    pub(super) const PROTO_NUM: u32 = 1 << 3;
    pub(super) const SRC_PORT: u32 = 1 << 4;
    pub(super) const DST_PORT: u32 = 1 << 5;
    pub(super) const ICMP_TYPE: u32 = 1 << 6;
    pub(super) const ICMP_CODE: u32 = 1 << 7;
    pub(super) const ICMP_ID: u32 = 1 << 8;
    pub(super) const ICMPV6_TYPE: u32 = 1 << 9;
    pub(super) const ICMPV6_CODE: u32 = 1 << 10;
    pub(super) const ICMPV6_ID: u32 = 1 << 11;
}

/// Matches what is `value` under `mask`. A bit of `value` outside the mask never matches, as in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Masked {
    /// The wanted bits.
    pub value: u32,
    /// The bits that are compared.
    pub mask: u32,
}

impl Masked {
    /// Whether `number` matches.
    #[must_use]
    #[inline]
    pub const fn matches(self, number: u32) -> bool {
        number & self.mask == self.value
    }
}

/// Parts of the original tuple, each optional. A port needs `protocol`: without it no entry matches, and the kernel is
/// not asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TupleFilter {
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address.
    pub destination: Option<IpAddr>,
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// As packed in [`Tuple::source_port`].
    pub source_port: Option<u16>,
    /// As packed in [`Tuple::destination_port`].
    pub destination_port: Option<u16>,
}

/// Which entries are wanted. The default wants all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Filter {
    /// One address family.
    pub family: Option<Family>,
    /// Entries of this zone by [`zone_id`](crate::zone_id): whichever directions it holds for; 0: entries without any.
    pub zone: Option<u16>,
    /// On CTA_MARK as it is now.
    pub mark: Option<Masked>,
    /// On CTA_STATUS as it is now.
    pub status: Option<Masked>,
    /// On the original tuple.
    pub tuple: Option<TupleFilter>,
}

impl Filter {
    /// Whether an entry is wanted: the rule that the kernel applies to the same filter.
    #[must_use]
    #[inline]
    pub fn matches(&self, connection: &Connection<'_>) -> bool {
        self.family.is_none_or(|family| family == connection.family)
            && self.zone.is_none_or(|zone| is_of_zone(connection, zone))
            && self.mark.is_none_or(|mark| mark.matches(connection.mark))
            && self
                .status
                .is_none_or(|status| status.matches(connection.status.0))
            && self
                .tuple
                .is_none_or(|tuple| tuple.matches(&connection.original))
    }

    /// The family of the request: the filter's own, or that of its tuple's addresses (with which the kernel reads them).
    pub(crate) fn request_family(&self) -> u8 {
        let of_tuple = self
            .tuple
            .and_then(|tuple| tuple.source.or(tuple.destination))
            .map(|address| Family::of(&address));
        family_number(self.family.or(of_tuple))
    }

    /// Writes the attributes of a dump request.
    pub(crate) fn write(&self, request: &mut Request) {
        if let Some(zone) = self.zone {
            request.be16(cta::ZONE, zone);
        }
        if let Some(mark) = self.mark {
            request.be32(cta::MARK, mark.value);
            request.be32(cta::MARK_MASK, mark.mask);
        }
        // The kernel refuses a status of 0; the check of every entry covers that case.
        if let Some(status) = self.status.filter(|status| status.value != 0) {
            request.be32(cta::STATUS, status.value);
            request.be32(cta::STATUS_MASK, status.mask);
        }
        // The kernel takes a tuple with a family only (EOPNOTSUPP otherwise).
        let family = Family::from_number(self.request_family());
        if let (Some(tuple), Some(family)) = (self.tuple, family) {
            tuple.write(request, family);
        }
    }
}

/// Not on the way of those who ask for no zone.
#[inline(never)]
fn is_of_zone(connection: &Connection<'_>, zone: u16) -> bool {
    connection.zone_id() == zone
}

impl TupleFilter {
    /// The filter that only one original tuple passes (its zone is not compared).
    #[must_use]
    pub const fn exactly(tuple: &Tuple) -> Self {
        Self {
            source: Some(tuple.source),
            destination: Some(tuple.destination),
            protocol: Some(tuple.protocol),
            source_port: Some(tuple.source_port),
            destination_port: Some(tuple.destination_port),
        }
    }

    /// Whether an original tuple passes.
    #[must_use]
    pub fn matches(&self, tuple: &Tuple) -> bool {
        let ports = self.source_port.is_some() || self.destination_port.is_some();
        self.source.is_none_or(|source| source == tuple.source)
            && self
                .destination
                .is_none_or(|destination| destination == tuple.destination)
            && self
                .protocol
                .map_or(!ports, |protocol| protocol == tuple.protocol)
            && self
                .source_port
                .is_none_or(|port| port == tuple.source_port)
            && self
                .destination_port
                .is_none_or(|port| port == tuple.destination_port)
    }

    fn write(&self, request: &mut Request, family: Family) {
        use tuple::cta as part;
        // Asked for an IPv6 address, the kernel (seen on 6.18) leaves out the very entries that have it: it is asked for
        // IPv4 addresses only.
        let v4 = |address: &IpAddr| address.is_ipv4() && family == Family::Ipv4;
        let source = self.source.filter(v4);
        let destination = self.destination.filter(v4);
        let mut flags = 0;
        for (present, flag) in [
            (source.is_some(), flag::IP_SRC),
            (destination.is_some(), flag::IP_DST),
            (self.protocol.is_some(), flag::PROTO_NUM),
        ] {
            flags |= if present { flag } else { 0 };
        }
        if let Some(protocol) = self.protocol {
            let (source, destination) = match protocol {
                ICMP => (flag::ICMP_ID, flag::ICMP_TYPE | flag::ICMP_CODE),
                ICMPV6 => (flag::ICMPV6_ID, flag::ICMPV6_TYPE | flag::ICMPV6_CODE),
                _ => (flag::SRC_PORT, flag::DST_PORT),
            };
            flags |= self.source_port.map_or(0, |_| source);
            flags |= self.destination_port.map_or(0, |_| destination);
        }
        if flags == 0 {
            return;
        }
        request.nested(cta::TUPLE_ORIG, |list| {
            list.nested(part::IP, |ip| {
                if let Some(source) = &source {
                    ip.address(part::V4_SRC, source);
                }
                if let Some(destination) = &destination {
                    ip.address(part::V4_DST, destination);
                }
            });
            list.nested(part::PROTO, |proto| {
                if let Some(protocol) = self.protocol {
                    proto.u8(part::NUM, protocol);
                    proto.demultiplexing(protocol, self.source_port, self.destination_port);
                }
            });
        });
        // The flags are the one number here that the kernel reads in host order.
        request.nested(cta::FILTER, |filter| {
            filter.attribute(1, &flags.to_ne_bytes());
            filter.attribute(2, &0u32.to_ne_bytes());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Status;

    fn connection() -> Connection<'static> {
        let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        Connection::new(
            Tuple::new(a, b, 6, 40000, 80),
            Tuple::new(b, a, 6, 80, 40000),
        )
    }

    fn zone(zone: u16) -> Filter {
        Filter {
            zone: Some(zone),
            ..Filter::default()
        }
    }

    #[test]
    fn a_zone_matches_on_either_side_and_zone_zero_only_without_any() {
        let none = connection();
        let mut shared = none;
        shared.zone = Some(7);
        let mut original = none;
        original.original.zone = Some(7);
        let mut reply = none;
        reply.reply.zone = Some(7);
        for entry in [shared, original, reply] {
            assert!(zone(7).matches(&entry));
            assert!(!zone(0).matches(&entry));
            assert!(!zone(8).matches(&entry));
        }
        assert!(zone(0).matches(&none));
    }

    #[test]
    fn marks_and_status_compare_under_their_masks() {
        let mut entry = connection();
        entry.mark = 0x1234;
        entry.status = Status(0x18e);
        let mark = |value, mask| Filter {
            mark: Some(Masked { value, mask }),
            ..Filter::default()
        };
        assert!(mark(0x0034, 0x00ff).matches(&entry));
        assert!(
            !mark(0x1034, 0x00ff).matches(&entry),
            "value outside the mask"
        );
        let status = |value, mask| Filter {
            status: Some(Masked { value, mask }),
            ..Filter::default()
        };
        assert!(status(Status::ASSURED.0, Status::ASSURED.0).matches(&entry));
        assert!(status(0, Status::DYING.0).matches(&entry));
    }

    #[test]
    fn a_tuple_filter_compares_what_it_names_and_a_port_needs_its_protocol() {
        let tuple = connection().original;
        assert!(TupleFilter::exactly(&tuple).matches(&tuple));
        let port = TupleFilter {
            destination_port: Some(80),
            ..TupleFilter::default()
        };
        assert!(!port.matches(&tuple));
        assert!(
            TupleFilter {
                protocol: Some(6),
                ..port
            }
            .matches(&tuple)
        );
    }
}
