//! How a connection goes from one state to the next, and into and out of the queues.

use crate::connection::{Millis, State, flag};
use crate::deadline::{Authority, Quiet};
use crate::expiry_queue::Key;
use crate::observation::Now;
use crate::table::FlowTable;

impl FlowTable {
    /// Puts a connection that is in no queue, not in flight and not awaited into the queue its state asks for.
    pub(crate) fn enqueue(&mut self, slot: u32) {
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        if connection.has(flag::QUEUED | flag::IN_FLIGHT | flag::AWAITING) {
            return;
        }
        connection.set(flag::QUEUED);
        let key = Key {
            slot,
            generation: connection.generation,
        };
        let deadline = self.timeouts.deadline(connection);
        let queue = if connection.urgent() {
            &mut self.urgent
        } else {
            &mut self.queue
        };
        queue.insert(key, deadline);
    }

    /// Takes a connection out of the queue it is in, if any.
    pub(crate) fn dequeue(&mut self, slot: u32) {
        let generation = self.slots.next_generation();
        let Some(connection) = self
            .slots
            .get_mut(slot)
            .filter(|connection| connection.has(flag::QUEUED))
        else {
            return;
        };
        let key = Key {
            slot,
            generation: connection.generation,
        };
        connection.generation = generation;
        connection.clear(flag::QUEUED);
        let urgent = connection.urgent();
        let authority = Authority {
            slots: &self.slots,
            timeouts: self.timeouts,
            urgent,
        };
        let queue = if urgent {
            &mut self.urgent
        } else {
            &mut self.queue
        };
        queue.remove(key, &authority);
    }

    /// Changes the state and what is counted by it. The connection must be out of the queue unless both states share it.
    pub(crate) fn set_state(&mut self, slot: u32, state: State) {
        let kept = self.idle_kept();
        let generation = self.slots.next_generation();
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        let former = connection.state();
        let key = Key {
            slot,
            generation: connection.generation,
        };
        connection.put_state(state);
        if former == State::Idle && kept {
            // A former entry of the idle queue must not come to life when the connection is idle again.
            connection.generation = generation;
            self.idle.remove(key, &Quiet(&self.slots));
        } else if state == State::Idle && kept {
            self.idle.insert(key, connection.moved_ms.get());
        }
        for (state, step) in [(former, -1), (state, 1)] {
            let count = match state {
                State::Free => continue,
                State::Live => &mut self.stats.live,
                State::Idle => &mut self.stats.idle,
                State::Ended => &mut self.stats.ended,
                State::Done => &mut self.stats.done,
            };
            *count = count.wrapping_add_signed(step);
        }
    }

    pub(crate) fn idle_kept(&self) -> bool {
        self.config.when_full == crate::WhenFull::EvictIdle
    }

    /// The connection has ended; `why` are the facts that say so: nothing (it closed), GONE, or GONE and DESTROYED.
    pub(crate) fn end(&mut self, slot: u32, why: u16, now: Now) {
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        connection.set(why);
        connection.clear(flag::AWAITING | flag::FRESH | flag::SUSPECT);
        if why != 0 {
            connection.clear(flag::LEFT);
        }
        match connection.state() {
            State::Live | State::Idle => {
                self.stats.ended_total += 1;
                self.make_urgent(slot, now);
            }
            // Its remainder goes at once instead of after an active timeout.
            State::Done if why != 0 && !connection.has(flag::IN_FLIGHT) => {
                self.leave_done(slot, now)
            }
            State::Free | State::Ended | State::Done => {}
        }
    }

    /// Makes a live connection's last record due at once.
    pub(crate) fn make_urgent(&mut self, slot: u32, now: Now) {
        self.dequeue(slot);
        self.set_state(slot, State::Ended);
        if let Some(connection) = self.slots.get_mut(slot) {
            connection.clear(flag::STOPPING);
            connection.since_ms = Millis::new(now.monotonic_ms);
        }
        self.enqueue(slot);
    }

    /// A done connection that the kernel has dropped: what it still has is due at once, else it goes.
    pub(crate) fn leave_done(&mut self, slot: u32, now: Now) {
        if self
            .slots
            .get(slot)
            .is_some_and(|connection| connection.unexported())
        {
            self.make_urgent(slot, now);
        } else {
            self.dequeue(slot);
            self.release(slot);
        }
    }

    /// Its end record has been settled, one way or the other.
    pub(crate) fn end_settled(&mut self, slot: u32, now: Now) {
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        if connection.has(flag::LEFT) {
            return self.free(slot);
        }
        connection.since_ms = Millis::new(now.monotonic_ms);
        connection.clear(flag::MOVED | flag::STOPPING);
        self.set_state(slot, State::Done);
        let Some(connection) = self.slots.get(slot) else {
            return;
        };
        if connection.has(flag::GONE) {
            self.leave_done(slot, now);
        } else if connection.unexported() {
            self.queue_remainder(slot, now);
        }
    }

    /// A done connection that moved after all: due an active timeout after its last record, at a stop now.
    pub(crate) fn queue_remainder(&mut self, slot: u32, now: Now) {
        if self.stopping {
            self.make_urgent(slot, now);
        } else {
            self.enqueue(slot);
        }
    }

    /// Frees a settled connection that the kernel has dropped, unless a dump that runs may still show it, or (events) its
    /// DESTROY is still to come: then a later poll's sweep frees it.
    fn release(&mut self, slot: u32) {
        let Some(connection) = self.slots.get(slot) else {
            return;
        };
        let remembered = self.config.events
            && (!connection.has(flag::DESTROYED)
                || self.older_poll_runs(connection.scope, connection.stamp));
        if !remembered {
            self.free(slot);
        }
    }

    /// Forgets a connection altogether.
    pub(crate) fn free(&mut self, slot: u32) {
        self.dequeue(slot);
        let Some(key) = self.slots.key(slot) else {
            return;
        };
        let Some(connection) = self.slots.get(slot) else {
            return;
        };
        if connection.has(flag::IN_FLIGHT) {
            self.stats.in_flight -= 1;
        }
        let side = connection.side;
        self.set_state(slot, State::Free);
        self.drop_side(slot, side);
        self.index.remove(key.hash(&self.seed), slot);
        self.slots.free(slot);
    }

    fn drop_side(&mut self, slot: u32, number: u32) {
        if number == 0 {
            return;
        }
        if let Some(owner) = self
            .side
            .remove(slot, number)
            .filter(|owner| *owner != slot)
            && let Some(connection) = self.slots.get_mut(owner)
        {
            connection.side = number;
        }
    }
}
