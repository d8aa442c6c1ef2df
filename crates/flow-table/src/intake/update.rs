//! What an observation changes about a connection that it is known to speak of.

use super::{Sighting, Source};
use crate::observation::Now;
use crate::store::{Connection, Place, Presence, State, flag};
use crate::table::FlowTable;

impl FlowTable {
    /// What is new about a known connection. One whose id and start are the same and whose counters went back is the same
    /// connection, and somebody has zeroed them.
    pub(crate) fn update(&mut self, slot: u32, it: &Sighting<'_>) {
        let stamp = self.polls.newer_than_all();
        let went_back = |table: &Self| {
            table
                .store
                .get(slot)
                .is_some_and(|known| known.went_back(it.seen))
        };
        if went_back(self) {
            self.store.zero(slot);
        }
        let told_start = self.store.get(slot).and_then(Connection::told_start);
        if let Some(told_start) = told_start.filter(|_| it.seen.start().is_some()) {
            self.store.keep_told_start(slot, told_start);
        }
        let Some(connection) = self.store.get_mut(slot) else {
            return;
        };
        let told = it.source != Source::New;
        let moved = connection.advance(it.seen, it.is_destroy(), told, it.now, stamp);
        self.follow(slot, it, moved);
    }

    /// What an update means beyond the connection's own fields: labels, another state, an answer that was waited for.
    pub(crate) fn follow(&mut self, slot: u32, it: &Sighting<'_>, moved: bool) {
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        let (side, state) = (connection.side, connection.state());
        let over = it.is_destroy() || connection.is_closed(it.seen.original.protocol);
        let awaited = connection.place() == Place::Awaiting;
        if (side != 0 || it.seen.labels != [0; 16]) && !it.is_destroy() {
            self.store
                .put_labels(slot, it.seen, it.source == Source::New);
        }
        match state {
            State::Idle if moved && !over => {
                self.set_state(slot, State::Live);
                self.enqueue(slot);
            }
            State::Live | State::Idle if over => {
                let gone = it.is_destroy().then_some(Presence::Destroyed);
                return self.end(slot, gone, it.now);
            }
            State::Done | State::Gone if moved => self.move_done(slot),
            _ => {}
        }
        if awaited || self.config.events {
            self.release_awaited(slot, it.now);
        }
    }

    /// A live connection has just been looked at: it may act on a deadline that has come, and is in the queue again.
    pub(crate) fn release_awaited(&mut self, slot: u32, now: Now) {
        let timeouts = self.queues.timeouts();
        let Some(connection) = self.store.get_mut(slot) else {
            return;
        };
        if connection.state() == State::Live && connection.deadline(timeouts) <= now.monotonic_ms {
            connection.set(flag::FRESH);
        }
        if connection.place() == Place::Awaiting {
            connection.put_place(Place::Out);
            self.enqueue(slot);
        }
    }
}
