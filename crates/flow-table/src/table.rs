//! The table: what it is made of, polls, and what it tells about itself.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use ahash::RandomState;

use crate::batch::Returns;
use crate::config::Config;
use crate::deadline::Timeouts;
use crate::expiry_queue::{ExpiryQueue, Key};
use crate::index::Index;
use crate::loss::Losses;
use crate::observation::{Now, Scope, Tuple};
use crate::observe::Hashed;
use crate::outside::Outside;
use crate::segmented::Segmented;
use crate::side::Side;
use crate::slots::Slots;
use crate::state::Restored;
use crate::stats::Stats;
use crate::work::Sweep;

/// Names one pass over the kernel's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Poll {
    pub(crate) scope: Scope,
    pub(crate) sequence: u32,
}

/// Whether `work` has more to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Call again, perhaps after letting others at the table.
    More,
    /// Nothing to do for now.
    Done,
}

/// Connections, their deadlines, and what is to be exported when. See the [crate's documentation](crate).
pub struct FlowTable {
    pub(crate) config: Config,
    pub(crate) timeouts: Timeouts,
    pub(crate) seed: RandomState,
    pub(crate) slots: Slots,
    pub(crate) side: Side,
    /// Every slot in use, past incarnations included.
    pub(crate) index: Index,
    /// Live connections, and done ones with a remainder, by deadline.
    pub(crate) queue: ExpiryQueue,
    /// What is due at once, by the time since when: ended connections, and at the stop live ones.
    pub(crate) urgent: ExpiryQueue,
    /// Idle connections by how long they have been quiet; kept only where they may be evicted.
    pub(crate) idle: ExpiryQueue,
    /// Refused and evicted connections that the kernel keeps.
    pub(crate) outside: Segmented<Outside>,
    pub(crate) restored: Restored,
    pub(crate) scopes: Vec<ScopeState>,
    /// Zones that connections were ever in: where to look for a tuple whose zone is not known.
    pub(crate) zones: BTreeSet<u16>,
    /// Own sessions that zones from this one on have not been searched for.
    pub(crate) forgetting: VecDeque<(Tuple, u16)>,
    /// Polls begun and not ended.
    pub(crate) running: Vec<(Poll, Now)>,
    pub(crate) sweeps: VecDeque<Sweep>,
    /// Polls and lookups are numbered in the order of their requests, in steps of two.
    pub(crate) sequence: u32,
    /// Due connections that a lookup must confirm, out of the queue.
    pub(crate) awaiting: VecDeque<Key>,
    /// Slots of connections that a filtered dump missed, or of which an event told too little.
    pub(crate) suspects: VecDeque<u32>,
    /// Connections that were refused for lack of room and that an eviction could let in.
    pub(crate) room_wanted: usize,
    pub(crate) stopping: bool,
    /// Where the search for what a stop must still export goes on.
    pub(crate) stop_scan: Option<u32>,
    /// A state export is under way: connections keep their slots.
    pub(crate) exporting: bool,
    pub(crate) stats: Stats,
    pub(crate) losses: Losses,
    pub(crate) returns: Arc<Returns>,
    pub(crate) scratch: Vec<Hashed>,
}

/// What is remembered of a scope.
#[derive(Clone, Copy, Default)]
pub(crate) struct ScopeState {
    /// Beginnings of the last two complete polls, latest first.
    pub(crate) complete: [Option<Now>; 2],
    /// Refused connections met by the poll under way, and by the last complete one.
    pub(crate) refused_now: usize,
    pub(crate) refused: usize,
}

impl FlowTable {
    /// An empty table.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            timeouts: Timeouts {
                active: config.active_timeout_ms,
                idle: config.idle_timeout_ms,
            },
            config,
            seed: RandomState::new(),
            slots: Slots::new(),
            side: Side::new(),
            index: Index::new(),
            queue: ExpiryQueue::new(),
            urgent: ExpiryQueue::new(),
            idle: ExpiryQueue::new(),
            outside: Segmented::new(),
            restored: Restored::default(),
            scopes: Vec::new(),
            zones: BTreeSet::new(),
            forgetting: VecDeque::new(),
            running: Vec::new(),
            sweeps: VecDeque::new(),
            sequence: 0,
            awaiting: VecDeque::new(),
            suspects: VecDeque::new(),
            room_wanted: 0,
            stopping: false,
            stop_scan: None,
            exporting: false,
            stats: Stats::default(),
            losses: Losses::default(),
            returns: Arc::default(),
            scratch: Vec::new(),
        }
    }

    /// Begins a pass over one scope. Call it before the dump is requested. A pass of the same scope that has not been
    /// ended is given up.
    pub fn begin_poll(&mut self, scope: Scope, now: Now) -> Poll {
        self.take_returns(now);
        self.running.retain(|(poll, _)| poll.scope != scope);
        let poll = Poll {
            scope,
            sequence: self.next_request(),
        };
        self.running.push((poll, now));
        self.scope_mut(scope).refused_now = 0;
        poll
    }

    /// Ends a pass; only a `complete` one ends connections, and `work` does it, in slices.
    ///
    /// With events, first hand over every event that was queued when the dump's last buffer was received: the kernel sends
    /// a DESTROY before the entry leaves the dumps, so that what is missing then has really lost its DESTROY.
    pub fn end_poll(&mut self, poll: Poll, complete: bool, now: Now) {
        self.take_returns(now);
        let Some(at) = self
            .running
            .iter()
            .position(|(running, _)| *running == poll)
        else {
            return;
        };
        let (_, began) = self.running.swap_remove(at);
        if !complete {
            return;
        }
        let scope = self.scope_mut(poll.scope);
        scope.complete = [Some(began), scope.complete[0]];
        scope.refused = scope.refused_now;
        self.room_wanted = self.room_wanted.min(self.refused());
        self.sweeps.retain(|sweep| sweep.poll.scope != poll.scope);
        self.sweeps.push_back(Sweep::new(poll, began));
    }

    /// When something may be due, in monotonic ms; never late, perhaps early: after a call of `take_batch` (or `work`) that
    /// found nothing, the answer is later or exact. None: nothing is queued.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if self.stop_scan.is_some() {
            return Some(0);
        }
        self.urgent
            .peek()
            .into_iter()
            .chain(self.queue.peek())
            .min()
    }

    /// A snapshot.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let queues = [&self.queue, &self.urgent, &self.idle];
        Stats {
            connections: self.slots.live(),
            queued: self.queue.len() + self.urgent.len(),
            queue_entries: self.queue.entries() + self.urgent.entries(),
            bytes: self.slots.bytes()
                + self.side.bytes()
                + self.index.bytes()
                + self.outside.bytes()
                + self.restored.bytes()
                + queues.iter().map(|queue| queue.bytes()).sum::<usize>(),
            refused: self.refused(),
            losses: self.losses,
            ..self.stats
        }
    }

    fn refused(&self) -> usize {
        self.scopes.iter().map(|scope| scope.refused).sum()
    }

    pub(crate) fn next_request(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(2);
        self.sequence
    }

    /// A number between the last request's and the next one's.
    pub(crate) fn newer_than_all(&self) -> u32 {
        self.sequence.wrapping_add(1)
    }

    pub(crate) fn scope_mut(&mut self, scope: Scope) -> &mut ScopeState {
        let at = usize::from(scope.0);
        if self.scopes.len() <= at {
            self.scopes.resize(at + 1, ScopeState::default());
        }
        #[expect(clippy::indexing_slicing, reason = "resized to hold it just above")]
        &mut self.scopes[at]
    }
}

/// Request a was made before request b; the numbers wrap after four billion.
pub(crate) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
