//! Octets written by hand: hexadecimal digits, spaces and line ends free, `#` begins a remark. And the flows that
//! several golden messages are about.

#![allow(dead_code, reason = "each test file uses its part")]

use std::net::IpAddr;

use ipfix::{Body, Counters, Flow};

/// The octets of a text of hexadecimal digits.
pub(crate) fn octets(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap().chars())
        .filter(|c| !c.is_whitespace())
        .collect();
    assert!(digits.len().is_multiple_of(2), "odd number of digits");
    digits
        .chunks(2)
        .map(|pair| {
            u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("hexadecimal digits")
        })
        .collect()
}

/// The whole message of a body, by RFC 7011, section 3.1: version 10, length, export time and sequence number of zero, domain.
pub(crate) fn whole(body: &Body, domain: u32) -> Vec<u8> {
    let length = u16::try_from(16 + body.sets.len()).unwrap();
    let mut message = vec![0, 10];
    message.extend(length.to_be_bytes());
    message.extend([0; 8]);
    message.extend(domain.to_be_bytes());
    message.extend(&body.sets);
    message
}

/// Compares octets and shows where they part.
pub(crate) fn assert_octets(got: &[u8], expected: &[u8]) {
    let same = got
        .iter()
        .zip(expected)
        .take_while(|(got, expected)| got == expected)
        .count();
    let show = |octets: &[u8]| {
        octets[same..]
            .iter()
            .take(16)
            .map(|o| format!("{o:02x} "))
            .collect::<String>()
    };
    assert!(
        got == expected,
        "{} octets, expected {}; from offset {same}: {}, expected {}",
        got.len(),
        expected.len(),
        show(got),
        show(expected)
    );
}

/// 192.0.2.1:40000 > 198.51.100.2:443, TCP, from 2026-01-02T03:04:05.678Z to 03:04:09.001Z, not translated.
/// In hexadecimal the times are 0x19b7ca98f2e and 0x19b7ca99c29 ms, 0x695735a5 and 0x695735a9 s.
pub(crate) fn tcp4() -> Flow<'static> {
    Flow {
        source: ip("192.0.2.1"),
        destination: ip("198.51.100.2"),
        source_port: 40000,
        destination_port: 443,
        protocol: 6,
        translated: false,
        reply_source: ip("198.51.100.2"),
        reply_destination: ip("192.0.2.1"),
        reply_source_port: 443,
        reply_destination_port: 40000,
        start_ns: 1_767_323_045_678_999_999,
        end_ns: 1_767_323_049_001_000_000,
        reason: 3,
        totals: [
            Counters {
                packets: 10,
                octets: 1500,
            },
            Counters {
                packets: 8,
                octets: 0x1_0000_0001,
            },
        ],
        deltas: [
            Counters {
                packets: 3,
                octets: 300,
            },
            Counters {
                packets: 2,
                octets: 513,
            },
        ],
        zone: 7,
        reply_zone: 0,
        mark: 0xdead_beef,
        id: 0x0102_0304,
        tcp_state: 7,
        names: None,
        service: false,
        node: "",
        cluster: "",
        denied: None,
    }
}

/// 2001:db8::1 > 2001:db8::2 with the rest as [`tcp4`].
pub(crate) fn tcp6() -> Flow<'static> {
    Flow {
        source: ip("2001:db8::1"),
        destination: ip("2001:db8::2"),
        reply_source: ip("2001:db8::2"),
        reply_destination: ip("2001:db8::1"),
        ..tcp4()
    }
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}
