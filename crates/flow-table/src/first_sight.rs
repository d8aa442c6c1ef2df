//! A connection that the table does not hold: whether it comes in, and what it starts from.

use crate::config::InitialDelta;
use crate::connection::backwards;
use crate::connection::{Connection, Millis, State, flag, monotonic_of};
use crate::key::ConnectionKey;
use crate::merge::{Source, start_of};
use crate::observation::{Admission, Counters, NamesId, Now, Observation, Scope};
use crate::outside::Standing;
use crate::side::Side;
use crate::table::{FlowTable, Poll};
use crate::update::{ended_ms, expires_s};

/// What a connection starts from.
#[derive(Clone, Copy, Default)]
struct Baseline {
    exported: [Counters; 2],
    record_end_s: u32,
    recorded: bool,
    done: bool,
    /// Its first sighting is activity, where counters cannot tell.
    moved: bool,
}

impl FlowTable {
    /// An incarnation that the table does not hold.
    #[expect(clippy::too_many_arguments, reason = "as merge")]
    pub(crate) fn first_sight(
        &mut self,
        request: Poll,
        source: Source,
        seen: &Observation,
        key: &ConnectionKey,
        hash: u64,
        admission: &mut impl Admission,
        now: Now,
    ) {
        let fingerprint = self.fingerprint(hash, seen.id);
        let standing = self.standing(fingerprint, seen, request.sequence);
        if let Standing::Known { moved } = standing {
            if source == Source::Destroy {
                return self.admit_again(fingerprint); // Its last growth is counted.
            }
            if !self.has_room(moved) {
                return self.refuse_again(fingerprint, request.scope);
            }
            let Some(names) = admission.admit(seen) else {
                return;
            };
            self.admit_again(fingerprint);
            let baseline = Baseline {
                exported: seen.counters.unwrap_or_default(),
                ..Baseline::default()
            };
            return self.insert(request, source, seen, key, hash, names, baseline, now);
        }
        let Some(names) = admission.admit(seen) else {
            return;
        };
        let baseline = self.baseline(request.scope, source, seen, key, now);
        if !self.has_room(true) {
            return self.refuse(fingerprint, request.scope, seen, &baseline.exported);
        }
        self.insert(request, source, seen, key, hash, names, baseline, now);
    }

    /// What was exported of a connection that is seen for the first time: by the state file, else nothing of one that
    /// began after it (or after the agent), else as the configuration says. One that began before the last complete poll
    /// but one has been here before (it left the selection, or was refused and forgotten): nothing twice.
    fn baseline(
        &mut self,
        scope: Scope,
        source: Source,
        seen: &Observation,
        key: &ConnectionKey,
        now: Now,
    ) -> Baseline {
        let totals = seen.counters.unwrap_or_default();
        let start = start_of(seen);
        if let Some(entry) = self.restored.take(key, seen.id, start)
            && (seen.counters.is_none() || !backwards(&totals, &entry.exported))
        {
            return Baseline {
                exported: entry.exported,
                record_end_s: entry.record_end_s,
                recorded: entry.recorded,
                done: entry.done,
                moved: false,
            };
        }
        let polled = matches!(source, Source::Dump | Source::Lookup);
        let complete = self.scope_mut(scope).complete;
        let older = match start {
            Some(start) => {
                start
                    < self
                        .restored
                        .written_ns()
                        .unwrap_or(self.config.agent_start_ns)
            }
            None => polled && complete[0].is_none(),
        };
        let been_here = polled
            && start.is_some_and(|start| {
                complete[1].is_some_and(|former| start < former.wall_ns && !stepped(former, now))
            });
        if been_here || (older && self.config.initial_delta == InitialDelta::Zero) {
            return Baseline {
                exported: totals,
                ..Baseline::default()
            };
        }
        Baseline {
            moved: true,
            ..Baseline::default()
        }
    }

    #[expect(clippy::too_many_arguments, reason = "as merge")]
    fn insert(
        &mut self,
        request: Poll,
        source: Source,
        seen: &Observation,
        key: &ConnectionKey,
        hash: u64,
        names: NamesId,
        baseline: Baseline,
        now: Now,
    ) {
        let start = start_of(seen);
        let destroyed = source == Source::Destroy;
        let mut connection = Connection {
            start_ns: start.unwrap_or(now.wall_ns),
            totals: seen.counters.unwrap_or_default(),
            exported: baseline.exported,
            end_ms: Millis::new(ended_ms(source, seen, now).unwrap_or(now.wall_ns / 1_000_000)),
            moved_ms: Millis::new(now.monotonic_ms),
            since_ms: Millis::new(now.monotonic_ms),
            id: seen.id,
            mark: seen.mark,
            generation: self.slots.next_generation(),
            names: names.0,
            record_end_s: baseline.record_end_s,
            // A NEW event tells less than the dump that may be running.
            stamp: if source == Source::New {
                self.sequence
            } else {
                self.newer_than_all()
            },
            expires_s: expires_s(seen, now),
            status: seen.status as u16,
            scope: request.scope.0,
            protocol_state: seen.protocol_state,
            ..Connection::default()
        };
        let facts = [
            (start.is_some(), flag::KERNEL_START),
            (seen.counters.is_some(), flag::ACCOUNTED),
            (seen.counters.is_none() && baseline.moved, flag::MOVED),
            (baseline.recorded, flag::RECORDED),
            (destroyed, flag::GONE | flag::DESTROYED),
        ];
        for (_, flags) in facts.iter().filter(|(holds, _)| *holds) {
            connection.set(*flags);
        }
        let over = destroyed || seen.is_closed();
        let state = match () {
            () if baseline.done && !destroyed => State::Done,
            () if over => State::Ended,
            () => State::Live,
        };
        // An unexported connection is not infinitely old: its last export is its start. With nothing to export the first
        // active deadline has already moved on. An end counts from its sighting.
        if state == State::Live && connection.unexported() {
            connection.since_ms =
                Millis::new(start.map_or(now.monotonic_ms, |start| monotonic_of(start, now)));
        }
        let slot = self.slots.add(*key, connection);
        if Side::needed(seen) {
            let side = self
                .side
                .add(slot, &seen.reply, seen.reply_zone, seen.labels);
            if let Some(connection) = self.slots.get_mut(slot) {
                connection.side = side;
            }
        }
        self.index.insert(hash, slot);
        self.zones.insert(key.zone());
        self.stats.added_total += 1;
        self.set_state(slot, state);
        match state {
            State::Done => self.enqueue_remainder(slot),
            State::Ended => {
                self.stats.ended_total += 1;
                self.enqueue(slot);
            }
            _ => self.enqueue(slot),
        }
    }
}

/// The wall clock was set between the two moments: kernel start times before and after do not compare.
fn stepped(former: Now, now: Now) -> bool {
    let monotonic = now.monotonic_ms.saturating_sub(former.monotonic_ms) as i128;
    let wall = (i128::from(now.wall_ns) - i128::from(former.wall_ns)) / 1_000_000;
    (wall - monotonic).abs() > 1000
}
