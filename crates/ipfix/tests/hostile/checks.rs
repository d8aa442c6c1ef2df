//! What holds for any octets at all; the fuzz targets and the tests call the same.

use ipfix::{DecoderSession, JsonLines, Limits, Record, Sink};

/// Small enough that random input reaches every bound.
const LIMITS: Limits = Limits {
    templates: 8,
    fields_per_template: 32,
    fields: 64,
    domains: 3,
};

/// Octets of text that an octet of a message may become: its element's name and value. The longest name of a registry
/// has 44 characters and seven more in reverse; a value has at most 26 octets from one.
const TEXT_PER_OCTET: usize = 100;
/// The message's object and the scope's.
const TEXT_PER_RECORD: usize = 200;

/// Takes records as text and reads every field a second time.
struct Checked {
    lines: JsonLines,
    records: usize,
}

impl Sink for Checked {
    fn record(&mut self, record: &Record<'_>) {
        self.records += 1;
        assert_eq!(record.fields().count(), record.template.columns().len());
        self.lines.record(record);
    }
}

/// A stream reads the same whole and cut into pieces as long as its first octet says.
pub(crate) fn stream(data: &[u8]) {
    let Some((first, data)) = data.split_first() else {
        return;
    };
    let (whole, whole_result) = read(data.chunks(usize::MAX));
    let (cut, cut_result) = read(data.chunks(usize::from(*first) + 1));
    assert_eq!(whole_result, cut_result);
    assert!(whole == cut);
    check(&whole, data.len());
}

fn read<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, Result<(), ipfix::DecodeError>) {
    let mut session = DecoderSession::new(LIMITS);
    let mut sink = Checked {
        lines: JsonLines::new(true),
        records: 0,
    };
    for chunk in chunks {
        let result = session.stream(chunk, &mut sink);
        assert_eq!(result, session.stream(&[], &mut sink));
    }
    assert_eq!(session.stats().records as usize, sink.records);
    (sink.lines.take().0, session.end_of_stream())
}

/// Datagrams, each after two octets with its length: a bad one leaves the session able to go on.
pub(crate) fn datagram(mut data: &[u8]) {
    let mut session = DecoderSession::new(LIMITS);
    let mut sink = Checked {
        lines: JsonLines::new(true),
        records: 0,
    };
    while let [high, low, rest @ ..] = data {
        let (datagram, rest) =
            rest.split_at(rest.len().min(u16::from_be_bytes([*high, *low]).into()));
        let before = session.stats();
        let result = session.datagram(datagram, &mut sink);
        let after = session.stats();
        assert_eq!(after.messages - before.messages, u64::from(result.is_ok()));
        assert_eq!(
            after.bad_messages - before.bad_messages,
            u64::from(result.is_err())
        );
        check(&sink.lines.take().0, datagram.len());
        data = rest;
    }
}

/// The text is one JSON object a line, and no longer than what was sent can make it.
fn check(text: &[u8], sent: usize) {
    let text = std::str::from_utf8(text).expect("UTF-8");
    let lines: Vec<_> = text.lines().collect();
    assert!(
        text.len() <= sent * TEXT_PER_OCTET + lines.len() * TEXT_PER_RECORD,
        "{} of {sent}",
        text.len()
    );
    for line in lines {
        assert!(line.starts_with('{') && value(line) == Some(""), "{line}");
        assert!(!line.chars().any(char::is_control));
    }
}

/// What follows one JSON value (RFC 8259), without white space; `None` if there is none.
fn value(text: &str) -> Option<&str> {
    for word in ["null", "true", "false"] {
        if let Some(rest) = text.strip_prefix(word) {
            return Some(rest);
        }
    }
    match text.chars().next()? {
        '"' => string(text),
        '{' => {
            let mut rest = text.strip_prefix('{')?;
            if let Some(rest) = rest.strip_prefix('}') {
                return Some(rest);
            }
            loop {
                rest = value(string(rest)?.strip_prefix(':')?)?;
                match rest.strip_prefix(',') {
                    Some(next) => rest = next,
                    None => return rest.strip_prefix('}'),
                }
            }
        }
        _ => {
            let end = text
                .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e'))
                .unwrap_or(text.len());
            text[..end].parse::<f64>().ok().map(|_| &text[end..])
        }
    }
}

fn string(text: &str) -> Option<&str> {
    let mut characters = text.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => return Some(characters.as_str()),
            '\\' => match characters.next()? {
                '"' | '\\' | 'n' | 'r' | 't' => {}
                'u' => {
                    let digits = characters.as_str().get(..4)?;
                    u16::from_str_radix(digits, 16).ok()?;
                    characters = characters.as_str()[4..].chars();
                }
                _ => return None,
            },
            _ => {}
        }
    }
}
