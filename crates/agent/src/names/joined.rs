//! What the sources know of one connection, and the texts that this makes.

use std::net::IpAddr;
use std::num::NonZeroU32;

use flow_table::{Observation, Tuple};
use ipfix::{NameTexts, PolicyNames};

use super::Sources;

/// What of a connection its names depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) original: &'a Tuple,
    /// The reply's source: the endpoint behind a Service.
    pub(crate) endpoint: IpAddr,
    pub(crate) mark: u32,
    pub(crate) labels: &'a [u8; 16],
    /// None: it begins now.
    pub(crate) start_ns: Option<u64>,
}

impl<'a> From<&'a Observation> for Facts<'a> {
    fn from(seen: &'a Observation) -> Self {
        Self {
            original: &seen.original,
            endpoint: seen.reply.source,
            mark: seen.mark,
            labels: &seen.labels,
            start_ns: seen.start_ns.filter(|&start| start > 0),
        }
    }
}

/// What the sources found for one connection: everything that its names are made of. Numbers are the sources' own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Joined {
    source: End,
    destination: End,
    service: Option<NonZeroU32>,
    ingress_rule: Option<NonZeroU32>,
    egress_rule: Option<NonZeroU32>,
}

/// One end: a Pod, else perhaps in a network with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct End {
    pod: Option<NonZeroU32>,
    network: Option<NonZeroU32>,
    in_pod_network: bool,
}

/// Rules' numbers that no rule has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub(crate) ingress: Option<NonZeroU32>,
    pub(crate) egress: Option<NonZeroU32>,
}

impl Joined {
    /// Asks every source.
    pub(crate) fn of(sources: &Sources, now_ms: u64, facts: &Facts<'_>) -> (Self, Unknown) {
        let end = |address: IpAddr| {
            let pod = sources.pods.at(address, facts.start_ns);
            End {
                pod,
                network: pod.map_or_else(|| sources.networks.at(address), |_| None),
                in_pod_network: sources.pod_networks.contain(address),
            }
        };
        let mut unknown = Unknown::default();
        let (mut ingress_rule, mut egress_rule) = (None, None);
        if let Some(rules) = &sources.rules {
            let rule = |number: u32, unknown: &mut Option<NonZeroU32>| {
                let number = NonZeroU32::new(number)?;
                let known = rules.get(number.get(), now_ms).is_some();
                if !known {
                    *unknown = Some(number);
                }
                known.then_some(number)
            };
            let labels = &sources.labels;
            ingress_rule = rule(labels.ingress.of(facts.labels), &mut unknown.ingress);
            egress_rule = rule(labels.egress.of(facts.labels), &mut unknown.egress);
        }
        let joined = Self {
            source: end(facts.original.source),
            destination: end(facts.endpoint),
            service: sources.service(facts.original, facts.mark),
            ingress_rule,
            egress_rule,
        };
        (joined, unknown)
    }

    /// Nothing in it names anything.
    pub(crate) fn is_empty(&self) -> bool {
        let of = |end: &End| end.pod.is_none() && end.network.is_none();
        let Self {
            source,
            destination,
            service,
            ingress_rule,
            egress_rule,
        } = self;
        of(source)
            && of(destination)
            && service.is_none()
            && ingress_rule.is_none()
            && egress_rule.is_none()
            && !source.in_pod_network
            && !destination.in_pod_network
    }

    /// The texts, in addition to those that the connection has already: each part that it has stays.
    pub(crate) fn texts(
        &self,
        sources: &Sources,
        now_ms: u64,
        held: Option<&NameTexts>,
    ) -> NameTexts {
        let pod = |end: &End| end.pod.and_then(|number| sources.pods.get(number));
        let network = |end: &End| {
            let network = end.network.and_then(|number| sources.networks.get(number));
            network.unwrap_or_default().to_owned()
        };
        let mut texts = held.cloned().unwrap_or_default();
        let mut egress = None;
        if texts.source_pod_name.is_empty() {
            if let Some(pod) = pod(&self.source) {
                texts.source_pod_name = pod.name.to_string();
                texts.source_pod_namespace = pod.namespace.to_string();
                texts.source_node_name = pod.node.to_string();
                texts.source_pod_uuid = pod.uid;
                texts.source_network = String::new();
            } else if texts.source_network.is_empty() {
                texts.source_network = network(&self.source);
            }
        }
        if let Some(pod) = pod(&self.source)
            && *texts.source_pod_name == *pod.name
            && *texts.source_pod_namespace == *pod.namespace
        {
            egress = pod.egress.as_deref();
        }
        if texts.destination_pod_name.is_empty() {
            if let Some(pod) = pod(&self.destination) {
                texts.destination_pod_name = pod.name.to_string();
                texts.destination_pod_namespace = pod.namespace.to_string();
                texts.destination_node_name = pod.node.to_string();
                texts.destination_pod_uuid = pod.uid;
                texts.destination_network = String::new();
            } else if texts.destination_network.is_empty() {
                texts.destination_network = network(&self.destination);
            }
        }
        if texts.destination_service_port_name.is_empty() {
            let service = self.service.and_then(|number| sources.services.get(number));
            texts.destination_service_port_name = service.unwrap_or_default().to_owned();
        }
        for (policy, rule) in [
            (&mut texts.ingress_policy, self.ingress_rule),
            (&mut texts.egress_policy, self.egress_rule),
        ] {
            if *policy == PolicyNames::default()
                && let Some(rules) = &sources.rules
                && let Some(found) = rule.and_then(|number| rules.get(number.get(), now_ms))
            {
                policy.clone_from(found);
            }
        }
        texts.flow_type = self.flow_type(&texts, !sources.pod_networks.is_empty());
        if texts.flow_type != TO_EXTERNAL {
            texts.egress_name = String::new();
            texts.egress_ip = String::new();
            texts.egress_node_name = String::new();
        } else if let (true, Some(egress)) = (texts.egress_name.is_empty(), egress) {
            texts.egress_name.clone_from(&egress.name);
            texts.egress_ip = egress.ip.map(|ip| ip.to_string()).unwrap_or_default();
            texts.egress_node_name.clone_from(&egress.node);
        }
        texts
    }

    /// Between Pods: within the node if both are known and nothing says that their nodes differ. Between a Pod and an end
    /// that is none: external, where Pods' networks tell that it is none.
    fn flow_type(&self, texts: &NameTexts, external_is_known: bool) -> u8 {
        let source_known = !texts.source_pod_name.is_empty();
        let destination_known = !texts.destination_pod_name.is_empty();
        let source = source_known || self.source.in_pod_network;
        let destination = destination_known || self.destination.in_pod_network;
        let nodes = [&texts.source_node_name, &texts.destination_node_name];
        match (source, destination) {
            (true, true) if !source_known || !destination_known => BETWEEN_NODES,
            (true, true) if nodes[0] != nodes[1] && nodes.iter().all(|node| !node.is_empty()) => {
                BETWEEN_NODES
            }
            (true, true) => WITHIN_NODE,
            (true, false) if external_is_known => TO_EXTERNAL,
            (false, true) if external_is_known => FROM_EXTERNAL,
            _ => UNSPECIFIED,
        }
    }
}

// Antrea's `flowType` (56506/137).
const UNSPECIFIED: u8 = 0;
const WITHIN_NODE: u8 = 1;
const BETWEEN_NODES: u8 = 2;
const TO_EXTERNAL: u8 = 3;
const FROM_EXTERNAL: u8 = 4;
