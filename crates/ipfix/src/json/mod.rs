//! JSON text of records: one object a line, written without an object in between.
//!
//! Records enter through [`Sink`], text leaves by [`JsonLines::take`]. [`JsonObject`] writes what is no record in the same
//! words.

mod address;
mod object;
mod text;
mod time;

pub use object::JsonObject;

use crate::decode::record::Record;
use crate::decode::session::Sink;
use crate::decode::value::Value;
use crate::message::MessageHeader;

/// The greatest integer up to which a double tells every one from the next: 2^53 - 1 (RFC 7493, section 2.2).
const EXACT: u64 = (1 << 53) - 1;

/// How integers beyond ±(2^53 - 1) are written, which most JSON readers would round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LargeNumbers {
    /// As numbers, like all others.
    #[default]
    Numbers,
    /// As text, as RFC 7493 recommends, with all digits.
    Text,
}

/// Collects one JSON object a record, each followed by a line feed.
///
/// Elements go by registry name, unknown ones by `enterprise/number` with their octets in hexadecimal. Numbers are
/// numbers, addresses text, date-times ISO 8601 in UTC with milliseconds (those of microseconds and nanoseconds with all
/// their digits), octet arrays hexadecimal, a boolean that is neither 1 nor 2 and a float that JSON cannot say are null.
/// Ill-formed UTF-8 becomes U+FFFD. Structured data and padding are left out. An options record's scope is an object
/// under `scope`; the message is an object under `message`.
///
/// A field of a record takes at least one octet on the wire, so that the text is bounded by what was sent: for each
/// octet at most the field's name and six octets of text, and for each record the message's object.
#[derive(Debug)]
pub struct JsonLines {
    out: Vec<u8>,
    records: u64,
    /// Octets that the last text took: room for the next one at once.
    room: usize,
    options_records: bool,
    large_numbers: LargeNumbers,
    /// `,"peer":"…"`, or nothing.
    peer: Vec<u8>,
    /// `,"message":{…}}\n` of the message and template that wrote the last record.
    message: Vec<u8>,
    message_of: Option<(MessageHeader, u16)>,
}

impl JsonLines {
    /// An empty text. `options_records`: whether options records are written too.
    pub fn new(options_records: bool) -> Self {
        Self {
            out: Vec::new(),
            records: 0,
            room: 0,
            options_records,
            large_numbers: LargeNumbers::Numbers,
            peer: Vec::new(),
            message: Vec::new(),
            message_of: None,
        }
    }

    /// How integers are written that a double cannot tell from their neighbours. At first: as numbers.
    #[must_use]
    pub fn with_large_numbers(mut self, large_numbers: LargeNumbers) -> Self {
        self.large_numbers = large_numbers;
        self
    }

    /// Who sends the records, as it shall stand under `peer` in each `message`. At first there is no such member.
    #[must_use]
    pub fn with_peer(mut self, peer: &str) -> Self {
        self.peer.clear();
        self.peer.extend_from_slice(b",\"peer\":");
        text::write(peer.as_bytes(), &mut self.peer);
        self
    }

    /// The text since the last call, and the records in it.
    pub fn take(&mut self) -> (Vec<u8>, u64) {
        self.room = self.out.len();
        (
            std::mem::take(&mut self.out),
            std::mem::take(&mut self.records),
        )
    }

    /// The text so far.
    pub fn text(&self) -> &[u8] {
        &self.out
    }

    /// Empties the text and keeps its room.
    pub fn clear(&mut self) {
        self.out.clear();
        self.records = 0;
    }

    fn message(&mut self, record: &Record<'_>) {
        let of = (*record.header, record.template.template().id);
        if self.message_of != Some(of) {
            self.message_of = Some(of);
            let out = &mut self.message;
            out.clear();
            out.extend_from_slice(b",\"message\":{\"exportTime\":");
            time::milliseconds(u64::from(record.header.export_time) * 1000, out);
            out.extend_from_slice(b",\"observationDomainId\":");
            unsigned(record.header.domain.into(), out);
            out.extend_from_slice(b",\"sequenceNumber\":");
            unsigned(record.header.sequence.into(), out);
            out.extend_from_slice(b",\"templateId\":");
            unsigned(of.1.into(), out);
            out.extend_from_slice(&self.peer);
            out.extend_from_slice(b"}}\n");
        }
        self.out.extend_from_slice(&self.message);
    }
}

impl Sink for JsonLines {
    fn record(&mut self, record: &Record<'_>) {
        let template = record.template;
        if template.is_options() && !self.options_records {
            return;
        }
        if self.out.capacity() == 0 {
            self.out.reserve(self.room);
        }
        let start = self.out.len();
        let mut fields = record.fields();
        if template.is_options() {
            self.out.extend_from_slice(b",\"scope\":");
            let inner = self.out.len();
            for (column, value) in fields.by_ref().take(template.scope_columns) {
                member(
                    template.key(column),
                    value,
                    self.large_numbers,
                    &mut self.out,
                );
            }
            // Every member begins with a comma; the first one's becomes the brace.
            match self.out.get_mut(inner) {
                Some(comma) => *comma = b'{',
                None => self.out.push(b'{'),
            }
            self.out.push(b'}');
        }
        for (column, value) in fields {
            member(
                template.key(column),
                value,
                self.large_numbers,
                &mut self.out,
            );
        }
        self.message(record);
        if let Some(comma) = self.out.get_mut(start) {
            *comma = b'{';
        }
        self.records += 1;
    }
}

#[inline]
fn member(key: &[u8], value: Value<'_>, large_numbers: LargeNumbers, out: &mut Vec<u8>) {
    if value == Value::Skipped {
        return;
    }
    out.extend_from_slice(key);
    write_value(value, large_numbers, out);
}

#[inline]
fn write_value(value: Value<'_>, large_numbers: LargeNumbers, out: &mut Vec<u8>) {
    match value {
        Value::Unsigned(large) if large > EXACT && large_numbers == LargeNumbers::Text => {
            out.push(b'"');
            unsigned(large, out);
            out.push(b'"');
        }
        Value::Signed(large)
            if large.unsigned_abs() > EXACT && large_numbers == LargeNumbers::Text =>
        {
            out.push(b'"');
            out.extend_from_slice(itoa::Buffer::new().format(large).as_bytes());
            out.push(b'"');
        }
        Value::Unsigned(value) => unsigned(value, out),
        Value::Signed(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Value::Float32(value) if value.is_finite() => {
            out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
        }
        Value::Float64(value) if value.is_finite() => {
            out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
        }
        Value::Boolean(Some(true)) => out.extend_from_slice(b"true"),
        Value::Boolean(Some(false)) => out.extend_from_slice(b"false"),
        Value::Float32(_) | Value::Float64(_) | Value::Boolean(None) | Value::Skipped => {
            out.extend_from_slice(b"null");
        }
        Value::Mac(octets) => address::write_mac(octets, out),
        Value::Address(address) => address::write(address, out),
        Value::Milliseconds(value) => time::milliseconds(value, out),
        Value::Microseconds(value) => time::microseconds(value, out),
        Value::Nanoseconds(value) => time::nanoseconds(value, out),
        Value::Text(octets) => text::write(octets, out),
        Value::Octets(octets) => text::write_hex(octets, out),
    }
}

#[inline]
fn unsigned(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}
