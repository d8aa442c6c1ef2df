//! Which names connections still hold, so that their owner can give back the others.

use crate::connection::State;
use crate::observation::NamesId;
use crate::table::{FlowTable, Progress};

/// How far a pass over the names in use has come. Starts with `NamesCursor::default()`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NamesCursor {
    /// Slots from here on were looked at; None: none was.
    below: Option<u32>,
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
        // The table may have shrunk since.
        let end = self.slots.end();
        let below = cursor.below.map_or(end, |below| below.min(end));
        let last = below.saturating_sub(slots.max(1));
        for slot in (last..below).rev() {
            if let Some(connection) = self.slots.get(slot)
                && connection.state() != State::Free
                && connection.names != 0
            {
                sink(NamesId(connection.names));
            }
        }
        cursor.below = Some(last);
        match last {
            0 => Progress::Done,
            _ => Progress::More,
        }
    }
}
