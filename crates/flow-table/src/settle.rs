//! What becomes of taken records: each is settled once, in any order among batches.

use crate::batch::{Batch, Item};
use crate::connection::{Millis, State, flag};
use crate::loss::{Loss, Lost};
use crate::observation::{Counters, Now};
use crate::record::EndReason;
use crate::table::FlowTable;

impl FlowTable {
    /// The batch has been exported: exported counters advance to what it held, and what has ended retires.
    pub fn commit(&mut self, batch: Batch, now: Now) {
        self.take_returns(now);
        self.stats.committed_records += batch.len() as u64;
        let taken_ms = batch.taken_ms;
        for item in batch.settle() {
            self.settle(&item, None, taken_ms, now);
        }
    }

    /// The batch has not been exported: all of it is due again, once.
    pub fn rollback(&mut self, batch: Batch, now: Now) {
        self.take_returns(now);
        for item in batch.settle() {
            self.unsettle(&item, now);
        }
    }

    /// The batch is lost: counted by reason, not exported again.
    pub fn lose(&mut self, batch: Batch, reason: Loss, now: Now) {
        self.take_returns(now);
        let taken_ms = batch.taken_ms;
        for item in batch.settle() {
            self.settle(&item, Some(reason), taken_ms, now);
        }
    }

    /// Rolls back what was dropped unsettled.
    #[inline]
    pub(crate) fn take_returns(&mut self, now: Now) {
        if self.returns.any() {
            self.unsettle_returns(now);
        }
    }

    #[cold]
    fn unsettle_returns(&mut self, now: Now) {
        for items in self.returns.take() {
            self.stats.dropped_batches += 1;
            for item in items {
                self.unsettle(&item, now);
            }
        }
    }

    /// Counts what `totals` hold beyond what is exported.
    pub(crate) fn count_loss(&mut self, slot: u32, totals: &[Counters; 2], reason: Loss) {
        let Some(connection) = self.slots.get(slot) else {
            return;
        };
        let [original, reply] = connection.deltas(totals);
        let packets = original.packets.saturating_add(reply.packets);
        let octets = original.octets.saturating_add(reply.octets);
        self.losses.count(
            reason,
            Lost {
                records: 1,
                packets,
                octets,
            },
        );
    }

    pub(crate) fn settle(&mut self, item: &Item, lost: Option<Loss>, taken_ms: u64, now: Now) {
        let slot = item.slot;
        if !self.landed(item) {
            return;
        }
        if let Some(reason) = lost {
            self.count_loss(slot, &item.totals, reason);
        }
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        connection.exported = item.totals;
        connection.record_end_s = item.record_end_s;
        connection.set(flag::RECORDED);
        connection.clear(flag::FRESH | flag::STOPPING);
        let its_end = item.reason == EndReason::EndDetected
            || (item.reason == EndReason::Forced && connection.has(flag::LEFT));
        match connection.state() {
            State::Ended | State::Done if its_end => self.end_settled(slot, now),
            // It ended while an earlier record was in flight: now its own.
            State::Ended | State::Done => {
                connection.since_ms = Millis::new(now.monotonic_ms);
                self.enqueue(slot);
            }
            State::Live | State::Idle => {
                connection.since_ms = Millis::new(taken_ms);
                let unexported = connection.unexported();
                let quiet = now.monotonic_ms
                    >= connection.moved_ms.get().saturating_add(self.timeouts.idle);
                if self.stopping {
                    self.last_chance(slot);
                } else if item.reason == EndReason::LackOfResources && !unexported {
                    self.evict(slot);
                } else if quiet && !unexported {
                    self.set_state(slot, State::Idle);
                } else {
                    self.enqueue(slot);
                }
            }
            State::Free => {}
        }
    }

    fn unsettle(&mut self, item: &Item, now: Now) {
        let slot = item.slot;
        if item.reason == EndReason::LackOfResources {
            self.room_wanted += 1;
        }
        if !self.landed(item) {
            return;
        }
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        if item.moved {
            connection.set(flag::MOVED);
        }
        match connection.state() {
            State::Done if connection.has(flag::GONE) => self.leave_done(slot, now),
            State::Done => self.queue_remainder(slot, now),
            State::Live if self.stopping => self.last_chance(slot),
            _ => self.enqueue(slot),
        }
    }

    /// While the table stops: a live connection is due once more if it has something unexported.
    pub(crate) fn last_chance(&mut self, slot: u32) {
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        if connection.unexported() {
            connection.set(flag::STOPPING);
            self.enqueue(slot);
        }
    }

    /// The item's connection is no longer in flight; false: it is no longer there.
    fn landed(&mut self, item: &Item) -> bool {
        let Some(connection) = self.slots.life(item.slot, item.generation) else {
            return false;
        };
        connection.clear(flag::IN_FLIGHT);
        self.stats.in_flight -= 1;
        true
    }
}
