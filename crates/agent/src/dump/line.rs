//! A connection as one line of JSON.

use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use netfilter::{Connection, Family, ProtocolState, Tuple};
use serde::{Serialize, Serializer};

use crate::Error;

/// Appends the line of `connection`.
pub(super) fn write_line(lines: &mut Vec<u8>, connection: &Connection<'_>) -> Result<(), Error> {
    serde_json::to_writer(&mut *lines, &Line::new(connection)).map_err(|error| Error::System {
        operation: "write a connection as JSON",
        source: error.into(),
    })?;
    lines.push(b'\n');
    Ok(())
}

/// A connection as one JSON object. What the kernel did not say is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(flatten)]
    original: Direction,
    #[serde(flatten)]
    nat: Option<Nat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    octet_total_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_total_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverse_octet_total_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverse_packet_total_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_start_milliseconds: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_end_milliseconds: Option<String>,
    #[serde(rename = "ingressVRFID")]
    zone: u16,
    #[serde(rename = "egressVRFID")]
    reply_zone: u16,
    mark: u32,
    conntrack_id: u32,
    status: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sctp_state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    helper: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    master: Option<Direction>,
}

/// One direction, under the names of its address family and protocol.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Direction {
    protocol_identifier: u8,
    #[serde(flatten)]
    addresses: Pair<IpAddr>,
    #[serde(flatten)]
    selector: Pair<u16>,
}

/// Where the reply comes from and goes to, when that is not the inverse of the original direction.
#[derive(Serialize)]
struct Nat {
    #[serde(flatten)]
    addresses: Pair<IpAddr>,
    /// None for ICMP.
    #[serde(flatten)]
    ports: Option<Pair<u16>>,
}

/// Two members of an object, by name.
struct Pair<T>([(&'static str, T); 2]);

impl<T: Serialize> Serialize for Pair<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(members) = self;
        serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
    }
}

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

impl Direction {
    fn new(tuple: &Tuple) -> Self {
        let (source, destination) = match tuple.family() {
            Family::Ipv4 => ("sourceIPv4Address", "destinationIPv4Address"),
            Family::Ipv6 => ("sourceIPv6Address", "destinationIPv6Address"),
        };
        let (first, second) = match tuple.protocol {
            ICMP | ICMPV6 => match tuple.family() {
                Family::Ipv4 => ("icmpId", "icmpTypeCodeIPv4"),
                Family::Ipv6 => ("icmpId", "icmpTypeCodeIPv6"),
            },
            _ => ("sourceTransportPort", "destinationTransportPort"),
        };
        Self {
            protocol_identifier: tuple.protocol,
            addresses: Pair([(source, tuple.source), (destination, tuple.destination)]),
            selector: Pair([(first, tuple.source_port), (second, tuple.destination_port)]),
        }
    }
}

impl Nat {
    fn new(original: &Tuple, reply: &Tuple) -> Option<Self> {
        let icmp = matches!(original.protocol, ICMP | ICMPV6);
        let ports_swapped = original.source_port == reply.destination_port
            && original.destination_port == reply.source_port;
        // The two directions of an echo share its id; their types differ by nature.
        let same_ids = original.source_port == reply.source_port;
        let inverse = original.source == reply.destination
            && original.destination == reply.source
            && if icmp { same_ids } else { ports_swapped };
        if inverse {
            return None;
        }
        let (source, destination) = match original.family() {
            Family::Ipv4 => ("postNATSourceIPv4Address", "postNATDestinationIPv4Address"),
            Family::Ipv6 => ("postNATSourceIPv6Address", "postNATDestinationIPv6Address"),
        };
        let ports = Pair([
            ("postNAPTSourceTransportPort", reply.destination_port),
            ("postNAPTDestinationTransportPort", reply.source_port),
        ]);
        Some(Self {
            addresses: Pair([(source, reply.destination), (destination, reply.source)]),
            ports: (!icmp).then_some(ports),
        })
    }
}

impl<'a> Line<'a> {
    fn new(connection: &Connection<'a>) -> Self {
        let original = connection.original_counters;
        let reply = connection.reply_counters;
        Self {
            original: Direction::new(&connection.original),
            nat: Nat::new(&connection.original, &connection.reply),
            octet_total_count: original.map(|counters| counters.octets),
            packet_total_count: original.map(|counters| counters.packets),
            reverse_octet_total_count: reply.map(|counters| counters.octets),
            reverse_packet_total_count: reply.map(|counters| counters.packets),
            flow_start_milliseconds: connection.start.map(date_time),
            flow_end_milliseconds: connection.stop.map(date_time),
            zone: connection.original_zone(),
            reply_zone: connection.reply_zone(),
            mark: connection.mark,
            conntrack_id: connection.id,
            status: connection.status.names().collect(),
            tcp_state: match connection.protocol_state {
                state @ ProtocolState::Tcp(_) => state.name(),
                _ => None,
            },
            sctp_state: match connection.protocol_state {
                state @ ProtocolState::Sctp(_) => state.name(),
                _ => None,
            },
            timeout: connection.timeout,
            labels: connection.labels.map(hex),
            helper: connection.helper,
            master: connection.master().map(|tuple| Direction::new(&tuple)),
        }
    }
}

/// 128 bits, the highest first. The kernel keeps them in longs of its own byte order.
fn hex(labels: [u8; 16]) -> String {
    let (low, high) = labels.split_at(8);
    let long = |octets: &[u8]| octets.try_into().map_or(0, u64::from_ne_bytes);
    format!("0x{:016x}{:016x}", long(high), long(low))
}

/// ISO 8601 in UTC with milliseconds, from ns since 1970.
fn date_time(nanoseconds: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    humantime::format_rfc3339_millis(time).to_string()
}
