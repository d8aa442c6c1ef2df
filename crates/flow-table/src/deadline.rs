//! When a connection acts next, and the slots as the authority of that.

use crate::connection::{Connection, State, flag};
use crate::expiry_queue::{Deadlines, Key};
use crate::slots::Slots;

/// From a connection to its deadline.
#[derive(Clone, Copy)]
pub(crate) struct Timeouts {
    pub(crate) active: u64,
    pub(crate) idle: u64,
}

impl Timeouts {
    /// Ended ones: since when. Others: the active timeout after the last record, or the idle timeout after the last
    /// movement, whichever comes first; of a done one only the former.
    pub(crate) fn deadline(self, connection: &Connection) -> u64 {
        let since = connection.since_ms.get();
        if connection.urgent() {
            return since;
        }
        let active = since.saturating_add(self.active);
        match connection.state() {
            State::Done => active,
            _ => active.min(connection.moved_ms.get().saturating_add(self.idle)),
        }
    }
}

/// The slots as the authority of the queues' deadlines.
pub(crate) struct Authority<'a> {
    pub(crate) slots: &'a Slots,
    pub(crate) timeouts: Timeouts,
    pub(crate) urgent: bool,
}

impl Deadlines for Authority<'_> {
    fn deadline(&self, key: Key) -> Option<u64> {
        let connection = self.slots.get(key.slot)?;
        let queued = connection.generation == key.generation
            && connection.has(flag::QUEUED)
            && connection.urgent() == self.urgent;
        queued.then(|| self.timeouts.deadline(connection))
    }

    #[inline]
    fn touch(&self, key: Key) -> u64 {
        self.slots.touch_deadline(key.slot)
    }
}

/// The slots as the authority of the idle queue.
pub(crate) struct Quiet<'a>(pub(crate) &'a Slots);

impl Deadlines for Quiet<'_> {
    fn deadline(&self, key: Key) -> Option<u64> {
        let connection = self.0.get(key.slot)?;
        let idle = connection.generation == key.generation && connection.state() == State::Idle;
        idle.then(|| connection.moved_ms.get())
    }

    #[inline]
    fn touch(&self, key: Key) -> u64 {
        self.0.touch_deadline(key.slot)
    }
}
