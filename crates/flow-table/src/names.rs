//! Which names connections hold: so that their owner can give back the others, and give some that were unknown before.

use crate::connection::State;
use crate::observation::{NamesId, Tuple};
use crate::table::{FlowTable, Progress};

/// A connection as far as its names may depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// The direction of the first packet.
    pub original: Tuple,
    /// The direction of the answers.
    pub reply: Tuple,
    /// Connection mark.
    pub mark: u32,
    /// Connection labels; zero: none.
    pub labels: [u8; 16],
    /// Kernel start time, else first sighting.
    pub start_ns: u64,
    /// What it has.
    pub names: NamesId,
}

/// How far a pass over the names in use has come. Starts with `NamesCursor::default()`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NamesCursor {
    /// Slots from here on were looked at; None: none was.
    below: Option<u32>,
}

impl NamesCursor {
    /// The slots to look at next, of a table that ends there by now: it may have shrunk since.
    fn advance(&mut self, end: u32, slots: u32) -> impl Iterator<Item = u32> + use<> {
        let below = self.below.map_or(end, |below| below.min(end));
        let last = below.saturating_sub(slots.max(1));
        self.below = Some(last);
        (last..below).rev()
    }

    fn progress(self) -> Progress {
        match self.below {
            Some(0) => Progress::Done,
            _ => Progress::More,
        }
    }
}

impl FlowTable {
    /// Tells the names of the connections in the next `slots` slots, each as often as connections have it; call until Done.
    /// Connections may come, go and move between the calls: the names of every connection that is there from the first call
    /// to the last are told, and those of connections that come in between may not be.
    ///
    /// It goes from the highest slot down, because that is how connections move when memory is given back: one that moves
    /// is ahead of the pass still, or is met twice. Nothing has to stand still, and a pass may be given up anywhere.
    pub fn names_in_use(
        &self,
        cursor: &mut NamesCursor,
        slots: u32,
        mut sink: impl FnMut(NamesId),
    ) -> Progress {
        for slot in cursor.advance(self.slots.end(), slots) {
            if let Some(connection) = self.slots.get(slot)
                && connection.state() != State::Free
                && connection.names != 0
            {
                sink(NamesId(connection.names));
            }
        }
        cursor.progress()
    }

    /// Offers the connections in the next `slots` slots other names, which their next records have; call until Done.
    /// Whom it meets is as for [`FlowTable::names_in_use`]; a connection may be offered twice.
    pub fn rename(
        &mut self,
        cursor: &mut NamesCursor,
        slots: u32,
        mut names: impl FnMut(&Named) -> Option<NamesId>,
    ) -> Progress {
        for slot in cursor.advance(self.slots.end(), slots) {
            let named = self.named(slot);
            if let Some(other) = named.and_then(|named| names(&named))
                && let Some(connection) = self.slots.get_mut(slot)
            {
                connection.names = other.0;
            }
        }
        cursor.progress()
    }

    fn named(&self, slot: u32) -> Option<Named> {
        let connection = self.slots.get(slot)?;
        if connection.state() == State::Free {
            return None;
        }
        let original = self.slots.key(slot)?.tuple();
        let side = self.side.get(slot, connection.side);
        let (reply, labels) = match side {
            Some((reply, _, labels)) => (reply, labels),
            None => (original.inverse(), [0; 16]),
        };
        Some(Named {
            original,
            reply,
            mark: connection.mark,
            labels,
            start_ns: connection.start_ns,
            names: NamesId(connection.names),
        })
    }
}
