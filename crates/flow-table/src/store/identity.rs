//! Which incarnation of a tuple: the one answer to "is this the same connection?" for slots, for what is only remembered,
//! and for the state file.

use std::num::NonZeroU64;

use crate::clock::Clock;
use crate::observation::Now;

/// CTA_ID and the kernel's start time. The id is stable while the entry lives, and the kernel gives it to others later, of
/// the same tuple too; the start is told only where timestamps are on, and never by NEW events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) id: u32,
    pub(crate) start_ns: Option<NonZeroU64>,
}

/// Who is spoken of: an identity, and when its connection began.
#[derive(Clone, Copy)]
pub(crate) struct Spoken<'a> {
    pub(crate) identity: Identity,
    /// Monotonic ms, the earliest that it can have been; None: that is not told.
    pub(crate) began_ms: Option<i64>,
    pub(crate) clock: &'a Clock,
    pub(crate) now: Now,
}

impl Spoken<'_> {
    /// What it is to an incarnation with this identity that was seen first then (wall clock).
    pub(crate) fn compare(&self, other: Identity, first_seen_ns: u64) -> Match {
        match self.identity.compare(other) {
            // What began after the other one was seen is not it.
            Match::Similar if other.start_ns.is_none() && self.began_after(first_seen_ns) => {
                Match::Other
            }
            found => found,
        }
    }

    fn began_after(&self, wall_ns: u64) -> bool {
        let seen = self.clock.monotonic_of(wall_ns, self.now);
        self.began_ms
            .zip(seen)
            .is_some_and(|(began, seen)| began > seen)
    }
}

/// What two identities of one tuple say of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Match {
    /// The same id and the same start: the same connection, whatever its counters say.
    Same,
    /// The same id, and the start of one is not known: counters that go back tell it from another.
    Similar,
    Other,
}

impl Identity {
    pub(crate) fn new(id: u32, start_ns: Option<u64>) -> Self {
        Self {
            id,
            start_ns: start_ns.and_then(NonZeroU64::new),
        }
    }

    pub(crate) fn compare(self, other: Identity) -> Match {
        if self.id != other.id {
            return Match::Other;
        }
        match (self.start_ns, other.start_ns) {
            (Some(left), Some(right)) if left == right => Match::Same,
            (Some(_), Some(_)) => Match::Other,
            _ => Match::Similar,
        }
    }
}
