//! An incarnation that has no slot: what was exported of it, and whether it comes in.

use super::{Sighting, Source};
use crate::clock::Millis;
use crate::config::InitialDelta;
use crate::observation::{Admission, Counters, NamesId, Now};
use crate::polls::before;
use crate::store::{
    Connection, Identity, Match, Past, Presence, State, Why, backwards, flag, minus, plus,
};
use crate::table::FlowTable;

/// What a connection starts from.
#[derive(Clone, Default)]
pub(super) struct Baseline {
    /// In the kernel's counting, as [`Connection::exported`].
    pub(super) exported: [Counters; 2],
    zeroed: Option<Box<[Counters; 2]>>,
    /// What its start was told to be, and whether that is the kernel's.
    start: Option<(u64, bool)>,
    record_end_s: u32,
    recorded: bool,
    done: bool,
    /// Its first sighting is activity, where counters cannot tell.
    moved: bool,
}

/// What is remembered of the incarnation that was seen.
enum Recalled {
    This(Past),
    Nothing,
    /// Counters that are below what is remembered, and no start to tell that somebody zeroed them: another one, which
    /// began after that was seen, or which a DESTROY tells of late.
    Another,
}

impl FlowTable {
    /// An incarnation that has no slot.
    pub(crate) fn first_sight(&mut self, it: &Sighting<'_>, admission: &mut impl Admission) {
        let baseline = self.unknown(it);
        self.meet(it, baseline, admission);
    }

    /// An incarnation that has no slot, and that began while another one of its tuple had been seen.
    pub(super) fn successor(&mut self, it: &Sighting<'_>, admission: &mut impl Admission) {
        self.meet(it, Baseline::new(), admission);
    }

    fn meet(&mut self, it: &Sighting<'_>, unknown: Baseline, admission: &mut impl Admission) {
        let past = match self.recall(it) {
            Recalled::This(past) => past,
            Recalled::Nothing => return self.come_in(it, unknown, admission),
            Recalled::Another => return self.come_in(it, Baseline::new(), admission),
        };
        if it.is_shown() && before(it.request.sequence, past.stamp) {
            return; // Rule (d).
        }
        if let Some(reason) = past.why.loss() {
            return self.meet_again(it, past, reason, admission);
        }
        if it.is_destroy() && past.done && it.seen.counters.is_none_or(|it| it == past.exported) {
            // Its end was told, and this is no other one.
            self.remembered.remove(&it.key, it.hash, past.identity());
            let scope = it.request.scope.0;
            return self.remember_destroyed(&it.key, it.hash, it.identity(), scope);
        }
        self.come_in(it, Baseline::of(past), admission);
    }

    /// What is remembered of the incarnation that was seen, brought up to date.
    fn recall(&mut self, it: &Sighting<'_>) -> Recalled {
        let spoken = it.spoken(&self.clock);
        let Some(mut past) = self.remembered.recall(&it.key, it.hash, spoken) else {
            return Recalled::Nothing;
        };
        let created_before = matches!(past.why, Why::Restored | Why::Left | Why::Missing);
        let by_event = !past.kernel_start && past.exported == <[Counters; 2]>::default();
        if it.source == Source::New && (created_before || by_event) {
            // The id was given to another one, or nothing but its own NEW told of it: its DESTROY was lost.
            self.remembered.remove(&it.key, it.hash, past.identity());
            return Recalled::Nothing;
        }
        let counters = it.seen.counters.filter(|it| backwards(it, &past.exported));
        if counters.is_none() {
            return Recalled::This(past);
        }
        if past.identity().compare(it.identity()) == Match::Same {
            // Somebody has zeroed its counters.
            let so_far = past.zeroed.get_or_insert_default();
            **so_far = plus(so_far, &past.exported);
            past.exported = Default::default();
            return Recalled::This(past);
        }
        if !it.is_destroy() {
            self.remembered.remove(&it.key, it.hash, past.identity());
        }
        Recalled::Another
    }

    /// Of an incarnation of which nothing is remembered nothing was exported. One that is older than the agent (or than
    /// what the former run's file says) starts as the configuration says.
    fn unknown(&self, it: &Sighting<'_>) -> Baseline {
        let older = match it.seen.start() {
            Some(start) => self.clock.is_before(start, self.older_before(), it.now),
            None => it.is_shown() && !self.polls.any_complete(it.request.scope),
        };
        if older && self.config.initial_delta == InitialDelta::Zero {
            return Baseline {
                exported: it.seen.counters.unwrap_or_default(),
                ..Baseline::default()
            };
        }
        Baseline::new()
    }

    /// What began before it is older than the agent.
    fn older_before(&self) -> Now {
        self.import.seen_until().unwrap_or(self.config.agent_start)
    }

    /// Takes it in, if it may and there is room.
    pub(super) fn come_in(
        &mut self,
        it: &Sighting<'_>,
        baseline: Baseline,
        admission: &mut impl Admission,
    ) {
        let Some(names) = admission.admit(it.seen) else {
            return;
        };
        if !baseline.done && !self.has_room(true) {
            return self.refuse(it, &baseline);
        }
        self.forget_past(it, &baseline);
        self.insert(it, names, baseline);
    }

    /// What is remembered of it goes on in another place.
    pub(super) fn forget_past(&mut self, it: &Sighting<'_>, baseline: &Baseline) {
        if let Some((start_ns, kernel_start)) = baseline.start {
            let identity = Identity::new(it.seen.id, kernel_start.then_some(start_ns));
            self.remembered.remove(&it.key, it.hash, identity);
        }
    }

    /// Requests that are older than this do not know it. A NEW event tells less than the dump that may be running.
    pub(super) fn first_stamp(&self, it: &Sighting<'_>) -> u32 {
        match it.source {
            Source::New => self.polls.running_or_last(it.request.scope),
            _ => self.polls.newer_than_all(),
        }
    }

    pub(super) fn insert(&mut self, it: &Sighting<'_>, names: NamesId, baseline: Baseline) {
        let (seen, now) = (it.seen, it.now);
        let (start_ns, kernel_start) = match (baseline.start, seen.start()) {
            (_, Some(start)) => (start, true),
            (Some(former), None) => former,
            (None, None) => (now.wall_ns, false),
        };
        let mut connection = Connection::seen_first(seen, it.is_destroy(), now);
        connection.start_ns = start_ns;
        connection.exported = baseline.exported;
        connection.record_end_s = baseline.record_end_s;
        connection.names = names.0;
        connection.generation = self.store.next_generation();
        connection.scope = it.request.scope.0;
        connection.stamp = self.first_stamp(it);
        if seen.counters.is_none() && baseline.exported != <[Counters; 2]>::default() {
            // An event does not tell them, and they were told of before.
            connection.totals = baseline.exported;
            connection.set(flag::ACCOUNTED);
        }
        let accounted = connection.has(flag::ACCOUNTED);
        let facts = [
            (kernel_start, flag::KERNEL_START),
            (!accounted && baseline.moved, flag::MOVED),
            (baseline.recorded, flag::RECORDED),
            (baseline.done, flag::END_TOLD),
        ];
        for (_, flags) in facts.iter().filter(|(holds, _)| *holds) {
            connection.set(*flags);
        }
        if it.is_destroy() {
            connection.put_presence(Presence::Destroyed);
        }
        let state = match () {
            () if baseline.done => State::Done,
            () if it.is_destroy() => State::Ended,
            () if seen.is_closed() => State::Ended,
            () => State::Live,
        };
        // An unexported connection is not infinitely old: its last export is its start. With nothing to export the first
        // active deadline has already moved on. An end counts from its sighting.
        if state == State::Live && connection.unexported() && !baseline.recorded {
            let began = self.clock.monotonic_of(start_ns, now);
            let began = began.map_or(now.monotonic_ms, |began| began.max(0) as u64);
            connection.since_ms = Millis::new(began);
        }
        let slot = self.store.add(&it.key, it.hash, connection, seen);
        if let Some(so_far) = baseline.zeroed {
            self.store.add_zeroed(slot, &so_far);
        }
        // A start that was exported stays as it was.
        if let Some((told, false)) = baseline.start.filter(|_| baseline.recorded && kernel_start) {
            self.store.keep_told_start(slot, told);
        }
        self.intake.added += 1;
        self.set_state(slot, state);
        match state {
            State::Done if it.is_destroy() => self.leave_done(slot, now),
            State::Done => {
                self.keep_within_bound(slot);
                self.move_done(slot);
            }
            State::Ended => {
                self.intake.ended += 1;
                self.enqueue(slot);
            }
            _ => self.enqueue(slot),
        }
        if it.is_destroy() {
            self.remember_destroyed(&it.key, it.hash, it.identity(), it.request.scope.0);
        }
    }
}

impl Baseline {
    /// Nothing was exported.
    fn new() -> Self {
        Self {
            moved: true,
            ..Self::default()
        }
    }

    /// Goes on from where it was left.
    pub(super) fn of(past: Past) -> Self {
        Self {
            exported: past.exported,
            zeroed: past.zeroed,
            start: Some((past.start_ns, past.kernel_start)),
            record_end_s: past.record_end_s,
            recorded: past.recorded,
            done: past.done,
            moved: false,
        }
    }

    /// Something was remembered of it.
    pub(super) fn is_known(&self) -> bool {
        self.start.is_some()
    }

    /// What is unexported of these counters.
    pub(super) fn deltas(&self, counters: &[Counters; 2]) -> [Counters; 2] {
        minus(counters, &self.exported)
    }

    /// As it is to be remembered when there is no room.
    pub(super) fn refused(&self, it: &Sighting<'_>, stamp: u32) -> Past {
        let (start_ns, kernel_start) = match (it.seen.start(), self.start) {
            (Some(start), _) => (start, true),
            (None, Some(former)) => former,
            (None, None) => (it.now.wall_ns, false),
        };
        Past {
            exported: it.seen.counters.unwrap_or(self.exported),
            zeroed: self.zeroed.clone(),
            start_ns,
            id: it.seen.id,
            stamp,
            record_end_s: self.record_end_s,
            scope: it.request.scope.0,
            why: Why::Refused,
            kernel_start,
            recorded: self.recorded,
            done: self.done,
        }
    }
}
