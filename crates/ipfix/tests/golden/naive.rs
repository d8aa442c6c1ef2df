//! The slowest way to say what a record holds: element by element by name, from the definitions. The encoder is held
//! against it.

use std::net::IpAddr;

use ipfix::{Flow, Value};

/// What an element of a record is, and the octets that say so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Naive {
    Number { octets: usize, value: u64 },
    Time { octets: usize, milliseconds: u64 },
    Address(IpAddr),
    Text(String),
    Octets(Vec<u8>),
}

impl Naive {
    fn uuid(uuid: Option<[u8; 16]>) -> Self {
        Naive::Octets(uuid.map_or_else(Vec::new, Vec::from))
    }

    pub(crate) fn octets(&self) -> Vec<u8> {
        match self {
            Naive::Number { octets, value } => value.to_be_bytes()[8 - octets..].to_vec(),
            Naive::Time {
                octets: 4,
                milliseconds,
            } => ((milliseconds / 1000) as u32).to_be_bytes().to_vec(),
            Naive::Time { milliseconds, .. } => milliseconds.to_be_bytes().to_vec(),
            Naive::Octets(octets) => [&[octets.len() as u8], &octets[..]].concat(),
            Naive::Address(IpAddr::V4(address)) => address.octets().to_vec(),
            Naive::Address(IpAddr::V6(address)) => address.octets().to_vec(),
            Naive::Text(text) => {
                let mut octets = match text.len() {
                    len @ 0..=254 => vec![len as u8],
                    len => vec![255, (len >> 8) as u8, (len & 255) as u8],
                };
                octets.extend_from_slice(text.as_bytes());
                octets
            }
        }
    }

    pub(crate) fn is(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Naive::Number { value, .. }, Value::Unsigned(decoded)) => *value == decoded,
            (
                Naive::Time {
                    octets: 4,
                    milliseconds,
                },
                Value::Milliseconds(decoded),
            ) => milliseconds / 1000 * 1000 == decoded,
            (Naive::Time { milliseconds, .. }, Value::Milliseconds(decoded)) => {
                *milliseconds == decoded
            }
            (Naive::Address(address), Value::Address(decoded)) => *address == decoded,
            (Naive::Octets(octets), Value::Octets(decoded)) => octets == decoded,
            (Naive::Text(text), Value::Text(decoded)) => text.as_bytes() == decoded,
            _ => false,
        }
    }
}

/// The element of that name; `None` where the connection has none.
pub(crate) fn standard(name: &str, flow: &Flow<'_>) -> Option<Naive> {
    let v4 = flow.source.is_ipv4();
    let icmp = flow.protocol == if v4 { 1 } else { 58 };
    let translated = flow.denied.is_none() && flow.translated;
    let number = |octets, value| Some(Naive::Number { octets, value });
    let text = |text: &str| Some(Naive::Text(text.to_owned()));
    let time = |octets, ns: u64| {
        Some(Naive::Time {
            octets,
            milliseconds: ns / 1_000_000,
        })
    };
    let service_name = flow
        .names
        .map_or("", |names| &names.texts().destination_service_port_name);
    let service = flow.service || !service_name.is_empty();
    let nowhere = if v4 {
        IpAddr::from([0; 4])
    } else {
        IpAddr::from([0; 16])
    };
    let or_nowhere =
        |condition, address| Some(Naive::Address(if condition { address } else { nowhere }));
    let source_changed = flow.source != flow.reply_destination;
    match name {
        "flowStartMilliseconds" => time(8, flow.start_ns),
        "flowEndMilliseconds" => time(8, flow.end_ns),
        "flowStartSeconds" => time(4, flow.start_ns),
        "flowEndSeconds" => time(4, flow.end_ns),
        "flowDurationMilliseconds" => {
            let duration = (flow.end_ns / 1_000_000).saturating_sub(flow.start_ns / 1_000_000);
            number(4, duration.min(u32::MAX.into()))
        }
        "flowEndReason" => number(1, flow.reason.into()),
        "sourceIPv4Address" | "sourceIPv6Address" if name.contains("v4") == v4 => {
            Some(Naive::Address(flow.source))
        }
        "destinationIPv4Address" | "destinationIPv6Address" if name.contains("v4") == v4 => {
            Some(Naive::Address(flow.destination))
        }
        "sourceTransportPort" if !icmp => number(2, flow.source_port.into()),
        "destinationTransportPort" if !icmp => number(2, flow.destination_port.into()),
        "icmpTypeCodeIPv4" | "icmpTypeCodeIPv6" if icmp && name.contains("v4") == v4 => {
            number(2, flow.destination_port.into())
        }
        "icmpTypeIPv4" | "icmpTypeIPv6" if icmp && name.contains("v4") == v4 => {
            number(1, (flow.destination_port / 256).into())
        }
        "icmpCodeIPv4" | "icmpCodeIPv6" if icmp && name.contains("v4") == v4 => {
            number(1, (flow.destination_port % 256).into())
        }
        "ipVersion" => number(1, if v4 { 4 } else { 6 }),
        "protocolIdentifier" => number(1, flow.protocol.into()),
        "packetTotalCount" => number(8, flow.totals[0].packets),
        "octetTotalCount" => number(8, flow.totals[0].octets),
        "reversePacketTotalCount" => number(8, flow.totals[1].packets),
        "reverseOctetTotalCount" => number(8, flow.totals[1].octets),
        "packetDeltaCount" => number(8, flow.deltas[0].packets),
        "octetDeltaCount" => number(8, flow.deltas[0].octets),
        "reversePacketDeltaCount" => number(8, flow.deltas[1].packets),
        "reverseOctetDeltaCount" => number(8, flow.deltas[1].octets),
        "postNATSourceIPv4Address" | "postNATSourceIPv6Address"
            if translated && name.contains("v4") == v4 =>
        {
            Some(Naive::Address(flow.reply_destination))
        }
        "postNATDestinationIPv4Address" | "postNATDestinationIPv6Address"
            if translated && name.contains("v4") == v4 =>
        {
            Some(Naive::Address(flow.reply_source))
        }
        "postNAPTSourceTransportPort" if translated && !icmp => {
            number(2, flow.reply_destination_port.into())
        }
        "postNAPTDestinationTransportPort" if translated && !icmp => {
            number(2, flow.reply_source_port.into())
        }
        "ingressVRFID" => number(4, flow.zone.into()),
        "egressVRFID" => number(4, flow.reply_zone.into()),
        "mark" => number(4, flow.mark.into()),
        "conntrackId" => number(4, flow.id.into()),
        "observationDomainName" => text(flow.node),
        "clusterId" => text(flow.cluster),
        "firewallEvent" => number(1, flow.denied?.firewall_event.into()),
        "logPrefix" => text(flow.denied?.prefix),
        "destinationServicePort" if !icmp => number(
            2,
            if service {
                flow.destination_port.into()
            } else {
                0
            },
        ),
        "destinationClusterIPv4" | "destinationClusterIPv6" if name.contains("v4") == v4 => {
            or_nowhere(!service_name.is_empty(), flow.destination)
        }
        "destinationServiceIPv4" | "destinationServiceIPv6" if name.contains("v4") == v4 => {
            or_nowhere(service, flow.destination)
        }
        "proxySnatIPv4" | "proxySnatIPv6" if name.contains("v4") == v4 => {
            or_nowhere(source_changed, flow.reply_destination)
        }
        "proxySnatPort" if !icmp => number(
            2,
            if source_changed {
                flow.reply_destination_port.into()
            } else {
                0
            },
        ),
        "tcpState" if flow.protocol != 6 => text(""),
        "tcpState" => text(match flow.tcp_state {
            0 => "NONE",
            1 => "SYN_SENT",
            2 => "SYN_RECV",
            3 => "ESTABLISHED",
            4 => "FIN_WAIT",
            5 => "CLOSE_WAIT",
            6 => "LAST_ACK",
            7 => "TIME_WAIT",
            8 => "CLOSE",
            9 => "SYN_SENT2",
            _ => "",
        }),
        _ => names(name, flow),
    }
}

fn names(name: &str, flow: &Flow<'_>) -> Option<Naive> {
    let none = ipfix::NameTexts::default();
    let names = flow.names.map_or(&none, |names| names.texts());
    let text = match name {
        "sourcePodName" if names.source_pod_name.is_empty() => &names.source_network,
        "sourcePodName" => &names.source_pod_name,
        "sourcePodNamespace" => &names.source_pod_namespace,
        "sourceNodeName" => &names.source_node_name,
        "destinationPodName" if names.destination_pod_name.is_empty() => &names.destination_network,
        "destinationPodName" => &names.destination_pod_name,
        "destinationPodNamespace" => &names.destination_pod_namespace,
        "destinationNodeName" => &names.destination_node_name,
        "destinationServicePortName" => &names.destination_service_port_name,
        "ingressNetworkPolicyName" => &names.ingress_policy.name,
        "ingressNetworkPolicyNamespace" => &names.ingress_policy.namespace,
        "ingressNetworkPolicyRuleName" => &names.ingress_policy.rule_name,
        "egressNetworkPolicyName" => &names.egress_policy.name,
        "egressNetworkPolicyNamespace" => &names.egress_policy.namespace,
        "egressNetworkPolicyRuleName" => &names.egress_policy.rule_name,
        "egressName" => &names.egress_name,
        "egressIP" => &names.egress_ip,
        "egressNodeName" => &names.egress_node_name,
        "sourcePodUUID" => return Some(Naive::uuid(names.source_pod_uuid)),
        "destinationPodUUID" => return Some(Naive::uuid(names.destination_pod_uuid)),
        _ => {
            let value = match name {
                "ingressNetworkPolicyType" => names.ingress_policy.policy_type,
                "ingressNetworkPolicyRuleAction" => names.ingress_policy.rule_action,
                "egressNetworkPolicyType" => names.egress_policy.policy_type,
                "egressNetworkPolicyRuleAction" => names.egress_policy.rule_action,
                "flowType" => names.flow_type,
                _ => return None,
            };
            return Some(Naive::Number {
                octets: 1,
                value: value.into(),
            });
        }
    };
    Some(Naive::Text(text.clone()))
}

/// The same for the antrea profile, whose destination is the endpoint and which has no ports for ICMP.
pub(crate) fn antrea(name: &str, flow: &Flow<'_>) -> Option<Naive> {
    let icmp = flow.protocol == if flow.source.is_ipv4() { 1 } else { 58 };
    let port = |port: u16| {
        Some(Naive::Number {
            octets: 2,
            value: if icmp { 0 } else { port.into() },
        })
    };
    let names = flow.names.map(|names| names.texts());
    let pod = |of: fn(&ipfix::NameTexts) -> &String| {
        Some(Naive::Text(
            names.map_or_else(String::new, |names| of(names).clone()),
        ))
    };
    match name {
        "sourcePodName" => pod(|names| &names.source_pod_name),
        "destinationPodName" => pod(|names| &names.destination_pod_name),
        "sourceTransportPort" => port(flow.source_port),
        "destinationTransportPort" => port(flow.reply_source_port),
        "destinationIPv4Address" | "destinationIPv6Address" => {
            Some(Naive::Address(flow.reply_source))
        }
        "destinationServicePort" if icmp => standard(
            name,
            &Flow {
                protocol: 0,
                ..flow.clone()
            },
        ),
        "proxySnatPort" if icmp => port(0),
        _ => standard(name, flow),
    }
}
