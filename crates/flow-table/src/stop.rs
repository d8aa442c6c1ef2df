//! The end of a run: what is still exported, and what is counted as left.

use crate::connection::{State, flag};
use crate::loss::Loss;
use crate::observation::Now;
use crate::table::FlowTable;
use crate::work::{CHANGED, SCANNED};

impl FlowTable {
    /// The final poll is over: what is live with something unexported becomes due with reason 4, a done connection's
    /// remainder with reason 3, and nothing else makes records any more. The table is searched in slices, by `work` and by
    /// `take_batch`; until that is done, `next_deadline` says that something may be due.
    pub fn begin_stop(&mut self, now: Now) {
        self.take_returns(now);
        if !self.stopping {
            self.stopping = true;
            self.stop_scan = Some(0);
        }
    }

    /// One slice of that search; true: there is more.
    pub(crate) fn scan_for_stop(&mut self, now: Now) -> bool {
        let Some(first) = self.stop_scan else {
            return false;
        };
        let end = self.slots.end();
        let last = first.saturating_add(SCANNED).min(end);
        let mut slot = first;
        let mut changed = 0;
        while slot < last && changed < CHANGED {
            changed += usize::from(self.stop_slot(slot, now));
            slot += 1;
        }
        self.stop_scan = (slot < end).then_some(slot);
        true
    }

    fn stop_slot(&mut self, slot: u32, now: Now) -> bool {
        let Some(connection) = self.slots.get_mut(slot) else {
            return false;
        };
        let unexported = connection.unexported();
        if connection.has(flag::IN_FLIGHT) {
            return false;
        }
        match connection.state() {
            State::Live if !unexported => {
                self.dequeue(slot);
                true
            }
            State::Live | State::Idle if unexported => {
                connection.clear(flag::AWAITING);
                self.dequeue(slot);
                self.set_state(slot, State::Live);
                self.last_chance(slot);
                true
            }
            State::Done if unexported => {
                self.make_urgent(slot, now);
                true
            }
            _ => false,
        }
    }

    /// The grace period is over: what is still unexported, taken or not, is counted as lost and counts as exported. Settle
    /// batches before, or they settle as already lost. It looks at the whole table in one go; nothing comes after it.
    pub fn left_at_stop(&mut self, now: Now) {
        self.take_returns(now);
        for slot in 0..self.slots.end() {
            let Some(connection) = self.slots.get(slot) else {
                continue;
            };
            let left = match connection.state() {
                State::Ended => true,
                State::Live | State::Idle | State::Done => connection.unexported(),
                State::Free => false,
            };
            if !left {
                continue;
            }
            let totals = connection.totals;
            self.count_loss(slot, &totals, Loss::LeftAtStop);
            self.dequeue(slot);
            if let Some(connection) = self.slots.get_mut(slot) {
                connection.exported = totals;
                connection.clear(flag::MOVED | flag::STOPPING);
                if connection.has(flag::IN_FLIGHT) {
                    connection.clear(flag::IN_FLIGHT);
                    self.stats.in_flight -= 1;
                }
                // Batches that still name it settle nothing.
                connection.generation = 0;
            }
            if self
                .slots
                .get(slot)
                .is_some_and(|connection| connection.state() == State::Ended)
            {
                self.end_settled(slot, now);
            }
        }
    }
}
