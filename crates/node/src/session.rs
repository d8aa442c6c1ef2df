//! `NativeSession`: the sequence numbers and templates of one session to one collector.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::errors::Result;
use crate::exporter::NativeExporter;

/// The IPFIX side of one transport session. A new connection needs a new one: sequence numbers start at 0
/// and templates are sent again (RFC 7011 section 8.1).
#[napi]
pub struct NativeSession {
    session: ipfix::Session,
}

#[napi]
impl NativeSession {
    #[napi(constructor, catch_unwind)]
    pub fn new(exporter: &NativeExporter, format: u32) -> Result<Self> {
        Ok(Self {
            session: ipfix::Session::new(exporter.format(format)?),
        })
    }

    /// Whole messages with every template, to be sent before any data and again as the transport asks.
    #[napi(catch_unwind)]
    pub fn templates(&mut self, export_time: u32) -> Buffer {
        self.session.templates(export_time).into()
    }

    /// The header of a message whose body is sent right after it. Counts its records into the sequence.
    #[napi(catch_unwind)]
    pub fn header(&mut self, body_length: u32, records: u32, export_time: u32) -> Buffer {
        let body_length = usize::try_from(body_length).unwrap_or(usize::MAX);
        self.session
            .header(body_length, records, export_time)
            .to_vec()
            .into()
    }
}
