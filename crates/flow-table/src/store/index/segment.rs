//! Which of the buckets are a segment's, and in what order.

use super::bucket::WIDTH;

/// At a million connections a segment holds a thousand: placing them anew takes some ten microseconds.
pub(super) const SEGMENTS: usize = 1024;
/// A row is one bucket longer, or all buckets of a segment would compete for the same few lines of a cache.
pub(super) const STRIDE: usize = SEGMENTS + 1;
/// The bits above the lower 32 choose the segment, the upper sixteen are the tag.
pub(super) const SEGMENT_SHIFT: u32 = 32;
pub(super) const TAG_SHIFT: u32 = 48;

/// Rows that one insertion adds at most, but for one: each is 64 KiB of new memory, and as many take half a millisecond
/// with small pages.
const MOST_NEW_ROWS: u32 = 16;

#[derive(Clone, Copy, Default)]
pub(super) struct Segment {
    /// Rows in which it has a bucket.
    pub(super) rows: u32,
    pub(super) len: u32,
}

impl Segment {
    /// Four fifths: a bucket in five passes something on.
    pub(super) fn is_full(self) -> bool {
        self.len as usize >= self.rows as usize * WIDTH / 5 * 4
    }

    /// How many rows it is to have when it is full: a quarter more, as far as that does not take long.
    pub(super) fn grown(self) -> u32 {
        self.rows + (self.rows / 4).min(MOST_NEW_ROWS) + 1
    }

    /// Tags spread evenly over any number of rows, in their order.
    #[inline]
    pub(super) fn home(self, tag: u16) -> u32 {
        (u32::from(tag) * self.rows) >> 16
    }

    /// Its rows, each once, from a tag's home on.
    pub(super) fn path(self, tag: u16) -> impl Iterator<Item = u32> {
        let home = self.home(tag);
        (home..self.rows).chain(0..home)
    }
}

#[inline]
pub(super) fn number(hash: u64) -> usize {
    (hash >> SEGMENT_SHIFT) as usize % SEGMENTS
}

#[inline]
pub(super) fn tag(hash: u64) -> u16 {
    (hash >> TAG_SHIFT) as u16
}

#[inline]
pub(super) fn place(number: usize, row: u32) -> usize {
    row as usize * STRIDE + number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_has_room_again_for_no_more_than_a_mebibyte() {
        let mut segment = Segment::default();
        while segment.rows < 2_000 {
            let former = segment.rows;
            segment.rows = segment.grown();
            assert!((1..=17).contains(&(segment.rows - former)));
            segment.len = former * 8;
            assert!(!segment.is_full());
        }
    }
}
