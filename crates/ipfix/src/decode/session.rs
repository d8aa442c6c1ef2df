//! The decoder of one transport session: whole messages out of a stream's chunks, templates by domain, records.
//!
//! Octets enter by [`DecoderSession::stream`] (TCP, TLS, files) or [`DecoderSession::datagram`]; records leave through
//! the [`Sink`].

use std::collections::HashMap;

use ahash::RandomState;

use crate::decode::record::Record;
use crate::decode::sequence::SequenceCheck;
use crate::decode::template::{ReceivedTemplate, TemplateRecord, parse};
use crate::error::DecodeError;
use crate::message::{
    FIRST_TEMPLATE, HEADER_LEN, MessageHeader, OPTIONS_TEMPLATE_SET, SET_HEADER_LEN, SetHeader,
    TEMPLATE_SET,
};
use crate::template::Template;

/// Takes the data records of a session, in their order on the wire.
pub trait Sink {
    /// One data record; options records too ([`ReceivedTemplate::is_options`]).
    fn record(&mut self, record: &Record<'_>);
}

/// Bounds on what a session may make the decoder remember. A message is at most 65,535 octets by its own length field,
/// and no value is longer than its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Templates and options templates of all domains. Default 1,024.
    pub templates: usize,
    /// Fields of one template. Default 1,024.
    pub fields_per_template: usize,
    /// Fields of all templates together. Default 32,768.
    pub fields: usize,
    /// Observation domains. Default 1,024.
    pub domains: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            templates: 1024,
            fields_per_template: 1024,
            fields: 32_768,
            domains: 1024,
        }
    }
}

/// What a session has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeStats {
    /// Messages read to their end.
    pub messages: u64,
    /// Messages given up at a fault. A stream has one at most.
    pub bad_messages: u64,
    /// Data records handed out, options records included.
    pub records: u64,
    /// Data sets passed over because their template is not known.
    pub unknown_template_sets: u64,
    /// Sets passed over because their id (0, 1, 4 to 255) has no meaning yet.
    pub reserved_sets: u64,
    /// Templates that replaced a different one of the same id without a withdrawal.
    pub redefined_templates: u64,
    /// Times that a domain's sequence number jumped ahead.
    pub sequence_gaps: u64,
    /// Data records that these jumps stand for.
    pub missing_records: u64,
}

/// The decoder's side of one transport session.
#[derive(Debug)]
pub struct DecoderSession {
    limits: Limits,
    domains: HashMap<u32, Domain, RandomState>,
    templates: usize,
    fields: usize,
    stats: DecodeStats,
    /// The beginning of a message whose end has not come; never more than a message.
    pending: Vec<u8>,
    fault: Option<DecodeError>,
}

#[derive(Debug, Default)]
struct Domain {
    templates: HashMap<u16, ReceivedTemplate, RandomState>,
    sequence: SequenceCheck,
}

impl Default for DecoderSession {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl DecoderSession {
    /// A session that has seen nothing.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            domains: HashMap::default(),
            templates: 0,
            fields: 0,
            stats: DecodeStats::default(),
            pending: Vec::new(),
            fault: None,
        }
    }

    /// The next octets of a stream or file, cut anywhere. Records of messages that this chunk completes go to `out`.
    ///
    /// # Errors
    /// A bad message ends the session: records before the fault have been handed out, and every later call returns the
    /// same error.
    pub fn stream(&mut self, chunk: &[u8], out: &mut impl Sink) -> Result<(), DecodeError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.stream_messages(chunk, out).inspect_err(|fault| {
            self.stats.bad_messages += 1;
            self.pending = Vec::new();
            self.fault = Some(fault.clone());
        })
    }

    fn stream_messages(
        &mut self,
        mut chunk: &[u8],
        out: &mut impl Sink,
    ) -> Result<(), DecodeError> {
        if !self.pending.is_empty() {
            let mut pending = std::mem::take(&mut self.pending);
            chunk = fill(&mut pending, HEADER_LEN, chunk);
            if let Some(header) = header(&pending)? {
                chunk = fill(&mut pending, header.length.into(), chunk);
                if pending.len() < usize::from(header.length) {
                    self.pending = pending;
                    return Ok(());
                }
                self.message(
                    header,
                    pending.get(HEADER_LEN..).unwrap_or_default(),
                    false,
                    out,
                )?;
                pending.clear();
            }
            self.pending = pending;
        }
        while let Some(header) = header(chunk)? {
            let Some((message, rest)) = chunk.split_at_checked(header.length.into()) else {
                break;
            };
            self.message(
                header,
                message.get(HEADER_LEN..).unwrap_or_default(),
                false,
                out,
            )?;
            chunk = rest;
        }
        self.pending.extend_from_slice(chunk);
        Ok(())
    }

    /// The stream or file has ended.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] when it ended inside a message; the fault that ended the session before.
    pub fn end_of_stream(&mut self) -> Result<(), DecodeError> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None if self.pending.is_empty() => Ok(()),
            None => Err(DecodeError::Truncated {
                octets: self.pending.len(),
            }),
        }
    }

    /// One datagram, which is one message. Template withdrawals are ignored (RFC 7011, section 8.4).
    ///
    /// # Errors
    /// What is wrong with this datagram; records before the fault have been handed out. The session goes on.
    pub fn datagram(&mut self, datagram: &[u8], out: &mut impl Sink) -> Result<(), DecodeError> {
        self.datagram_message(datagram, out)
            .inspect_err(|_| self.stats.bad_messages += 1)
    }

    fn datagram_message(
        &mut self,
        datagram: &[u8],
        out: &mut impl Sink,
    ) -> Result<(), DecodeError> {
        let header = header(datagram)?.ok_or(DecodeError::Truncated {
            octets: datagram.len(),
        })?;
        if usize::from(header.length) != datagram.len() {
            return Err(DecodeError::DatagramLength {
                octets: datagram.len(),
                length: header.length,
            });
        }
        self.message(
            header,
            datagram.get(HEADER_LEN..).unwrap_or_default(),
            true,
            out,
        )
    }

    /// What the session has seen so far.
    pub fn stats(&self) -> DecodeStats {
        let mut stats = self.stats;
        for domain in self.domains.values() {
            stats.sequence_gaps += domain.sequence.gaps;
            stats.missing_records += domain.sequence.missing_records;
        }
        stats
    }

    /// The sequence check of one observation domain, if a message of it came.
    pub fn sequence(&self, domain: u32) -> Option<SequenceCheck> {
        self.domains.get(&domain).map(|domain| domain.sequence)
    }

    fn message(
        &mut self,
        header: MessageHeader,
        sets: &[u8],
        datagram: bool,
        out: &mut impl Sink,
    ) -> Result<(), DecodeError> {
        // All sets are measured before any is read, so that a message cut or garbled as a whole yields nothing.
        let mut rest = sets;
        while let Some((_, _, after)) = split_set(rest)? {
            rest = after;
        }
        if !self.domains.contains_key(&header.domain) && self.domains.len() >= self.limits.domains {
            return Err(DecodeError::Limit {
                what: "observation domains",
                limit: self.limits.domains,
            });
        }
        let mut records = Some(0_u32);
        let mut rest = sets;
        while let Some((set, body, after)) = split_set(rest)? {
            rest = after;
            match set.id {
                TEMPLATE_SET | OPTIONS_TEMPLATE_SET => {
                    self.template_set(
                        header.domain,
                        body,
                        set.id == OPTIONS_TEMPLATE_SET,
                        datagram,
                    )?;
                }
                FIRST_TEMPLATE.. => {
                    let read = self.data_set(&header, set.id, body, out)?;
                    records = records
                        .zip(read)
                        .map(|(before, more)| before.wrapping_add(more));
                }
                _ => self.stats.reserved_sets += 1,
            }
        }
        self.domains
            .entry(header.domain)
            .or_default()
            .sequence
            .message(header.sequence, records);
        self.stats.messages += 1;
        Ok(())
    }

    /// The records in a data set; `None` when its template is unknown.
    fn data_set(
        &mut self,
        header: &MessageHeader,
        id: u16,
        body: &[u8],
        out: &mut impl Sink,
    ) -> Result<Option<u32>, DecodeError> {
        let Some(template) = self
            .domains
            .get(&header.domain)
            .and_then(|domain| domain.templates.get(&id))
        else {
            self.stats.unknown_template_sets += 1;
            return Ok(None);
        };
        let mut records = 0_u32;
        let mut rest = body;
        // What is shorter than any record is padding.
        while rest.len() >= template.least_len {
            let Some((octets, after)) = template.split_record(rest) else {
                return Err(DecodeError::RecordLength { template: id });
            };
            out.record(&Record {
                header,
                template,
                octets,
            });
            self.stats.records += 1;
            records += 1;
            rest = after;
        }
        Ok(Some(records))
    }

    fn template_set(
        &mut self,
        domain: u32,
        body: &[u8],
        options: bool,
        datagram: bool,
    ) -> Result<(), DecodeError> {
        let mut rest = body;
        while let Some((record, after)) = parse(rest, options, self.limits.fields_per_template)? {
            rest = after;
            match record {
                TemplateRecord::Template(template) => self.define(domain, template)?,
                TemplateRecord::Withdrawal(_) if datagram => {}
                TemplateRecord::Withdrawal(id) => self.withdraw(domain, id, options),
            }
        }
        Ok(())
    }

    fn define(&mut self, domain: u32, template: Template) -> Result<(), DecodeError> {
        let known = self
            .domains
            .get(&domain)
            .and_then(|domain| domain.templates.get(&template.id));
        let (replaced, replaced_fields) = match known {
            // Sent again: nothing new (RFC 7011, section 8).
            Some(known) if known.template == template => return Ok(()),
            Some(known) => (1, known.columns.len()),
            None => (0, 0),
        };
        let templates = self.templates + 1 - replaced;
        let fields = self.fields + template.fields.len() - replaced_fields;
        if templates > self.limits.templates {
            return Err(DecodeError::Limit {
                what: "templates",
                limit: self.limits.templates,
            });
        }
        if fields > self.limits.fields {
            return Err(DecodeError::Limit {
                what: "template fields",
                limit: self.limits.fields,
            });
        }
        let id = template.id;
        let received = ReceivedTemplate::new(template)?;
        self.domains
            .entry(domain)
            .or_default()
            .templates
            .insert(id, received);
        self.templates = templates;
        self.fields = fields;
        if replaced > 0 {
            self.stats.redefined_templates += 1;
        }
        Ok(())
    }

    /// Forgets one template, or all of the kind when the id is that kind's set id. One that is not known is no fault.
    fn withdraw(&mut self, domain: u32, id: u16, options: bool) {
        let Some(domain) = self.domains.get_mut(&domain) else {
            return;
        };
        domain.templates.retain(|known, template| {
            let keep = *known != id && !(id < FIRST_TEMPLATE && template.is_options() == options);
            if !keep {
                self.templates = self.templates.saturating_sub(1);
                self.fields = self.fields.saturating_sub(template.columns.len());
            }
            keep
        });
    }
}

/// Moves octets from a chunk until `pending` has `len`, or the chunk is used up; what is left of the chunk.
fn fill<'a>(pending: &mut Vec<u8>, len: usize, chunk: &'a [u8]) -> &'a [u8] {
    let missing = len.saturating_sub(pending.len()).min(chunk.len());
    let (taken, rest) = chunk.split_at_checked(missing).unwrap_or((chunk, &[]));
    pending.extend_from_slice(taken);
    rest
}

/// The header at the front, once all of it is there.
fn header(octets: &[u8]) -> Result<Option<MessageHeader>, DecodeError> {
    let Some(octets) = octets.first_chunk() else {
        return Ok(None);
    };
    let header = MessageHeader::parse(octets).map_err(|found| DecodeError::Version { found })?;
    if usize::from(header.length) < HEADER_LEN {
        return Err(DecodeError::MessageLength {
            length: header.length,
        });
    }
    Ok(Some(header))
}

type Split<'a> = (SetHeader, &'a [u8], &'a [u8]);

/// The set at the front: its header, its body, and what follows; `None` at the message's end.
fn split_set(octets: &[u8]) -> Result<Option<Split<'_>>, DecodeError> {
    if octets.is_empty() {
        return Ok(None);
    }
    let Some((head, _)) = octets.split_first_chunk::<SET_HEADER_LEN>() else {
        return Err(DecodeError::TrailingOctets {
            octets: octets.len(),
        });
    };
    let set = SetHeader::parse(*head);
    let wrong = || DecodeError::SetLength {
        id: set.id,
        length: set.length,
        left: octets.len(),
    };
    let (whole, rest) = octets
        .split_at_checked(set.length.into())
        .ok_or_else(wrong)?;
    let body = whole.get(SET_HEADER_LEN..).ok_or_else(wrong)?;
    Ok(Some((set, body, rest)))
}
