//! Encodes flows into message bodies: headers are stamped later, by each session that sends them.

use std::sync::Arc;

use crate::encode::format::{CompiledTemplate, Format};
use crate::flow::Flow;
use crate::message::{HEADER_LEN, MessageHeader, SET_HEADER_LEN, SetHeader, length};
use crate::profile::shape::Shape;

/// One message but for its export time and sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The whole message. Version, length and domain are filled; export time and sequence number are zero, and
    /// [`crate::Session::header`] makes the 16 octets to put in front of `octets[16..]`.
    pub octets: Vec<u8>,
    /// Data records in it.
    pub records: u32,
    /// Sum of the records' packet deltas, both directions.
    pub packets: u64,
    /// Sum of the records' octet deltas, both directions.
    pub total_octets: u64,
}

impl Body {
    /// The sets: what follows the header.
    pub fn sets(&self) -> &[u8] {
        self.octets.get(HEADER_LEN..).unwrap_or_default()
    }
}

/// What became of a flow that was pushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// It is in an open message.
    Added,
    /// It does not fit the open message and no further one may be started; nothing was added.
    Full,
    /// It fits no message of this format's maximum size; nothing was added.
    TooLarge,
}

/// Encodes one batch for one format into one or more message bodies.
#[derive(Debug)]
pub struct BodyEncoder {
    format: Arc<Format>,
    /// Open messages: one, or one a template where a message holds one set.
    lanes: Vec<Lane>,
    closed: Vec<Body>,
}

/// An open message; empty octets: none is open.
///
/// Records are grouped by template, whatever their order, so that a set header and a look-up in the collector serve many.
#[derive(Debug, Default)]
struct Lane {
    /// Headers, and the records of the first one's template.
    octets: Vec<u8>,
    first: u16,
    /// Sets of the other templates, headers included; empty: none in this message.
    others: Vec<(u16, Vec<u8>)>,
    /// Octets of the message so far.
    size: usize,
    records: u32,
    packets: u64,
    total_octets: u64,
}

/// A message is given this much more room than its maximum, so that the record that crosses it seldom reallocates.
const OVERFLOW_ROOM: usize = 512;

impl BodyEncoder {
    /// An encoder with nothing in it.
    pub fn new(format: &Arc<Format>) -> Self {
        let mut lanes = Vec::new();
        lanes.resize_with(format.lanes(), Lane::default);
        Self {
            format: Arc::clone(format),
            lanes,
            closed: Vec::new(),
        }
    }

    /// Adds one flow. `may_start`: whether a further message may be started when the flow does not fit the open one.
    /// The first message (in the antrea profile: the first of each family) is started in any case.
    pub fn push(&mut self, flow: &Flow<'_>, may_start: bool) -> Pushed {
        let Self {
            format,
            lanes,
            closed,
        } = self;
        let template = format
            .by_shape
            .get(Shape::of(flow).index())
            .and_then(|index| format.templates.get(*index as usize));
        // Every shape has a template and every template a lane: `Format::new` made them so.
        let Some(compiled) = template else {
            return Pushed::TooLarge;
        };
        let Some(lane) = lanes.get_mut(compiled.lane) else {
            return Pushed::TooLarge;
        };
        let pushed = lane.push(flow, compiled, format, may_start, closed);
        if pushed == Pushed::Added {
            lane.count(flow);
        }
        pushed
    }

    /// Closes what is open and hands over all bodies, in the order in which they were filled; the encoder is empty then.
    pub fn finish(&mut self) -> Vec<Body> {
        for lane in &mut self.lanes {
            lane.close(&self.format, &mut self.closed);
        }
        std::mem::take(&mut self.closed)
    }
}

impl Lane {
    fn push(
        &mut self,
        flow: &Flow<'_>,
        compiled: &CompiledTemplate,
        format: &Format,
        may_start: bool,
        closed: &mut Vec<Body>,
    ) -> Pushed {
        let id = compiled.template.id;
        if self.size == 0 {
            self.octets.reserve(format.max_message_size + OVERFLOW_ROOM);
            self.octets
                .extend_from_slice(&[0; HEADER_LEN + SET_HEADER_LEN]);
            self.size = self.octets.len();
            self.first = id;
        }
        let set = if id == self.first {
            &mut self.octets
        } else {
            other(&mut self.others, id, format.max_message_size)
        };
        let before = set.len();
        if before == 0 {
            set.extend_from_slice(&[0; SET_HEADER_LEN]);
        }
        let start = set.len();
        for step in &compiled.steps {
            step.push(flow, set);
        }
        let record = set.len() - start;
        let size = self.size + set.len() - before;
        if size <= format.max_message_size {
            self.size = size;
            return Pushed::Added;
        }
        let too_large = HEADER_LEN + SET_HEADER_LEN + record > format.max_message_size;
        if too_large || !may_start {
            set.truncate(before);
            if self.records == 0 {
                self.octets.clear();
                self.size = 0;
            }
            return if too_large {
                Pushed::TooLarge
            } else {
                Pushed::Full
            };
        }
        // The record moves on into a message of its own, where the next ones will follow it.
        let mut next = Vec::with_capacity(format.max_message_size + OVERFLOW_ROOM);
        next.extend_from_slice(&[0; HEADER_LEN + SET_HEADER_LEN]);
        next.extend_from_slice(set.get(start..).unwrap_or_default());
        set.truncate(before);
        self.close(format, closed);
        self.first = id;
        self.size = next.len();
        self.octets = next;
        Pushed::Added
    }

    #[inline]
    fn count(&mut self, flow: &Flow<'_>) {
        let [original, reply] = flow.deltas;
        self.records += 1;
        self.packets = self
            .packets
            .saturating_add(original.packets)
            .saturating_add(reply.packets);
        self.total_octets = self
            .total_octets
            .saturating_add(original.octets)
            .saturating_add(reply.octets);
    }

    fn close(&mut self, format: &Format, closed: &mut Vec<Body>) {
        let Lane {
            mut octets,
            first,
            mut others,
            records,
            packets,
            total_octets,
            ..
        } = std::mem::take(self);
        fill_set_header(first, &mut octets, HEADER_LEN);
        for (id, set) in &mut others {
            fill_set_header(*id, set, 0);
            octets.append(set);
        }
        // Their memory serves the next message.
        self.others = others;
        if records == 0 {
            return;
        }
        let header = MessageHeader {
            length: length(octets.len()),
            export_time: 0,
            sequence: 0,
            domain: format.domain,
        };
        if let Some(place) = octets.get_mut(..HEADER_LEN) {
            place.copy_from_slice(&header.emit());
        }
        // Bodies wait in windows that count octets, not capacity.
        if octets.len() < octets.capacity() / 2 {
            octets.shrink_to_fit();
        }
        closed.push(Body {
            octets,
            records,
            packets,
            total_octets,
        });
    }
}

/// The set of a template that is not a message's first, with room for all of it.
fn other(sets: &mut Vec<(u16, Vec<u8>)>, id: u16, room: usize) -> &mut Vec<u8> {
    let at = sets.iter().position(|(other, _)| *other == id);
    let at = at.unwrap_or_else(|| {
        sets.push((id, Vec::with_capacity(room)));
        sets.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "found or pushed just above")]
    &mut sets[at].1
}

/// The set begins at `at` and goes on to the end.
fn fill_set_header(id: u16, octets: &mut [u8], at: usize) {
    let header = SetHeader {
        id,
        length: length(octets.len().saturating_sub(at)),
    };
    if let Some(place) = octets.get_mut(at..at + SET_HEADER_LEN) {
        place.copy_from_slice(&header.emit());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Counters;
    use crate::profile::Profile;

    #[test]
    fn a_message_fills_a_buffer_that_held_garbage() {
        let address = |text: &str| text.parse().unwrap();
        let counters = [Counters {
            packets: 1,
            octets: 2,
        }; 2];
        let flow = Flow {
            source: address("192.0.2.1"),
            destination: address("192.0.2.2"),
            source_port: 1,
            destination_port: 2,
            protocol: 17,
            reply_source: address("192.0.2.2"),
            reply_destination: address("192.0.2.1"),
            reply_source_port: 2,
            reply_destination_port: 1,
            start_ns: 0,
            end_ns: 0,
            reason: 1,
            totals: counters,
            deltas: counters,
            zone: 0,
            reply_zone: 0,
            mark: 0,
            id: 0,
            tcp_state: 0,
            names: None,
            denied: None,
        };
        let format = Arc::new(Format::new(&Profile::standard(None).unwrap(), 1, 1000).unwrap());
        let mut fresh = BodyEncoder::new(&format);
        let mut used = BodyEncoder::new(&format);
        for lane in &mut used.lanes {
            lane.octets = vec![0xa5; 2000];
            lane.octets.clear();
        }
        for encoder in [&mut fresh, &mut used] {
            for _ in 0..5 {
                assert_eq!(encoder.push(&flow, false), Pushed::Added);
            }
        }
        assert_eq!(used.finish(), fresh.finish());
    }
}
