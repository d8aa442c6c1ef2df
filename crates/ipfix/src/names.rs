//! Names of a connection's ends, kept together with their octets on the wire.
//!
//! [`NameTexts`] enter, once for many connections; [`Names`] go with each of their flows.

use crate::encode::octets::string;

/// Names of a connection's ends, interned by the caller: one value serves many connections and many records, so their
/// octets in the antrea profile's order are made once, here. They cannot change afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Names {
    texts: NameTexts,
    /// Pods and nodes | Service name and policies | flow type and egress.
    octets: Box<[u8]>,
    /// Where the second and the third part of `octets` begin.
    parts: [usize; 2],
}

impl Names {
    /// Takes the texts over.
    pub fn new(texts: NameTexts) -> Self {
        let t = &texts;
        let mut octets = Vec::new();
        for text in [
            &t.source_pod_name,
            &t.source_pod_namespace,
            &t.source_node_name,
        ] {
            string(text, &mut octets);
        }
        for text in [
            &t.destination_pod_name,
            &t.destination_pod_namespace,
            &t.destination_node_name,
        ] {
            string(text, &mut octets);
        }
        let policies = octets.len();
        string(&t.destination_service_port_name, &mut octets);
        for policy in [&t.ingress_policy, &t.egress_policy] {
            string(&policy.name, &mut octets);
            string(&policy.namespace, &mut octets);
            octets.push(policy.policy_type);
            string(&policy.rule_name, &mut octets);
            octets.push(policy.rule_action);
        }
        let egress = octets.len();
        octets.push(t.flow_type);
        for text in [&t.egress_name, &t.egress_ip, &t.egress_node_name] {
            string(text, &mut octets);
        }
        Self {
            octets: octets.into_boxed_slice(),
            parts: [policies, egress],
            texts,
        }
    }

    /// The texts.
    pub fn texts(&self) -> &NameTexts {
        &self.texts
    }

    /// Elements 101, 100, 104, 103, 102, 105.
    pub(crate) fn ends(&self) -> &[u8] {
        self.octets.get(..self.parts[0]).unwrap_or_default()
    }

    /// Elements 109 to 140.
    pub(crate) fn policies(&self) -> &[u8] {
        self.octets
            .get(self.parts[0]..self.parts[1])
            .unwrap_or_default()
    }

    /// Elements 137, 153, 154, 157.
    pub(crate) fn egress(&self) -> &[u8] {
        self.octets.get(self.parts[1]..).unwrap_or_default()
    }
}

impl From<NameTexts> for Names {
    fn from(texts: NameTexts) -> Self {
        Self::new(texts)
    }
}

/// The texts that [`Names`] are made of. Unknown: empty, 0. A text longer than 65,535 octets is cut at a character's
/// edge when written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each field is the element of that name in Antrea's registry"
)]
pub struct NameTexts {
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
    /// RFC 9562, in network order; None: not known. Not in the antrea profile.
    pub source_pod_uuid: Option<[u8; 16]>,
    pub destination_pod_uuid: Option<[u8; 16]>,
    /// What the network of an end that is no Pod is called. The standard profile's `sourcePodName` then; not in the antrea
    /// profile, whose aggregator takes such names for Pods.
    pub source_network: String,
    pub destination_network: String,
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
