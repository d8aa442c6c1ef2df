//! The table: what it is made of, and what it tells about itself.

use ahash::RandomState;

use crate::clock::Clock;
use crate::config::{Config, WhenFull};
use crate::export::Export;
use crate::housekeeping::Housekeeping;
use crate::intake::Intake;
use crate::lookups::Lookups;
use crate::observation::{Now, Scope};
use crate::polls::{Poll, Polls};
use crate::queues::{Queues, Timeouts};
use crate::state_file::Import;
use crate::stats::Stats;
use crate::store::{Ends, Remembered, Store};

/// Whether `work` has more to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Call again, perhaps after letting others at the table.
    More,
    /// Nothing to do for now.
    Done,
}

/// Connections, their deadlines, and what is to be exported when. See the [crate's documentation](crate).
///
/// Each part keeps its fields to itself; what takes several parts is a method here, in the module of the stage it belongs
/// to.
pub struct FlowTable {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) remembered: Remembered,
    pub(crate) ends: Ends,
    pub(crate) queues: Queues,
    pub(crate) polls: Polls,
    pub(crate) lookups: Lookups,
    pub(crate) intake: Intake,
    pub(crate) export: Export,
    pub(crate) import: Import,
    pub(crate) housekeeping: Housekeeping,
}

impl FlowTable {
    /// An empty table.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let seed = RandomState::new();
        let timeouts = Timeouts {
            active: config.active_timeout_ms,
            idle: config.idle_timeout_ms,
        };
        Self {
            clock: Clock::new(config.agent_start),
            store: Store::new(seed.clone()),
            ends: Ends::new(seed.clone()),
            remembered: Remembered::new(seed, config.max_connections),
            queues: Queues::new(timeouts, config.when_full == WhenFull::EvictIdle),
            polls: Polls::default(),
            lookups: Lookups::default(),
            intake: Intake::default(),
            export: Export::default(),
            import: Import::default(),
            housekeeping: Housekeeping::default(),
            config,
        }
    }

    /// What every call begins with: the clocks are compared, and batches that were dropped unsettled are rolled back.
    #[inline]
    pub(crate) fn enter(&mut self, now: Now) {
        self.clock.note(now);
        self.take_returns(now);
    }

    /// Begins a pass over one scope. Call it before the dump is requested. A pass of the same scope that has not been
    /// ended is given up.
    pub fn begin_poll(&mut self, scope: Scope, now: Now) -> Poll {
        self.enter(now);
        self.polls.begin(scope, now)
    }

    /// Ends a pass; only a `complete` one ends connections, and `work` does it, in slices.
    ///
    /// With events, first hand over every event that was queued when the dump's last buffer was received: the kernel sends
    /// a DESTROY before the entry leaves the dumps, so that what is missing then has really lost its DESTROY.
    pub fn end_poll(&mut self, poll: Poll, complete: bool, now: Now) {
        self.enter(now);
        let generation = self.store.last_generation();
        if let Some((began, former)) = self.polls.end(poll, complete, generation) {
            let refused = self.polls.refusals().connections;
            self.export.limit_room_wanted(refused);
            self.housekeeping.sweep_after(poll, former, began);
            self.go_on_with_import();
        }
    }

    /// When the last complete poll began; where there are several scopes, the earliest of these moments. Whatever began
    /// before it and was in the kernel then has been seen. None: some scope had no complete poll yet.
    #[must_use]
    pub fn seen_until(&self) -> Option<Now> {
        self.polls.seen_until()
    }

    /// When something may be due, in monotonic ms; never late, perhaps early: after a call of `take_batch` (or `work`) that
    /// found nothing, the answer is later or exact. None: nothing is queued.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if self.export.is_searching() || self.export.any_dropped() {
            return Some(0);
        }
        self.queues.next_deadline()
    }

    /// A snapshot.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let counts = self.store.counts();
        let refusals = self.polls.refusals();
        Stats {
            connections: self.store.len() - counts.gone,
            live: counts.live,
            idle: counts.idle,
            ended: counts.ended,
            done: counts.done,
            queued: self.queues.len(),
            queue_entries: self.queues.entries(),
            in_flight: self.export.in_flight(),
            remembered: self.remembered.len() + counts.gone,
            bytes: self.store.bytes()
                + self.remembered.bytes()
                + self.ends.bytes()
                + self.queues.bytes()
                + self.lookups.bytes(),
            refused: refusals.connections,
            unremembered: refusals.unremembered,
            forgotten_total: self.remembered.forgotten(),
            unasked_total: self.lookups.unasked(),
            losses: self.export.losses(),
            ..self.intake.totals()
        }
    }
}
