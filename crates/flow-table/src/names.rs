//! Which names connections hold: so that their owner can give back the others, and give some that were unknown before.

use crate::observation::{NamesId, Tuple};
use crate::store::{Scan, State};
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
    scan: Scan,
}

impl FlowTable {
    /// Tells the names of the connections in the next `slots` slots, each as often as connections have it; call until Done.
    /// Connections may come, go and move between the calls: the names of every connection that is there from the first call
    /// to the last are told, and those of connections that come in between may not be. A pass may be given up anywhere.
    pub fn names_in_use(
        &self,
        cursor: &mut NamesCursor,
        slots: u32,
        mut sink: impl FnMut(NamesId),
    ) -> Progress {
        for _ in 0..slots.max(1) {
            let Some(slot) = cursor.scan.next(self.store.end()) else {
                break;
            };
            if let Some(connection) = self.store.get(slot)
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
        for _ in 0..slots.max(1) {
            let Some(slot) = cursor.scan.next(self.store.end()) else {
                break;
            };
            let named = self.named(slot);
            if let Some(other) = named.and_then(|named| names(&named))
                && let Some(connection) = self.store.get_mut(slot)
            {
                connection.names = other.0;
            }
        }
        cursor.progress()
    }

    fn named(&self, slot: u32) -> Option<Named> {
        let connection = self.store.get(slot)?;
        if connection.state() == State::Free {
            return None;
        }
        let original = self.store.key(slot)?.tuple();
        let side = self.store.side(slot);
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

impl NamesCursor {
    fn progress(&self) -> Progress {
        if self.scan.is_over() {
            Progress::Done
        } else {
            Progress::More
        }
    }
}

#[cfg(test)]
mod tests;
