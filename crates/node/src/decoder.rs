//! `NativeDecoder`: the IPFIX messages of one transport session, as JSON text.

use ipfix::{DecodeStats, DecoderSession, JsonLines, LargeNumbers, Limits};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::convert::count;
use crate::errors::Result;

/// How a decoder reads.
#[napi(object)]
pub struct NativeDecoderOptions {
    /// Whether options records are printed too.
    pub options_records: Option<bool>,
    /// Who sends: `peer` of each record's `message`. Without it there is none.
    pub peer: Option<String>,
    /// Whether integers beyond ±(2^53 - 1) are texts.
    pub large_numbers_as_text: Option<bool>,
}

/// What one chunk brought.
#[napi(object)]
pub struct NativeDecoded {
    /// One JSON object a record, a line each.
    pub json: Buffer,
    pub records: f64,
    /// What was wrong with a message. Over a stream nothing after it can be read: close the session.
    pub error: Option<String>,
    /// Whole messages in the chunk.
    pub messages: f64,
    /// Whether one of `counters()` has moved.
    pub counted: bool,
    /// Octets of memory that the session's templates take now.
    pub template_bytes: f64,
}

/// What a decoder has had to complain about since it was made.
#[napi(object)]
pub struct NativeDecoderCounters {
    /// Messages given up at a fault.
    pub bad_messages: f64,
    /// Sets passed over because their template is not known.
    pub unknown_template_sets: f64,
    /// Times that a sequence number jumped ahead, and the records that these jumps stand for.
    pub sequence_gaps: f64,
    pub missing_records: f64,
}

/// Decodes one transport session: its templates are its own (RFC 7011 section 8).
#[napi]
pub struct NativeDecoder {
    session: DecoderSession,
    lines: JsonLines,
    datagrams: bool,
    told: DecodeStats,
}

#[napi]
impl NativeDecoder {
    #[napi(constructor, catch_unwind)]
    pub fn new(
        #[napi(ts_arg_type = "'stream' | 'datagram'")] transport: String,
        options: Option<NativeDecoderOptions>,
    ) -> Result<Self> {
        let datagrams = match transport.as_str() {
            "stream" => false,
            "datagram" => true,
            other => {
                return Err(crate::convert::invalid(
                    "transport",
                    other,
                    "stream or datagram",
                ));
            }
        };
        let options = options.unwrap_or(NativeDecoderOptions {
            options_records: None,
            peer: None,
            large_numbers_as_text: None,
        });
        let mut lines = JsonLines::new(options.options_records.unwrap_or(false));
        if options.large_numbers_as_text.unwrap_or(false) {
            lines = lines.with_large_numbers(LargeNumbers::Text);
        }
        if let Some(peer) = options.peer {
            lines = lines.with_peer(&peer);
        }
        Ok(Self {
            session: DecoderSession::new(Limits::default()),
            lines,
            datagrams,
            told: DecodeStats::default(),
        })
    }

    /// Reads a chunk: any part of a stream, or one whole datagram.
    #[napi(catch_unwind)]
    pub fn feed(&mut self, chunk: Buffer) -> NativeDecoded {
        let result = if self.datagrams {
            self.session.datagram(&chunk, &mut self.lines)
        } else {
            self.session.stream(&chunk, &mut self.lines)
        };
        self.decoded(result)
    }

    /// The stream has ended: an error when it did so within a message.
    #[napi(catch_unwind)]
    pub fn end(&mut self) -> NativeDecoded {
        let result = if self.datagrams {
            Ok(())
        } else {
            self.session.end_of_stream()
        };
        self.decoded(result)
    }

    /// Forgets all templates, so that they take no memory; data that follows them is passed over and counted.
    #[napi(catch_unwind)]
    pub fn forget_templates(&mut self) {
        self.session.forget_templates();
    }

    /// The session has ended: frees what it took at once, where the garbage collector would let it lie.
    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        self.session = DecoderSession::default();
        self.lines = JsonLines::new(false);
    }

    #[napi(catch_unwind)]
    pub fn counters(&self) -> NativeDecoderCounters {
        let stats = self.session.stats();
        NativeDecoderCounters {
            bad_messages: count(stats.bad_messages),
            unknown_template_sets: count(stats.unknown_template_sets),
            sequence_gaps: count(stats.sequence_gaps),
            missing_records: count(stats.missing_records),
        }
    }

    fn decoded(&mut self, result: std::result::Result<(), ipfix::DecodeError>) -> NativeDecoded {
        let (json, records) = self.lines.take();
        let before = std::mem::replace(&mut self.told, self.session.stats());
        let complaints = |stats: DecodeStats| {
            [
                stats.bad_messages,
                stats.unknown_template_sets,
                stats.sequence_gaps,
            ]
        };
        NativeDecoded {
            json: json.into(),
            records: count(records),
            error: result.err().map(|error| error.to_string()),
            messages: count(self.told.messages - before.messages),
            counted: complaints(self.told) != complaints(before),
            template_bytes: self.session.template_octets() as f64,
        }
    }
}
