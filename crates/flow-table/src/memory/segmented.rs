//! Values by hash, in many small hash tables, so that growing one never takes long.

use hashbrown::HashTable;

/// At a million connections a segment holds a thousand: growing one hashes them again in well under 0.2 ms.
const SEGMENTS: usize = 1024;
/// hashbrown places by the lower bits and tags by the upper seven; these lie between.
const SEGMENT_SHIFT: u32 = 40;
/// Segments looked at in one step of giving memory back.
const STEP: usize = 64;

/// Values that are found by a hash; several may have the same one.
pub(crate) struct Segmented<T> {
    /// None before the first value.
    segments: Vec<HashTable<T>>,
    len: usize,
    /// Of the segments' own memory.
    allocated: usize,
    /// Where `give_back` goes on.
    cursor: usize,
    /// Something was removed since `give_back` last began.
    removed: bool,
}

impl<T> Segmented<T> {
    pub(crate) fn new() -> Self {
        Self {
            segments: Vec::new(),
            len: 0,
            allocated: 0,
            cursor: 0,
            removed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.segments.len() * size_of::<HashTable<T>>() + self.allocated
    }

    /// The values that probably have this hash.
    pub(crate) fn iter(&self, hash: u64) -> impl Iterator<Item = &T> {
        let segment = self.segments.get(number(hash));
        segment
            .into_iter()
            .flat_map(move |segment| segment.iter_hash(hash))
    }

    pub(crate) fn find_mut(&mut self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<&mut T> {
        self.segments.get_mut(number(hash))?.find_mut(hash, eq)
    }

    /// `rehash` gives a value's hash.
    pub(crate) fn insert(&mut self, hash: u64, value: T, rehash: impl Fn(&T) -> u64) {
        if self.segments.is_empty() {
            self.segments.resize_with(SEGMENTS, HashTable::new);
        }
        if let Some(segment) = self.segments.get_mut(number(hash)) {
            let before = segment.allocation_size();
            segment.insert_unique(hash, value, rehash);
            self.len += 1;
            self.allocated = self.allocated - before + segment.allocation_size();
        }
    }

    pub(crate) fn remove(&mut self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<T> {
        let entry = self
            .segments
            .get_mut(number(hash))?
            .find_entry(hash, eq)
            .ok()?;
        self.len -= 1;
        self.removed = true;
        Some(entry.remove().0)
    }

    /// Shows one segment's values; false: there is no segment of this number.
    pub(crate) fn visit(&self, segment: usize, visit: impl FnMut(&T)) -> bool {
        let segment = self.segments.get(segment);
        let found = segment.is_some();
        segment.into_iter().flatten().for_each(visit);
        found
    }

    /// Keeps what passes in one segment; false: there is no segment of this number.
    pub(crate) fn retain(&mut self, segment: usize, keep: impl FnMut(&mut T) -> bool) -> bool {
        let Some(segment) = self.segments.get_mut(segment) else {
            return false;
        };
        let before = segment.len();
        segment.retain(keep);
        self.removed |= segment.len() < before;
        self.len -= before - segment.len();
        true
    }

    /// Shrinks the next few segments that are mostly empty; true: there are more to look at.
    pub(crate) fn give_back(&mut self, rehash: impl Fn(&T) -> u64) -> bool {
        if self.cursor == 0 && !std::mem::take(&mut self.removed) {
            return false;
        }
        for segment in self.segments.iter_mut().skip(self.cursor).take(STEP) {
            if segment.capacity() > 4 * segment.len() + 16 {
                self.allocated -= segment.allocation_size();
                segment.shrink_to(2 * segment.len(), &rehash);
                self.allocated += segment.allocation_size();
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

fn number(hash: u64) -> usize {
    (hash >> SEGMENT_SHIFT) as usize % SEGMENTS
}
