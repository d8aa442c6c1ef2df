//! From a key's hash to slots: one cache line for a lookup, and nothing but the index for growing.
//!
//! A bucket is a cache line of ten entries: sixteen bits of the hash and the slot. Those bits also say which bucket is an
//! entry's home, so that growing or shrinking looks at no key. What does not fit its home goes to the next bucket with room,
//! and each bucket that it passed counts it: a lookup goes on only where something has passed.
//!
//! The buckets of 1,024 segments lie in rows, one of each segment in a row, in one piece of memory that never moves and can
//! have huge pages. Each segment uses as many of the rows as it needs and is placed anew by itself.

mod bucket;
mod matches;
mod segment;

use bucket::{Bucket, WIDTH};
use matches::Matches;
use segment::{SEGMENTS, STRIDE, Segment, number, place, tag};

use crate::memory::Chunked;

/// Segments looked at in one step of giving memory back.
const STEP: usize = 8;

/// Slots by hash; several may have the same one.
pub(crate) struct Index {
    /// None before the first slot.
    segments: Vec<Segment>,
    buckets: Chunked<Bucket>,
    /// Where `give_back` goes on.
    cursor: usize,
    /// Something was removed since `give_back` last began.
    removed: bool,
    /// Entries on their way from one number of rows to another.
    moving: Vec<(u16, u32)>,
}

impl Index {
    pub(crate) fn new() -> Self {
        Self {
            segments: Vec::new(),
            buckets: Chunked::new(),
            cursor: 0,
            removed: false,
            moving: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.segments.len() * size_of::<Segment>() + self.buckets.bytes()
    }

    #[inline]
    fn segment(&self, hash: u64) -> Segment {
        self.segments.get(number(hash)).copied().unwrap_or_default()
    }

    #[inline]
    fn home(&self, hash: u64) -> Option<&Bucket> {
        let row = self.segment(hash).home(tag(hash));
        self.buckets.get(place(number(hash), row))
    }

    /// Reads a word of each cache line that these lookups will need. Without a branch on what it reads: the loads overlap,
    /// and take a fifth of the time that they would take one after another.
    #[inline]
    pub(crate) fn touch_all(&self, hashes: impl Iterator<Item = u64>) {
        let word = |hash| self.home(hash).map_or(0, |bucket| bucket.used);
        std::hint::black_box(hashes.fold(0, |lines, hash| lines ^ word(hash)));
    }

    /// A slot that probably has this hash, in its home bucket; `u32::MAX`: none there.
    #[inline]
    pub(crate) fn probable(&self, hash: u64) -> u32 {
        self.home(hash).map_or(u32::MAX, |bucket| {
            bucket.slot(bucket.matches(tag(hash)).trailing_zeros())
        })
    }

    /// The slots that probably have this hash: at a million connections one in 500 of a bucket's other entries is among
    /// them.
    #[inline]
    pub(crate) fn iter(&self, hash: u64) -> Matches<'_> {
        let segment = self.segment(hash);
        Matches {
            buckets: &self.buckets,
            hash,
            rows: segment.rows,
            next: segment.home(tag(hash)),
            left: segment.rows,
            bucket: None,
            matches: 0,
        }
    }

    pub(crate) fn insert(&mut self, hash: u64, slot: u32) {
        if self.segments.is_empty() {
            self.segments.resize(SEGMENTS, Segment::default());
        }
        let segment = self.segment(hash);
        if segment.is_full() {
            self.resize(number(hash), segment.grown());
        }
        self.put(number(hash), tag(hash), slot);
    }

    /// Only where the segment has room.
    fn put(&mut self, number: usize, tag: u16, slot: u32) {
        let Some(segment) = self.segments.get_mut(number) else {
            return;
        };
        for row in segment.path(tag) {
            let Some(bucket) = self.buckets.get_mut(place(number, row)) else {
                return;
            };
            if bucket.put(tag, slot) {
                segment.len += 1;
                return;
            }
            bucket.passed = bucket.passed.saturating_add(1);
        }
    }

    /// The row and the entry that hold this slot.
    fn find(&self, hash: u64, slot: u32) -> Option<(u32, u32)> {
        for row in self.segment(hash).path(tag(hash)) {
            let bucket = self.buckets.get(place(number(hash), row))?;
            if let Some(entry) = bucket.find(tag(hash), slot) {
                return Some((row, entry));
            }
            if bucket.passed == 0 {
                return None;
            }
        }
        None
    }

    pub(crate) fn remove(&mut self, hash: u64, slot: u32) {
        let Some((found, entry)) = self.find(hash, slot) else {
            return;
        };
        let number = number(hash);
        let path = self.segment(hash).path(tag(hash));
        for row in path.take_while(|row| *row != found) {
            if let Some(bucket) = self.buckets.get_mut(place(number, row))
                && bucket.passed != u16::MAX
            {
                bucket.passed -= 1;
            }
        }
        if let (Some(bucket), Some(segment)) = (
            self.buckets.get_mut(place(number, found)),
            self.segments.get_mut(number),
        ) {
            bucket.clear(entry);
            segment.len -= 1;
            self.removed = true;
        }
    }

    /// The connection has moved to another slot.
    pub(crate) fn replace(&mut self, hash: u64, slot: u32, to: u32) {
        if let Some((row, entry)) = self.find(hash, slot)
            && let Some(bucket) = self.buckets.get_mut(place(number(hash), row))
        {
            bucket.replace(entry, to);
        }
    }

    /// Places a segment's entries anew in this many rows.
    fn resize(&mut self, number: usize, rows: u32) {
        while self.buckets.len() < rows as usize * STRIDE {
            self.buckets.push(Bucket::default());
        }
        let Some(segment) = self.segments.get_mut(number) else {
            return;
        };
        let former = std::mem::replace(segment, Segment { rows, len: 0 });
        let mut moving = std::mem::take(&mut self.moving);
        for row in 0..former.rows {
            if let Some(bucket) = self.buckets.get_mut(place(number, row)) {
                moving.extend(bucket.entries());
                *bucket = Bucket::default();
            }
        }
        for (tag, slot) in moving.drain(..) {
            self.put(number, tag, slot);
        }
        self.moving = moving;
    }

    /// Shrinks the next few segments that are mostly empty, then gives back rows that none uses; true: there is more.
    pub(crate) fn give_back(&mut self) -> bool {
        if self.cursor == 0 && !std::mem::take(&mut self.removed) {
            return self.buckets.give_back(0);
        }
        let last = (self.cursor + STEP).min(self.segments.len());
        for number in self.cursor..last {
            let Some(segment) = self.segments.get(number).copied() else {
                break;
            };
            if segment.rows as usize * WIDTH > 4 * segment.len as usize + 2 * WIDTH {
                self.resize(number, (2 * segment.len).div_ceil(WIDTH as u32));
            }
        }
        self.cursor = last;
        if last == self.segments.len() {
            self.cursor = 0;
            let rows = self.segments.iter().map(|segment| segment.rows).max();
            self.buckets.truncate(rows.unwrap_or(0) as usize * STRIDE);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::segment::{SEGMENT_SHIFT, TAG_SHIFT};
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
            prop_assert_eq!(index.segments.iter().map(|segment| segment.len).sum::<u32>(), 0);
            prop_assert!(index.buckets.len() <= 2 * STRIDE);
            let mut buckets = (0..index.buckets.len()).filter_map(|at| index.buckets.get(at));
            let empty = buckets.all(|bucket| bucket.used == 0 && bucket.passed == 0);
            prop_assert!(empty);
        }
    }
}
