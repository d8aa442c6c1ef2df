//! Due connections become message bodies, and batches are settled.
//!
//! Records enter from [`FlowTable::take_batch`] one by one and are encoded while they are on the stack; whole
//! bodies leave in an [`EncodedBatch`]. The batch itself stays here until it is committed, rolled back or
//! dropped, exactly once.

pub(crate) mod format;

use std::collections::BTreeMap;
use std::sync::Arc;

use flow_table::{Batch, FlowTable, Now, Record, Taken, Tuple};
use ipfix::{Body, BodyEncoder, Flow, Format, Pushed};

use crate::Error;
use crate::export::format::{FormatId, FormatSpec};
use crate::names::Naming;

/// A batch that is not settled yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchId(pub u32);

/// Records taken from the table, encoded once for each format that was asked for.
#[derive(Debug)]
pub struct EncodedBatch {
    /// Names the batch when it is settled.
    pub id: BatchId,
    /// How many records it holds.
    pub records: usize,
    /// What they tell of.
    pub amount: Amount,
    /// For each format, in the order asked: its message bodies.
    pub bodies: Vec<Vec<Body>>,
    /// For each format, in the order asked: what none of its messages has room for.
    pub too_large: Vec<Amount>,
}

/// Records, and the packets and octets of both directions that they tell of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Records.
    pub records: u64,
    /// Packets of their deltas.
    pub packets: u64,
    /// Octets of their deltas.
    pub octets: u64,
}

impl Amount {
    fn add(&mut self, record: &Record) {
        self.records += 1;
        for delta in record.deltas {
            self.packets = self.packets.saturating_add(delta.packets);
            self.octets = self.octets.saturating_add(delta.octets);
        }
    }
}

/// The encoders of an exporter and the batches in flight.
#[derive(Default)]
pub(crate) struct Export {
    formats: Vec<Encoder>,
    in_flight: BTreeMap<BatchId, Batch>,
    next_batch: u32,
    committed: u64,
    too_large_said: bool,
    warning: Option<String>,
}

struct Encoder {
    spec: FormatSpec,
    format: Arc<Format>,
    bodies: BodyEncoder,
}

/// Formats differ by collector, and there are few collectors.
const MAX_FORMATS: usize = 64;

impl Export {
    /// Adds a format, or finds the same one: sessions that want the same bodies share them.
    pub(crate) fn add_format(&mut self, spec: FormatSpec) -> Result<FormatId, Error> {
        let found = self.formats.iter().position(|known| known.spec == spec);
        let index = match found {
            Some(index) => index,
            None if self.formats.len() >= MAX_FORMATS => {
                return Err(Error::TooManyFormats(MAX_FORMATS));
            }
            None => {
                let format = Arc::new(spec.compile()?);
                let bodies = BodyEncoder::new(&format);
                self.formats.push(Encoder {
                    spec,
                    format,
                    bodies,
                });
                self.formats.len() - 1
            }
        };
        u32::try_from(index)
            .map(FormatId)
            .map_err(|_| Error::TooManyFormats(MAX_FORMATS))
    }

    pub(crate) fn format(&self, id: FormatId) -> Result<&Arc<Format>, Error> {
        let entry = usize::try_from(id.0)
            .ok()
            .and_then(|index| self.formats.get(index));
        entry
            .map(|encoder| &encoder.format)
            .ok_or(Error::UnknownFormat(id.0))
    }

    /// Takes what is due, up to `max_records` or one message of the format with the largest messages.
    /// Formats with smaller messages get several. A record that fits no message of one of the formats is
    /// lost for that format and counted; it is lost for all when even the largest has no room.
    pub(crate) fn take_batch(
        &mut self,
        table: &mut FlowTable,
        names: &Naming,
        formats: &[FormatId],
        max_records: usize,
        now: Now,
    ) -> Result<Option<EncodedBatch>, Error> {
        let order = self.largest_first(formats)?;
        let encoders = &mut self.formats;
        let mut amount = Amount::default();
        let mut too_large = vec![Amount::default(); encoders.len()];
        let mut named = None;
        let said = self.too_large_said;
        let batch = table.take_batch(now, max_records, |record| {
            let flow = flow(record, names);
            for (rank, &index) in order.iter().enumerate() {
                let Some(encoder) = encoders.get_mut(index) else {
                    continue;
                };
                match encoder.bodies.push(&flow, rank > 0) {
                    Pushed::Added => {}
                    Pushed::Full => return Taken::Full,
                    Pushed::TooLarge => {
                        if !said {
                            named.get_or_insert_with(|| too_large_warning(record, &encoder.spec));
                        }
                        if rank == 0 {
                            return Taken::TooLarge;
                        }
                        if let Some(left_out) = too_large.get_mut(index) {
                            left_out.add(record);
                        }
                    }
                }
            }
            amount.add(record);
            Taken::Yes
        });
        if named.is_some() {
            self.too_large_said = true;
            self.warning = named;
        }
        let indices = || {
            formats
                .iter()
                .map(|id| usize::try_from(id.0).unwrap_or(usize::MAX))
        };
        let bodies = indices()
            .map(|index| match self.formats.get_mut(index) {
                Some(encoder) => encoder.bodies.finish(),
                None => Vec::new(),
            })
            .collect();
        Ok(batch.map(|batch| {
            let id = BatchId(self.next_batch);
            self.next_batch = self.next_batch.wrapping_add(1);
            let records = batch.len();
            self.in_flight.insert(id, batch);
            EncodedBatch {
                id,
                records,
                amount,
                bodies,
                too_large: indices()
                    .map(|index| too_large.get(index).copied().unwrap_or_default())
                    .collect(),
            }
        }))
    }

    /// The collectors have them: their counters are exported, and what had ended may go.
    pub(crate) fn commit(
        &mut self,
        table: &mut FlowTable,
        id: BatchId,
        now: Now,
    ) -> Result<(), Error> {
        let batch = self.settle(id)?;
        self.committed += u64::try_from(batch.len()).unwrap_or(u64::MAX);
        table.commit(batch, now);
        Ok(())
    }

    /// No collector has them: they are due again.
    pub(crate) fn rollback(
        &mut self,
        table: &mut FlowTable,
        id: BatchId,
        now: Now,
    ) -> Result<(), Error> {
        let batch = self.settle(id)?;
        table.rollback(batch, now);
        Ok(())
    }

    /// Records committed so far.
    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }

    /// The first record that fitted no message, in words, once.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    fn settle(&mut self, id: BatchId) -> Result<Batch, Error> {
        self.in_flight.remove(&id).ok_or(Error::BatchSettled(id.0))
    }

    fn largest_first(&self, formats: &[FormatId]) -> Result<Vec<usize>, Error> {
        let mut order = Vec::with_capacity(formats.len());
        for &id in formats {
            let size = self.format(id)?.max_message_size();
            let index = usize::try_from(id.0).map_err(|_| Error::UnknownFormat(id.0))?;
            if order.iter().any(|&(_, known)| known == index) {
                return Err(Error::FormatTwice(id.0));
            }
            order.push((size, index));
        }
        order.sort_by_key(|&(size, _)| std::cmp::Reverse(size));
        Ok(order.into_iter().map(|(_, index)| index).collect())
    }
}

fn too_large_warning(record: &Record, spec: &FormatSpec) -> String {
    let Tuple {
        source,
        destination,
        protocol,
        source_port,
        destination_port,
    } = record.original;
    format!(
        "the record of {source} port {source_port} to {destination} port {destination_port}, protocol {protocol}, does not \
         fit a message of {} octets: it is lost, and counted as too_large, as others like it will be; \
         raise maxMessageSize or select fewer fields",
        spec.max_message_size
    )
}

fn flow<'a>(record: &Record, names: &'a Naming) -> Flow<'a> {
    Flow {
        source: record.original.source,
        destination: record.original.destination,
        source_port: record.original.source_port,
        destination_port: record.original.destination_port,
        protocol: record.original.protocol,
        translated: record.reply != record.original.inverse(),
        reply_source: record.reply.source,
        reply_destination: record.reply.destination,
        reply_source_port: record.reply.source_port,
        reply_destination_port: record.reply.destination_port,
        start_ns: record.start_ns,
        end_ns: record.end_ns,
        reason: record.reason as u8,
        totals: record.totals.map(counters),
        deltas: record.deltas.map(counters),
        zone: record.zone,
        reply_zone: record.reply_zone,
        mark: record.mark,
        id: record.id,
        tcp_state: if record.original.protocol == TCP {
            record.protocol_state
        } else {
            0
        },
        names: names.names(record.names),
        service: names.marks_service(record.mark),
        node: names.node(),
        cluster: names.cluster(),
        denied: None,
    }
}

const TCP: u8 = 6;

fn counters(counters: flow_table::Counters) -> ipfix::Counters {
    ipfix::Counters {
        packets: counters.packets,
        octets: counters.octets,
    }
}
