//! From an observation to the incarnation it speaks of.

use super::Sighting;
use crate::observation::Admission;
use crate::polls::before;
use crate::store::{Candidates, MOST_OF_A_KEY, Presence, State};
use crate::table::FlowTable;

/// The kernel is destroying the entry: IPS_DYING.
const DYING: u32 = 0x200;

impl FlowTable {
    /// Merges what a poll or a lookup saw.
    pub(crate) fn merge(&mut self, it: &Sighting<'_>, admission: &mut impl Admission) {
        if let Some(start) = it.seen.start() {
            // Nearly always: the same entry as in the last poll.
            let same = self.store.find_current(&it.key, it.hash, it.seen.id, start);
            if let Some(slot) = same {
                return self.observe_known(slot, it, admission);
            }
        }
        let found = self.candidates(it);
        let asked = it.request.sequence;
        if let Some(slot) = found.exact {
            return self.observe_exact(slot, &found, it, admission);
        }
        let destroyed = self.remembered.destroyed(&it.key, it.hash);
        if destroyed.is_some_and(|stamp| before(asked, stamp)) || self.polls.is_blind(it.request) {
            return; // Rule (b).
        }
        if let Some(slot) = found.similar {
            return self.observe_known(slot, it, admission);
        }
        let missed = found.similar_missing.and_then(|slot| self.store.get(slot));
        if missed.is_some_and(|missed| before(asked, missed.stamp)) {
            return; // Rule (d), for what is not there.
        }
        if self.config.events && it.seen.status & DYING != 0 {
            return; // Its DESTROY is on the way and tells all.
        }
        if let Some(slot) = found.current {
            let newer = self
                .store
                .get(slot)
                .is_none_or(|it| before(asked, it.stamp));
            if newer {
                return; // Rule (d).
            }
            return self.replace(slot, it, admission);
        }
        match found.similar_missing {
            Some(slot) if !self.is_succeeded(slot, it) => self.observe_missed(slot, it, admission),
            _ => self.first_sight(it, admission),
        }
    }

    /// An observation with the id and the start of a connection that has a slot.
    fn observe_exact(
        &mut self,
        slot: u32,
        found: &Candidates,
        it: &Sighting<'_>,
        admission: &mut impl Admission,
    ) {
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        if connection.is_gone() {
            // One that a complete dump missed and a later one shows is there after all.
            if before(it.request.sequence, connection.stamp) || found.current.is_some() {
                return;
            }
            self.come_back(slot);
        }
        self.observe_known(slot, it, admission);
    }

    /// Another incarnation with its id has been seen since, and has no slot.
    fn is_succeeded(&self, slot: u32, it: &Sighting<'_>) -> bool {
        let other = self
            .remembered
            .recall(&it.key, it.hash, it.spoken(&self.clock));
        let missed = self.store.get(slot);
        other
            .zip(missed)
            .is_some_and(|(other, missed)| !before(other.stamp, missed.stamp))
    }

    /// Without start times: one that a complete dump missed, and either it or another with its id is there now.
    fn observe_missed(&mut self, slot: u32, it: &Sighting<'_>, admission: &mut impl Admission) {
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        let closed = connection.is_closed(it.seen.original.protocol);
        if connection.went_back(it.seen) || (closed && !it.seen.is_closed()) {
            return self.successor(it, admission);
        }
        self.come_back(slot);
        self.update(slot, it);
    }

    /// An observation with the identity of a current connection.
    fn observe_known(&mut self, slot: u32, it: &Sighting<'_>, admission: &mut impl Admission) {
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        if before(it.request.sequence, connection.stamp) {
            return self.release_awaited(slot, it.now); // Rule (d).
        }
        let nameless = connection.identity().start_ns.is_none() || it.identity().start_ns.is_none();
        let reopened = connection.is_closed(it.seen.original.protocol) && !it.seen.is_closed();
        if nameless && (connection.went_back(it.seen) || reopened) {
            return self.replace(slot, it, admission);
        }
        if connection.presence() == Presence::Left {
            self.come_back(slot);
        }
        self.update(slot, it);
    }

    /// Every incarnation that may be meant; of past ones of this tuple not more than it takes.
    pub(crate) fn candidates(&mut self, it: &Sighting<'_>) -> Candidates {
        let spoken = it.spoken(&self.clock);
        let mut found = self.store.candidates(&it.key, it.hash, spoken);
        if found.missing >= MOST_OF_A_KEY
            && let Some(slot) = found.oldest_missing.take()
        {
            self.remembered.count_forgotten();
            self.store.set_destroyed(slot);
            let gone = |other: Option<u32>| other.filter(|other| *other != slot);
            found.exact = gone(found.exact);
            found.similar_missing = gone(found.similar_missing);
        }
        found
    }

    /// The kernel holds another incarnation now: this one has ended with its last known counters, and the other began after
    /// that was seen.
    fn replace(&mut self, slot: u32, it: &Sighting<'_>, admission: &mut impl Admission) {
        let stamp = self.polls.newer_than_all();
        if let Some(connection) = self.store.get_mut(slot) {
            connection.stamp = stamp;
        }
        self.end(slot, Some(Presence::Missing), it.now);
        self.successor(it, admission);
    }

    /// It is in the kernel and the selection after all: its end was told too early, or was not told yet.
    fn come_back(&mut self, slot: u32) {
        let Some(protocol) = self.store.key(slot).map(|key| key.protocol()) else {
            return;
        };
        let Some(connection) = self.store.get_mut(slot) else {
            return;
        };
        connection.put_presence(Presence::Held);
        let open = !connection.is_closed(protocol);
        if connection.state() == State::Gone {
            return self.set_state(slot, State::Done);
        }
        if open && connection.state() == State::Ended && !connection.is_in_flight() {
            self.queues.dequeue(&mut self.store, slot);
            self.queues.set_state(&mut self.store, slot, State::Live);
            self.queues.enqueue(&mut self.store, slot);
        }
    }
}
