//! What goes in comes out: random flows and selections of elements through encoder and decoder, and each record's
//! octets against a naive encoder that knows neither.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod golden;
#[path = "golden/naive.rs"]
mod naive;

use std::net::IpAddr;
use std::sync::Arc;

use ipfix::{
    BodyEncoder, Counters, DecoderSession, Denied, Flow, Format, JsonLines, NameTexts, Names,
    PolicyNames, Profile, Pushed, Record, Session, Sink,
};
use naive::Naive;
use proptest::prelude::*;

/// A flow that owns what [`Flow`] borrows.
#[derive(Clone, Debug)]
struct OwnedFlow {
    flow: Flow<'static>,
    names: Option<Names>,
    denied: Option<(u8, String)>,
}

impl OwnedFlow {
    fn flow(&self) -> Flow<'_> {
        let denied = self.denied.as_ref().map(|(firewall_event, prefix)| Denied {
            firewall_event: *firewall_event,
            prefix,
        });
        Flow {
            names: self.names.as_ref(),
            denied,
            ..self.flow.clone()
        }
    }
}

fn counters() -> impl Strategy<Value = [Counters; 2]> {
    any::<[[u64; 2]; 2]>()
        .prop_map(|both| both.map(|[packets, octets]| Counters { packets, octets }))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z0-9-]{0,12}", 1 => "\\PC{0,20}", 1 => "[a-zä]{250,260}"]
}

fn policy() -> impl Strategy<Value = PolicyNames> {
    (text(), text(), text(), any::<[u8; 2]>()).prop_map(
        |(name, namespace, rule_name, [policy_type, rule_action])| PolicyNames {
            name,
            namespace,
            policy_type,
            rule_name,
            rule_action,
        },
    )
}

fn names() -> impl Strategy<Value = Names> {
    (
        prop::collection::vec(text(), 12),
        policy(),
        policy(),
        any::<u8>(),
        any::<[Option<[u8; 16]>; 2]>(),
    )
        .prop_map(|(texts, ingress_policy, egress_policy, flow_type, uuids)| {
            let mut texts = texts.into_iter();
            let mut next = || texts.next().unwrap_or_default();
            Names::new(NameTexts {
                source_pod_name: next(),
                source_pod_namespace: next(),
                source_node_name: next(),
                destination_pod_name: next(),
                destination_pod_namespace: next(),
                destination_node_name: next(),
                destination_service_port_name: next(),
                ingress_policy,
                egress_policy,
                flow_type,
                egress_name: next(),
                egress_ip: next(),
                egress_node_name: next(),
                source_pod_uuid: uuids[0],
                destination_pod_uuid: uuids[1],
                source_network: next(),
                destination_network: next(),
            })
        })
}

fn addresses() -> impl Strategy<Value = [IpAddr; 4]> {
    prop_oneof![
        any::<[[u8; 4]; 4]>().prop_map(|addresses| addresses.map(IpAddr::from)),
        any::<[[u8; 16]; 4]>().prop_map(|addresses| addresses.map(IpAddr::from)),
    ]
}

fn flow() -> impl Strategy<Value = OwnedFlow> {
    let protocol = prop_oneof![Just(6_u8), Just(17), Just(1), Just(58), any::<u8>()];
    (
        (addresses(), any::<[u16; 4]>(), protocol, any::<[bool; 4]>()),
        (any::<[u64; 2]>(), any::<u8>(), counters(), counters()),
        (any::<[u16; 2]>(), any::<[u32; 2]>(), 0..12_u8),
        (
            prop::option::of(names()),
            prop::option::weighted(0.2, (any::<u8>(), text())),
        ),
    )
        .prop_map(
            |(
                (addresses, ports, protocol, same),
                (times, reason, totals, deltas),
                (zones, ids, tcp_state),
                rest,
            )| {
                let [source, destination, other_source, other_destination] = addresses;
                let [
                    source_port,
                    destination_port,
                    other_source_port,
                    other_destination_port,
                ] = ports;
                let pick = |same, inverse, other| if same { inverse } else { other };
                let port = |same, inverse, other| if same { inverse } else { other };
                let flow = Flow {
                    source,
                    destination,
                    source_port,
                    destination_port,
                    protocol,
                    translated: same.contains(&false),
                    reply_source: pick(same[0], destination, other_source),
                    reply_destination: pick(same[1], source, other_destination),
                    reply_source_port: port(same[2], destination_port, other_source_port),
                    reply_destination_port: port(same[2], source_port, other_destination_port),
                    // Seconds of 32 bits: until 2106.
                    start_ns: times[0] % 4_294_967_295_000_000_000,
                    end_ns: times[1] % 4_294_967_295_000_000_000,
                    reason,
                    totals,
                    deltas,
                    zone: zones[0],
                    reply_zone: zones[1],
                    mark: ids[0],
                    id: ids[1],
                    tcp_state,
                    names: None,
                    service: same[3],
                    node: "node-1",
                    cluster: "blue",
                    denied: None,
                };
                OwnedFlow {
                    flow,
                    names: rest.0,
                    denied: rest.1,
                }
            },
        )
}

/// Elements that every connection has something of, then any others in any order.
fn selection() -> impl Strategy<Value = Vec<String>> {
    let names: Vec<String> = Profile::field_names()
        .iter()
        .map(ToString::to_string)
        .collect();
    let len = names.len();
    (
        prop::sample::subsequence(names, 0..=len).prop_shuffle(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(mut names, index)| {
            if !names.iter().any(|name| name == "protocolIdentifier") {
                names.insert(index.index(names.len() + 1), "protocolIdentifier".into());
            }
            names
        })
}

/// Takes the flow that each decoded record tells of, by the naive values, off what is still to come. Messages group records
/// by template, so the order is not that of the flows.
struct Compare<'a> {
    to_come: Vec<Flow<'a>>,
    order: &'a [&'a str],
    naive: fn(&str, &Flow<'_>) -> Option<Naive>,
    fields: usize,
}

impl Sink for Compare<'_> {
    fn record(&mut self, record: &Record<'_>) {
        // A record that has less than the flow is another's.
        let fields_of = |flow: &Flow<'_>| {
            self.order
                .iter()
                .filter_map(|name| (self.naive)(name, flow))
                .count()
        };
        let told_by = |flow: &Flow<'_>| {
            record.fields().count() == fields_of(flow)
                && record.fields().all(|(column, value)| {
                    let name = column.element.expect("a registered element").name;
                    (self.naive)(name, flow).is_some_and(|expected| expected.is(value))
                })
        };
        let Some(at) = self.to_come.iter().position(told_by) else {
            let fields: Vec<_> = record
                .fields()
                .map(|(_, value)| format!("{value:?}"))
                .collect();
            panic!("{fields:?} tells of none of {:?}", self.to_come);
        };
        self.to_come.remove(at);
        self.fields += record.fields().count();
    }
}

/// Encodes each flow into a message of its own size limits, decodes all, compares; and compares the octets of each
/// record with the naive encoder's.
fn check(
    profile: &Profile,
    flows: &[OwnedFlow],
    max: usize,
    order: &[&str],
    naive: fn(&str, &Flow<'_>) -> Option<Naive>,
) {
    let format = Arc::new(Format::new(profile, 1, max).unwrap());
    let mut session = Session::new(Arc::clone(&format));
    let mut octets = session.templates(1);
    let mut kept = Vec::new();
    for owned in flows {
        let flow = owned.flow();
        let expected: Vec<Naive> = order.iter().filter_map(|name| naive(name, &flow)).collect();
        let expected: Vec<u8> = expected.iter().flat_map(Naive::octets).collect();
        let mut encoder = BodyEncoder::new(&format);
        let pushed = encoder.push(&flow, false);
        assert_eq!(pushed == Pushed::TooLarge, expected.len() + 20 > max);
        if pushed == Pushed::Added {
            golden::assert_octets(&encoder.finish()[0].sets[4..], &expected);
            kept.push(flow);
        }
    }
    let mut encoder = BodyEncoder::new(&format);
    for flow in &kept {
        assert_eq!(encoder.push(flow, true), Pushed::Added);
    }
    let bodies = encoder.finish();
    assert_eq!(
        bodies
            .iter()
            .map(|body| body.records as usize)
            .sum::<usize>(),
        kept.len()
    );
    for body in &bodies {
        assert!(16 + body.sets.len() <= max);
        octets.extend(session.header(body.sets.len(), body.records, 1));
        octets.extend_from_slice(&body.sets);
    }
    let fields = kept
        .iter()
        .flat_map(|flow| order.iter().filter_map(|name| naive(name, flow)))
        .count();
    let mut compare = Compare {
        to_come: kept,
        order,
        naive,
        fields: 0,
    };
    let mut decoder = DecoderSession::default();
    decoder.stream(&octets, &mut compare).unwrap();
    decoder.end_of_stream().unwrap();
    assert!(compare.to_come.is_empty(), "{:?}", compare.to_come);
    assert_eq!(compare.fields, fields);
    assert_eq!(decoder.stats().sequence_gaps, 0);
}

#[rustfmt::skip]
const STANDARD: [&str; 57] = [
    "flowStartMilliseconds", "flowEndMilliseconds", "flowEndReason",
    "sourceIPv4Address", "destinationIPv4Address", "sourceIPv6Address", "destinationIPv6Address",
    "sourceTransportPort", "destinationTransportPort", "icmpTypeCodeIPv4", "icmpTypeCodeIPv6", "protocolIdentifier",
    "packetTotalCount", "octetTotalCount", "reversePacketTotalCount", "reverseOctetTotalCount",
    "packetDeltaCount", "octetDeltaCount", "reversePacketDeltaCount", "reverseOctetDeltaCount",
    "postNATSourceIPv4Address", "postNATDestinationIPv4Address", "postNATSourceIPv6Address", "postNATDestinationIPv6Address",
    "postNAPTSourceTransportPort", "postNAPTDestinationTransportPort",
    "ingressVRFID", "egressVRFID", "mark", "conntrackId", "firewallEvent", "logPrefix",
    "sourcePodNamespace", "sourcePodName", "sourceNodeName",
    "destinationPodNamespace", "destinationPodName", "destinationNodeName", "destinationServicePortName",
    "ingressNetworkPolicyNamespace", "ingressNetworkPolicyName", "ingressNetworkPolicyRuleName",
    "egressNetworkPolicyNamespace", "egressNetworkPolicyName", "egressNetworkPolicyRuleName",
    "ingressNetworkPolicyType", "ingressNetworkPolicyRuleAction", "egressNetworkPolicyType", "egressNetworkPolicyRuleAction",
    "flowType", "egressName", "egressIP", "egressNodeName", "sourcePodUUID", "destinationPodUUID",
    "observationDomainName", "clusterId",
];

#[rustfmt::skip]
const ANTREA: [&str; 48] = [
    "flowStartSeconds", "flowEndSeconds", "flowEndReason", "sourceTransportPort", "destinationTransportPort",
    "protocolIdentifier", "packetTotalCount", "octetTotalCount", "packetDeltaCount", "octetDeltaCount",
    "sourceIPv4Address", "sourceIPv6Address", "destinationIPv4Address", "destinationIPv6Address",
    "reversePacketTotalCount", "reverseOctetTotalCount", "reversePacketDeltaCount", "reverseOctetDeltaCount",
    "sourcePodName", "sourcePodNamespace", "sourceNodeName",
    "destinationPodName", "destinationPodNamespace", "destinationNodeName",
    "destinationServicePort", "destinationServicePortName",
    "ingressNetworkPolicyName", "ingressNetworkPolicyNamespace", "ingressNetworkPolicyType",
    "ingressNetworkPolicyRuleName", "ingressNetworkPolicyRuleAction",
    "egressNetworkPolicyName", "egressNetworkPolicyNamespace", "egressNetworkPolicyType",
    "egressNetworkPolicyRuleName", "egressNetworkPolicyRuleAction",
    "tcpState", "flowType", "egressName", "egressIP", "egressNodeName", "proxySnatPort",
    "destinationClusterIPv4", "proxySnatIPv4", "destinationServiceIPv4",
    "destinationClusterIPv6", "proxySnatIPv6", "destinationServiceIPv6",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_standard_profile_round_trips(flows in prop::collection::vec(flow(), 0..20), max in 200..2000_usize) {
        check(&Profile::standard(None).unwrap(), &flows, max, &STANDARD[..32], naive::standard);
    }

    #[test]
    fn the_standard_profile_with_names_round_trips(flows in prop::collection::vec(flow(), 0..20), max in 400..3000_usize) {
        check(&Profile::standard(None).unwrap().with_names().with_node().with_cluster(), &flows, max, &STANDARD, naive::standard);
    }

    #[test]
    fn any_selection_of_fields_round_trips(flows in prop::collection::vec(flow(), 0..20), fields in selection(), max in 700..3000_usize) {
        let order: Vec<&str> = fields.iter().map(String::as_str).collect();
        check(&Profile::standard(Some(&fields)).unwrap(), &flows, max, &order, naive::standard);
    }

    #[test]
    fn the_antrea_profile_round_trips(flows in prop::collection::vec(flow(), 0..20), max in 400..5000_usize) {
        let antrea = |name: &str, flow: &Flow<'_>| {
            let other = if flow.source.is_ipv4() { "v6" } else { "v4" };
            if name.contains(other) { None } else { naive::antrea(name, flow) }
        };
        check(&Profile::antrea(), &flows, max, &ANTREA, antrea);
    }

    #[test]
    fn a_stream_reads_the_same_however_it_is_cut(flows in prop::collection::vec(flow(), 1..10), cuts in prop::collection::vec(1..200_usize, 1..50)) {
        let format = Arc::new(Format::new(&Profile::standard(None).unwrap().with_names(), 1, 4000).unwrap());
        let mut session = Session::new(Arc::clone(&format));
        let mut octets = session.templates(1);
        let mut encoder = BodyEncoder::new(&format);
        for owned in &flows {
            encoder.push(&owned.flow(), true);
        }
        for body in encoder.finish() {
            octets.extend(session.header(body.sets.len(), body.records, 1));
            octets.extend_from_slice(&body.sets);
        }
        let mut whole = JsonLines::new(true);
        DecoderSession::default().stream(&octets, &mut whole).unwrap();
        let mut decoder = DecoderSession::default();
        let mut pieces = JsonLines::new(true);
        let mut rest = &octets[..];
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            decoder.stream(piece, &mut pieces).unwrap();
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        decoder.end_of_stream().unwrap();
        prop_assert_eq!(String::from_utf8_lossy(whole.text()), String::from_utf8_lossy(pieces.text()));
    }
}
