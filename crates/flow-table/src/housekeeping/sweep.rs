//! The end of a complete poll, on its way through the table: what it did not show is over.

use super::{CHANGED, SCANNED};
use crate::observation::{Now, Scope};
use crate::polls::{Poll, before};
use crate::store::{Keep, Past, Presence, Scan, State, Why};
use crate::table::FlowTable;

/// Segments of what is remembered swept in one slice.
const SEGMENTS: usize = 64;
/// How long the DESTROY of an entry that a dump missed may take: the kernel's garbage collection visits everything within
/// a minute.
const DESTROY_DELAY_MS: u64 = 120_000;

/// How far the end of one poll has come.
#[derive(Clone, Copy)]
pub(super) struct Sweep {
    poll: Poll,
    /// The complete poll of the scope before it.
    former: Option<u32>,
    began: Now,
    slots: Option<Scan>,
    segment: usize,
}

impl Sweep {
    pub(super) fn new(poll: Poll, former: Option<u32>, began: Now) -> Self {
        Self {
            poll,
            former,
            began,
            slots: Some(Scan::default()),
            segment: 0,
        }
    }

    /// One dump may miss what is there: two in a row do not.
    fn may_have_missed(&self, stamp: u32) -> bool {
        self.former.is_none_or(|former| !before(stamp, former))
    }

    pub(super) fn is_of(&self, scope: Scope) -> bool {
        self.poll.scope == scope
    }
}

impl FlowTable {
    /// One slice of the first of them; true: there is more.
    pub(super) fn sweep(&mut self, now: Now) -> bool {
        let Some(mut sweep) = self.housekeeping.sweeps.pop_front() else {
            return false;
        };
        let over = match sweep.slots.take() {
            Some(mut scan) => {
                let over = self.scan(&mut scan, SCANNED, CHANGED, |table, slot| {
                    table.sweep_slot(slot, &sweep, now)
                });
                sweep.slots = (!over).then_some(scan);
                if over {
                    self.remembered.begin_sweep(sweep.poll.sequence);
                }
                false
            }
            None => self.sweep_remembered(&mut sweep),
        };
        if !over {
            self.housekeeping.sweeps.push_front(sweep);
        }
        true
    }

    /// Ends what the poll did not see, and frees what nobody will speak of any more. True: it did.
    fn sweep_slot(&mut self, slot: u32, sweep: &Sweep, now: Now) -> bool {
        let Some(connection) = self.store.get(slot) else {
            return false;
        };
        let state = connection.state();
        if connection.scope != sweep.poll.scope.0 || state == State::Free {
            return false;
        }
        if connection.is_gone() {
            self.give_up_destroy(slot);
            let Some(connection) = self.store.get(slot) else {
                return false;
            };
            let since_ms = connection.since_ms.get();
            let over = match connection.presence() {
                Presence::Destroyed => true,
                _ if self.config.events => {
                    sweep.began.monotonic_ms >= since_ms.saturating_add(DESTROY_DELAY_MS)
                }
                _ => !sweep.may_have_missed(connection.stamp),
            };
            let done = connection.is_done() && !connection.unexported();
            let free = over && done && !connection.is_in_flight();
            if free {
                self.free(slot);
            }
            return free;
        }
        let left = connection.presence() == Presence::Left;
        if left || !before(connection.stamp, sweep.poll.sequence) {
            return false;
        }
        if self.config.confirm_absent && matches!(state, State::Live | State::Idle) {
            self.suspect(slot);
            return false;
        }
        self.end(slot, Some(Presence::Missing), now);
        true
    }

    /// One in whose place there was another when the last complete poll ended: its DESTROY came before that one's NEW, and
    /// all events were handed over that came before the poll's end. So it is lost. True: it is such a one.
    pub(crate) fn give_up_destroy(&mut self, slot: u32) -> bool {
        let Some((key, connection)) = self.store.key(slot).zip(self.store.get(slot)) else {
            return false;
        };
        let (scope, hash) = (connection.scope, self.store.hash(&key));
        let current = self.store.current(&key, hash);
        let current = current.is_some_and(|it| self.polls.was_there(scope, it.generation));
        let identity = connection.identity();
        let refused = self.remembered.stamp_of(&key, hash, identity);
        let refused = refused.is_some_and(|stamp| {
            !before(stamp, connection.stamp) && self.polls.was_seen(scope, stamp)
        });
        let lost = connection.presence() == Presence::Missing && (current || refused);
        if lost {
            self.store.set_destroyed(slot);
        }
        lost
    }

    /// Some segments of what is remembered; true: that was the last one.
    fn sweep_remembered(&mut self, sweep: &mut Sweep) -> bool {
        let confirm_absent = self.config.confirm_absent;
        let polls = &self.polls;
        let swept = *sweep;
        let keep = |past: &Past| {
            let shown = swept.may_have_missed(past.stamp);
            match past.why {
                Why::Restored => Keep::Yes,
                _ if past.scope != swept.poll.scope.0 => Keep::Yes,
                Why::Destroyed if polls.older_runs(past.scope, past.stamp) => Keep::Yes,
                Why::Destroyed => Keep::No,
                // No dump of the selection will show when the kernel drops it.
                Why::Left => Keep::WhileThereIsRoom,
                Why::Refused | Why::Evicted | Why::Missing if shown => Keep::Yes,
                Why::Refused | Why::Evicted if confirm_absent => Keep::WhileThereIsRoom,
                Why::Refused | Why::Evicted | Why::Missing => Keep::No,
            }
        };
        for _ in 0..SEGMENTS {
            if !self.remembered.sweep(sweep.segment, keep) {
                return true;
            }
            sweep.segment += 1;
        }
        false
    }
}
