//! The slots as the authority of the queues' deadlines.

use super::expiry_queue::{Deadlines, Key};
use crate::store::{Connection, Place, State, Store};

/// From a connection to its deadline.
#[derive(Clone, Copy)]
pub(crate) struct Timeouts {
    pub(crate) active: u64,
    pub(crate) idle: u64,
}

/// Of the queues of what is due, or due at once.
pub(super) struct Due<'a> {
    pub(super) store: &'a Store,
    pub(super) timeouts: Timeouts,
    pub(super) urgent: bool,
}

impl Deadlines for Due<'_> {
    fn deadline(&self, key: Key) -> Option<u64> {
        let connection = alive(self.store, key)?;
        let queued = connection.place() == Place::Queued && connection.urgent() == self.urgent;
        queued.then(|| connection.deadline(self.timeouts))
    }

    #[inline]
    fn touch(&self, key: Key) -> u64 {
        self.store.touch_deadline(key.slot)
    }
}

/// Of the idle queue.
pub(super) struct Quiet<'a>(pub(super) &'a Store);

impl Deadlines for Quiet<'_> {
    fn deadline(&self, key: Key) -> Option<u64> {
        let connection = alive(self.0, key)?;
        (connection.state() == State::Idle).then(|| connection.moved_ms.get())
    }

    #[inline]
    fn touch(&self, key: Key) -> u64 {
        self.0.touch_deadline(key.slot)
    }
}

fn alive(store: &Store, key: Key) -> Option<&Connection> {
    store
        .get(key.slot)
        .filter(|connection| connection.generation == key.generation)
}
