//! Connections that the kernel keeps and that have no slot: refused for lack of room, or evicted. What they had is
//! remembered, so that each is counted once, what they move meanwhile is counted as lost, and one that comes in again
//! starts from its current totals.

use super::first_sight::Baseline;
use super::{Sighting, Source};
use crate::export::{Loss, Lost};
use crate::observation::{Admission, Counters};
use crate::polls::before;
use crate::store::{ConnectionKey, Identity, LEAST_REMEMBERED, Past, State, Why, flag, minus};
use crate::table::FlowTable;

/// Both directions together.
fn lost(records: u64, deltas: &[Counters; 2]) -> Lost {
    let [original, reply] = deltas;
    Lost {
        records,
        packets: original.packets.saturating_add(reply.packets),
        octets: original.octets.saturating_add(reply.octets),
    }
}

impl FlowTable {
    /// One that was refused or evicted is seen again: its growth is counted, and it comes in if there is room.
    pub(super) fn meet_again(
        &mut self,
        it: &Sighting<'_>,
        mut past: Past,
        reason: Loss,
        admission: &mut impl Admission,
    ) {
        if it.source == Source::New {
            return; // Its own, heard late, or that of another one with its id: what shows it next tells the start.
        }
        let counters = it.seen.counters;
        let growth = counters.map_or(Lost::default(), |counters| {
            lost(0, &minus(&counters, &past.exported))
        });
        self.export.count_loss(reason, growth);
        if it.is_destroy() {
            self.remembered.remove(&it.key, it.hash, past.identity());
            let scope = it.request.scope.0;
            return self.remember_destroyed(&it.key, it.hash, it.identity(), scope);
        }
        past.exported = counters.unwrap_or(past.exported);
        if it.is_shown() {
            past.stamp = self.polls.newer_than_all();
        }
        if let Some(start) = it.seen.start() {
            (past.start_ns, past.kernel_start) = (start, true);
        }
        // One whose end is exported already has no use for a slot.
        let moved = growth != Lost::default();
        let room = !past.done && self.has_room(moved);
        let names = room.then(|| admission.admit(it.seen)).flatten();
        match names {
            Some(names) => {
                self.remembered.remove(&it.key, it.hash, past.identity());
                self.insert(it, names, Baseline::of(past));
            }
            None => {
                // One that was evicted had its turn.
                if past.why == Why::Refused && !room {
                    self.polls.count_refused(it.request.scope, None);
                }
                self.remembered.put(&it.key, it.hash, past);
            }
        }
    }

    /// First refusal: counted, and remembered if the kernel keeps it. One that cannot be remembered comes back as a new one
    /// at each poll: it is no loss before that ends, and a figure of its own.
    pub(super) fn refuse(&mut self, it: &Sighting<'_>, baseline: &Baseline) {
        let counters = it.seen.counters.unwrap_or_default();
        let all = lost(1, &baseline.deltas(&counters));
        let stamp = self.first_stamp(it);
        self.store.note_zone(it.key.zone());
        if it.is_destroy() {
            self.forget_past(it, baseline);
            let scope = it.request.scope.0;
            self.remember_destroyed(&it.key, it.hash, it.identity(), scope);
        } else if !self.remember_refused(it, baseline, stamp) {
            return self.polls.count_refused(it.request.scope, Some(all));
        } else {
            self.polls.count_refused(it.request.scope, None);
        }
        self.export.count_loss(Loss::Refused, all);
        self.intake.refused += 1;
        if self.queues.evicting() {
            self.export.want_room(self.config.max_connections);
        }
    }

    /// False: there are too many.
    fn remember_refused(&mut self, it: &Sighting<'_>, baseline: &Baseline, stamp: u32) -> bool {
        let past = baseline.refused(it, stamp);
        match baseline.is_known() {
            true => self.remembered.put(&it.key, it.hash, past),
            false => self.remembered.add(&it.key, it.hash, past),
        }
    }

    /// There is room for one more, if necessary (and worth it) by evicting the connection that has been quiet the longest.
    pub(super) fn has_room(&mut self, worth_evicting: bool) -> bool {
        if self.held() < self.config.max_connections {
            return true;
        }
        if !worth_evicting || self.remembered.is_full() {
            return false;
        }
        match self.queues.longest_quiet(&self.store) {
            Some(slot) => {
                self.evict(slot);
                self.held() < self.config.max_connections
            }
            None => false,
        }
    }

    /// Connections that live or have something to export. Done ones are merely remembered.
    fn held(&self) -> usize {
        let counts = self.store.counts();
        counts.live + counts.idle + counts.ended
    }

    /// Lets go of a connection that the kernel keeps.
    pub(crate) fn evict(&mut self, slot: u32) {
        self.intake.evicted += 1;
        self.let_go(slot, Why::Evicted);
    }

    /// Connections whose end is settled have slots of their own, but not without end.
    pub(super) fn keep_within_bound(&mut self, slot: u32) {
        let most = self.config.max_connections.max(LEAST_REMEMBERED);
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        let counts = self.store.counts();
        let (count, why) = match connection.state() {
            State::Done => (counts.done, Why::Evicted),
            State::Gone => (counts.gone, Why::Missing),
            _ => return,
        };
        if count > most && !connection.unexported() && !self.remembered.is_full() {
            self.let_go(slot, why);
        }
    }

    /// Takes a connection's slot. What was exported of it is remembered; of one that nobody counted, as it was seen last.
    pub(crate) fn let_go(&mut self, slot: u32, why: Why) {
        let (Some(key), Some(connection)) = (self.store.key(slot), self.store.get(slot)) else {
            return;
        };
        // Either is kept: what was told once is told again.
        let told_start = self.store.told_start(slot);
        let past = Past {
            exported: connection.exported,
            zeroed: connection
                .has(flag::EXTRA)
                .then(|| Box::new(self.store.zeroed(slot))),
            start_ns: told_start.unwrap_or(connection.start_ns),
            id: connection.id,
            stamp: connection.stamp,
            record_end_s: connection.record_end_s,
            scope: connection.scope,
            why,
            kernel_start: connection.has(flag::KERNEL_START) && told_start.is_none(),
            recorded: connection.has(flag::RECORDED),
            done: connection.has(flag::END_TOLD),
        };
        let hash = self.store.hash(&key);
        self.free(slot);
        let other = match why {
            Why::Missing => self.remembered.stamp_of(&key, hash, past.identity()),
            _ => None,
        };
        if other.is_some_and(|other| !before(other, past.stamp)) {
            return; // Another one with its id has been seen since.
        }
        if !self.remembered.add(&key, hash, past) {
            self.remembered.count_forgotten();
        }
    }

    /// An incarnation was destroyed: while a dump runs that was begun before, it is remembered so that the dump does not
    /// bring it back.
    pub(super) fn remember_destroyed(
        &mut self,
        key: &ConnectionKey,
        hash: u64,
        identity: Identity,
        scope: u8,
    ) {
        let stamp = self.polls.newer_than_all();
        if !self.polls.older_runs(scope, stamp) {
            return;
        }
        let past = Past {
            exported: [Counters::default(); 2],
            zeroed: None,
            start_ns: identity.start_ns.map_or(0, |start| start.get()),
            id: identity.id,
            stamp,
            record_end_s: 0,
            scope,
            why: Why::Destroyed,
            kernel_start: identity.start_ns.is_some(),
            recorded: false,
            done: false,
        };
        if !self.remembered.put(key, hash, past) {
            self.polls.set_blind(scope);
        }
    }
}
