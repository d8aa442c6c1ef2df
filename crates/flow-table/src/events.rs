//! NEW and DESTROY events, and lookups: what reaches the table beside dumps.
//!
//! The kernel's events of one tuple come in their order; dumps, lookups and events among each other do not. The rules:
//!
//! (a) a connection created by NEW while a dump runs carries that dump's number, so that the dump's end does not end it;
//! (b) a destroyed incarnation keeps its slot until no dump runs that was begun before its DESTROY was merged;
//! (c) DESTROY ends only the incarnation with its id and start;
//! (d) an observation that was requested before a newer one was merged is dropped: merging one stamps the connection with
//!     a number above those of all requests so far;
//! (e) DESTROY of an incarnation that the table does not know is a complete flow.

use crate::connection::{State, backwards, flag};
use crate::deadline::Authority;
use crate::expiry_queue::Key;
use crate::key::ConnectionKey;
use crate::merge::Source;
use crate::observation::{Admission, Now, Observation, Scope};
use crate::refresh::{Answer, RefreshKey};
use crate::table::{FlowTable, Poll, before};

impl FlowTable {
    /// A NEW event.
    ///
    /// It never replaces a connection that is there: either a dump has shown this one first, or a newer one (then the
    /// DESTROY of this one is still to come, and tells all), or a DESTROY was lost, and the resync's dump sorts it out.
    pub fn created(
        &mut self,
        scope: Scope,
        seen: &Observation,
        admission: &mut impl Admission,
        now: Now,
    ) {
        self.take_returns(now);
        let Some(key) = ConnectionKey::new(&seen.original, seen.zone) else {
            self.stats.malformed += 1;
            return;
        };
        let hash = key.hash(&self.seed);
        let request = Poll {
            scope,
            sequence: self.sequence,
        };
        let found = self.candidates(&key, hash, seen);
        // One that a dump or a lookup missed and whose DESTROY is still to come: its NEW comes before that.
        let late = found
            .similar_gone
            .and_then(|slot| self.slots.get(slot))
            .is_some_and(|connection| !connection.has(flag::DESTROYED));
        if found.current.is_none() && !late {
            self.first_sight(request, Source::New, seen, &key, hash, admission, now);
        }
    }

    /// A DESTROY event: the final counters and the end, at once.
    pub fn destroyed(
        &mut self,
        scope: Scope,
        seen: &Observation,
        admission: &mut impl Admission,
        now: Now,
    ) {
        self.take_returns(now);
        let Some(key) = ConnectionKey::new(&seen.original, seen.zone) else {
            self.stats.malformed += 1;
            return;
        };
        let hash = key.hash(&self.seed);
        let found = self.candidates(&key, hash, seen);
        let waiting = |slot: &u32| {
            self.slots
                .get(*slot)
                .is_some_and(|connection| !connection.has(flag::DESTROYED))
        };
        let advances = |slot: &u32| {
            self.slots.get(*slot).is_some_and(|connection| {
                !connection.has(flag::ACCOUNTED)
                    || seen
                        .counters
                        .is_none_or(|counters| !backwards(&counters, &connection.totals))
            })
        };
        if let Some(slot) = found.exact {
            if waiting(&slot) {
                self.destroy_known(slot, seen, now);
            }
            return;
        }
        // Without start times the oldest incarnation with this id whose DESTROY has not come is meant.
        let meant = found
            .similar_gone
            .filter(waiting)
            .or(found.similar)
            .filter(advances);
        match meant {
            Some(slot) => self.destroy_known(slot, seen, now),
            None => {
                let request = Poll {
                    scope,
                    sequence: self.sequence,
                };
                self.first_sight(request, Source::Destroy, seen, &key, hash, admission, now);
            }
        }
    }

    fn destroy_known(&mut self, slot: u32, seen: &Observation, now: Now) {
        self.update(slot, Source::Destroy, seen, now);
        self.end(slot, flag::GONE | flag::DESTROYED, now);
    }

    /// Connections to look up in the kernel, at most `limit`: with events, live ones whose deadline has come by `now`
    /// (which may lie a little ahead) and that nobody has looked at since; with `confirm_absent`, those that a dump missed;
    /// and those that were to be [looked at again](Self::look_again).
    /// Each must be answered through [`refreshed`](Self::refreshed).
    pub fn refresh_due(&mut self, now: Now, out: &mut Vec<RefreshKey>, limit: usize) {
        self.take_returns(now);
        let request = self.next_request();
        let mut given = 0;
        while given < limit {
            let Some(slot) = self.suspects.pop_front() else {
                break;
            };
            let Some(connection) = self
                .slots
                .get_mut(slot)
                .filter(|connection| connection.has(flag::SUSPECT))
            else {
                continue;
            };
            connection.clear(flag::SUSPECT);
            let generation = connection.generation;
            given += self.give_out(Key { slot, generation }, request, out);
        }
        while given < limit {
            let Some(Key { slot, generation }) = self.awaiting.pop_front() else {
                break;
            };
            let awaited = self
                .slots
                .life(slot, generation)
                .is_some_and(|connection| connection.has(flag::AWAITING));
            if awaited {
                given += self.give_out(Key { slot, generation }, request, out);
            }
        }
        if self.config.events && !self.stopping {
            self.refresh_queued(now, request, out, limit - given);
        }
    }

    fn refresh_queued(&mut self, now: Now, request: u32, out: &mut Vec<RefreshKey>, limit: usize) {
        let mut budget = 2 * limit + 64;
        let mut ready = Vec::new();
        let mut given = 0;
        while given < limit {
            let authority = Authority {
                slots: &self.slots,
                timeouts: self.timeouts,
                urgent: false,
            };
            let Some((_, key)) = self
                .queue
                .pop_due(now.monotonic_ms, &authority, &mut budget)
            else {
                break;
            };
            let Some(connection) = self.slots.get_mut(key.slot) else {
                continue;
            };
            connection.clear(flag::QUEUED);
            if connection.has(flag::FRESH) || connection.state() != State::Live {
                ready.push(key.slot);
                continue;
            }
            connection.set(flag::AWAITING);
            given += self.give_out(key, request, out);
        }
        for slot in ready {
            self.enqueue(slot);
        }
    }

    fn give_out(
        &self,
        Key { slot, generation }: Key,
        request: u32,
        out: &mut Vec<RefreshKey>,
    ) -> usize {
        let Some(key) = self.slots.key(slot) else {
            return 0;
        };
        out.push(RefreshKey {
            original: key.tuple(),
            zone: key.zone(),
            slot,
            generation,
            request,
        });
        1
    }

    /// The answer to a lookup. What has become of the connection meanwhile counts more: an answer that was requested before
    /// a newer observation was merged, or that is about a slot's former life, changes nothing.
    pub fn refreshed(
        &mut self,
        key: &RefreshKey,
        answer: Answer<'_>,
        admission: &mut impl Admission,
        now: Now,
    ) {
        self.take_returns(now);
        let slot = key.slot;
        let newest = self.newer_than_all();
        let Some(connection) = self.slots.life(slot, key.generation) else {
            return;
        };
        let scope = Scope(connection.scope);
        if before(key.request, connection.stamp) || connection.has(flag::GONE) {
            return self.release_awaited(slot, now);
        }
        match answer {
            Answer::Failed => {
                connection.clear(flag::AWAITING);
                if connection.state() == State::Live {
                    self.enqueue(slot);
                }
            }
            Answer::Unreadable => self.release_awaited(slot, now),
            Answer::Absent => {
                // A dump that was begun before this may still show it: rule (d) for what is not there.
                connection.stamp = newest;
                self.end(slot, flag::GONE, now);
            }
            Answer::Present(seen) => self.merge_answer(key, scope, seen, admission, now),
            Answer::LeftSelection(seen) => {
                self.merge_answer(key, scope, seen, &mut |_: &Observation| None, now);
                self.leave_selection(key, now);
            }
        }
    }

    fn merge_answer(
        &mut self,
        key: &RefreshKey,
        scope: Scope,
        seen: &Observation,
        admission: &mut impl Admission,
        now: Now,
    ) {
        let request = Poll {
            scope,
            sequence: key.request,
        };
        match ConnectionKey::new(&seen.original, seen.zone) {
            Some(key) => {
                let hash = key.hash(&self.seed);
                self.merge(request, Source::Lookup, seen, &key, hash, admission, now);
            }
            None => self.stats.malformed += 1,
        }
        if let Some(connection) = self.slots.life(key.slot, key.generation)
            && connection.has(flag::AWAITING)
        {
            // It was about another connection: nothing was learned of this one.
            connection.clear(flag::AWAITING);
            self.enqueue(key.slot);
        }
    }

    /// It lives on outside the selection: one last record, then it is forgotten. One whose end is exported goes at once.
    fn leave_selection(&mut self, key: &RefreshKey, now: Now) {
        let Some(connection) = self.slots.life(key.slot, key.generation) else {
            return;
        };
        match connection.state() {
            State::Live | State::Idle if !connection.has(flag::GONE) => {
                self.make_urgent(key.slot, now);
                if let Some(connection) = self.slots.get_mut(key.slot) {
                    connection.set(flag::LEFT);
                }
            }
            State::Done => self.end(key.slot, flag::GONE, now),
            _ => {}
        }
    }
}
