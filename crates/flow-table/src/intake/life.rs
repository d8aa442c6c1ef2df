//! How a connection goes from one state to the next.

use crate::clock::Millis;
use crate::observation::Now;
use crate::store::{Connection, Presence, State, Why, flag};
use crate::table::FlowTable;

impl FlowTable {
    /// Puts a connection whose next step nobody has in hand into the queue its state asks for.
    pub(crate) fn enqueue(&mut self, slot: u32) {
        self.queues.enqueue(&mut self.store, slot);
    }

    /// Changes the state. The connection must be out of the queue unless both states share it.
    pub(crate) fn set_state(&mut self, slot: u32, state: State) {
        self.queues.set_state(&mut self.store, slot, state);
    }

    /// The connection has ended: its protocol is over with it, or it is no longer what the kernel holds.
    pub(crate) fn end(&mut self, slot: u32, gone: Option<Presence>, now: Now) {
        let Some(connection) = self.store.get_mut(slot) else {
            return;
        };
        connection.forget_questions();
        match gone {
            Some(Presence::Destroyed) => self.store.set_destroyed(slot),
            Some(presence) if !connection.is_gone() => connection.put_presence(presence),
            _ => {}
        }
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        match connection.state() {
            State::Live | State::Idle if connection.has_ended_for_good() => {
                self.queues.dequeue(&mut self.store, slot);
                self.set_state(slot, State::Done);
                if gone.is_some() {
                    self.leave_done(slot, now);
                }
            }
            State::Live | State::Idle => {
                self.intake.ended += 1;
                self.make_urgent(slot, now);
            }
            // Its remainder goes at once instead of after an active timeout.
            State::Done | State::Gone if gone.is_some() && !connection.is_in_flight() => {
                self.leave_done(slot, now);
            }
            State::Free | State::Ended | State::Done | State::Gone => {}
        }
    }

    /// Makes a live connection's last record due at once, or what a done one has left.
    pub(crate) fn make_urgent(&mut self, slot: u32, now: Now) {
        self.queues.dequeue(&mut self.store, slot);
        let done = self.store.get(slot).is_some_and(Connection::is_done);
        if !done {
            self.set_state(slot, State::Ended);
        }
        if let Some(connection) = self.store.get_mut(slot) {
            connection.clear(flag::AT_ONCE);
            if done {
                connection.set(flag::AT_ONCE);
            }
            connection.since_ms = Millis::new(now.monotonic_ms);
        }
        self.enqueue(slot);
    }

    /// A done connection that the kernel has dropped, or that has left the selection: what it still has is due at once,
    /// else it goes.
    pub(crate) fn leave_done(&mut self, slot: u32, now: Now) {
        if self.store.get(slot).is_some_and(Connection::unexported) {
            return self.make_urgent(slot, now);
        }
        self.queues.dequeue(&mut self.store, slot);
        match self.store.get(slot).map(Connection::presence) {
            Some(Presence::Destroyed) => self.free(slot),
            Some(Presence::Left) => self.let_go(slot, Why::Left),
            // Its DESTROY is still to come, or a later poll's sweep.
            Some(Presence::Missing) => {
                self.set_state(slot, State::Gone);
                self.keep_within_bound(slot);
            }
            Some(Presence::Held) | None => {}
        }
    }

    /// Its last record has been settled, one way or the other.
    pub(crate) fn end_settled(&mut self, slot: u32, now: Now) {
        let Some((key, connection)) = self.store.key(slot).zip(self.store.get_mut(slot)) else {
            return;
        };
        connection.since_ms = Millis::new(now.monotonic_ms);
        connection.clear(flag::AT_ONCE);
        if connection.presence() != Presence::Left {
            connection.set(flag::END_TOLD);
        }
        let unexported = connection.unexported();
        let open = !connection.is_closed(key.protocol());
        match connection.presence() {
            // It grew while that record was under way.
            Presence::Left if unexported => self.make_urgent(slot, now),
            Presence::Held if unexported && open && connection.state() == State::Ended => {
                self.set_state(slot, State::Live);
                self.enqueue(slot);
            }
            Presence::Held => {
                self.set_state(slot, State::Done);
                self.keep_within_bound(slot);
                if unexported {
                    self.queue_remainder(slot, now);
                }
            }
            Presence::Left | Presence::Missing | Presence::Destroyed => {
                self.set_state(slot, State::Done);
                self.leave_done(slot, now);
            }
        }
    }

    /// A done connection that moved after all: due an active timeout after its last record, at a stop now.
    pub(crate) fn queue_remainder(&mut self, slot: u32, now: Now) {
        if self.export.is_stopping() {
            self.make_urgent(slot, now);
        } else {
            self.enqueue(slot);
        }
    }

    /// A done connection has moved. One whose protocol is not over with it was told to have ended too early.
    pub(crate) fn move_done(&mut self, slot: u32) {
        let Some((key, connection)) = self.store.key(slot).zip(self.store.get(slot)) else {
            return;
        };
        if connection.unexported() {
            let open = !connection.is_closed(key.protocol());
            if open
                && connection.presence() == Presence::Held
                && !connection.is_in_flight()
                && self.has_room(false)
            {
                self.queues.dequeue(&mut self.store, slot);
                self.set_state(slot, State::Live);
                if let Some(connection) = self.store.get_mut(slot) {
                    connection.clear(flag::AT_ONCE);
                }
            }
            self.enqueue(slot);
        }
    }

    /// Forgets a connection altogether.
    pub(crate) fn free(&mut self, slot: u32) {
        self.queues.dequeue(&mut self.store, slot);
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        if connection.is_in_flight() {
            self.export.landed();
        }
        self.set_state(slot, State::Free);
        self.store.free(slot);
    }
}
