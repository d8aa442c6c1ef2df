//! What is remembered of one address family.

use ahash::RandomState;

use super::MOST_OF_A_KEY;
use crate::memory::Segmented;
use crate::polls::before;
use crate::store::identity::Match;
use crate::store::key::{Address, ConnectionKey, FamilyKey};
use crate::store::past::Past;

pub(super) struct Entry<A> {
    pub(super) key: FamilyKey<A>,
    pub(super) past: Past,
}

const _: () = assert!(size_of::<Entry<[u8; 4]>>() == 88);
const _: () = assert!(size_of::<Entry<[u8; 16]>>() == 112);

/// One family's.
pub(super) struct Family<A> {
    pub(super) entries: Segmented<Entry<A>>,
    seed: RandomState,
}

impl<A: Address> Family<A>
where
    FamilyKey<A>: Into<ConnectionKey>,
{
    pub(super) fn new(seed: RandomState) -> Self {
        Self {
            entries: Segmented::new(),
            seed,
        }
    }

    pub(super) fn of_key(&self, key: FamilyKey<A>, hash: u64) -> impl Iterator<Item = &Past> {
        let entries = self.entries.iter(hash);
        entries
            .filter(move |entry| entry.key == key)
            .map(|entry| &entry.past)
    }

    /// Puts one in the place of what `replaces` names; `full`: only there. None: there is no such one. True: the oldest of
    /// this key had to go for it.
    pub(super) fn put(
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

    pub(super) fn remove(
        &mut self,
        key: &FamilyKey<A>,
        hash: u64,
        which: impl Fn(&Past) -> bool,
    ) -> bool {
        let removed = self
            .entries
            .remove(hash, |entry| entry.key == *key && which(&entry.past));
        removed.is_some()
    }

    pub(super) fn give_back(&mut self) -> bool {
        let seed = &self.seed;
        self.entries.give_back(|entry| entry.key.into().hash(seed))
    }
}
