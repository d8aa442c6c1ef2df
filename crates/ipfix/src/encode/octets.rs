//! Values as octets pushed onto a message: big-endian throughout (RFC 7011, section 6.1).

use std::net::{Ipv4Addr, Ipv6Addr};

pub(super) fn u16(value: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn u32(value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn u64(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn ipv4(address: Ipv4Addr, out: &mut Vec<u8>) {
    out.extend_from_slice(&address.octets());
}

pub(super) fn ipv6(address: Ipv6Addr, out: &mut Vec<u8>) {
    out.extend_from_slice(&address.octets());
}

/// A variable-length string (RFC 7011, section 7): one octet of length below 255, else 255 and two octets. Cut at a
/// character's edge beyond 65,535 octets: ill-formed UTF-8 is never sent (section 6.1.6).
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    let octets = cut(text, usize::from(u16::MAX)).as_bytes();
    match u8::try_from(octets.len()) {
        Ok(len) if len < 255 => out.push(len),
        _ => {
            out.push(255);
            u16(crate::message::length(octets.len()), out);
        }
    }
    out.extend_from_slice(octets);
}

/// Sixteen octets of variable length, or none.
pub(super) fn uuid(uuid: Option<[u8; 16]>, out: &mut Vec<u8>) {
    match uuid {
        Some(octets) => {
            out.push(16);
            out.extend_from_slice(&octets);
        }
        None => out.push(0),
    }
}

/// At most `max` octets of a text, without half a character at the end.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_texts_are_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abä", 3), "ab");
        assert_eq!(cut("ä", 1), "");
        let mut out = Vec::new();
        string(&"ä".repeat(32_768), &mut out);
        assert_eq!((out.len(), &out[..3]), (3 + 65_534, &[255, 0xff, 0xfe][..]));
        assert!(std::str::from_utf8(&out[3..]).is_ok());
    }
}
