//! What is an exporter's alone to one collector's connection: sequence numbers, and which templates it has been sent.

use std::sync::Arc;

use crate::encode::format::{Format, Rules};
use crate::encode::options::{self, Statistics};
use crate::message::{
    HEADER_LEN, MessageHeader, OPTIONS_TEMPLATE_SET, SET_HEADER_LEN, SetHeader, TEMPLATE_SET,
    length,
};
use crate::template::Template;

/// One transport session (RFC 7011, section 2): a TCP connection, a UDP source and destination, a file. A new
/// connection or a new file is a new session: its sequence numbers begin at zero.
#[derive(Debug)]
pub struct Session {
    format: Arc<Format>,
    /// Data records sent in the format's domain, modulo 2^32.
    flows: u32,
    /// Data records sent in domain 0, which describe the exporter; unused where the format's own domain is 0.
    options: u32,
    options_templates_sent: bool,
}

impl Session {
    /// A session in which nothing has been sent.
    pub fn new(format: Arc<Format>) -> Self {
        Self {
            format,
            flows: 0,
            options: 0,
            options_templates_sent: false,
        }
    }

    /// Messages with all templates, to be sent first, and again by the refresh rules of UDP. Each message states its
    /// length in octets 2 and 3 and none is longer than the format's maximum.
    ///
    /// The options templates are sent again with the next [`Session::options`]. At a session's start send that one's
    /// messages before these: libfixbuf applies type information only to templates that come after it.
    pub fn templates(&mut self, export_time_s: u32) -> Vec<u8> {
        self.options_templates_sent = false;
        let header = self.flow_header(export_time_s);
        let mut messages = Messages::new(header, &self.format);
        for template in self.format.templates() {
            messages.template(TEMPLATE_SET, template, self.format.rules == Rules::OneSet);
        }
        messages.finish().0
    }

    /// The 16 octets to send in front of a body's sets. `sets_len`: octets of the sets, header excluded; `records`: the
    /// data records in them, by which the sequence number of the next message is higher. Call it once for each message
    /// that is sent, in the order of sending.
    pub fn header(
        &mut self,
        sets_len: usize,
        records: u32,
        export_time_s: u32,
    ) -> [u8; HEADER_LEN] {
        let mut header = self.flow_header(export_time_s);
        header.length = length(HEADER_LEN.saturating_add(sets_len));
        self.flows = self.flows.wrapping_add(records);
        header.emit()
    }

    /// Messages with the options records (RFC 7011, section 4; RFC 5610), in observation domain 0, their templates
    /// first when they have not been sent since the last [`Session::templates`]. Empty for a profile without options.
    pub fn options(&mut self, statistics: &Statistics, export_time_s: u32) -> Vec<u8> {
        if !self.format.has_options() {
            return Vec::new();
        }
        let shared = self.format.domain == 0;
        let sequence = if shared { self.flows } else { self.options };
        let header = MessageHeader {
            length: 0,
            export_time: export_time_s,
            sequence,
            domain: 0,
        };
        let mut messages = Messages::new(header, &self.format);
        if !self.options_templates_sent {
            for template in options::templates() {
                messages.template(OPTIONS_TEMPLATE_SET, &template, false);
                // A set for each: pmacct's nfacctd calls a set of several options templates malformed.
                messages.close_set();
            }
        }
        options::records(statistics, &self.format, |template, record| {
            messages.record(template, record)
        });
        let (octets, sequence) = messages.finish();
        self.options_templates_sent = true;
        *(if shared {
            &mut self.flows
        } else {
            &mut self.options
        }) = sequence;
        octets
    }

    fn flow_header(&self, export_time: u32) -> MessageHeader {
        MessageHeader {
            length: 0,
            export_time,
            sequence: self.flows,
            domain: self.format.domain,
        }
    }
}

/// Builds whole messages out of records, as many in a message as fit.
struct Messages {
    out: Vec<u8>,
    /// The open message's header; its sequence counts on as messages are closed.
    header: MessageHeader,
    max: usize,
    /// Offset of the open message, if one is open, and the data records in it.
    open: Option<(usize, u32)>,
    set: Option<(usize, u16)>,
    scratch: Vec<u8>,
}

impl Messages {
    fn new(header: MessageHeader, format: &Format) -> Self {
        Self {
            out: Vec::new(),
            header,
            max: format.max_message_size,
            open: None,
            set: None,
            scratch: Vec::new(),
        }
    }

    fn template(&mut self, set: u16, template: &Template, alone: bool) {
        let mut record = std::mem::take(&mut self.scratch);
        record.clear();
        template.emit(&mut record);
        if alone {
            self.close();
        }
        self.append(set, &record, 0);
        self.scratch = record;
    }

    fn record(&mut self, template: u16, record: &[u8]) {
        self.append(template, record, 1);
    }

    fn append(&mut self, set: u16, record: &[u8], records: u32) {
        if HEADER_LEN + SET_HEADER_LEN + record.len() > self.max {
            // Flow templates always fit, by `Format::new`; of options records at most a description is that long.
            return;
        }
        let new_set = !matches!(self.set, Some((_, id)) if id == set);
        let more = record.len() + if new_set { SET_HEADER_LEN } else { 0 };
        if self
            .open
            .is_some_and(|(at, _)| self.out.len() - at + more > self.max)
        {
            self.close();
        }
        let (_, count) = self.open.get_or_insert_with(|| {
            self.out.extend_from_slice(&[0; HEADER_LEN]);
            (self.out.len() - HEADER_LEN, 0)
        });
        *count += records;
        if !matches!(self.set, Some((_, id)) if id == set) {
            self.close_set();
            self.set = Some((self.out.len(), set));
            self.out.extend_from_slice(&[0; SET_HEADER_LEN]);
        }
        self.out.extend_from_slice(record);
    }

    fn close_set(&mut self) {
        let Some((at, id)) = self.set.take() else {
            return;
        };
        let header = SetHeader {
            id,
            length: length(self.out.len() - at),
        };
        if let Some(place) = self.out.get_mut(at..at + SET_HEADER_LEN) {
            place.copy_from_slice(&header.emit());
        }
    }

    fn close(&mut self) {
        self.close_set();
        let Some((at, records)) = self.open.take() else {
            return;
        };
        self.header.length = length(self.out.len() - at);
        if let Some(place) = self.out.get_mut(at..at + HEADER_LEN) {
            place.copy_from_slice(&self.header.emit());
        }
        self.header.sequence = self.header.sequence.wrapping_add(records);
    }

    /// The messages and the sequence number of the next one.
    fn finish(mut self) -> (Vec<u8>, u32) {
        self.close();
        (self.out, self.header.sequence)
    }
}
