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
- Pod, namespace and node are those of the source of the original direction and of the source of the reply: behind a
  Service that is the endpoint. A connection is named when it is first seen and keeps its names for its life; an end that
  was not known then has empty ones. Names of Services, policies, rules and egresses have no source yet: they are empty,
  and the numbers beside them 0.
";

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    let standard = Profile::standard(None)
        .unwrap_or_else(|error| unreachable!("no field was selected: {error}"));
    section("Standard profile", &standard, &mut page);
    page.push_str(
        "\nWith the option `pods`, an empty list too, each template of the standard profile ends with:\n",
    );
    names(&standard, &mut page);
    section("Antrea profile", &Profile::antrea(), &mut page);
    page.push_str("\n## Elements for `fields`\n\n`fields` selects and orders elements of the standard profile by name. Each template takes those that its connections\nhave; elements for names need no `pods` then. The names:\n\n");
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
    let without = templates(standard)
        .first()
        .map_or(0, |(_, template)| template.fields.len());
    page.push('\n');
    if let Some((_, template)) = templates(&standard.clone().with_names()).first() {
        table(template, without, page);
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
