//! The end of a run: what is still exported, and what is counted as left.

use super::Loss;
use crate::housekeeping::{CHANGED, SCANNED};
use crate::observation::Now;
use crate::store::{Scan, State};
use crate::table::FlowTable;

impl FlowTable {
    /// The final poll is over: what is live with something unexported becomes due with reason 4, a done connection's
    /// remainder with reason 3, and nothing else makes records any more. The table is searched in slices, by `work` and by
    /// `take_batch`; until that is done, `next_deadline` says that something may be due.
    pub fn begin_stop(&mut self, now: Now) {
        self.enter(now);
        if !self.export.stopping {
            self.export.stopping = true;
            self.export.search = Some(Scan::default());
        }
    }

    /// One slice of that search; true: there is more.
    pub(crate) fn search_for_stop(&mut self, now: Now) -> bool {
        let Some(mut search) = self.export.search.take() else {
            return false;
        };
        let over = self.scan(&mut search, SCANNED, CHANGED, |table, slot| {
            table.stop_slot(slot, now)
        });
        self.export.search = (!over).then_some(search);
        true
    }

    fn stop_slot(&mut self, slot: u32, now: Now) -> bool {
        let Some(connection) = self.store.get_mut(slot) else {
            return false;
        };
        if connection.is_in_flight() {
            return false;
        }
        match (connection.state(), connection.unexported()) {
            (State::Live, false) => {
                self.queues.dequeue(&mut self.store, slot);
                true
            }
            (State::Live | State::Idle, true) => {
                connection.forget_questions();
                self.queues.dequeue(&mut self.store, slot);
                self.set_state(slot, State::Live);
                self.last_chance(slot);
                true
            }
            (State::Done | State::Gone, true) => {
                self.make_urgent(slot, now);
                true
            }
            _ => false,
        }
    }

    /// The grace period is over: what is still unexported, taken or not, is counted as lost and counts as exported. Settle
    /// batches before, or they settle as already lost. It looks at the whole table in one go; nothing comes after it.
    pub fn left_at_stop(&mut self, now: Now) {
        self.enter(now);
        let mut scan = Scan::default();
        self.scan(&mut scan, u32::MAX, usize::MAX, |table, slot| {
            table.leave_slot(slot, now)
        });
    }

    fn leave_slot(&mut self, slot: u32, now: Now) -> bool {
        let Some(connection) = self.store.get(slot) else {
            return false;
        };
        let state = connection.state();
        let left = match state {
            State::Ended => true,
            State::Live | State::Idle | State::Done | State::Gone => connection.unexported(),
            State::Free => false,
        };
        if !left {
            return false;
        }
        let deltas = connection.deltas();
        self.count_record_lost(&deltas, Loss::LeftAtStop);
        self.queues.dequeue(&mut self.store, slot);
        if let Some(connection) = self.store.get_mut(slot) {
            connection.mark_exported();
            if connection.is_in_flight() {
                connection.put_place(crate::store::Place::Out);
                self.export.landed();
            }
            // Batches that still name it settle nothing.
            connection.generation = 0;
        }
        if state == State::Ended {
            self.end_settled(slot, now);
        }
        true
    }
}
