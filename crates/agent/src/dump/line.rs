//! A connection as one line of JSON, in the words of exported records.

use std::net::IpAddr;

use ipfix::{JsonObject, Value};
use netfilter::{Connection, Counters, Family, ProtocolState, Tuple};

use crate::kernel::observation::tuple;

/// Appends the line of `connection`. What the kernel did not say is left out.
pub(super) fn write_line(lines: &mut Vec<u8>, connection: &Connection<'_>) {
    let mut line = JsonObject::begin(lines);
    direction(&mut line, &connection.original);
    if tuple(&connection.reply) != tuple(&connection.original).inverse() {
        translation(&mut line, &connection.reply);
    }
    let counted = [
        (
            "octetTotalCount",
            "packetTotalCount",
            connection.original_counters,
        ),
        (
            "reverseOctetTotalCount",
            "reversePacketTotalCount",
            connection.reply_counters,
        ),
    ];
    for (octets_name, packets_name, counters) in counted {
        if let Some(Counters { packets, octets }) = counters {
            line.member(octets_name, Value::Unsigned(octets));
            line.member(packets_name, Value::Unsigned(packets));
        }
    }
    for (name, nanoseconds) in [
        ("flowStartMilliseconds", connection.start),
        ("flowEndMilliseconds", connection.stop),
    ] {
        let milliseconds = nanoseconds.map(|nanoseconds| nanoseconds / 1_000_000);
        line.member(
            name,
            milliseconds.map_or(Value::Skipped, Value::Milliseconds),
        );
    }
    line.member("ingressVRFID", number(connection.original_zone()));
    line.member("egressVRFID", number(connection.reply_zone()));
    line.member("mark", number(connection.mark));
    line.member("conntrackId", number(connection.id));
    line.texts("status", connection.status.names());
    let state = connection.protocol_state;
    let state_name = match state {
        ProtocolState::Tcp(_) => "tcpState",
        ProtocolState::Sctp(_) => "sctpState",
        ProtocolState::Dccp(_) | ProtocolState::None => "",
    };
    if let (false, Some(state)) = (state_name.is_empty(), state.name()) {
        line.member(state_name, Value::Text(state.as_bytes()));
    }
    line.member("timeout", connection.timeout.map_or(Value::Skipped, number));
    if let Some(labels) = connection.labels {
        line.member("labels", Value::Text(hex(labels).as_bytes()));
    }
    if let Some(helper) = connection.helper {
        line.member("helper", Value::Text(helper.as_bytes()));
    }
    if let Some(master) = connection.master() {
        line.object("master", |line| direction(line, &master));
    }
    line.end();
    lines.push(b'\n');
}

fn number(value: impl Into<u64>) -> Value<'static> {
    Value::Unsigned(value.into())
}

/// The names of both addresses, for a family.
fn addresses(line: &mut JsonObject<'_>, names: [[&str; 2]; 2], ends: [IpAddr; 2]) {
    let [v4, v6] = names;
    for ((v4, v6), end) in v4.iter().zip(v6).zip(ends) {
        let name = match end {
            IpAddr::V4(_) => v4,
            IpAddr::V6(_) => v6,
        };
        line.member(name, Value::Address(end));
    }
}

/// One direction, under the names of its address family and protocol.
fn direction(line: &mut JsonObject<'_>, tuple: &Tuple) {
    line.member("protocolIdentifier", number(tuple.protocol));
    let names = [
        ["sourceIPv4Address", "destinationIPv4Address"],
        ["sourceIPv6Address", "destinationIPv6Address"],
    ];
    addresses(line, names, [tuple.source, tuple.destination]);
    let (first, second) = match (tuple.is_icmp(), tuple.family()) {
        (true, Family::Ipv4) => ("icmpId", "icmpTypeCodeIPv4"),
        (true, Family::Ipv6) => ("icmpId", "icmpTypeCodeIPv6"),
        (false, _) => ("sourceTransportPort", "destinationTransportPort"),
    };
    line.member(first, number(tuple.source_port));
    line.member(second, number(tuple.destination_port));
}

/// Where the reply goes to and comes from: what source and destination were translated to. ICMP has no ports.
fn translation(line: &mut JsonObject<'_>, reply: &Tuple) {
    let names = [
        ["postNATSourceIPv4Address", "postNATDestinationIPv4Address"],
        ["postNATSourceIPv6Address", "postNATDestinationIPv6Address"],
    ];
    addresses(line, names, [reply.destination, reply.source]);
    if !reply.is_icmp() {
        line.member(
            "postNAPTSourceTransportPort",
            number(reply.destination_port),
        );
        line.member(
            "postNAPTDestinationTransportPort",
            number(reply.source_port),
        );
    }
}

/// 128 bits, the highest first. The kernel keeps them in longs of its own byte order.
fn hex(labels: [u8; 16]) -> String {
    let (low, high) = labels.split_at(8);
    let long = |octets: &[u8]| octets.try_into().map_or(0, u64::from_ne_bytes);
    format!("0x{:016x}{:016x}", long(high), long(low))
}
