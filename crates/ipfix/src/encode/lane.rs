//! A message that is being filled: flows enter one by one, whole bodies leave.

use crate::encode::body::{Body, Pushed};
use crate::encode::format::{CompiledTemplate, Format};
use crate::flow::Flow;
use crate::message::{HEADER_LEN, SET_HEADER_LEN, SetHeader, length};

/// An open message; no sets: none is open.
///
/// Records are grouped by template, whatever their order, so that a set header and a look-up in the collector serve many.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The set of the first record's template.
    pub(super) sets: Vec<u8>,
    first: u16,
    /// Sets of the other templates, headers included; empty: none in this message.
    others: Vec<(u16, Vec<u8>)>,
    /// Octets of the message so far, its header included.
    size: usize,
    records: u32,
    packets: u64,
    total_octets: u64,
}

/// A message is given this much more room than its maximum, so that the record that crosses it seldom reallocates.
const OVERFLOW_ROOM: usize = 512;

impl Lane {
    /// Adds a record; see [`crate::BodyEncoder::push`]. What is closed by it goes to `closed`.
    pub(super) fn push(
        &mut self,
        flow: &Flow<'_>,
        compiled: &CompiledTemplate,
        format: &Format,
        may_start: bool,
        closed: &mut Vec<Body>,
    ) -> Pushed {
        let id = compiled.template.id;
        if self.size == 0 {
            self.sets.reserve(format.max_message_size + OVERFLOW_ROOM);
            self.sets.extend_from_slice(&[0; SET_HEADER_LEN]);
            self.size = HEADER_LEN + SET_HEADER_LEN;
            self.first = id;
        }
        let set = if id == self.first {
            &mut self.sets
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
                self.sets.clear();
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
        next.extend_from_slice(&[0; SET_HEADER_LEN]);
        next.extend_from_slice(set.get(start..).unwrap_or_default());
        set.truncate(before);
        self.close(closed);
        self.first = id;
        self.size = HEADER_LEN + next.len();
        self.sets = next;
        Pushed::Added
    }

    /// The flow that was just added.
    #[inline]
    pub(super) fn count(&mut self, flow: &Flow<'_>) {
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

    /// Hands the message over, if there is one.
    pub(super) fn close(&mut self, closed: &mut Vec<Body>) {
        let Lane {
            mut sets,
            first,
            mut others,
            records,
            packets,
            total_octets,
            ..
        } = std::mem::take(self);
        fill_set_header(first, &mut sets);
        for (id, set) in &mut others {
            fill_set_header(*id, set);
            sets.append(set);
        }
        // Their memory serves the next message.
        self.others = others;
        if records == 0 {
            return;
        }
        // Bodies wait in windows that count octets, not capacity.
        if sets.len() < sets.capacity() / 2 {
            sets.shrink_to_fit();
        }
        closed.push(Body {
            sets,
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

fn fill_set_header(id: u16, set: &mut [u8]) {
    let header = SetHeader {
        id,
        length: length(set.len()),
    };
    if let Some(place) = set.get_mut(..SET_HEADER_LEN) {
        place.copy_from_slice(&header.emit());
    }
}
