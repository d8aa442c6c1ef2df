//! `NativeDecoder`: the IPFIX messages of one transport session, as JSON text.

use ipfix::{DecoderSession, JsonLines, Limits};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::convert::count;
use crate::errors::Result;

/// How a decoder reads.
#[napi(object)]
pub struct NativeDecoderOptions {
    /// Whether options records are printed too.
    pub options_records: Option<bool>,
}

/// What one chunk brought.
#[napi(object)]
pub struct NativeDecoded {
    /// One JSON object a record, a line each.
    pub json: Buffer,
    pub records: f64,
    /// What was wrong with a message. Over a stream nothing after it can be read: close the session.
    pub error: Option<String>,
}

/// Decodes one transport session: its templates are its own (RFC 7011 section 8).
#[napi]
pub struct NativeDecoder {
    session: DecoderSession,
    lines: JsonLines,
    datagrams: bool,
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
        let options_records = options
            .and_then(|options| options.options_records)
            .unwrap_or(false);
        Ok(Self {
            session: DecoderSession::new(Limits::default()),
            lines: JsonLines::new(options_records),
            datagrams,
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

    fn decoded(&mut self, result: std::result::Result<(), ipfix::DecodeError>) -> NativeDecoded {
        let (json, records) = self.lines.take();
        NativeDecoded {
            json: json.into(),
            records: count(records),
            error: result.err().map(|error| error.to_string()),
        }
    }
}
