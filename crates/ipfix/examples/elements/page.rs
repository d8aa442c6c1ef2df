//! The text of `docs/elements.md`, shared by the program that prints it and the test that compares it.

use std::fmt::Write as _;

use ipfix::template::{Template, VARIABLE};
use ipfix::{Format, Profile, registry};

const HEAD: &str = "\
# Elements of the exported records

Written by `cargo run -p ipfix --example elements > docs/elements.md`; a test fails when this page and the code differ.

A record's template is chosen by what the connection has. Lengths are octets; `variable` is one octet of length (three
from 255 octets on) and the text. Enterprise 29305 is the reverse direction of an IANA element (RFC 5103), 21373 the
netfilter project, 56506 Antrea.

What the elements say of a connection:

- Source and destination are the original direction's. The post-NAT elements say what both became.
- `ingressVRFID` and `egressVRFID` are the conntrack zones of the original and the reply direction.
- A flow's end is the time of its last packet, to half a second, as the kernel's timeouts tell it; where they leave it open
  (a timeout policy, a helper, an offloaded connection) it is the time at which its counters were last seen to move.
- Octets count IP packets with their headers; packets are the kernel's buffers, which segmentation offload makes fewer
  and larger than those on the wire.
- In the antrea profile the destination is the endpoint, that is the reply's source, the `destinationService` elements
  are the original destination, and ICMP has ports of 0.
- `firewallEvent` and `logPrefix` stand in records of denied connections alone.

What connections are called:

- Pod, namespace and node are those of the source of the original direction and of the source of the reply: behind a
  Service that is the endpoint. What is not known is empty, and a number 0.
- A connection is named when it is first seen. What was unknown then and is known by now is in its next record; what has a
  name keeps it for the connection's life. A connection that began before its Pod started is not that Pod's.
- In the standard profile `sourcePodName` and `destinationPodName` of an end that is no Pod are the name of its network,
  that of the longest prefix; the namespace is empty then, as no Pod's is in Kubernetes. A Pod's name takes the place of
  a network's. The antrea profile tells of Pods alone.
- `destinationServicePortName` is `namespace/name:port`. A connection goes to a Service when the option `serviceMark` says
  so by its mark, or without that option when a Service has its original destination, port and protocol.
- `ingressNetworkPolicy` and `egressNetworkPolicy` elements are those of the rules whose numbers the connection's labels
  carry. Types: 1 Kubernetes' NetworkPolicy, 2 Antrea's, 3 Antrea's of the cluster, 4 Kubernetes' of the cluster.
  Actions: 1 allow, 2 drop, 3 reject. A number that no rule has is empty here, counted and warned of.
- `flowType` is 1 within a node, 2 between nodes, 3 from a Pod to what is external, 4 the other way, 0 not known. An end is
  a Pod's when the Pod is known or the option `podNetworks` holds its address; without that option nothing is known to be
  external. Two known Pods are within a node unless their nodes differ; where only one is known, they are between nodes.
- `egressName`, `egressIP` and `egressNodeName` are those of the source's Pod when the flow goes to what is external.
- `observationDomainName` is the option `nodeName`, `clusterId` the option `clusterName`.

## Counting a flow once

A flow is in the table of every node that it passes; where the cluster's network uses zones, a flow to a Service or a node
port is in several zones of one node, with an entry each. To add up the traffic of a cluster, give each agent an
observation domain of its own and, as `nodeName`, the name that its Pods have as `node`; select the zone in which the
network tracks Pods (`zones`, as the antrea profile does; without it, take the records of one `ingressVRFID`); and take

- within a node and to what is external (`flowType` 1 and 3): the records whose `observationDomainName` is their
  `sourceNodeName`;
- between nodes (2): the same; where `sourceNodeName` is empty, because agents know the Pods of their own nodes alone, none:
  the source's node has the same flow;
- from what is external (4): those whose `observationDomainName` is their `destinationNodeName`. A flow that came by the
  node port of another node is in that one's records too, whose destination is on a node that is not theirs.
";

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    let standard = Profile::standard(None)
        .unwrap_or_else(|error| unreachable!("no field was selected: {error}"));
    section("Standard profile", &standard, &mut page);
    page.push_str(
        "\nWith one of the options `pods`, `services`, `policyRules`, `networks` (an empty list too) or `podNetworks`, each template\nof the standard profile ends with:\n",
    );
    names(&standard, &mut page);
    page.push_str("\nAnd with `nodeName` and `clusterName`, each with its own:\n");
    node(&standard, &mut page);
    section("Antrea profile", &Profile::antrea(), &mut page);
    page.push_str("\n## Elements for `fields`\n\n`fields` selects and orders elements of the standard profile by name. Each template takes those that its connections\nhave; elements for names need no other option then. The names:\n\n");
    for name in Profile::field_names() {
        let _ = writeln!(page, "- `{name}`");
    }
    page
}

fn templates(profile: &Profile) -> Vec<(String, Template)> {
    let format = Format::new(profile, 1, 65_535);
    format
        .map(|format| {
            format
                .described_templates()
                .map(|(t, template)| (t, template.clone()))
                .collect()
        })
        .unwrap_or_default()
}

fn section(title: &str, profile: &Profile, page: &mut String) {
    let _ = write!(page, "\n## {title}\n");
    for (connections, template) in templates(profile) {
        let least = template.least_record_len();
        let variable = template.fields.iter().any(|field| field.length == VARIABLE);
        let octets = if variable {
            format!("at least {least}")
        } else {
            least.to_string()
        };
        let _ = write!(
            page,
            "\n### {}: {connections}\n\n{} elements, {octets} octets\n\n",
            template.id,
            template.fields.len()
        );
        table(&template, 0, page);
    }
}

fn names(standard: &Profile, page: &mut String) {
    added(standard, standard.clone().with_names(), page);
}

fn node(standard: &Profile, page: &mut String) {
    added(standard, standard.clone().with_node().with_cluster(), page);
}

/// What the templates of `with` have behind those of `without`.
fn added(without: &Profile, with: Profile, page: &mut String) {
    let skip = templates(without)
        .first()
        .map_or(0, |(_, template)| template.fields.len());
    page.push('\n');
    if let Some((_, template)) = templates(&with).first() {
        table(template, skip, page);
    }
}

fn table(template: &Template, skip: usize, page: &mut String) {
    page.push_str("| element | number | length |\n|---|---|---|\n");
    for field in template.fields.iter().skip(skip) {
        let name = registry::element(field.element).map_or("", |element| element.name);
        let length = if field.length == VARIABLE {
            "variable".into()
        } else {
            field.length.to_string()
        };
        let _ = writeln!(page, "| {name} | {} | {length} |", field.element);
    }
}
