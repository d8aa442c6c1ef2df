//! Lookups: which connections to ask for, and what their answers mean.

use super::{Sighting, Source};
use crate::lookups::{Answer, Asked, Named, RefreshKey};
use crate::observation::{Admission, Now, Observation, Scope};
use crate::polls::{Poll, before};
use crate::store::{ConnectionKey, Place, Presence, State, flag};
use crate::table::FlowTable;

impl FlowTable {
    /// Connections to look up in the kernel, at most `limit`: with events, live ones whose deadline has come by `now`
    /// (which may lie a little ahead) and that nobody has looked at since; with `confirm_absent`, those that a dump missed;
    /// and those that were to be [looked at again](Self::look_again).
    /// Each must be answered through [`refreshed`](Self::refreshed).
    pub fn refresh_due(&mut self, now: Now, out: &mut Vec<RefreshKey>, limit: usize) {
        self.enter(now);
        let request = self.polls.next_request();
        let most = out.len().saturating_add(limit);
        while out.len() < most
            && let Some(Named { slot, .. }) = self.lookups.next_suspect(&self.store)
        {
            if let Some(connection) = self.store.get_mut(slot) {
                connection.clear(flag::SUSPECT);
            }
            self.give_out(slot, request, out);
        }
        while out.len() < most
            && let Some((key, scope)) = self.lookups.next_stranger()
        {
            out.push(refresh_key(key, Asked::Stranger(scope), request));
        }
        while out.len() < most
            && let Some(Named { slot, .. }) = self.lookups.next_awaiting(&self.store)
        {
            self.give_out(slot, request, out);
        }
        if self.config.events && !self.export.is_stopping() {
            self.refresh_queued(now, request, out, most);
        }
    }

    fn refresh_queued(&mut self, now: Now, request: u32, out: &mut Vec<RefreshKey>, most: usize) {
        let mut budget = 2 * most.saturating_sub(out.len()) + 64;
        let mut ready = Vec::new();
        while out.len() < most
            && let Some(slot) = self.queues.pop_due(&mut self.store, now, &mut budget)
        {
            let Some(connection) = self.store.get_mut(slot) else {
                continue;
            };
            if connection.has(flag::FRESH) || connection.state() != State::Live {
                ready.push(slot);
                continue;
            }
            connection.put_place(Place::Awaiting);
            self.give_out(slot, request, out);
        }
        for slot in ready {
            self.enqueue(slot);
        }
    }

    fn give_out(&self, slot: u32, request: u32, out: &mut Vec<RefreshKey>) {
        if let (Some(key), Some(connection)) = (self.store.key(slot), self.store.get(slot)) {
            let generation = connection.generation;
            let asked = Asked::Slot(Named { slot, generation });
            out.push(refresh_key(key, asked, request));
        }
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
        self.enter(now);
        let name = match key.asked {
            Asked::Slot(name) => name,
            Asked::Stranger(scope) => {
                return self.meet_stranger(key, scope, answer, admission, now);
            }
        };
        let slot = name.slot;
        let newest = self.polls.newer_than_all();
        let Some(connection) = self.store.life(slot, name.generation) else {
            return;
        };
        let scope = Scope(connection.scope);
        if before(key.request, connection.stamp) || connection.is_gone() {
            return self.release_awaited(slot, now);
        }
        match answer {
            Answer::Failed => self.nothing_learned(name),
            Answer::Unreadable => self.release_awaited(slot, now),
            Answer::Absent => {
                // A dump that was begun before this may still show it: rule (d) for what is not there.
                connection.stamp = newest;
                self.end(slot, Some(Presence::Missing), now);
            }
            Answer::Present(seen) => {
                self.merge_answer(key, scope, seen, admission, now);
                self.nothing_learned(name);
            }
            Answer::LeftSelection(seen) => {
                self.merge_answer(key, scope, seen, &mut |_: &Observation| None, now);
                self.nothing_learned(name);
                self.leave_selection(name, now);
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
        match Sighting::new(&self.store, request, Source::Lookup, seen, now) {
            Some(sighting) => self.merge(&sighting, admission),
            None => self.intake.count_malformed(),
        }
    }

    /// A connection that nobody answered for, or whose answer was about another one: it is asked for again.
    fn nothing_learned(&mut self, name: Named) {
        let Some(connection) = self.store.life(name.slot, name.generation) else {
            return;
        };
        if connection.place() == Place::Awaiting {
            connection.put_place(Place::Out);
            if connection.state() != State::Idle {
                self.enqueue(name.slot);
            }
        }
    }

    /// It lives on outside the selection: one last record, then it is only remembered. One whose end is exported goes at
    /// once.
    fn leave_selection(&mut self, name: Named, now: Now) {
        let Some(connection) = self.store.life(name.slot, name.generation) else {
            return;
        };
        if connection.presence() != Presence::Held {
            return;
        }
        match connection.state() {
            State::Live | State::Idle => {
                connection.put_presence(Presence::Left);
                connection.forget_questions();
                self.make_urgent(name.slot, now);
            }
            State::Done if !connection.is_in_flight() => {
                connection.put_presence(Presence::Left);
                self.leave_done(name.slot, now);
            }
            State::Free | State::Ended | State::Done | State::Gone => {}
        }
    }

    /// The answer about a connection that had no slot when it was asked for.
    fn meet_stranger(
        &mut self,
        key: &RefreshKey,
        scope: Scope,
        answer: Answer<'_>,
        admission: &mut impl Admission,
        now: Now,
    ) {
        let Some(tuple) = ConnectionKey::new(&key.original, key.zone) else {
            return;
        };
        if !self.lookups.answered(&tuple) {
            return;
        }
        match answer {
            Answer::Present(seen) => self.merge_answer(key, scope, seen, admission, now),
            Answer::Failed => self.lookups.ask_for_stranger(tuple, scope),
            Answer::LeftSelection(_) | Answer::Absent | Answer::Unreadable => {}
        }
    }

    /// An UPDATE event of which only a lookup can tell all, because events have no counters: a close, or a mark that may
    /// have brought a connection into the selection. The connection is among the next that
    /// [`refresh_due`](Self::refresh_due) hands out, if it has not ended; one that is not there only with
    /// `confirm_absent`, and then its answer is judged as at any first sight.
    pub fn look_again(&mut self, scope: Scope, seen: &Observation, now: Now) {
        self.enter(now);
        let request = Poll {
            scope,
            sequence: self.polls.last_request(),
        };
        let Some(it) = Sighting::new(&self.store, request, Source::New, seen, now) else {
            return self.intake.count_malformed();
        };
        match self.candidates(&it).current {
            Some(slot) => self.suspect(slot),
            None if self.config.confirm_absent => self.lookups.ask_for_stranger(it.key, scope),
            None => {}
        }
    }

    /// Has a connection that has not ended looked up soon.
    pub(crate) fn suspect(&mut self, slot: u32) {
        if let Some(connection) = self.store.get_mut(slot)
            && matches!(connection.state(), State::Live | State::Idle)
            && !connection.has(flag::SUSPECT)
        {
            connection.set(flag::SUSPECT);
            let generation = connection.generation;
            self.lookups
                .suspect(&self.store, Named { slot, generation });
        }
    }
}

fn refresh_key(key: ConnectionKey, asked: Asked, request: u32) -> RefreshKey {
    RefreshKey {
        original: key.tuple(),
        zone: key.zone(),
        asked,
        request,
    }
}
