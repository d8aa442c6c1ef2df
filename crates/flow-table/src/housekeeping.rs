//! Housekeeping in slices, none of which holds the table for more than about a millisecond: ends that a poll found, stale
//! ends, the queues' upkeep, and memory given back.

mod forget;
mod shrink;
mod stale;
mod sweep;

use std::collections::VecDeque;

use crate::observation::{Now, Tuple};
use crate::polls::Poll;
use crate::store::Scan;
use crate::table::{FlowTable, Progress};
use sweep::Sweep;

/// Slots looked at in one slice.
pub(crate) const SCANNED: u32 = 8192;
/// Connections ended, moved or evicted in one slice: each costs several cache misses.
pub(crate) const CHANGED: usize = 256;

/// What is to be done, and how far it has come.
#[derive(Default)]
pub(crate) struct Housekeeping {
    sweeps: VecDeque<Sweep>,
    /// Own sessions that zones from this one on have not been searched for.
    forgetting: VecDeque<(Tuple, u16)>,
}

impl Housekeeping {
    /// A complete poll has ended: what it did not show has; what `former`, the one before, did not show either is forgotten.
    pub(crate) fn sweep_after(&mut self, poll: Poll, former: Option<u32>, began: Now) {
        self.sweeps.retain(|sweep| !sweep.is_of(poll.scope));
        self.sweeps.push_back(Sweep::new(poll, former, began));
    }
}

impl FlowTable {
    /// One slice of housekeeping. Call it until Done after each `end_poll`, after `begin_stop`, and from time to time:
    /// stale ends leave here.
    pub fn work(&mut self, now: Now) -> Progress {
        self.enter(now);
        let more = self.forget_rest()
            || self.sweep(now)
            || self.search_for_stop(now)
            || self.drop_stale(now)
            || self.queues.maintain(&self.store, now)
            || self.drop_imported()
            || self.move_down()
            || self.store.give_back()
            || self.remembered.give_back();
        if more { Progress::More } else { Progress::Done }
    }

    /// One slice of a pass over all slots: at most so many are looked at, and at most so many changed, which is what `visit`
    /// says. True: the pass is over.
    pub(crate) fn scan(
        &mut self,
        scan: &mut Scan,
        scanned: u32,
        changed: usize,
        mut visit: impl FnMut(&mut Self, u32) -> bool,
    ) -> bool {
        let (mut looked, mut changes) = (0, 0);
        while looked < scanned && changes < changed {
            let Some(slot) = scan.next(self.store.end()) else {
                return true;
            };
            changes += usize::from(visit(self, slot));
            looked += 1;
        }
        scan.is_over()
    }
}
