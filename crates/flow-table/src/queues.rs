//! When a connection acts next: the queues of deadlines, and which of them a connection is in.

mod deadlines;
pub mod expiry_queue;

pub(crate) use deadlines::Timeouts;
use deadlines::{Due, Quiet};
use expiry_queue::{ExpiryQueue, Key};

use crate::observation::Now;
use crate::store::{Connection, Place, State, Store};

/// The queues. The slots are the authority of the deadlines, so that most changes of one cost nothing here.
pub(crate) struct Queues {
    timeouts: Timeouts,
    /// Live connections, and done ones with a remainder, by deadline.
    due: ExpiryQueue,
    /// What is due at once, by the time since when: ended connections, and at the stop live ones.
    urgent: ExpiryQueue,
    /// Idle connections by how long they have been quiet; kept only where they may be evicted.
    idle: Option<ExpiryQueue>,
}

impl Queues {
    pub(crate) fn new(timeouts: Timeouts, evicting: bool) -> Self {
        Self {
            timeouts,
            due: ExpiryQueue::new(),
            urgent: ExpiryQueue::new(),
            idle: evicting.then(ExpiryQueue::new),
        }
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Idle connections may be evicted.
    pub(crate) fn evicting(&self) -> bool {
        self.idle.is_some()
    }

    /// Connections that wait for a deadline.
    pub(crate) fn len(&self) -> usize {
        self.due.len() + self.urgent.len()
    }

    /// Entries of their heaps, dead ones included.
    pub(crate) fn entries(&self) -> usize {
        self.due.entries() + self.urgent.entries()
    }

    pub(crate) fn bytes(&self) -> usize {
        let idle = self.idle.as_ref().map_or(0, ExpiryQueue::bytes);
        self.due.bytes() + self.urgent.bytes() + idle
    }

    /// Nothing is due before.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.urgent.peek().into_iter().chain(self.due.peek()).min()
    }

    /// Puts a connection whose next step nobody has in hand into the queue its state asks for.
    pub(crate) fn enqueue(&mut self, store: &mut Store, slot: u32) {
        let Some(connection) = store.get_mut(slot) else {
            return;
        };
        if connection.place() != Place::Out {
            return;
        }
        connection.put_place(Place::Queued);
        let key = key(slot, connection);
        let deadline = connection.deadline(self.timeouts);
        let queue = if connection.urgent() {
            &mut self.urgent
        } else {
            &mut self.due
        };
        queue.insert(key, deadline);
    }

    /// Takes a connection out of the queue it is in, if any.
    pub(crate) fn dequeue(&mut self, store: &mut Store, slot: u32) {
        let generation = store.next_generation();
        let Some(connection) = store
            .get_mut(slot)
            .filter(|connection| connection.place() == Place::Queued)
        else {
            return;
        };
        let key = key(slot, connection);
        connection.generation = generation;
        connection.put_place(Place::Out);
        let urgent = connection.urgent();
        let authority = Due {
            store,
            timeouts: self.timeouts,
            urgent,
        };
        let queue = if urgent {
            &mut self.urgent
        } else {
            &mut self.due
        };
        queue.remove(key, &authority);
    }

    /// Changes the state. The connection must be out of the queue unless both states share it.
    pub(crate) fn set_state(&mut self, store: &mut Store, slot: u32, state: State) {
        let generation = store.next_generation();
        let Some(idle) = &mut self.idle else {
            return store.set_state(slot, state);
        };
        let Some(connection) = store.get_mut(slot) else {
            return;
        };
        let former = connection.state();
        let key = key(slot, connection);
        if former == State::Idle {
            // A former entry of the idle queue must not come to life when the connection is idle again.
            connection.generation = generation;
        }
        let quiet_ms = connection.moved_ms.get();
        store.set_state(slot, state);
        if former == State::Idle {
            idle.remove(key, &Quiet(store));
        } else if state == State::Idle {
            idle.insert(key, quiet_ms);
        }
    }

    /// Takes the next connection that is due, urgent ones first. Each one looked at costs one of `budget`.
    pub(crate) fn pop(&mut self, store: &mut Store, now: Now, budget: &mut usize) -> Option<u32> {
        self.pop_urgent(store, u64::MAX - 1, budget)
            .or_else(|| self.pop_due(store, now, budget))
    }

    /// Takes the next connection that has waited since before `limit`, of those that are due at once.
    pub(crate) fn pop_urgent(
        &mut self,
        store: &mut Store,
        limit: u64,
        budget: &mut usize,
    ) -> Option<u32> {
        let authority = Due {
            store,
            timeouts: self.timeouts,
            urgent: true,
        };
        let (_, key) = self.urgent.pop_due(limit, &authority, budget)?;
        popped(store, key)
    }

    /// Takes the next connection whose deadline has come.
    pub(crate) fn pop_due(
        &mut self,
        store: &mut Store,
        now: Now,
        budget: &mut usize,
    ) -> Option<u32> {
        let authority = Due {
            store,
            timeouts: self.timeouts,
            urgent: false,
        };
        let (_, key) = self.due.pop_due(now.monotonic_ms, &authority, budget)?;
        popped(store, key)
    }

    /// The idle connection that has been quiet the longest, if idle ones may be evicted.
    pub(crate) fn longest_quiet(&mut self, store: &Store) -> Option<u32> {
        // Dead entries in front are cleared by `maintain`; past this many we would hold our caller for too long.
        let mut budget = 4096;
        let idle = self.idle.as_mut()?;
        let (_, longest) = idle.peek_due(u64::MAX - 1, &Quiet(store), &mut budget)?;
        Some(longest.slot)
    }

    /// One slice of upkeep; true: there is more.
    pub(crate) fn maintain(&mut self, store: &Store, now: Now) -> bool {
        let mut authority = Due {
            store,
            timeouts: self.timeouts,
            urgent: false,
        };
        if self.due.maintain(now.monotonic_ms, &authority) {
            return true;
        }
        authority.urgent = true;
        let idle = self.idle.as_mut();
        self.urgent.maintain(now.monotonic_ms, &authority)
            || idle.is_some_and(|idle| idle.maintain(u64::MAX - 1, &Quiet(store)))
    }
}

fn popped(store: &mut Store, key: Key) -> Option<u32> {
    store.get_mut(key.slot)?.put_place(Place::Out);
    Some(key.slot)
}

fn key(slot: u32, connection: &Connection) -> Key {
    Key {
        slot,
        generation: connection.generation,
    }
}
