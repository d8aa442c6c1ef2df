//! Addresses as JSON text. IPv6 as RFC 5952 wants it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text::hex;

/// Writes `"192.0.2.1"` or `"2001:db8::1"`.
pub(super) fn write(address: IpAddr, out: &mut Vec<u8>) {
    out.push(b'"');
    match address {
        IpAddr::V4(address) => v4(address, out),
        IpAddr::V6(address) => v6(address, out),
    }
    out.push(b'"');
}

/// Writes `"00:00:5e:00:53:01"`.
pub(super) fn write_mac(octets: [u8; 6], out: &mut Vec<u8>) {
    let mut separator = b'"';
    for octet in octets {
        let [high, low] = hex(octet);
        out.extend_from_slice(&[separator, high, low]);
        separator = b':';
    }
    out.push(b'"');
}

fn v4(address: Ipv4Addr, out: &mut Vec<u8>) {
    let [a, b, c, d] = address.octets();
    decimal(a, out);
    for octet in [b, c, d] {
        out.push(b'.');
        decimal(octet, out);
    }
}

fn decimal(octet: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
}

fn v6(address: Ipv6Addr, out: &mut Vec<u8>) {
    if let Some(mapped) = address.to_ipv4_mapped() {
        out.extend_from_slice(b"::ffff:");
        return v4(mapped, out);
    }
    let groups = address.segments();
    let (start, len) = longest_zeros(&groups);
    let (before, rest) = groups.split_at_checked(start).unwrap_or((&groups, &[]));
    join(before, out);
    if len > 0 {
        out.extend_from_slice(b"::");
        join(rest.get(len..).unwrap_or_default(), out);
    }
}

fn join(groups: &[u16], out: &mut Vec<u8>) {
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            out.push(b':');
        }
        let [high, low] = group.to_be_bytes();
        let [[h0, h1], [l0, l1]] = [hex(high), hex(low)];
        let digits = [h0, h1, l0, l1];
        let leading = usize::try_from(group.leading_zeros() / 4)
            .unwrap_or(0)
            .min(3);
        out.extend_from_slice(digits.get(leading..).unwrap_or_default());
    }
}

/// The first longest run of two or more zero groups: where it begins and its length; (8, 0) if there is none.
fn longest_zeros(groups: &[u16; 8]) -> (usize, usize) {
    let mut best = (8, 0);
    let mut run = 0;
    for (index, group) in groups.iter().enumerate() {
        run = if *group == 0 { run + 1 } else { 0 };
        if run >= 2 && run > best.1 {
            best = (index + 1 - run, run);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(address: IpAddr) -> String {
        let mut out = Vec::new();
        write(address, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ipv6_text_follows_rfc_5952() {
        // RFC 5952, sections 4.1, 4.2.1 to 4.2.3, 4.3 and 5.
        for text in [
            "2001:db8::1",
            "2001:db8:0:1:1:1:1:1",
            "2001:0:0:1::1",
            "2001:db8::1:0:0:1",
            "::",
            "::1",
            "1::",
        ] {
            assert_eq!(written(text.parse().unwrap()), format!("\"{text}\""));
        }
        assert_eq!(
            written("2001:DB8:0000::00aB".parse().unwrap()),
            "\"2001:db8::ab\""
        );
        assert_eq!(
            written("::ffff:192.0.2.1".parse().unwrap()),
            "\"::ffff:192.0.2.1\""
        );
    }

    #[test]
    fn mac_addresses_are_six_pairs_of_digits() {
        let mut out = Vec::new();
        write_mac([0, 0, 0x5e, 0, 0x53, 1], &mut out);
        assert_eq!(out, b"\"00:00:5e:00:53:01\"");
    }

    proptest! {
        #[test]
        fn addresses_are_what_the_standard_library_prints(
            groups in prop::array::uniform8(prop_oneof![Just(0_u16), any::<u16>()]),
            octets: [u8; 4],
        ) {
            let v6 = IpAddr::from(groups);
            let v4 = IpAddr::from(octets);
            prop_assert_eq!(written(v6), format!("\"{v6}\""));
            prop_assert_eq!(written(v4), format!("\"{v4}\""));
        }
    }
}
