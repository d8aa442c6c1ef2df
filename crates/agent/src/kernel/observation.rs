//! From the kernel's words to the flow table's.

use flow_table::{Counters, Observation, Tuple};
use netfilter::{Connection, ProtocolState};

/// What `connection` says, copied out of the receive buffer, with what is known of its last packet.
pub(crate) fn observation(connection: &Connection<'_>, last_packet_ns: Option<u64>) -> Observation {
    Observation {
        original: tuple(&connection.original),
        reply: tuple(&connection.reply),
        zone: connection.original_zone(),
        reply_zone: connection.reply_zone(),
        id: connection.id,
        start_ns: connection.start,
        stop_ns: connection.stop,
        last_packet_ns,
        // The kernel gives both directions or neither.
        counters: match (connection.original_counters, connection.reply_counters) {
            (Some(original), Some(reply)) => Some([counters(original), counters(reply)]),
            _ => None,
        },
        mark: connection.mark,
        status: connection.status.0,
        protocol_state: match connection.protocol_state {
            ProtocolState::Tcp(state) | ProtocolState::Sctp(state) | ProtocolState::Dccp(state) => {
                state
            }
            ProtocolState::None => 0,
        },
        timeout_s: connection.timeout,
        labels: connection.labels.unwrap_or_default(),
    }
}

pub(crate) fn tuple(tuple: &netfilter::Tuple) -> Tuple {
    Tuple {
        source: tuple.source,
        destination: tuple.destination,
        protocol: tuple.protocol,
        source_port: tuple.source_port,
        destination_port: tuple.destination_port,
    }
}

fn counters(counters: netfilter::Counters) -> Counters {
    Counters {
        packets: counters.packets,
        octets: counters.octets,
    }
}
