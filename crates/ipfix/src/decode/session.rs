//! The decoder of one transport session: whole messages out of a stream's chunks, templates by domain, records.
//!
//! Octets enter by [`DecoderSession::stream`] (TCP, TLS, files) or [`DecoderSession::datagram`]; records leave through
//! the [`Sink`].

use std::collections::HashMap;

use ahash::RandomState;

use crate::decode::domain::{Domain, Held};
use crate::decode::framing::{fill, header, split_set};
use crate::decode::limits::{DecodeStats, Limits};
use crate::decode::record::Record;
use crate::decode::sequence::SequenceCheck;
use crate::decode::template::{ReceivedTemplate, TemplateRecord, parse};
use crate::error::DecodeError;
use crate::message::{
    FIRST_TEMPLATE, HEADER_LEN, MessageHeader, OPTIONS_TEMPLATE_SET, TEMPLATE_SET,
};
use crate::template::Template;

/// Takes the data records of a session, in their order on the wire.
pub trait Sink {
    /// One data record; options records too ([`ReceivedTemplate::is_options`]).
    fn record(&mut self, record: &Record<'_>);
}

/// The decoder's side of one transport session.
#[derive(Debug)]
pub struct DecoderSession {
    limits: Limits,
    domains: HashMap<u32, Domain, RandomState>,
    held: Held,
    stats: DecodeStats,
    /// The beginning of a message whose end has not come; never more than a message.
    pending: Vec<u8>,
    fault: Option<DecodeError>,
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
            held: Held::default(),
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
        self.stats
    }

    /// Octets of memory that domains and templates take.
    pub fn template_octets(&self) -> usize {
        self.held.octets + self.domains.len() * Domain::OCTETS
    }

    /// Forgets all templates and domains, as a session does that has seen none yet: data that follows an old template is
    /// passed over and counted until the template comes again, and the next message of a domain begins its sequence.
    pub fn forget_templates(&mut self) {
        self.domains = HashMap::default();
        self.held = Held::default();
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
        let missing = self
            .domains
            .entry(header.domain)
            .or_default()
            .sequence
            .message(header.sequence, records);
        self.stats.sequence_gaps += u64::from(missing > 0);
        self.stats.missing_records += u64::from(missing);
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
            .and_then(|domain| domain.template(id))
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
            .and_then(|domain| domain.template(template.id));
        let (replaced, replaced_fields) = match known {
            // Sent again: nothing new (RFC 7011, section 8).
            Some(known) if known.template == template => return Ok(()),
            Some(known) => (1, known.template.fields.len()),
            None => (0, 0),
        };
        if self.held.templates + 1 - replaced > self.limits.templates {
            return Err(DecodeError::Limit {
                what: "templates",
                limit: self.limits.templates,
            });
        }
        if self.held.fields + template.fields.len() - replaced_fields > self.limits.fields {
            return Err(DecodeError::Limit {
                what: "template fields",
                limit: self.limits.fields,
            });
        }
        let received = ReceivedTemplate::new(template)?;
        self.held += Held::of(&received);
        self.held -= self.domains.entry(domain).or_default().put(received);
        self.stats.redefined_templates += u64::from(replaced > 0);
        Ok(())
    }

    fn withdraw(&mut self, domain: u32, id: u16, options: bool) {
        if let Some(domain) = self.domains.get_mut(&domain) {
            self.held -= domain.withdraw(id, options);
        }
    }
}
