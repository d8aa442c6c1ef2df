//! Ends that nobody exported for the stale timeout.

use super::CHANGED;
use crate::export::Loss;
use crate::observation::Now;
use crate::table::FlowTable;

impl FlowTable {
    /// They are counted and leave, or wait as done while the kernel keeps them. True: there may be more.
    pub(super) fn drop_stale(&mut self, now: Now) -> bool {
        let Some(limit) = now
            .monotonic_ms
            .checked_sub(self.config.stale_timeout_ms)
            .filter(|_| !self.export.is_stopping())
        else {
            return false;
        };
        let mut budget = CHANGED;
        for _ in 0..CHANGED / 2 {
            let stale = self.queues.pop_urgent(&mut self.store, limit, &mut budget);
            let Some(slot) = stale else {
                return budget == 0;
            };
            let Some(connection) = self.store.get_mut(slot) else {
                continue;
            };
            let deltas = connection.deltas();
            connection.exported = connection.totals;
            self.count_record_lost(&deltas, Loss::Stale);
            self.end_settled(slot, now);
        }
        true
    }
}
