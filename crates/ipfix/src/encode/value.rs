//! Each field's value, taken from a flow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::encode::octets::{ipv4, ipv6, string, u16, u32, u64, uuid};
use crate::flow::Flow;
use crate::names::{NameTexts, PolicyNames};
use crate::profile::field::Field::{self, *};

/// Pushes one value.
pub(super) fn push_field(field: Field, flow: &Flow<'_>, out: &mut Vec<u8>) {
    let [total, reverse_total] = flow.totals;
    let [delta, reverse_delta] = flow.deltas;
    match field {
        StartMilliseconds => u64(milliseconds(flow.start_ns), out),
        EndMilliseconds => u64(milliseconds(flow.end_ns), out),
        StartSeconds => u32(seconds(flow.start_ns), out),
        EndSeconds => u32(seconds(flow.end_ns), out),
        DurationMilliseconds => {
            let duration = milliseconds(flow.end_ns).saturating_sub(milliseconds(flow.start_ns));
            u32(u32::try_from(duration).unwrap_or(u32::MAX), out);
        }
        EndReason => out.push(flow.reason),
        SourceV4 => ipv4(v4(flow.source), out),
        DestinationV4 => ipv4(v4(flow.destination), out),
        SourceV6 => ipv6(v6(flow.source), out),
        DestinationV6 => ipv6(v6(flow.destination), out),
        SourcePort => u16(flow.source_port, out),
        DestinationPort | IcmpTypeCodeV4 | IcmpTypeCodeV6 => u16(flow.destination_port, out),
        IcmpTypeV4 | IcmpTypeV6 => out.push(flow.destination_port.to_be_bytes()[0]),
        IcmpCodeV4 | IcmpCodeV6 => out.push(flow.destination_port.to_be_bytes()[1]),
        IpVersion => out.push(if flow.source.is_ipv4() { 4 } else { 6 }),
        Protocol => out.push(flow.protocol),
        PacketTotal => u64(total.packets, out),
        OctetTotal => u64(total.octets, out),
        ReversePacketTotal => u64(reverse_total.packets, out),
        ReverseOctetTotal => u64(reverse_total.octets, out),
        PacketDelta => u64(delta.packets, out),
        OctetDelta => u64(delta.octets, out),
        ReversePacketDelta => u64(reverse_delta.packets, out),
        ReverseOctetDelta => u64(reverse_delta.octets, out),
        // What the source became is where replies go to; what the destination became is where replies come from.
        PostNatSourceV4 => ipv4(v4(flow.reply_destination), out),
        PostNatDestinationV4 => ipv4(v4(flow.reply_source), out),
        PostNatSourceV6 => ipv6(v6(flow.reply_destination), out),
        PostNatDestinationV6 => ipv6(v6(flow.reply_source), out),
        PostNaptSourcePort => u16(flow.reply_destination_port, out),
        PostNaptDestinationPort => u16(flow.reply_source_port, out),
        IngressVrf => u32(flow.zone.into(), out),
        EgressVrf => u32(flow.reply_zone.into(), out),
        Mark => u32(flow.mark, out),
        ConntrackId => u32(flow.id, out),
        FirewallEvent => out.push(flow.denied.map_or(0, |denied| denied.firewall_event)),
        LogPrefix => string(flow.denied.map_or("", |denied| denied.prefix), out),
        EndpointSourcePort => u16(endpoint_ports(flow).0, out),
        EndpointPort => u16(endpoint_ports(flow).1, out),
        EndpointV4 => ipv4(v4(flow.reply_source), out),
        EndpointV6 => ipv6(v6(flow.reply_source), out),
        SourcePodName => name(flow, |names| &names.source_pod_name, out),
        SourcePodNamespace => name(flow, |names| &names.source_pod_namespace, out),
        SourceNodeName => name(flow, |names| &names.source_node_name, out),
        DestinationPodName => name(flow, |names| &names.destination_pod_name, out),
        DestinationPodNamespace => name(flow, |names| &names.destination_pod_namespace, out),
        DestinationNodeName => name(flow, |names| &names.destination_node_name, out),
        SourceName => name(flow, source_name, out),
        DestinationName => name(flow, destination_name, out),
        SourcePodUuid => uuid(
            flow.names.and_then(|names| names.texts().source_pod_uuid),
            out,
        ),
        DestinationPodUuid => {
            uuid(
                flow.names
                    .and_then(|names| names.texts().destination_pod_uuid),
                out,
            );
        }
        NodeName => string(flow.node, out),
        ClusterName => string(flow.cluster, out),
        ServicePort => u16(service_port(flow), out),
        ServicePortName => name(flow, |names| &names.destination_service_port_name, out),
        IngressPolicyName => name(flow, |names| &names.ingress_policy.name, out),
        IngressPolicyNamespace => name(flow, |names| &names.ingress_policy.namespace, out),
        IngressPolicyType => out.push(ingress(flow).map_or(0, |policy| policy.policy_type)),
        IngressRuleName => name(flow, |names| &names.ingress_policy.rule_name, out),
        IngressRuleAction => out.push(ingress(flow).map_or(0, |policy| policy.rule_action)),
        EgressPolicyName => name(flow, |names| &names.egress_policy.name, out),
        EgressPolicyNamespace => name(flow, |names| &names.egress_policy.namespace, out),
        EgressPolicyType => out.push(egress(flow).map_or(0, |policy| policy.policy_type)),
        EgressRuleName => name(flow, |names| &names.egress_policy.rule_name, out),
        EgressRuleAction => out.push(egress(flow).map_or(0, |policy| policy.rule_action)),
        TcpState => string(tcp_state(flow), out),
        FlowType => out.push(flow.names.map_or(0, |names| names.texts().flow_type)),
        EgressName => name(flow, |names| &names.egress_name, out),
        EgressIp => name(flow, |names| &names.egress_ip, out),
        EgressNodeName => name(flow, |names| &names.egress_node_name, out),
        ProxySnatPort => u16(proxy_snat_port(flow), out),
        ClusterV4 => ipv4(v4(cluster(flow)), out),
        ClusterV6 => ipv6(v6(cluster(flow)), out),
        ServiceV4 => ipv4(v4(service(flow)), out),
        ServiceV6 => ipv6(v6(service(flow)), out),
        ProxySnatV4 => ipv4(v4(proxy_snat(flow)), out),
        ProxySnatV6 => ipv6(v6(proxy_snat(flow)), out),
    }
}

#[inline]
fn name(flow: &Flow<'_>, of: impl Fn(&NameTexts) -> &String, out: &mut Vec<u8>) {
    match flow.names {
        Some(names) => string(of(names.texts()), out),
        None => out.push(0),
    }
}

/// Of the Pod, else of the network.
fn source_name(names: &NameTexts) -> &String {
    match names.source_pod_name.is_empty() {
        true => &names.source_network,
        false => &names.source_pod_name,
    }
}

fn destination_name(names: &NameTexts) -> &String {
    match names.destination_pod_name.is_empty() {
        true => &names.destination_network,
        false => &names.destination_pod_name,
    }
}

fn ingress<'a>(flow: &Flow<'a>) -> Option<&'a PolicyNames> {
    flow.names.map(|names| &names.texts().ingress_policy)
}

fn egress<'a>(flow: &Flow<'a>) -> Option<&'a PolicyNames> {
    flow.names.map(|names| &names.texts().egress_policy)
}

pub(super) fn v4(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    }
}

pub(super) fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V6(address) => address,
        IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
    }
}

pub(super) fn milliseconds(ns: u64) -> u64 {
    ns / 1_000_000
}

/// Seconds since 1970 in the 32 bits of dateTimeSeconds; what is beyond 2106 saturates.
pub(super) fn seconds(ns: u64) -> u32 {
    u32::try_from(ns / 1_000_000_000).unwrap_or(u32::MAX)
}

pub(super) fn endpoint_ports(flow: &Flow<'_>) -> (u16, u16) {
    if flow.is_icmp() {
        (0, 0)
    } else {
        (flow.source_port, flow.reply_source_port)
    }
}

/// Antrea's way to say that there is no address: all zeros, whatever the family.
const ABSENT: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

fn has_service_name(flow: &Flow<'_>) -> bool {
    flow.names
        .is_some_and(|names| !names.texts().destination_service_port_name.is_empty())
}

fn is_service(flow: &Flow<'_>) -> bool {
    flow.service || has_service_name(flow)
}

/// Replies go to another address than the original came from: the proxy translated the source.
fn is_proxy_snat(flow: &Flow<'_>) -> bool {
    flow.reply_destination != flow.source
}

pub(super) fn service_port(flow: &Flow<'_>) -> u16 {
    if is_service(flow) {
        flow.destination_port
    } else {
        0
    }
}

pub(super) fn service(flow: &Flow<'_>) -> IpAddr {
    if is_service(flow) {
        flow.destination
    } else {
        ABSENT
    }
}

pub(super) fn cluster(flow: &Flow<'_>) -> IpAddr {
    if has_service_name(flow) {
        flow.destination
    } else {
        ABSENT
    }
}

pub(super) fn proxy_snat(flow: &Flow<'_>) -> IpAddr {
    if is_proxy_snat(flow) {
        flow.reply_destination
    } else {
        ABSENT
    }
}

pub(super) fn proxy_snat_port(flow: &Flow<'_>) -> u16 {
    if is_proxy_snat(flow) && !flow.is_icmp() {
        flow.reply_destination_port
    } else {
        0
    }
}

/// The state's name as Antrea spells it; empty for what is not TCP.
pub(super) fn tcp_state(flow: &Flow<'_>) -> &'static str {
    const NAMES: [&str; 10] = [
        "NONE",
        "SYN_SENT",
        "SYN_RECV",
        "ESTABLISHED",
        "FIN_WAIT",
        "CLOSE_WAIT",
        "LAST_ACK",
        "TIME_WAIT",
        "CLOSE",
        "SYN_SENT2",
    ];
    if flow.protocol != 6 {
        return "";
    }
    NAMES
        .get(usize::from(flow.tcp_state))
        .copied()
        .unwrap_or_default()
}
