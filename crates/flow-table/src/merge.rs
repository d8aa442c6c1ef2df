//! From an observation to the connection it speaks of: which incarnation.

use crate::connection::{Connection, backwards, flag};
use crate::key::ConnectionKey;
use crate::observation::{Admission, Now, Observation, closed};
use crate::table::{FlowTable, Poll, before};

/// Who made an observation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Dump,
    Lookup,
    /// A NEW event: no counters, no start.
    New,
    /// A DESTROY event: final counters, no labels.
    Destroy,
}

/// The kernel is destroying the entry: IPS_DYING.
const DYING: u32 = 0x200;

/// The incarnations of one key that an observation may speak of.
#[derive(Default)]
pub(crate) struct Candidates {
    /// Held by the kernel, as far as we know, whatever its identity.
    pub(crate) current: Option<u32>,
    /// Same id and the same known start; the current one if it is among them.
    pub(crate) exact: Option<u32>,
    /// How many of those are gone. More than one: counters that went back have split an incarnation.
    pub(crate) exact_gone: usize,
    /// Same id, a start unknown on either side, still current.
    pub(crate) similar: Option<u32>,
    /// The same, but gone; the one whose DESTROY has not come first, then the one seen last.
    pub(crate) similar_gone: Option<u32>,
}

pub(crate) fn start_of(seen: &Observation) -> Option<u64> {
    seen.start_ns.filter(|start| *start != 0)
}

/// Counters of an incarnation never do: this is another one.
#[inline]
pub(crate) fn went_back(connection: &Connection, seen: &Observation) -> bool {
    connection.has(flag::ACCOUNTED)
        && seen
            .counters
            .as_ref()
            .is_some_and(|counters| backwards(counters, &connection.totals))
}

impl FlowTable {
    /// Merges what a poll or a lookup saw (`Source::Dump`, `Source::Lookup`); `request.sequence` is when it was asked for.
    #[expect(
        clippy::too_many_arguments,
        reason = "the hot path's inputs, none of which belong together"
    )]
    pub(crate) fn merge(
        &mut self,
        request: Poll,
        source: Source,
        seen: &Observation,
        key: &ConnectionKey,
        hash: u64,
        admission: &mut impl Admission,
        now: Now,
    ) {
        if let Some(start) = start_of(seen) {
            // Nearly always: the same entry as in the last poll.
            let slots = &self.slots;
            let same = |slot: &u32| slots.is_current(*slot, key, seen.id, start);
            let slot = self.index.iter(hash).find(same);
            if let Some(slot) = slot {
                return self.observe_known(slot, request, source, seen, key, hash, admission, now);
            }
        }
        let found = self.candidates(key, hash, seen);
        let at = request.sequence;
        if let Some(slot) = found.exact {
            let Some(connection) = self.slots.get(slot) else {
                return;
            };
            if !connection.has(flag::GONE) {
                return self.observe_known(slot, request, source, seen, key, hash, admission, now);
            }
            // Rule (b), and a dump that shows a destroyed entry's last moment. One that a complete dump missed and a later
            // one shows is there after all.
            if connection.has(flag::DESTROYED)
                || before(at, connection.stamp)
                || found.current.is_some()
                || found.exact_gone > 1
            {
                return;
            }
            if let Some(connection) = self.slots.get_mut(slot) {
                connection.clear(flag::GONE);
            }
            return self.observe_known(slot, request, source, seen, key, hash, admission, now);
        }
        if let Some(slot) = found.similar {
            return self.observe_known(slot, request, source, seen, key, hash, admission, now);
        }
        if let Some(connection) = found.similar_gone.and_then(|slot| self.slots.get(slot))
            && before(at, connection.stamp)
        {
            return; // Rule (b): asked for before it was destroyed.
        }
        if self.config.events && seen.status & DYING != 0 {
            return; // Its DESTROY is on the way and tells all.
        }
        if let Some(connection) = found.current.and_then(|slot| self.slots.get(slot)) {
            let older = connection.has(flag::KERNEL_START)
                && start_of(seen).is_some_and(|start| start < connection.start_ns);
            if before(at, connection.stamp) || older {
                return; // Rule (d).
            }
            self.replace(found.current, now);
        }
        self.first_sight(request, source, seen, key, hash, admission, now);
    }

    /// An observation with the identity of a current connection.
    #[expect(clippy::too_many_arguments, reason = "as merge")]
    fn observe_known(
        &mut self,
        slot: u32,
        request: Poll,
        source: Source,
        seen: &Observation,
        key: &ConnectionKey,
        hash: u64,
        admission: &mut impl Admission,
        now: Now,
    ) {
        let Some(connection) = self.slots.get(slot) else {
            return;
        };
        if before(request.sequence, connection.stamp) {
            return self.release_awaited(slot, now); // Rule (d).
        }
        let went_back = went_back(connection, seen);
        let nameless = !connection.has(flag::KERNEL_START) && start_of(seen).is_none();
        let protocol = seen.original.protocol;
        let reopened = nameless && closed(protocol, connection.protocol_state) && !seen.is_closed();
        if went_back || reopened {
            self.replace(Some(slot), now);
            return self.first_sight(request, source, seen, key, hash, admission, now);
        }
        self.update(slot, source, seen, now);
    }

    /// Every incarnation of the key that may be meant.
    pub(crate) fn candidates(
        &self,
        key: &ConnectionKey,
        hash: u64,
        seen: &Observation,
    ) -> Candidates {
        let start = start_of(seen);
        let mut found = Candidates::default();
        for slot in self.index.iter(hash) {
            if !self.slots.has_key(slot, key) {
                continue;
            }
            let Some(connection) = self.slots.get(slot) else {
                continue;
            };
            let gone = connection.has(flag::GONE);
            if !gone {
                found.current = Some(slot);
            }
            if connection.id != seen.id {
                continue;
            }
            let known = connection
                .has(flag::KERNEL_START)
                .then_some(connection.start_ns);
            match (start, known) {
                (Some(start), Some(known)) if start == known => {
                    found.exact_gone += usize::from(gone);
                    if !gone || found.exact.is_none() {
                        found.exact = Some(slot);
                    }
                }
                (Some(_), Some(_)) => {}
                _ if !gone => found.similar = Some(slot),
                _ => {
                    let rank = |slot: u32| {
                        self.slots
                            .get(slot)
                            .map(|it| (!it.has(flag::DESTROYED), it.stamp))
                    };
                    if found
                        .similar_gone
                        .is_none_or(|other| rank(other) < rank(slot))
                    {
                        found.similar_gone = Some(slot);
                    }
                }
            }
        }
        found
    }

    /// The kernel holds another incarnation now: this one has ended with its last known counters.
    fn replace(&mut self, slot: Option<u32>, now: Now) {
        if let Some(slot) = slot {
            let stamp = self.newer_than_all();
            if let Some(connection) = self.slots.get_mut(slot) {
                connection.stamp = stamp;
            }
            self.end(slot, flag::GONE, now);
        }
    }
}
