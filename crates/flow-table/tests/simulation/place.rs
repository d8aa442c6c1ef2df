//! Where connections are: a place is a tuple in its zones, and the kernel holds at most one entry there at a time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use flow_table::Tuple;

/// Number of a place. Each sixth is like the first: UDP, TCP, UDP over IPv6, the first one's tuple in zone 1, the second
/// one's with zone 1 on the original side, UDP with zone 1 on the reply side.
pub type Place = usize;

pub fn is_tcp(place: Place) -> bool {
    matches!(place % 6, 1 | 4)
}

/// Zones of the original and the reply direction.
pub fn zones_of(place: Place) -> (u16, u16) {
    match place % 6 {
        3 => (1, 1),
        4 => (1, 0),
        5 => (0, 1),
        _ => (0, 0),
    }
}

/// What a dump that is filtered by a zone shows: for zone 0 what has no zone on either side, else what has it on one.
pub fn in_zone(place: Place, zone: u16) -> bool {
    let (original, reply) = zones_of(place);
    match zone {
        0 => original == 0 && reply == 0,
        _ => original == zone || reply == zone,
    }
}

pub fn tuple_of(place: Place) -> Tuple {
    let (source, destination) = match place % 6 {
        2 => (
            IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
            IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
        ),
        _ => (
            IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        ),
    };
    Tuple {
        source,
        destination,
        protocol: if is_tcp(place) { 6 } else { 17 },
        // Places 0 and 3, 1 and 4 are one tuple in two zones.
        source_port: 100 + (place / 6 * 6 + place % 3) as u16,
        destination_port: 53,
    }
}

/// Some are translated, and labelled.
pub fn reply_of(place: Place) -> Tuple {
    let mut reply = tuple_of(place).inverse();
    if place % 6 >= 4 {
        reply.destination_port += 1_000;
    }
    reply
}

pub fn labels_of(place: Place) -> [u8; 16] {
    [if place % 6 >= 4 { place as u8 } else { 0 }; 16]
}
