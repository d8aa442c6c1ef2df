//! What comes in: dumps, lookups and events, and what becomes of each observation.
//!
//! Every way in makes a [`Sighting`], finds the incarnation it speaks of ([`incarnation`]), and either brings that up to
//! date ([`update`]) or judges an unknown one ([`first_sight`]). The kernel's events of one tuple come in their order; dumps,
//! lookups and events among each other do not. The rules:
//!
//! (a) a connection created by NEW while a dump runs carries that dump's number, so that the dump's end does not end it;
//! (b) an unknown incarnation that was asked for before the last DESTROY of its tuple was merged is the one that was
//!     destroyed, or will be told of by its own NEW: nothing comes of it;
//! (c) DESTROY ends only the incarnation with its id and start;
//! (d) an observation that was requested before a newer one was merged is dropped: merging one stamps the connection with
//!     a number above those of all requests so far;
//! (e) DESTROY of an incarnation that the table does not know is a complete flow, the first time;
//! (f) NEW of one of which is remembered what was told or counted changes nothing: it has no start, and may be another's.

mod dump;
mod event;
mod first_sight;
mod incarnation;
mod life;
mod lookup;
mod refused;
mod update;

use crate::clock::Clock;
use crate::observation::{Now, Observation};
use crate::polls::Poll;
use crate::stats::Stats;
use crate::store::{ConnectionKey, Identity, Spoken, Store};

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

/// One observation on its way through the table.
#[derive(Clone, Copy)]
pub(crate) struct Sighting<'a> {
    /// What was asked for, and when among all requests.
    pub(crate) request: Poll,
    pub(crate) source: Source,
    pub(crate) seen: &'a Observation,
    pub(crate) key: ConnectionKey,
    pub(crate) hash: u64,
    pub(crate) now: Now,
}

impl<'a> Sighting<'a> {
    /// None: its addresses are of two families.
    pub(crate) fn new(
        store: &Store,
        request: Poll,
        source: Source,
        seen: &'a Observation,
        now: Now,
    ) -> Option<Self> {
        let key = ConnectionKey::new(&seen.original, seen.zone)?;
        Some(Self {
            request,
            source,
            seen,
            key,
            hash: store.hash(&key),
            now,
        })
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity::new(self.seen.id, self.seen.start_ns)
    }

    /// The same, with what tells it from others whose start is not known.
    pub(crate) fn spoken<'c>(&self, clock: &'c Clock) -> Spoken<'c> {
        let start = self.seen.start();
        Spoken {
            identity: self.identity(),
            began_ms: start.and_then(|start| clock.earliest_of(start, self.now)),
            clock,
            now: self.now,
        }
    }

    pub(crate) fn is_destroy(&self) -> bool {
        self.source == Source::Destroy
    }

    /// A dump or a lookup showed it: the kernel holds it, and all of it was told.
    pub(crate) fn is_shown(&self) -> bool {
        matches!(self.source, Source::Dump | Source::Lookup)
    }
}

/// What came in so far.
#[derive(Default)]
pub(crate) struct Intake {
    added: u64,
    ended: u64,
    refused: u64,
    evicted: u64,
    malformed: u64,
    /// Room for the keys of a receive buffer.
    scratch: Vec<dump::Hashed>,
}

impl Intake {
    /// Its part of the table's figures.
    pub(crate) fn totals(&self) -> Stats {
        Stats {
            added_total: self.added,
            ended_total: self.ended,
            refused_total: self.refused,
            evicted_total: self.evicted,
            malformed: self.malformed,
            ..Stats::default()
        }
    }

    pub(crate) fn count_malformed(&mut self) {
        self.malformed += 1;
    }
}
