//! Options records that the exporter sends of itself, in observation domain 0: what it lost (RFC 7011, section 4.3),
//! what it exported (section 4.1), and what its private elements are (RFC 5610).

use crate::element::{DataType, Element, ElementId};
use crate::encode::format::Format;
use crate::encode::octets::string;
use crate::registry;
use crate::template::{FieldSpecifier, Template, VARIABLE};

// Apart from the flow templates' ids, since a format may have domain 0 too.
const RELIABILITY: u16 = 512;
const METERING: u16 = 513;
const TYPES: u16 = 514;

/// What the options records say. All counts are since the exporter's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// exportingProcessId: any number that tells this exporter's run from others on the host.
    pub process_id: u32,
    /// Flow records that were due and could not be sent.
    pub not_sent_flows: u64,
    /// Packets that only these records would have reported, both directions.
    pub not_sent_packets: u64,
    /// Octets of these packets.
    pub not_sent_octets: u64,
    /// Begin of the time in which these losses fell, milliseconds since 1970.
    pub losses_from_ms: u64,
    /// End of it.
    pub losses_to_ms: u64,
    /// Messages sent in this session.
    pub exported_messages: u64,
    /// Flow records sent in this session.
    pub exported_flow_records: u64,
    /// Octets sent in this session.
    pub exported_octets: u64,
}

/// The three options templates.
pub(crate) fn templates() -> [Template; 3] {
    let template = |id, scope_fields, fields: &[(u16, u16)]| Template {
        id,
        scope_fields,
        fields: fields
            .iter()
            .map(|&(number, length)| FieldSpecifier {
                element: ElementId::iana(number),
                length,
            })
            .collect(),
    };
    [
        // exportingProcessId | notSent{Flow,Packet,Octet}TotalCount, observationTimeMilliseconds twice
        template(
            RELIABILITY,
            1,
            &[(144, 4), (166, 8), (167, 8), (168, 8), (323, 8), (323, 8)],
        ),
        // observationDomainId | exported{Message,FlowRecord,Octet}TotalCount
        template(METERING, 1, &[(149, 4), (41, 8), (42, 8), (40, 8)]),
        // privateEnterpriseNumber, informationElementId | data type, semantics, units, range, name, description
        template(
            TYPES,
            2,
            &[
                (346, 4),
                (303, 2),
                (339, 1),
                (344, 1),
                (345, 2),
                (342, 8),
                (343, 8),
                (341, VARIABLE),
                (340, VARIABLE),
            ],
        ),
    ]
}

/// The records, each with the id of its template.
pub(crate) fn records(statistics: &Statistics, format: &Format, mut sink: impl FnMut(u16, &[u8])) {
    let mut record = Vec::with_capacity(128);
    record.extend_from_slice(&statistics.process_id.to_be_bytes());
    for value in [
        statistics.not_sent_flows,
        statistics.not_sent_packets,
        statistics.not_sent_octets,
        statistics.losses_from_ms,
        statistics.losses_to_ms,
    ] {
        record.extend_from_slice(&value.to_be_bytes());
    }
    sink(RELIABILITY, &record);

    record.clear();
    record.extend_from_slice(&format.domain.to_be_bytes());
    for value in [
        statistics.exported_messages,
        statistics.exported_flow_records,
        statistics.exported_octets,
    ] {
        record.extend_from_slice(&value.to_be_bytes());
    }
    sink(METERING, &record);

    for element in private_elements(format) {
        record.clear();
        type_record(element, &mut record);
        sink(TYPES, &record);
    }
}

/// The private elements of a format's templates, each once. Reverse elements need no type: RFC 5103 gives it.
fn private_elements(format: &Format) -> Vec<Element> {
    let mut elements: Vec<Element> = Vec::new();
    for field in format.templates().flat_map(|template| &template.fields) {
        let enterprise = field.element.enterprise;
        if enterprise == 0 || enterprise == crate::element::REVERSE {
            continue;
        }
        if elements.iter().all(|known| known.id != field.element) {
            elements.extend(registry::element(field.element));
        }
    }
    elements
}

fn type_record(element: Element, out: &mut Vec<u8>) {
    let (semantics, description) = describe(element);
    out.extend_from_slice(&element.id.enterprise.to_be_bytes());
    out.extend_from_slice(&element.id.number.to_be_bytes());
    out.push(element.data_type as u8);
    out.push(semantics);
    // Units 0: none. A range of zero to zero: all that the type can hold (RFC 5610, section 3.7).
    out.extend_from_slice(&0_u16.to_be_bytes());
    out.extend_from_slice(&0_u64.to_be_bytes());
    out.extend_from_slice(&range_end(element.data_type).to_be_bytes());
    string(element.name, out);
    string(description, out);
}

fn range_end(data_type: DataType) -> u64 {
    match data_type {
        DataType::Unsigned8 => u8::MAX.into(),
        DataType::Unsigned16 => u16::MAX.into(),
        DataType::Unsigned32 => u32::MAX.into(),
        DataType::Unsigned64 => u64::MAX,
        _ => 0,
    }
}

/// Semantics (RFC 5610, section 3.6: 0 default, 4 identifier, 5 flags) and a sentence.
fn describe(element: Element) -> (u8, &'static str) {
    const DEFAULT: u8 = 0;
    const IDENTIFIER: u8 = 4;
    const FLAGS: u8 = 5;
    match (element.name, element.data_type) {
        ("logPrefix", _) => (
            DEFAULT,
            "Prefix that the firewall rule gives its log entries",
        ),
        ("mark", _) => (
            FLAGS,
            "Mark of the connection in the kernel's connection tracking",
        ),
        ("conntrackId", _) => (
            IDENTIFIER,
            "Id of the connection in the kernel's connection tracking",
        ),
        (_, DataType::String) => (DEFAULT, ""),
        _ => (IDENTIFIER, ""),
    }
}
