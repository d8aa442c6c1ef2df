//! Tuples as tests write them.

use std::net::SocketAddr;

use crate::tuple::Tuple;

/// An address and a port: `192.0.2.1:53`, `[2001:db8::1]:53`.
pub fn address(text: &str) -> SocketAddr {
    text.parse()
        .unwrap_or_else(|error| panic!("{text} is not an address with a port: {error}"))
}

/// The tuple between two of [`address`].
pub fn tuple(source: &str, destination: &str, protocol: u8) -> Tuple {
    let (source, destination) = (address(source), address(destination));
    Tuple::new(
        source.ip(),
        destination.ip(),
        protocol,
        source.port(),
        destination.port(),
    )
}

/// One of many UDP connections to the same server, each from an address of its own. Numbers below 2^24.
pub fn numbered(number: u32) -> Tuple {
    let [_, high, middle, low] = number.to_be_bytes();
    let source = [10, high, middle, low].into();
    Tuple::new(source, [198, 51, 100, 1].into(), 17, 1000, 53)
}
