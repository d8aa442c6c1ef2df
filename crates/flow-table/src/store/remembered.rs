//! Incarnations that have no slot, and of which it must be known what was exported or counted: refused and evicted ones,
//! those that left the selection, those that a dump missed and that may be there after all, those that the former run left
//! in its state file; and which tuples had a DESTROY while an older dump runs.
//!
//! 88 octets for IPv4, 112 for IPv6. There are at most as many as connections may be held, or 65,536, and of one tuple
//! at most [`MOST_OF_A_KEY`].

use ahash::RandomState;

use super::identity::{Identity, Match, Spoken};
use super::key::{Address, ConnectionKey, FamilyKey};
use crate::export::Loss;
use crate::memory::Segmented;
use crate::observation::Counters;
use crate::polls::before;

/// As many are remembered, however few connections may be held. Unit tests go beyond it with a handful.
pub(crate) const LEAST_REMEMBERED: usize = if cfg!(test) { 8 } else { 65_536 };
/// Past incarnations of one tuple, here and in the index of slots: what a strange tuple costs is bounded by it.
pub(crate) const MOST_OF_A_KEY: usize = 8;

/// Live, done and remembered ones of the former run, if its bounds were the same.
const MOST_RESTORED: usize = 3;

/// Why it has no slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// There was no room.
    Refused,
    /// Others needed its room.
    Evicted,
    /// It lives outside the selection.
    Left,
    /// A complete dump missed it, and its end is exported.
    Missing,
    /// The former run knew it.
    Restored,
    /// A DESTROY ended it while a dump runs that was begun before.
    Destroyed,
}

impl Why {
    /// As what its traffic counts while the kernel keeps it.
    pub(crate) fn loss(self) -> Option<Loss> {
        match self {
            Why::Refused => Some(Loss::Refused),
            Why::Evicted => Some(Loss::Evicted),
            Why::Left | Why::Missing | Why::Restored | Why::Destroyed => None,
        }
    }
}

/// What is remembered of one incarnation.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    /// In the kernel's counting: what records hold or losses count. Wraps as that of a connection.
    pub(crate) exported: [Counters; 2],
    /// How far its counters had come when somebody zeroed them.
    pub(crate) zeroed: Option<Box<[Counters; 2]>>,
    /// The kernel's start, or the first sighting.
    pub(crate) start_ns: u64,
    pub(crate) id: u32,
    /// Requests with a lower number were made before the last observation of it.
    pub(crate) stamp: u32,
    /// End of the last record, in seconds since 1970; 0: none.
    pub(crate) record_end_s: u32,
    pub(crate) scope: u8,
    pub(crate) why: Why,
    /// `start_ns` is the kernel's.
    pub(crate) kernel_start: bool,
    /// A record of it was made.
    pub(crate) recorded: bool,
    /// Its end was exported.
    pub(crate) done: bool,
}

impl Past {
    pub(crate) fn identity(&self) -> Identity {
        Identity::new(self.id, self.kernel_start.then_some(self.start_ns))
    }
}

struct Entry<A> {
    key: FamilyKey<A>,
    past: Past,
}

const _: () = assert!(size_of::<Entry<[u8; 4]>>() == 88);
const _: () = assert!(size_of::<Entry<[u8; 16]>>() == 112);

/// Both families.
pub(crate) struct Remembered {
    v4: Family<[u8; 4]>,
    v6: Family<[u8; 16]>,
    most: usize,
    /// What the former run left comes on top until it is dropped.
    restored: usize,
    aging: Aging,
}

/// Whether one that was met by a sweep stays.
pub(crate) enum Keep {
    Yes,
    No,
    /// Nobody will say when the kernel drops it: the oldest go when there are too many.
    WhileThereIsRoom,
}

/// How long those stay of which nobody says when the kernel drops them.
#[derive(Clone, Copy, Default)]
struct Aging {
    /// The sweep under way drops them below this stamp.
    too_old: Option<u32>,
    /// The oldest stamp that this sweep met.
    oldest: Option<u32>,
    /// Let go before their time.
    forgotten: u64,
}

impl Aging {
    /// Where there are too many, the next sweep drops those of the older half of the time.
    fn begin(&mut self, crowded: bool, newest: u32) {
        let oldest = self.oldest.take().filter(|_| crowded);
        self.too_old = oldest.map(|oldest| oldest.wrapping_add(newest.wrapping_sub(oldest) / 2));
    }

    fn stays(&mut self, stamp: u32) -> bool {
        if self.too_old.is_some_and(|limit| before(stamp, limit)) {
            self.forgotten += 1;
            return false;
        }
        if self.oldest.is_none_or(|oldest| before(stamp, oldest)) {
            self.oldest = Some(stamp);
        }
        true
    }
}

/// One family's.
struct Family<A> {
    entries: Segmented<Entry<A>>,
    seed: RandomState,
}

impl<A: Address> Family<A>
where
    FamilyKey<A>: Into<ConnectionKey>,
{
    fn new(seed: RandomState) -> Self {
        Self {
            entries: Segmented::new(),
            seed,
        }
    }

    fn of_key(&self, key: FamilyKey<A>, hash: u64) -> impl Iterator<Item = &Past> {
        let entries = self.entries.iter(hash);
        entries
            .filter(move |entry| entry.key == key)
            .map(|entry| &entry.past)
    }

    /// Puts one in the place of what `replaces` names; `full`: only there. None: there is no such one. True: the oldest of
    /// this key had to go for it.
    fn put(
        &mut self,
        key: &FamilyKey<A>,
        hash: u64,
        past: Past,
        replaces: impl Fn(&Past) -> Match,
        full: bool,
    ) -> Option<bool> {
        let mut count = 0;
        let (mut oldest, mut similar, mut same) = (None::<&Past>, None, None);
        for other in self.of_key(*key, hash) {
            count += 1;
            if oldest.is_none_or(|oldest| before(other.stamp, oldest.stamp)) {
                oldest = Some(other);
            }
            match replaces(other) {
                Match::Same => same = Some(other),
                Match::Similar => similar = Some(other),
                Match::Other => {}
            }
        }
        let replaced = same.or(similar);
        let crowded = replaced.is_none() && count >= MOST_OF_A_KEY;
        let goes = replaced.or(oldest.filter(|_| crowded));
        if let Some((identity, why)) = goes.map(|goes| (goes.identity(), goes.why)) {
            let goes = |other: &Past| other.identity() == identity && other.why == why;
            let place = self
                .entries
                .find_mut(hash, |entry| entry.key == *key && goes(&entry.past))?;
            place.past = past;
            return Some(crowded);
        }
        if full {
            return None;
        }
        let seed = &self.seed;
        self.entries
            .insert(hash, Entry { key: *key, past }, |entry| {
                entry.key.into().hash(seed)
            });
        Some(false)
    }

    fn remove(&mut self, key: &FamilyKey<A>, hash: u64, which: impl Fn(&Past) -> bool) -> bool {
        let removed = self
            .entries
            .remove(hash, |entry| entry.key == *key && which(&entry.past));
        removed.is_some()
    }

    fn give_back(&mut self) -> bool {
        let seed = &self.seed;
        self.entries.give_back(|entry| entry.key.into().hash(seed))
    }
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
        if past.why == Why::Restored && self.restored < MOST_RESTORED * self.most {
            self.restored += 1;
        }
        let full = self.is_full();
        let (identity, why) = (past.identity(), past.why);
        let replaces = |other: &Past| match (why, other.why) {
            (Why::Destroyed, Why::Destroyed) => Match::Same,
            (Why::Destroyed, _) | (_, Why::Destroyed) => Match::Other,
            _ => identity.compare(other.identity()),
        };
        let crowded = match key {
            ConnectionKey::V4(key) => self.v4.put(key, hash, past, replaces, full),
            ConnectionKey::V6(key) => self.v6.put(key, hash, past, replaces, full),
        };
        self.aging.forgotten += u64::from(crowded == Some(true));
        crowded.is_some()
    }

    /// Forgets the incarnation with this identity; false: there is none.
    pub(crate) fn remove(&mut self, key: &ConnectionKey, hash: u64, identity: Identity) -> bool {
        let found = self.find(key, hash, |past| identity.compare(past.identity()));
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
