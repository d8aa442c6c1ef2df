//! What becomes of taken records: each is settled once, in any order among batches.

use super::batch::{Batch, Item};
use super::{EndReason, Loss, Lost};
use crate::clock::Millis;
use crate::observation::{Counters, Now};
use crate::store::{Connection, Place, Presence, State, flag, plus};
use crate::table::FlowTable;

impl FlowTable {
    /// The batch has been exported: exported counters advance to what it held, and what has ended retires.
    pub fn commit(&mut self, batch: Batch, now: Now) {
        self.enter(now);
        let taken_ms = batch.taken_ms;
        for item in batch.settle() {
            self.settle(&item, None, taken_ms, now);
        }
    }

    /// The batch has not been exported: all of it is due again, once.
    pub fn rollback(&mut self, batch: Batch, now: Now) {
        self.enter(now);
        for item in batch.settle() {
            self.unsettle(&item, now);
        }
    }

    /// Rolls back what was dropped unsettled.
    #[inline]
    pub(crate) fn take_returns(&mut self, now: Now) {
        if self.export.returns.any() {
            self.unsettle_returns(now);
        }
    }

    #[cold]
    fn unsettle_returns(&mut self, now: Now) {
        for items in self.export.returns.take() {
            for item in items {
                self.unsettle(&item, now);
            }
        }
    }

    /// Counts what a record held, or would have held.
    pub(crate) fn count_record_lost(&mut self, deltas: &[Counters; 2], reason: Loss) {
        let [original, reply] = deltas;
        let lost = Lost {
            records: 1,
            packets: original.packets.saturating_add(reply.packets),
            octets: original.octets.saturating_add(reply.octets),
        };
        self.export.count_loss(reason, lost);
    }

    pub(super) fn settle(&mut self, item: &Item, lost: Option<Loss>, taken_ms: u64, now: Now) {
        let slot = item.name.slot;
        if !self.land(item) {
            return;
        }
        if let Some(reason) = lost {
            self.count_record_lost(&item.deltas, reason);
        }
        let Some((key, connection)) = self.store.key(slot).zip(self.store.get_mut(slot)) else {
            return;
        };
        connection.exported = plus(&connection.exported, &item.deltas);
        connection.record_end_s = item.record_end_s;
        connection.set(flag::RECORDED);
        connection.clear(flag::FRESH | flag::AT_ONCE);
        let left = connection.presence() == Presence::Left;
        let lives =
            connection.presence() == Presence::Held && !connection.is_closed(key.protocol());
        let its_end =
            item.reason == EndReason::EndDetected || (item.reason == EndReason::Forced && left);
        match connection.state() {
            State::Ended | State::Done | State::Gone if its_end => self.end_settled(slot, now),
            State::Ended if connection.has(flag::END_TOLD) && !connection.unexported() => {
                self.end_settled(slot, now);
            }
            // It has come back while its last record was in flight.
            State::Ended if lives => {
                connection.since_ms = Millis::new(taken_ms);
                self.set_state(slot, State::Live);
                self.live_settled(slot, item.reason, now);
            }
            // It ended while an earlier record was in flight: now its own.
            State::Ended | State::Done | State::Gone => {
                connection.since_ms = Millis::new(now.monotonic_ms);
                self.enqueue(slot);
            }
            State::Live | State::Idle => {
                connection.since_ms = Millis::new(taken_ms);
                self.live_settled(slot, item.reason, now);
            }
            State::Free => {}
        }
    }

    fn live_settled(&mut self, slot: u32, reason: EndReason, now: Now) {
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        let rests = !connection.unexported();
        let quiet = connection.is_quiet(now, self.queues.timeouts());
        if self.export.stopping {
            self.last_chance(slot);
        } else if reason == EndReason::LackOfResources && rests && !self.remembered.is_full() {
            self.evict(slot);
        } else if quiet && rests {
            self.set_state(slot, State::Idle);
        } else {
            self.enqueue(slot);
        }
    }

    fn unsettle(&mut self, item: &Item, now: Now) {
        let slot = item.name.slot;
        if item.reason == EndReason::LackOfResources {
            self.export.room_wanted += 1;
        }
        if !self.land(item) {
            return;
        }
        let Some(connection) = self.store.get_mut(slot) else {
            return;
        };
        if item.moved {
            connection.set(flag::MOVED);
        }
        match connection.state() {
            State::Done | State::Gone if connection.is_gone() => self.leave_done(slot, now),
            State::Done | State::Gone => self.queue_remainder(slot, now),
            State::Live if self.export.stopping => self.last_chance(slot),
            _ => self.enqueue(slot),
        }
    }

    /// While the table stops: a live connection is due once more if it has something unexported.
    pub(super) fn last_chance(&mut self, slot: u32) {
        if self.store.get(slot).is_some_and(Connection::unexported)
            && let Some(connection) = self.store.get_mut(slot)
        {
            connection.set(flag::AT_ONCE);
            self.enqueue(slot);
        }
    }

    /// The item's connection is no longer in flight; false: it is no longer there.
    fn land(&mut self, item: &Item) -> bool {
        let name = item.name;
        let Some(connection) = self.store.life(name.slot, name.generation) else {
            return false;
        };
        connection.put_place(Place::Out);
        self.export.landed();
        true
    }
}
