//! From a combination's hash to its number, in many small tables: growing one never takes long.

use hashbrown::HashTable;

/// A full store has some two thousand numbers in each: growing one takes some twenty microseconds.
const SEGMENTS: usize = 64;

/// hashbrown places by the lower bits and tags by the upper seven; these lie between.
const SEGMENT_SHIFT: u32 = 40;

/// A segment that is smaller than this is not worth shrinking.
const FEW: usize = 64;

pub(super) struct Index {
    segments: [HashTable<Indexed>; SEGMENTS],
    len: usize,
}

/// The hash is kept, so that the index grows without looking at the texts.
struct Indexed {
    hash: u64,
    number: u32,
}

impl Index {
    pub(super) fn new() -> Self {
        Self {
            segments: [const { HashTable::new() }; SEGMENTS],
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number with this hash for which `same` holds.
    pub(super) fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
        self.segments
            .get(segment(hash))?
            .find(hash, |it| it.hash == hash && same(it.number))
            .map(|it| it.number)
    }

    /// Only what is not there.
    pub(super) fn insert(&mut self, hash: u64, number: u32) {
        if let Some(segment) = self.segments.get_mut(segment(hash)) {
            segment.insert_unique(hash, Indexed { hash, number }, |it| it.hash);
            self.len += 1;
        }
    }

    pub(super) fn remove(&mut self, hash: u64, number: u32) {
        if let Some(segment) = self.segments.get_mut(segment(hash))
            && let Ok(entry) = segment.find_entry(hash, |it| it.number == number)
        {
            entry.remove();
            self.len -= 1;
        }
    }

    /// Gives back what a peak left.
    pub(super) fn shrink(&mut self) {
        for segment in &mut self.segments {
            // Not the capacity, which what was removed takes from until the table is built anew.
            if segment.num_buckets() / 4 > segment.len().max(FEW) {
                segment.shrink_to(2 * segment.len(), |it| it.hash);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn capacities(&self) -> impl Iterator<Item = usize> {
        self.segments.iter().map(HashTable::capacity)
    }

    #[cfg(test)]
    pub(super) fn octets(&self) -> impl Iterator<Item = usize> {
        self.segments.iter().map(HashTable::allocation_size)
    }
}

fn segment(hash: u64) -> usize {
    (hash >> SEGMENT_SHIFT) as usize % SEGMENTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_was_full_and_is_empty_gives_its_memory_back() {
        let mut index = Index::new();
        // One beside the other in one segment: what is removed from the middle of a full run leaves its place marked.
        for number in 0..448 {
            index.insert(number.into(), number);
        }
        for number in 0..448 {
            index.remove(number.into(), number);
        }
        index.shrink();
        assert_eq!(index.octets().max(), Some(0));
    }
}
