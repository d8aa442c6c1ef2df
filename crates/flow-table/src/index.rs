//! From a key's hash to slots: one cache line for a lookup, and nothing but the index for growing.
//!
//! A bucket is a cache line of ten entries: sixteen bits of the hash and the slot. Those bits also say which bucket is an
//! entry's home, so that growing or shrinking looks at no key. What does not fit its home goes to the next bucket with room,
//! and each bucket that it passed counts it: a lookup goes on only where something has passed.

mod segment;

use segment::{Bucket, Segment, WIDTH};

/// At a million connections a segment holds a thousand: placing them anew takes some microseconds.
const SEGMENTS: usize = 1024;
/// The bits above the lower 32 choose the segment, the upper sixteen are the tag.
const SEGMENT_SHIFT: u32 = 32;
const TAG_SHIFT: u32 = 48;
/// Segments looked at in one step of giving memory back.
const STEP: usize = 64;

/// Slots by hash; several may have the same one.
pub(crate) struct Index {
    /// None before the first slot.
    segments: Vec<Segment>,
    buckets: usize,
    /// Where `give_back` goes on.
    cursor: usize,
    /// Something was removed since `give_back` last began.
    removed: bool,
}

impl Index {
    pub(crate) fn new() -> Self {
        Self {
            segments: Vec::new(),
            buckets: 0,
            cursor: 0,
            removed: false,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.segments.len() * size_of::<Segment>() + self.buckets * size_of::<Bucket>()
    }

    /// Reads a word of the cache line that a lookup will need. Without a branch on what it reads: the loads of many
    /// lookups overlap.
    #[inline]
    pub(crate) fn touch(&self, hash: u64) -> u64 {
        self.segments
            .get(number(hash))
            .and_then(|segment| segment.buckets.get(segment.home(tag(hash))))
            .map_or(0, |bucket| u64::from(bucket.used))
    }

    /// A slot that probably has this hash, in its home bucket; `u32::MAX`: none there.
    #[inline]
    pub(crate) fn probable(&self, hash: u64) -> u32 {
        let tag = tag(hash);
        self.segments
            .get(number(hash))
            .and_then(|segment| segment.buckets.get(segment.home(tag)))
            .map_or(u32::MAX, |bucket| {
                bucket.slot(bucket.matches(tag).trailing_zeros())
            })
    }

    /// The slots that probably have this hash: at a million connections one in 500 of a bucket's other entries is among
    /// them.
    #[inline]
    pub(crate) fn iter(&self, hash: u64) -> Matches<'_> {
        let tag = tag(hash);
        let segment = self.segments.get(number(hash));
        Matches {
            buckets: segment.map_or(&[], |segment| &segment.buckets),
            tag,
            next: segment.map_or(0, |segment| segment.home(tag)),
            left: segment.map_or(0, |segment| segment.buckets.len()),
            bucket: None,
            matches: 0,
        }
    }

    pub(crate) fn insert(&mut self, hash: u64, slot: u32) {
        if self.segments.is_empty() {
            self.segments.resize_with(SEGMENTS, Segment::default);
        }
        if let Some(segment) = self.segments.get_mut(number(hash)) {
            if segment.full() {
                let before = segment.buckets.len();
                segment.resize(before + before / 2 + 1);
                self.buckets += segment.buckets.len() - before;
            }
            segment.put(tag(hash), slot);
        }
    }

    pub(crate) fn remove(&mut self, hash: u64, slot: u32) {
        if let Some(segment) = self.segments.get_mut(number(hash)) {
            self.removed |= segment.remove(tag(hash), slot);
        }
    }

    /// The connection has moved to another slot.
    pub(crate) fn replace(&mut self, hash: u64, slot: u32, to: u32) {
        if let Some(segment) = self.segments.get_mut(number(hash))
            && let Some((at, entry)) = segment.place(tag(hash), slot)
            && let Some(bucket) = segment.buckets.get_mut(at)
            && let Some(slot) = bucket.slots.get_mut(entry)
        {
            *slot = to;
        }
    }

    /// Drops the last few segments and what they hold; true: there are more. Nothing may be inserted afterwards.
    pub(crate) fn drop_some(&mut self) -> bool {
        let left = self.segments.len().saturating_sub(STEP);
        for segment in self.segments.drain(left..) {
            self.buckets -= segment.buckets.len();
        }
        left > 0
    }

    /// Shrinks the next few segments that are mostly empty; true: there are more to look at.
    pub(crate) fn give_back(&mut self) -> bool {
        if self.cursor == 0 && !std::mem::take(&mut self.removed) {
            return false;
        }
        for segment in self.segments.iter_mut().skip(self.cursor).take(STEP) {
            let before = segment.buckets.len();
            if before * WIDTH > 4 * segment.len + 2 * WIDTH {
                segment.resize((2 * segment.len).div_ceil(WIDTH));
                self.buckets -= before - segment.buckets.len();
            }
        }
        self.cursor = if self.cursor + STEP < SEGMENTS {
            self.cursor + STEP
        } else {
            0
        };
        self.cursor != 0
    }
}

/// See [`Index::iter`].
pub(crate) struct Matches<'a> {
    buckets: &'a [Bucket],
    tag: u16,
    /// The bucket to look at next, and how many there are to look at.
    next: usize,
    left: usize,
    bucket: Option<&'a Bucket>,
    /// Its entries not handed out yet.
    matches: u16,
}

impl Iterator for Matches<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if self.matches != 0 {
                let entry = self.matches.trailing_zeros();
                self.matches &= self.matches - 1;
                return self.bucket.map(|bucket| bucket.slot(entry));
            }
            if self.left == 0 {
                return None;
            }
            let bucket = self.buckets.get(self.next)?;
            self.bucket = Some(bucket);
            self.matches = bucket.matches(self.tag);
            self.next = if self.next + 1 < self.buckets.len() {
                self.next + 1
            } else {
                0
            };
            self.left = if bucket.passed == 0 { 0 } else { self.left - 1 };
        }
    }
}

#[inline]
fn number(hash: u64) -> usize {
    (hash >> SEGMENT_SHIFT) as usize % SEGMENTS
}

#[inline]
fn tag(hash: u64) -> u16 {
    (hash >> TAG_SHIFT) as u16
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64),
        Remove(usize),
        Replace(usize),
        GiveBack,
    }

    /// Two segments and few tags at both ends of the range: buckets overflow, also past the last one.
    fn hash() -> impl Strategy<Value = u64> {
        let tag = prop_oneof![0..3u64, 0xfffd..=0xffff_u64, 0..=0xffff_u64];
        (0..2u64, tag).prop_map(|(segment, tag)| segment << SEGMENT_SHIFT | tag << TAG_SHIFT)
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            8 => hash().prop_map(Op::Insert),
            4 => any::<usize>().prop_map(Op::Remove),
            1 => any::<usize>().prop_map(Op::Replace),
            1 => Just(Op::GiveBack),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_slot_is_found_by_its_hash_and_no_other(ops in prop::collection::vec(op(), 1..400)) {
            let (mut index, mut held, mut next) = (Index::new(), Vec::<(u64, u32)>::new(), 0);
            for op in ops {
                match op {
                    Op::Insert(hash) => {
                        index.insert(hash, next);
                        held.push((hash, next));
                        next += 1;
                    }
                    Op::Remove(at) if !held.is_empty() => {
                        let (hash, slot) = held.swap_remove(at % held.len());
                        index.remove(hash, slot);
                    }
                    Op::Replace(at) if !held.is_empty() => {
                        let at = at % held.len();
                        index.replace(held[at].0, held[at].1, next);
                        held[at].1 = next;
                        next += 1;
                    }
                    Op::GiveBack => while index.give_back() {},
                    _ => {}
                }
                let hashes: BTreeSet<u64> = held.iter().map(|(hash, _)| *hash).collect();
                for hash in hashes {
                    let mut found: Vec<u32> = index.iter(hash).collect();
                    let mut expected: Vec<u32> =
                        held.iter().filter(|(other, _)| *other == hash).map(|(_, slot)| *slot).collect();
                    found.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(found, expected);
                }
            }
            for (hash, slot) in held.drain(..) {
                index.remove(hash, slot);
            }
            while index.give_back() {}
            prop_assert_eq!(index.segments.iter().map(|segment| segment.len).sum::<usize>(), 0);
            let mut buckets = index.segments.iter().flat_map(|segment| &segment.buckets);
            let empty = buckets.all(|bucket| bucket.used == 0 && bucket.passed == 0);
            prop_assert!(empty);
        }
    }
}
