//! NEW and DESTROY events.

use super::{Sighting, Source};
use crate::observation::{Admission, Now, Observation, Scope};
use crate::polls::Poll;
use crate::store::{Connection, Presence, Why, flag};
use crate::table::FlowTable;

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
        self.enter(now);
        let Some(it) = self.event(scope, Source::New, seen, now) else {
            return;
        };
        let found = self.candidates(&it);
        let known_by_event =
            |it: &Connection| it.identity().start_ns.is_none() && !it.has(flag::ACCOUNTED);
        if let Some(slot) = found.similar_missing {
            if !self.store.get(slot).is_some_and(known_by_event) {
                // A dump or a lookup missed it, and its DESTROY is still to come: its NEW comes before that.
                return;
            }
            // Nothing but its own NEW told of it: this is another one's, and its DESTROY was lost.
            self.end(slot, Some(Presence::Destroyed), now);
        }
        if found.current.is_some() {
            return;
        }
        let remembered = self
            .remembered
            .recall(&it.key, it.hash, it.spoken(&self.clock));
        if remembered.is_some_and(|past| past.why == Why::Left && past.kernel_start) {
            // Its own NEW, heard late, or that of another one with its id: a lookup tells the start.
            return self.lookups.ask_for_stranger(it.key, scope);
        }
        self.first_sight(&it, admission);
    }

    /// A DESTROY event: the final counters and the end, at once.
    pub fn destroyed(
        &mut self,
        scope: Scope,
        seen: &Observation,
        admission: &mut impl Admission,
        now: Now,
    ) {
        self.enter(now);
        let Some(it) = self.event(scope, Source::Destroy, seen, now) else {
            return;
        };
        self.lookups.destroyed(&it.key);
        if self
            .remembered
            .was_destroyed(&it.key, it.hash, it.identity())
        {
            return; // The kernel repeats what another listener has missed.
        }
        let found = self.candidates(&it);
        let advances = |slot: &u32| {
            self.store.get(*slot).is_some_and(|connection| {
                !connection.has(flag::ACCOUNTED) || !connection.went_back(seen)
            })
        };
        // Without start times an incarnation that is missing is meant before the one that is there.
        let similar = [found.similar_missing, found.similar];
        let similar = similar.into_iter().flatten().find(advances);
        match found.exact.or(similar) {
            Some(slot) => {
                let scope = self.store.get(slot).map_or(scope.0, |known| known.scope);
                self.update(slot, &it);
                self.end(slot, Some(Presence::Destroyed), now);
                self.remember_destroyed(&it.key, it.hash, it.identity(), scope);
            }
            None => self.first_sight(&it, admission),
        }
    }

    fn event<'a>(
        &mut self,
        scope: Scope,
        source: Source,
        seen: &'a Observation,
        now: Now,
    ) -> Option<Sighting<'a>> {
        let request = Poll {
            scope,
            sequence: self.polls.last_request(),
        };
        let sighting = Sighting::new(&self.store, request, source, seen, now);
        if sighting.is_none() {
            self.intake.count_malformed();
        }
        sighting
    }
}
