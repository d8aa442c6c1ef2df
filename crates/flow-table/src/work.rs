//! Housekeeping in slices, none of which holds the table for more than about a millisecond: ends that a poll found, stale
//! ends, the queues' upkeep, and memory given back.

use crate::connection::{State, flag};
use crate::deadline::{Authority, Quiet};
use crate::loss::Loss;
use crate::observation::Now;
use crate::side::Side;
use crate::table::{FlowTable, Poll, Progress, before};

/// Slots looked at in one slice.
pub(crate) const SCANNED: u32 = 8192;
/// Connections ended, moved or evicted in one slice: each costs several cache misses.
pub(crate) const CHANGED: usize = 256;
/// Segments of the outside swept in one slice.
const SEGMENTS: usize = 64;
/// How long the DESTROY of an entry that a dump missed may take: the kernel's garbage collection visits everything within
/// a minute.
const DESTROY_DELAY_MS: u64 = 120_000;

/// The end of a complete poll, on its way through the table.
pub(crate) struct Sweep {
    pub(crate) poll: Poll,
    began: Now,
    slot: u32,
    segment: usize,
}

impl Sweep {
    pub(crate) fn new(poll: Poll, began: Now) -> Self {
        Self {
            poll,
            began,
            slot: 0,
            segment: 0,
        }
    }
}

impl FlowTable {
    /// One slice of housekeeping. Call it until Done after each `end_poll`, after `begin_stop`, and from time to time:
    /// stale ends leave here.
    pub fn work(&mut self, now: Now) -> Progress {
        self.take_returns(now);
        let more = self.forget_rest()
            || self.sweep(now)
            || self.scan_for_stop(now)
            || self.drop_stale(now)
            || self.maintain_queues(now)
            || self.restored.give_back()
            || self.move_down()
            || self.give_back();
        if more { Progress::More } else { Progress::Done }
    }

    /// Ends what the poll did not see, and frees what nobody will speak of any more.
    fn sweep(&mut self, now: Now) -> bool {
        let Some(mut sweep) = self.sweeps.pop_front() else {
            return false;
        };
        let end = self.slots.end();
        let last = sweep.slot.saturating_add(SCANNED).min(end);
        let mut changed = 0;
        while sweep.slot < last && changed < CHANGED {
            changed += usize::from(self.sweep_slot(&sweep, now));
            sweep.slot += 1;
        }
        if sweep.slot >= end {
            let (scope, sequence) = (sweep.poll.scope.0, sweep.poll.sequence);
            for _ in 0..SEGMENTS {
                if !self.outside.retain(sweep.segment, |it| {
                    it.scope != scope || !before(it.stamp, sequence)
                }) {
                    return true;
                }
                sweep.segment += 1;
            }
        }
        self.sweeps.push_front(sweep);
        true
    }

    fn sweep_slot(&mut self, sweep: &Sweep, now: Now) -> bool {
        let slot = sweep.slot;
        let Some(connection) = self.slots.get(slot) else {
            return false;
        };
        let state = connection.state();
        if connection.scope != sweep.poll.scope.0 || state == State::Free {
            return false;
        }
        if connection.has(flag::GONE) {
            let over = match connection.has(flag::DESTROYED) {
                true => !self.older_poll_runs(connection.scope, connection.stamp),
                false => {
                    sweep.began.monotonic_ms
                        >= connection.since_ms.get().saturating_add(DESTROY_DELAY_MS)
                }
            };
            let free = over && state == State::Done && !self.in_flight(slot);
            if free {
                self.free(slot);
            }
            return free;
        }
        if !before(connection.stamp, sweep.poll.sequence) {
            return false;
        }
        if self.config.confirm_absent && matches!(state, State::Live | State::Idle) {
            self.suspect(slot);
            return false;
        }
        self.end(slot, flag::GONE, now);
        true
    }

    /// A poll of the scope runs that may still show what was there before this stamp.
    pub(crate) fn older_poll_runs(&self, scope: u8, stamp: u32) -> bool {
        let older = |poll: &Poll| poll.scope.0 == scope && before(poll.sequence, stamp);
        self.running.iter().any(|(poll, _)| older(poll))
    }

    fn in_flight(&self, slot: u32) -> bool {
        self.slots
            .get(slot)
            .is_some_and(|connection| connection.has(flag::IN_FLIGHT))
    }

    /// Ends that nobody exported for the stale timeout are counted and leave, or wait as done while the kernel keeps them.
    fn drop_stale(&mut self, now: Now) -> bool {
        let Some(limit) = now
            .monotonic_ms
            .checked_sub(self.config.stale_timeout_ms)
            .filter(|_| !self.stopping)
        else {
            return false;
        };
        let mut budget = CHANGED;
        for _ in 0..CHANGED / 2 {
            let authority = Authority {
                slots: &self.slots,
                timeouts: self.timeouts,
                urgent: true,
            };
            let Some((_, key)) = self.urgent.pop_due(limit, &authority, &mut budget) else {
                return budget == 0;
            };
            let Some(connection) = self.slots.get_mut(key.slot) else {
                continue;
            };
            connection.clear(flag::QUEUED);
            let totals = connection.totals;
            self.count_loss(key.slot, &totals, Loss::Stale);
            if let Some(connection) = self.slots.get_mut(key.slot) {
                connection.exported = totals;
            }
            self.end_settled(key.slot, now);
        }
        true
    }

    fn maintain_queues(&mut self, now: Now) -> bool {
        let mut authority = Authority {
            slots: &self.slots,
            timeouts: self.timeouts,
            urgent: false,
        };
        if self.queue.maintain(now.monotonic_ms, &authority) {
            return true;
        }
        authority.urgent = true;
        self.urgent.maintain(now.monotonic_ms, &authority)
            || (self.idle_kept() && self.idle.maintain(u64::MAX - 1, &Quiet(&self.slots)))
    }

    /// Connections of a topmost range that is worth emptying move down, unless something outside names their slot.
    fn move_down(&mut self) -> bool {
        if self.exporting {
            return false;
        }
        let Some(slots) = self.slots.to_move() else {
            return false;
        };
        let pinned = flag::IN_FLIGHT | flag::AWAITING | flag::SUSPECT;
        let mut moved = 0;
        for slot in slots {
            let Some(connection) = self.slots.get(slot) else {
                continue;
            };
            if connection.state() == State::Free || connection.has(pinned) {
                continue;
            }
            self.move_slot(slot);
            moved += 1;
            if moved == CHANGED {
                return true;
            }
        }
        // A range with nothing but pinned ones left has to wait for them.
        moved > 0
    }

    fn move_slot(&mut self, slot: u32) {
        let queued = self
            .slots
            .get(slot)
            .is_some_and(|connection| connection.has(flag::QUEUED));
        self.dequeue(slot);
        let idle = self
            .slots
            .get(slot)
            .is_some_and(|connection| connection.state() == State::Idle);
        if idle {
            self.set_state(slot, State::Live); // Out of the idle queue, which names slots too.
        }
        let (Some(key), Some(connection)) = (self.slots.key(slot), self.slots.get(slot).copied())
        else {
            return;
        };
        let hash = key.hash(&self.seed);
        self.slots.free(slot);
        let to = self.slots.add(key, connection);
        self.index.replace(hash, slot, to);
        self.side.set_owner(to, connection.side);
        if idle {
            self.set_state(to, State::Idle);
        }
        if queued {
            self.enqueue(to);
        }
    }

    fn give_back(&mut self) -> bool {
        self.index.give_back()
            || self.outside.give_back(|it| it.fingerprint)
            || self.slots.give_back()
            || Side::give_back(&mut self.side)
    }
}
