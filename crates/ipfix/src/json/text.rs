//! Strings and octets as JSON text.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The two digits of an octet.
#[inline]
pub(super) fn hex(octet: u8) -> [u8; 2] {
    // Both indices are below 16.
    [octet >> 4, octet & 15].map(|digit| HEX.get(usize::from(digit)).copied().unwrap_or(b'?'))
}

/// A JSON string of hexadecimal digits.
pub(super) fn write_hex(octets: &[u8], out: &mut Vec<u8>) {
    out.reserve(octets.len() * 2 + 2);
    out.push(b'"');
    for octet in octets {
        out.extend_from_slice(&hex(*octet));
    }
    out.push(b'"');
}

/// A JSON string. Ill-formed UTF-8 becomes U+FFFD. What a terminal would obey instead of showing is escaped: control
/// characters, also those above ASCII, and the separators and marks that break or turn around a line.
pub(super) fn write(octets: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in octets.utf8_chunks() {
        write_valid(chunk.valid(), out);
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out.push(b'"');
}

fn write_valid(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.find(needs_escape) {
        let (plain, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.extend_from_slice(plain.as_bytes());
        let mut characters = from.chars();
        if let Some(character) = characters.next() {
            escape(character, out);
        }
        rest = characters.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
}

fn needs_escape(character: char) -> bool {
    matches!(
        character,
        '"' | '\\'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    ) || character.is_control()
}

fn escape(character: char, out: &mut Vec<u8>) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        // All of them are below U+10000.
        _ => {
            let [_, _, high, low] = u32::from(character).to_be_bytes();
            out.extend_from_slice(b"\\u");
            out.extend_from_slice(&hex(high));
            out.extend_from_slice(&hex(low));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(octets: &[u8]) -> String {
        let mut out = Vec::new();
        write(octets, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_json_or_a_terminal_would_take_amiss_is_escaped() {
        assert_eq!(
            written(b"IN=eth0 \"x\\y\"\n\t\x00\x1b\x7f"),
            r#""IN=eth0 \"x\\y\"\n\t\u0000\u001b\u007f""#
        );
        assert_eq!(
            written("größe \u{9b}31m \u{1f600}".as_bytes()),
            "\"größe \\u009b31m \u{1f600}\""
        );
        // Arabic letter mark, left-to-right mark, line separator, right-to-left override, isolates.
        assert_eq!(
            written("\u{61c}\u{200e}\u{2028}\u{202e}\u{2066}\u{2069}".as_bytes()),
            r#""\u061c\u200e\u2028\u202e\u2066\u2069""#
        );
        // What joins letters and emoji stays.
        assert_eq!(written("\u{200d}".as_bytes()), "\"\u{200d}\"");
        assert_eq!(written(b""), "\"\"");
    }

    #[test]
    fn ill_formed_utf_8_becomes_the_replacement_character() {
        assert_eq!(written(b"a\xffb\xe2\x82"), "\"a\u{fffd}b\u{fffd}\"");
    }

    #[test]
    fn octets_are_two_digits_each() {
        let mut out = Vec::new();
        write_hex(&[0, 0x0f, 0xa5, 0xff], &mut out);
        assert_eq!(out, b"\"000fa5ff\"");
    }
}
