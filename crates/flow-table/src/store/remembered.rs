//! Incarnations that have no slot, and of which it must be known what was exported or counted: refused and evicted ones,
//! those that left the selection, those that a dump missed and that may be there after all, those that the former run left
//! in its state file; and which tuples had a DESTROY while an older dump runs.
//!
//! 88 octets for IPv4, 112 for IPv6. There are at most as many as connections may be held, or 65,536, and of one tuple
//! at most [`MOST_OF_A_KEY`].

mod family;

use ahash::RandomState;

use family::Family;

use super::aging::{Aging, Keep};
use super::identity::{Identity, Match, Spoken};
use super::key::ConnectionKey;
use super::past::{Past, Why};

/// As many are remembered, however few connections may be held. Unit tests go beyond it with a handful.
pub(crate) const LEAST_REMEMBERED: usize = if cfg!(test) { 8 } else { 65_536 };
/// Past incarnations of one tuple, here and in the index of slots: what a strange tuple costs is bounded by it.
pub(crate) const MOST_OF_A_KEY: usize = 8;

/// Live, done and remembered ones of the former run, if its bounds were the same.
const MOST_RESTORED: usize = 3;

/// Both families.
pub(crate) struct Remembered {
    v4: Family<[u8; 4]>,
    v6: Family<[u8; 16]>,
    most: usize,
    /// What the former run left comes on top until it is dropped.
    restored: usize,
    aging: Aging,
}

impl Remembered {
    pub(crate) fn new(seed: RandomState, max_connections: usize) -> Self {
        Self {
            v4: Family::new(seed.clone()),
            v6: Family::new(seed),
            most: max_connections.max(LEAST_REMEMBERED),
            restored: 0,
            aging: Aging::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.v4.entries.len() + self.v6.entries.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.most + self.restored
    }

    /// What the former run left is dropped.
    pub(crate) fn end_restored(&mut self) {
        self.restored = 0;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.v4.entries.bytes() + self.v6.entries.bytes()
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.aging.forgotten
    }

    /// One that would have had to be remembered is not.
    pub(crate) fn count_forgotten(&mut self) {
        self.aging.forgotten += 1;
    }

    /// The incarnation that an observation speaks of: with the same id and start, else with the same id where a start is not
    /// known. Not one that was destroyed.
    pub(crate) fn recall(
        &self,
        key: &ConnectionKey,
        hash: u64,
        spoken: Spoken<'_>,
    ) -> Option<Past> {
        let compare = |past: &Past| spoken.compare(past.identity(), past.start_ns);
        self.find(key, hash, compare).cloned()
    }

    /// The same by identity alone: when it was last seen.
    pub(crate) fn stamp_of(
        &self,
        key: &ConnectionKey,
        hash: u64,
        identity: Identity,
    ) -> Option<u32> {
        let found = self.find(key, hash, |past| identity.compare(past.identity()));
        found.map(|past| past.stamp)
    }

    fn find(
        &self,
        key: &ConnectionKey,
        hash: u64,
        compare: impl Fn(&Past) -> Match,
    ) -> Option<&Past> {
        if self.len() == 0 {
            return None;
        }
        let mut similar = None;
        let mut alive = self.of_key(key, hash);
        while let Some(past) = alive.find(|past| past.why != Why::Destroyed) {
            match compare(past) {
                Match::Same => return Some(past),
                Match::Similar => similar = Some(past),
                Match::Other => {}
            }
        }
        similar
    }

    /// When a DESTROY of this tuple was last merged, if a dump that was begun before may still run.
    pub(crate) fn destroyed(&self, key: &ConnectionKey, hash: u64) -> Option<u32> {
        let destroyed = |past: &&Past| past.why == Why::Destroyed;
        self.of_key(key, hash)
            .find(destroyed)
            .map(|past| past.stamp)
    }

    /// A DESTROY of this very incarnation was merged, while a dump ran that may still do.
    pub(crate) fn was_destroyed(&self, key: &ConnectionKey, hash: u64, identity: Identity) -> bool {
        let same = |past: &Past| past.identity().compare(identity) == Match::Same;
        self.of_key(key, hash)
            .any(|past| past.why == Why::Destroyed && same(past))
    }

    /// Forgets all incarnations of a tuple.
    pub(crate) fn remove_all(&mut self, key: &ConnectionKey, hash: u64) {
        while self.len() > 0 && self.remove_where(key, hash, |_| true) {}
    }

    /// Remembers one in place of what was remembered of the same identity (of the same tuple, for one that was
    /// destroyed). False: there are too many.
    pub(crate) fn put(&mut self, key: &ConnectionKey, hash: u64, past: Past) -> bool {
        self.put_in_place(key, hash, past, true)
    }

    /// Remembers one that is known to be none of those with the same id whose start is not known.
    pub(crate) fn add(&mut self, key: &ConnectionKey, hash: u64, past: Past) -> bool {
        self.put_in_place(key, hash, past, false)
    }

    fn put_in_place(&mut self, key: &ConnectionKey, hash: u64, past: Past, similar: bool) -> bool {
        if past.why == Why::Restored && self.restored < MOST_RESTORED * self.most {
            self.restored += 1;
        }
        let full = self.is_full();
        let (identity, why) = (past.identity(), past.why);
        let replaces = |other: &Past| match (why, other.why) {
            (Why::Destroyed, Why::Destroyed) => Match::Same,
            (Why::Destroyed, _) | (_, Why::Destroyed) => Match::Other,
            _ => match identity.compare(other.identity()) {
                _ if identity == other.identity() => Match::Same,
                Match::Similar if !similar => Match::Other,
                found => found,
            },
        };
        let crowded = match key {
            ConnectionKey::V4(key) => self.v4.put(key, hash, past, replaces, full),
            ConnectionKey::V6(key) => self.v6.put(key, hash, past, replaces, full),
        };
        self.aging.forgotten += u64::from(crowded == Some(true));
        crowded.is_some()
    }

    /// Forgets the incarnation with this identity, else one with its id where a start is not known; false: there is none.
    pub(crate) fn remove(&mut self, key: &ConnectionKey, hash: u64, identity: Identity) -> bool {
        let found = self.find(key, hash, |past| match past.identity() {
            same if same == identity => Match::Same,
            other => identity.compare(other),
        });
        let Some((found, why)) = found.map(|found| (found.identity(), found.why)) else {
            return false;
        };
        self.remove_where(key, hash, |past| {
            past.identity() == found && past.why == why
        })
    }

    fn remove_where(
        &mut self,
        key: &ConnectionKey,
        hash: u64,
        which: impl Fn(&Past) -> bool,
    ) -> bool {
        match key {
            ConnectionKey::V4(key) => self.v4.remove(key, hash, which),
            ConnectionKey::V6(key) => self.v6.remove(key, hash, which),
        }
    }

    fn of_key<'a>(&'a self, key: &ConnectionKey, hash: u64) -> impl Iterator<Item = &'a Past> {
        let (v4, v6) = match key {
            ConnectionKey::V4(key) => (Some(self.v4.of_key(*key, hash)), None),
            ConnectionKey::V6(key) => (None, Some(self.v6.of_key(*key, hash))),
        };
        v4.into_iter().flatten().chain(v6.into_iter().flatten())
    }

    /// A sweep begins.
    pub(crate) fn begin_sweep(&mut self, newest: u32) {
        let crowded = self.len() > self.most / 4 * 3;
        self.aging.begin(crowded, newest);
    }

    /// Keeps of one segment what may stay; false: there is no segment of this number.
    pub(crate) fn sweep(&mut self, segment: usize, mut keep: impl FnMut(&Past) -> Keep) -> bool {
        let aging = &mut self.aging;
        let mut stays = |past: &Past| match keep(past) {
            Keep::No => false,
            Keep::Yes => true,
            Keep::WhileThereIsRoom => aging.stays(past.stamp),
        };
        let v4 = &mut self.v4.entries;
        let v4 = v4.retain(segment, |entry| stays(&entry.past));
        let v6 = &mut self.v6.entries;
        v6.retain(segment, |entry| stays(&entry.past)) || v4
    }

    /// Hands out what one segment holds; false: there is no segment of this number.
    pub(crate) fn visit(
        &self,
        segment: usize,
        mut visit: impl FnMut(ConnectionKey, &Past),
    ) -> bool {
        let v4 = self.v4.entries.visit(segment, |entry| {
            visit(ConnectionKey::V4(entry.key), &entry.past);
        });
        let v6 = self.v6.entries.visit(segment, |entry| {
            visit(ConnectionKey::V6(entry.key), &entry.past);
        });
        v4 || v6
    }

    /// One step of giving memory back; true: there is more.
    pub(crate) fn give_back(&mut self) -> bool {
        self.v4.give_back() || self.v6.give_back()
    }
}
