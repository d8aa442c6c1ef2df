//! The plain input of an export: one [`Flow`] a data record, made by the caller from what it knows.

use std::net::IpAddr;

use crate::names::Names;

/// Packets and octets of one direction. Octets are IP lengths, header included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets, as the kernel counts its buffers.
    pub packets: u64,
    /// Octets of these packets.
    pub octets: u64,
}

/// What a data record is made of.
///
/// Addresses of both tuples are of one family; the family of `source` picks the template, and an address of the other
/// family is written as all zeros. For TCP, UDP, UDP-Lite, SCTP and DCCP the port fields are ports. For ICMP
/// `source_port` is the id and `destination_port` is `type << 8 | code`, as elements 32 and 139 want it.
#[derive(Clone, Debug)]
pub struct Flow<'a> {
    /// Source address of the original direction.
    pub source: IpAddr,
    /// Destination address of the original direction.
    pub destination: IpAddr,
    /// Source port of the original direction.
    pub source_port: u16,
    /// Destination port of the original direction.
    pub destination_port: u16,
    /// IP protocol number.
    pub protocol: u8,
    /// The reply is not the inverse of the original: an address or a port was translated, by the caller's judgement. A record
    /// of such a connection has the ends of the reply too.
    pub translated: bool,
    /// Source address of the reply direction: where the original really went to.
    pub reply_source: IpAddr,
    /// Destination address of the reply direction: what the source was translated to.
    pub reply_destination: IpAddr,
    /// Source port of the reply direction.
    pub reply_source_port: u16,
    /// Destination port of the reply direction.
    pub reply_destination_port: u16,
    /// Start, nanoseconds since 1970.
    pub start_ns: u64,
    /// End, nanoseconds since 1970.
    pub end_ns: u64,
    /// flowEndReason (element 136): 1 idle, 2 active, 3 end detected, 4 forced end, 5 lack of resources.
    pub reason: u8,
    /// Totals since the connection began: original direction, reply direction.
    pub totals: [Counters; 2],
    /// Since the last record: original direction, reply direction.
    pub deltas: [Counters; 2],
    /// Conntrack zone of the original direction.
    pub zone: u16,
    /// Conntrack zone of the reply direction.
    pub reply_zone: u16,
    /// Connection mark.
    pub mark: u32,
    /// Conntrack id.
    pub id: u32,
    /// TCP state as the kernel numbers it (0 none … 9 SYN_SENT2); read for TCP only.
    pub tcp_state: u8,
    /// The connection goes to a Service, whether or not that has a name: its mark says so.
    pub service: bool,
    /// Names of both ends, where known.
    pub names: Option<&'a Names>,
    /// The node that saw it, for the element `observationDomainName`.
    pub node: &'a str,
    /// The cluster of that node.
    pub cluster: &'a str,
    /// Set for a connection that a firewall refused.
    pub denied: Option<Denied<'a>>,
}

impl Flow<'_> {
    /// Whether the ports are an ICMP id, type and code.
    pub fn is_icmp(&self) -> bool {
        match self.source {
            IpAddr::V4(_) => self.protocol == 1,
            IpAddr::V6(_) => self.protocol == 58,
        }
    }
}

/// A refused connection, as the firewall logged it.
#[derive(Clone, Copy, Debug)]
pub struct Denied<'a> {
    /// firewallEvent (element 233): 3 is "flow denied".
    pub firewall_event: u8,
    /// The log prefix, at most 65,535 octets of it are written.
    pub prefix: &'a str,
}
