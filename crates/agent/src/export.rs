//! Due connections become message bodies, and batches are settled.
//!
//! Records enter from [`FlowTable::take_batch`] one by one and are encoded while they are on the stack; whole
//! bodies leave in an [`EncodedBatch`]. The batch itself stays here until it is committed, rolled back or
//! lost, exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;

use flow_table::{Batch, FlowTable, Loss, Now, Record, Taken};
use ipfix::{Body, BodyEncoder, Flow, Format, Profile, Pushed};

use crate::Error;

/// How records are encoded for a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatSpec {
    /// Which elements.
    pub profile: ProfileName,
    /// Observation domain of the flow records.
    pub domain: u32,
    /// The most octets of a message, header included.
    pub max_message_size: usize,
}

/// A profile by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileName {
    /// The standard elements, or those of them that are named, in that order.
    Standard(Option<Vec<String>>),
    /// What Antrea's flow aggregator reads.
    Antrea,
}

impl FormatSpec {
    fn compile(&self) -> Result<Format, Error> {
        let profile = match &self.profile {
            ProfileName::Standard(fields) => Profile::standard(fields.as_deref())
                .map_err(|error| Error::Format(error.to_string()))?,
            ProfileName::Antrea => Profile::antrea(),
        };
        Format::new(&profile, self.domain, self.max_message_size)
            .map_err(|error| Error::Format(error.to_string()))
    }
}

/// A format that was added to an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatId(pub u32);

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
    /// For each format, in the order asked: its message bodies.
    pub bodies: Vec<Vec<Body>>,
}

/// The encoders of an exporter and the batches in flight.
#[derive(Default)]
pub(crate) struct Export {
    formats: Vec<Encoder>,
    in_flight: BTreeMap<BatchId, Batch>,
    next_batch: u32,
    committed: u64,
    too_large: u64,
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
        formats: &[FormatId],
        max_records: usize,
        now: Now,
    ) -> Result<Option<EncodedBatch>, Error> {
        let order = self.largest_first(formats)?;
        let encoders = &mut self.formats;
        let too_large = &mut self.too_large;
        let batch = table.take_batch(now, max_records, |record| {
            let flow = flow(record);
            for (rank, &index) in order.iter().enumerate() {
                let Some(encoder) = encoders.get_mut(index) else {
                    continue;
                };
                match encoder.bodies.push(&flow, rank > 0) {
                    Pushed::Added => {}
                    Pushed::Full => return Taken::Full,
                    Pushed::TooLarge if rank == 0 => return Taken::TooLarge,
                    Pushed::TooLarge => *too_large += 1,
                }
            }
            Taken::Yes
        });
        let mut bodies = Vec::with_capacity(formats.len());
        for &id in formats {
            let index = usize::try_from(id.0).unwrap_or(usize::MAX);
            bodies.push(
                self.formats
                    .get_mut(index)
                    .map(|encoder| encoder.bodies.finish())
                    .unwrap_or_default(),
            );
        }
        Ok(batch.map(|batch| {
            let id = BatchId(self.next_batch);
            self.next_batch = self.next_batch.wrapping_add(1);
            let records = batch.len();
            self.in_flight.insert(id, batch);
            EncodedBatch {
                id,
                records,
                bodies,
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

    /// Nobody will have them.
    pub(crate) fn lose(
        &mut self,
        table: &mut FlowTable,
        id: BatchId,
        reason: Loss,
        now: Now,
    ) -> Result<(), Error> {
        let batch = self.settle(id)?;
        table.lose(batch, reason, now);
        Ok(())
    }

    /// Records committed so far.
    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }

    /// Records that some format, but not the one with the largest messages, had no room for.
    pub(crate) fn too_large(&self) -> u64 {
        self.too_large
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

fn flow(record: &Record) -> Flow<'static> {
    Flow {
        source: record.original.source,
        destination: record.original.destination,
        source_port: record.original.source_port,
        destination_port: record.original.destination_port,
        protocol: record.original.protocol,
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
        names: None,
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
