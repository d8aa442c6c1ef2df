//! The plain input of an export: one [`Flow`] a data record, made by the caller from what it knows.

use std::net::IpAddr;

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
    /// Names of both ends, where known.
    pub names: Option<&'a Names>,
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

    /// Whether the reply is not the inverse of the original. ICMP's types differ by nature and are not compared.
    pub fn is_translated(&self) -> bool {
        self.reply_source != self.destination
            || self.reply_destination != self.source
            || (!self.is_icmp()
                && (self.reply_source_port != self.destination_port
                    || self.reply_destination_port != self.source_port))
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

/// Names of a connection's ends, interned by the caller: one value serves many connections. Unknown: empty, 0.
/// A name longer than 65,535 octets is cut at a character's edge when written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each field is the element of that name in Antrea's registry"
)]
pub struct Names {
    pub source_pod_name: String,
    pub source_pod_namespace: String,
    pub source_node_name: String,
    pub destination_pod_name: String,
    pub destination_pod_namespace: String,
    pub destination_node_name: String,
    /// `namespace/name:port`.
    pub destination_service_port_name: String,
    pub ingress_policy: PolicyNames,
    pub egress_policy: PolicyNames,
    /// 0 unspecified, 1 within a node, 2 between nodes, 3 to external, 4 from external.
    pub flow_type: u8,
    pub egress_name: String,
    /// Text of an address.
    pub egress_ip: String,
    pub egress_node_name: String,
}

/// The network policy rule that let a connection pass, or refused it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PolicyNames {
    /// Name of the policy.
    pub name: String,
    /// Its namespace; empty for a cluster's.
    pub namespace: String,
    /// 0 none, 1 Kubernetes, 2 Antrea, 3 Antrea cluster, 4 Kubernetes cluster.
    pub policy_type: u8,
    /// Name of the rule.
    pub rule_name: String,
    /// 0 none, 1 allow, 2 drop, 3 reject.
    pub rule_action: u8,
}
