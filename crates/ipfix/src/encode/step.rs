//! The steps that a template compiles to: each pushes one value, or a run of values that often stand together, onto
//! the message. A record is the run of its template's steps; nothing is looked up or allocated on the way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::flow::{Flow, Names, PolicyNames};
use crate::profile::field::Field::{self, *};

/// Bit of the connection mark that Antrea sets on connections to a Service.
const SERVICE_MARK: u32 = 0x10;

/// One push. The runs exist for speed alone: they write what their fields would write one by one, which a test checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    One(Field),
    /// [`TIMES`].
    Times,
    /// [`TRANSPORT_V4`].
    TransportV4,
    /// [`TRANSPORT_V6`].
    TransportV6,
    /// [`COUNTERS`].
    Counters,
    /// [`KERNEL`].
    Kernel,
    /// [`ANTREA_HEAD`].
    AntreaHead,
    /// [`ANTREA_REVERSE`].
    AntreaReverse,
}

const TIMES: &[Field] = &[StartMilliseconds, EndMilliseconds, EndReason];
const TRANSPORT_V4: &[Field] = &[
    SourceV4,
    DestinationV4,
    SourcePort,
    DestinationPort,
    Protocol,
];
const TRANSPORT_V6: &[Field] = &[
    SourceV6,
    DestinationV6,
    SourcePort,
    DestinationPort,
    Protocol,
];
const COUNTERS: &[Field] = &[
    PacketTotal,
    OctetTotal,
    ReversePacketTotal,
    ReverseOctetTotal,
    PacketDelta,
    OctetDelta,
    ReversePacketDelta,
    ReverseOctetDelta,
];
const KERNEL: &[Field] = &[IngressVrf, EgressVrf, Mark, ConntrackId];
const ANTREA_HEAD: &[Field] = &[
    StartSeconds,
    EndSeconds,
    EndReason,
    EndpointSourcePort,
    EndpointPort,
    Protocol,
    PacketTotal,
    OctetTotal,
    PacketDelta,
    OctetDelta,
];
const ANTREA_REVERSE: &[Field] = &[
    ReversePacketTotal,
    ReverseOctetTotal,
    ReversePacketDelta,
    ReverseOctetDelta,
];

const RUNS: [(&[Field], Step); 7] = [
    (TIMES, Step::Times),
    (TRANSPORT_V4, Step::TransportV4),
    (TRANSPORT_V6, Step::TransportV6),
    (COUNTERS, Step::Counters),
    (KERNEL, Step::Kernel),
    (ANTREA_HEAD, Step::AntreaHead),
    (ANTREA_REVERSE, Step::AntreaReverse),
];

/// The steps that write these fields in this order.
pub(crate) fn compile(fields: &[Field]) -> Box<[Step]> {
    let mut steps = Vec::with_capacity(fields.len());
    let mut rest = fields;
    while let [first, after @ ..] = rest {
        let run = RUNS
            .iter()
            .find_map(|(run, step)| Some((*step, rest.strip_prefix(*run)?)));
        let (step, after) = run.unwrap_or((Step::One(*first), after));
        steps.push(step);
        rest = after;
    }
    steps.into_boxed_slice()
}

impl Step {
    #[inline]
    pub(crate) fn push(self, flow: &Flow<'_>, out: &mut Vec<u8>) {
        let [total, reverse_total] = flow.totals;
        let [delta, reverse_delta] = flow.deltas;
        match self {
            Step::One(field) => push_field(field, flow, out),
            Step::Times => {
                let mut run = Run::<17>::new();
                run.put(milliseconds(flow.start_ns).to_be_bytes());
                run.put(milliseconds(flow.end_ns).to_be_bytes());
                run.put([flow.reason]);
                run.push_to(out);
            }
            Step::TransportV4 => {
                let mut run = Run::<13>::new();
                run.put(v4(flow.source).octets());
                run.put(v4(flow.destination).octets());
                run.put(flow.source_port.to_be_bytes());
                run.put(flow.destination_port.to_be_bytes());
                run.put([flow.protocol]);
                run.push_to(out);
            }
            Step::TransportV6 => {
                let mut run = Run::<37>::new();
                run.put(v6(flow.source).octets());
                run.put(v6(flow.destination).octets());
                run.put(flow.source_port.to_be_bytes());
                run.put(flow.destination_port.to_be_bytes());
                run.put([flow.protocol]);
                run.push_to(out);
            }
            Step::Counters => {
                let mut run = Run::<64>::new();
                run.put(total.packets.to_be_bytes());
                run.put(total.octets.to_be_bytes());
                run.put(reverse_total.packets.to_be_bytes());
                run.put(reverse_total.octets.to_be_bytes());
                run.put(delta.packets.to_be_bytes());
                run.put(delta.octets.to_be_bytes());
                run.put(reverse_delta.packets.to_be_bytes());
                run.put(reverse_delta.octets.to_be_bytes());
                run.push_to(out);
            }
            Step::Kernel => {
                let mut run = Run::<16>::new();
                run.put(u32::from(flow.zone).to_be_bytes());
                run.put(u32::from(flow.reply_zone).to_be_bytes());
                run.put(flow.mark.to_be_bytes());
                run.put(flow.id.to_be_bytes());
                run.push_to(out);
            }
            Step::AntreaHead => {
                let (source_port, port) = endpoint_ports(flow);
                let mut run = Run::<46>::new();
                run.put(seconds(flow.start_ns).to_be_bytes());
                run.put(seconds(flow.end_ns).to_be_bytes());
                run.put([flow.reason]);
                run.put(source_port.to_be_bytes());
                run.put(port.to_be_bytes());
                run.put([flow.protocol]);
                run.put(total.packets.to_be_bytes());
                run.put(total.octets.to_be_bytes());
                run.put(delta.packets.to_be_bytes());
                run.put(delta.octets.to_be_bytes());
                run.push_to(out);
            }
            Step::AntreaReverse => {
                let mut run = Run::<32>::new();
                run.put(reverse_total.packets.to_be_bytes());
                run.put(reverse_total.octets.to_be_bytes());
                run.put(reverse_delta.packets.to_be_bytes());
                run.put(reverse_delta.octets.to_be_bytes());
                run.push_to(out);
            }
        }
    }
}

/// A run of values put together on the stack, so that the message grows once for all of them.
struct Run<const N: usize> {
    octets: [u8; N],
    len: usize,
}

impl<const N: usize> Run<N> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            octets: [0; N],
            len: 0,
        }
    }

    /// The lengths of all puts of a run add up to N; the compiler sees it and drops the check.
    #[inline(always)]
    fn put<const M: usize>(&mut self, value: [u8; M]) {
        if let Some(place) = self.octets.get_mut(self.len..self.len + M) {
            place.copy_from_slice(&value);
        }
        self.len += M;
    }

    #[inline(always)]
    fn push_to(&self, out: &mut Vec<u8>) {
        debug_assert_eq!(self.len, N);
        out.extend_from_slice(&self.octets);
    }
}

fn push_field(field: Field, flow: &Flow<'_>, out: &mut Vec<u8>) {
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
        ServicePort => u16(
            if is_service(flow) {
                flow.destination_port
            } else {
                0
            },
            out,
        ),
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
        FlowType => out.push(flow.names.map_or(0, |names| names.flow_type)),
        EgressName => name(flow, |names| &names.egress_name, out),
        EgressIp => name(flow, |names| &names.egress_ip, out),
        EgressNodeName => name(flow, |names| &names.egress_node_name, out),
        ProxySnatPort => u16(
            if is_proxy_snat(flow) && !flow.is_icmp() {
                flow.reply_destination_port
            } else {
                0
            },
            out,
        ),
        ClusterV4 => ipv4(
            if has_service_name(flow) {
                v4(flow.destination)
            } else {
                Ipv4Addr::UNSPECIFIED
            },
            out,
        ),
        ClusterV6 => ipv6(
            if has_service_name(flow) {
                v6(flow.destination)
            } else {
                Ipv6Addr::UNSPECIFIED
            },
            out,
        ),
        ServiceV4 => ipv4(
            if is_service(flow) {
                v4(flow.destination)
            } else {
                Ipv4Addr::UNSPECIFIED
            },
            out,
        ),
        ServiceV6 => ipv6(
            if is_service(flow) {
                v6(flow.destination)
            } else {
                Ipv6Addr::UNSPECIFIED
            },
            out,
        ),
        ProxySnatV4 => {
            ipv4(
                if is_proxy_snat(flow) {
                    v4(flow.reply_destination)
                } else {
                    Ipv4Addr::UNSPECIFIED
                },
                out,
            );
        }
        ProxySnatV6 => {
            ipv6(
                if is_proxy_snat(flow) {
                    v6(flow.reply_destination)
                } else {
                    Ipv6Addr::UNSPECIFIED
                },
                out,
            );
        }
    }
}

fn u16(value: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn u32(value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn u64(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn ipv4(address: Ipv4Addr, out: &mut Vec<u8>) {
    out.extend_from_slice(&address.octets());
}

fn ipv6(address: Ipv6Addr, out: &mut Vec<u8>) {
    out.extend_from_slice(&address.octets());
}

/// A variable-length string (RFC 7011, section 7): one octet of length below 255, else 255 and two octets. Cut at a
/// character's edge beyond 65,535 octets: ill-formed UTF-8 is never sent (section 6.1.6).
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    let octets = cut(text, usize::from(u16::MAX)).as_bytes();
    match u8::try_from(octets.len()) {
        Ok(len) if len < 255 => out.push(len),
        _ => {
            out.push(255);
            u16(crate::message::length(octets.len()), out);
        }
    }
    out.extend_from_slice(octets);
}

/// At most `max` octets of a text, without half a character at the end.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

#[inline]
fn name(flow: &Flow<'_>, of: impl Fn(&Names) -> &String, out: &mut Vec<u8>) {
    match flow.names {
        Some(names) => string(of(names), out),
        None => out.push(0),
    }
}

fn ingress<'a>(flow: &Flow<'a>) -> Option<&'a PolicyNames> {
    flow.names.map(|names| &names.ingress_policy)
}

fn egress<'a>(flow: &Flow<'a>) -> Option<&'a PolicyNames> {
    flow.names.map(|names| &names.egress_policy)
}

fn v4(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    }
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V6(address) => address,
        IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
    }
}

fn milliseconds(ns: u64) -> u64 {
    ns / 1_000_000
}

/// Seconds since 1970 in the 32 bits of dateTimeSeconds; what is beyond 2106 saturates.
fn seconds(ns: u64) -> u32 {
    u32::try_from(ns / 1_000_000_000).unwrap_or(u32::MAX)
}

fn endpoint_ports(flow: &Flow<'_>) -> (u16, u16) {
    if flow.is_icmp() {
        (0, 0)
    } else {
        (flow.source_port, flow.reply_source_port)
    }
}

fn has_service_name(flow: &Flow<'_>) -> bool {
    flow.names
        .is_some_and(|names| !names.destination_service_port_name.is_empty())
}

fn is_service(flow: &Flow<'_>) -> bool {
    flow.mark & SERVICE_MARK != 0 || has_service_name(flow)
}

/// Replies go to another address than the original came from: the proxy translated the source.
fn is_proxy_snat(flow: &Flow<'_>) -> bool {
    flow.reply_destination != flow.source
}

/// The state's name as Antrea spells it; empty for what is not TCP.
fn tcp_state(flow: &Flow<'_>) -> &'static str {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Counters;

    fn flow() -> Flow<'static> {
        // Every value differs from every other, so that none can stand in another's place unseen.
        Flow {
            source: "1.2.3.4".parse().unwrap(),
            destination: "5.6.7.8".parse().unwrap(),
            source_port: 0x0910,
            destination_port: 0x1112,
            protocol: 0x13,
            reply_source: "20.21.22.23".parse().unwrap(),
            reply_destination: "24.25.26.27".parse().unwrap(),
            reply_source_port: 0x2829,
            reply_destination_port: 0x3031,
            start_ns: 0x3233_3435_3637_3839,
            end_ns: 0x4041_4243_4445_4647,
            reason: 0x48,
            totals: [
                Counters {
                    packets: 0x49,
                    octets: 0x50,
                },
                Counters {
                    packets: 0x51,
                    octets: 0x52,
                },
            ],
            deltas: [
                Counters {
                    packets: 0x53,
                    octets: 0x54,
                },
                Counters {
                    packets: 0x55,
                    octets: 0x56,
                },
            ],
            zone: 0x5758,
            reply_zone: 0x5960,
            mark: 0x6162_6364,
            id: 0x6566_6768,
            tcp_state: 0,
            names: None,
            denied: None,
        }
    }

    #[test]
    fn a_run_writes_what_its_fields_write_one_by_one() {
        let v6 = Flow {
            source: "1:2:3:4:5:6:7:8".parse().unwrap(),
            destination: "11:12:13:14:15:16:17:18".parse().unwrap(),
            ..flow()
        };
        for flow in [flow(), v6] {
            for (fields, step) in RUNS {
                let (mut run, mut single) = (Vec::new(), Vec::new());
                step.push(&flow, &mut run);
                for field in fields {
                    push_field(*field, &flow, &mut single);
                }
                assert_eq!(run, single, "{step:?}");
            }
        }
    }

    #[test]
    fn the_longest_texts_are_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abä", 3), "ab");
        assert_eq!(cut("ä", 1), "");
        let mut out = Vec::new();
        string(&"ä".repeat(32_768), &mut out);
        assert_eq!((out.len(), &out[..3]), (3 + 65_534, &[255, 0xff, 0xfe][..]));
        assert!(std::str::from_utf8(&out[3..]).is_ok());
    }

    #[test]
    fn steps_write_all_of_a_buffer_that_held_garbage() {
        let mut buffer = vec![0xa5; 4096];
        for field in Field::ALL {
            let mut fresh = Vec::new();
            push_field(*field, &flow(), &mut fresh);
            buffer.clear();
            push_field(*field, &flow(), &mut buffer);
            assert_eq!(buffer, fresh, "{field:?}");
            if field.specifier().length != crate::template::VARIABLE {
                assert_eq!(
                    buffer.len(),
                    usize::from(field.specifier().length),
                    "{field:?}"
                );
            }
        }
    }
}
