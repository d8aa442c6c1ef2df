//! Passes over the kernel's table: their order among all requests, and what was complete when.

use crate::export::Lost;
use crate::observation::{Now, Scope};

/// Names one pass over the kernel's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Poll {
    pub(crate) scope: Scope,
    /// Polls and lookups are numbered in the order of their requests.
    pub(crate) sequence: u32,
}

/// Request a was made before request b; the numbers wrap after four billion.
pub(crate) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Polls begun, and what is remembered of those that ended.
#[derive(Default)]
pub(crate) struct Polls {
    /// Of the last request; in steps of two.
    sequence: u32,
    /// Begun and not ended.
    running: Vec<(Poll, Now)>,
    scopes: Vec<ScopeState>,
}

/// What is remembered of a scope.
#[derive(Clone, Copy, Default)]
struct ScopeState {
    /// A poll of it was begun.
    polled: bool,
    /// The last complete poll: its number, and when it began.
    complete: Option<(u32, Now)>,
    /// At its end: the last generation of a slot, and the newest stamp.
    generation: u32,
    ended: u32,
    /// Of the poll under way, and of the last complete one.
    now: Refusals,
    last: Refusals,
    /// Requests with a lower number may show destroyed connections of which that is not remembered.
    blind: Option<u32>,
}

/// Refused connections that a poll met.
#[derive(Clone, Copy, Default)]
pub(crate) struct Refusals {
    pub(crate) connections: usize,
    /// Those of them that nobody remembers, with all that they moved so far.
    pub(crate) unremembered: Lost,
}

impl Polls {
    /// The number of a new request.
    pub(crate) fn next_request(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(2);
        self.sequence
    }

    /// That of the last request.
    pub(crate) fn last_request(&self) -> u32 {
        self.sequence
    }

    /// A number between the last request's and the next one's.
    #[inline]
    pub(crate) fn newer_than_all(&self) -> u32 {
        self.sequence.wrapping_add(1)
    }

    /// Begins a pass; one of the same scope that has not ended is given up.
    pub(crate) fn begin(&mut self, scope: Scope, now: Now) -> Poll {
        self.running.retain(|(poll, _)| poll.scope != scope);
        let sequence = self.next_request();
        let poll = Poll { scope, sequence };
        self.running.push((poll, now));
        let state = self.scope_mut(scope);
        state.polled = true;
        state.now = Refusals::default();
        poll
    }

    #[inline]
    pub(crate) fn is_running(&self, poll: Poll) -> bool {
        self.running.iter().any(|(running, _)| *running == poll)
    }

    /// Ends a pass; if it was complete (and was running), when it began, and the number of the complete one before it.
    /// `generation`: the last one of a slot.
    pub(crate) fn end(
        &mut self,
        poll: Poll,
        complete: bool,
        generation: u32,
    ) -> Option<(Now, Option<u32>)> {
        let running = &self.running;
        let at = running.iter().position(|(running, _)| *running == poll)?;
        let (_, began) = self.running.swap_remove(at);
        if !complete {
            return None;
        }
        let ended = self.newer_than_all();
        // Stamps that are given from now on are newer.
        self.next_request();
        let scope = self.scope_mut(poll.scope);
        let former = scope.complete.replace((poll.sequence, began));
        scope.last = scope.now;
        (scope.generation, scope.ended) = (generation, ended);
        Some((began, former.map(|(sequence, _)| sequence)))
    }

    /// A connection with this generation was there at the end of the scope's last complete poll.
    pub(crate) fn was_there(&self, scope: u8, generation: u32) -> bool {
        self.complete(scope)
            .is_some_and(|scope| !before(scope.generation, generation))
    }

    /// This stamp was given before the end of the scope's last complete poll.
    pub(crate) fn was_seen(&self, scope: u8, stamp: u32) -> bool {
        self.complete(scope)
            .is_some_and(|scope| !before(scope.ended, stamp))
    }

    /// The scope, if it had a complete poll.
    fn complete(&self, scope: u8) -> Option<&ScopeState> {
        let scope = self.scopes.get(usize::from(scope));
        scope.filter(|scope| scope.complete.is_some())
    }

    /// The scope had a complete poll.
    pub(crate) fn any_complete(&self, scope: Scope) -> bool {
        let scope = self.scopes.get(usize::from(scope.0));
        scope.is_some_and(|scope| scope.complete.is_some())
    }

    /// Every scope had a complete poll that was begun after this request.
    pub(crate) fn all_complete_since(&self, request: u32) -> bool {
        let since = |scope: &ScopeState| {
            scope
                .complete
                .is_some_and(|(sequence, _)| before(request, sequence))
        };
        self.scopes.iter().filter(|scope| scope.polled).all(since)
    }

    /// The earliest of these moments over the scopes: what began before it has been seen.
    pub(crate) fn seen_until(&self) -> Option<Now> {
        let mut earliest: Option<Now> = None;
        for scope in self.scopes.iter().filter(|scope| scope.polled) {
            let (_, complete) = scope.complete?;
            if earliest.is_none_or(|it| complete.monotonic_ms < it.monotonic_ms) {
                earliest = Some(complete);
            }
        }
        earliest
    }

    /// The number of the poll of this scope that runs, else of the last request.
    pub(crate) fn running_or_last(&self, scope: Scope) -> u32 {
        let mut running = self.running.iter().map(|(poll, _)| poll);
        running
            .find(|poll| poll.scope == scope)
            .map_or(self.sequence, |poll| poll.sequence)
    }

    /// A poll of the scope runs that may still show what was there before this stamp.
    pub(crate) fn older_runs(&self, scope: u8, stamp: u32) -> bool {
        let older = |poll: &Poll| poll.scope.0 == scope && before(poll.sequence, stamp);
        self.running.iter().any(|(poll, _)| older(poll))
    }

    /// A DESTROY that a running poll may contradict could not be remembered.
    pub(crate) fn set_blind(&mut self, scope: u8) {
        let newest = self.newer_than_all();
        self.scope_mut(Scope(scope)).blind = Some(newest);
    }

    /// Whether this request may show what was destroyed since, and nobody remembers that.
    pub(crate) fn is_blind(&self, request: Poll) -> bool {
        let scope = self.scopes.get(usize::from(request.scope.0));
        let blind = scope.and_then(|scope| scope.blind);
        blind.is_some_and(|stamp| before(request.sequence, stamp))
    }

    /// A refused connection was met.
    pub(crate) fn count_refused(&mut self, scope: Scope, unremembered: Option<Lost>) {
        let now = &mut self.scope_mut(scope).now;
        now.connections += 1;
        if let Some(lost) = unremembered {
            now.unremembered.add(lost);
        }
    }

    /// Refused connections that the last complete polls met.
    pub(crate) fn refusals(&self) -> Refusals {
        let mut sum = Refusals::default();
        for scope in &self.scopes {
            sum.connections += scope.last.connections;
            sum.unremembered.add(scope.last.unremembered);
        }
        sum
    }

    fn scope_mut(&mut self, scope: Scope) -> &mut ScopeState {
        let at = usize::from(scope.0);
        if self.scopes.len() <= at {
            self.scopes.resize(at + 1, ScopeState::default());
        }
        #[expect(clippy::indexing_slicing, reason = "resized to hold it just above")]
        &mut self.scopes[at]
    }
}
