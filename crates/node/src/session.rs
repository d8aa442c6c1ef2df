//! `NativeSession`: the sequence numbers and templates of one session to one collector.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::errors::Result;
use crate::exporter::NativeExporter;

/// What options records say. Counts are since the exporter's start, times milliseconds since 1970.
#[napi(object)]
pub struct NativeStatistics {
    /// Any number that tells this exporter's run from others on the host.
    pub process_id: u32,
    pub lost_records: f64,
    pub lost_packets: f64,
    pub lost_octets: f64,
    pub losses_from: f64,
    pub losses_to: f64,
    pub exported_messages: f64,
    pub exported_records: f64,
    pub exported_octets: f64,
}

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

    /// Whole messages with the options records; empty where the format has none.
    #[napi(catch_unwind)]
    pub fn options(&mut self, statistics: NativeStatistics, export_time: u32) -> Buffer {
        let statistics = ipfix::Statistics {
            process_id: statistics.process_id,
            not_sent_flows: whole(statistics.lost_records),
            not_sent_packets: whole(statistics.lost_packets),
            not_sent_octets: whole(statistics.lost_octets),
            losses_from_ms: whole(statistics.losses_from),
            losses_to_ms: whole(statistics.losses_to),
            exported_messages: whole(statistics.exported_messages),
            exported_flow_records: whole(statistics.exported_records),
            exported_octets: whole(statistics.exported_octets),
        };
        self.session.options(&statistics, export_time).into()
    }
}

/// A count of JavaScript: negative and NaN read as 0.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast saturates, which is what is wanted"
)]
fn whole(count: f64) -> u64 {
    count as u64
}
