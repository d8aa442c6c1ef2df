//! Connections that must be looked at in the kernel before the table acts on them.

use crate::connection::{State, flag};
use crate::key::ConnectionKey;
use crate::observation::{Now, Observation, Tuple};
use crate::table::FlowTable;

/// One lookup to make. Give it back with its answer through `refreshed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshKey {
    /// What to ask for.
    pub original: Tuple,
    /// Zone of the original direction.
    pub zone: u16,
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    /// Order of the request among polls and lookups.
    pub(crate) request: u32,
}

/// What the lookup found.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The entry is there.
    Present(&'a Observation),
    /// The entry is there and no longer matches the selection: one record with reason 4, then it is forgotten.
    LeftSelection(&'a Observation),
    /// No such entry.
    Absent,
    /// The lookup failed: nothing is known, the connection is asked for again.
    Failed,
    /// The lookup of this connection alone failed, and may for ever: its deadline acts on what was known before.
    Unreadable,
}

impl FlowTable {
    /// An UPDATE event of which only a lookup can tell all, such as a close: events have no counters. The connection, if it
    /// is there and has not ended, is among the next that [`refresh_due`](Self::refresh_due) hands out.
    pub fn look_again(&mut self, seen: &Observation, now: Now) {
        self.take_returns(now);
        let Some(key) = ConnectionKey::new(&seen.original, seen.zone) else {
            self.stats.malformed += 1;
            return;
        };
        let found = self.candidates(&key, key.hash(&self.seed), seen);
        if let Some(slot) = found.current {
            self.suspect(slot);
        }
    }

    /// Has a connection that has not ended looked up soon. While nobody looks, slots that were given to other connections
    /// may be in the queue twice; where that fills it, a deadline or the next complete poll does without.
    pub(crate) fn suspect(&mut self, slot: u32) {
        if self.suspects.len() < self.config.max_connections
            && let Some(connection) = self.slots.get_mut(slot)
            && matches!(connection.state(), State::Live | State::Idle)
            && !connection.has(flag::SUSPECT)
        {
            connection.set(flag::SUSPECT);
            self.suspects.push_back(slot);
        }
    }
}
