//! Which names connections still hold, so that their owner can give back the others.

use crate::observation::NamesId;
use crate::store::{Scan, State};
use crate::table::{FlowTable, Progress};

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
        if cursor.scan.is_over() {
            Progress::Done
        } else {
            Progress::More
        }
    }
}

#[cfg(test)]
mod tests;
