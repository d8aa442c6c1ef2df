//! The slots that a hash leads to.

use super::bucket::Bucket;
use super::segment::{number, place, tag};
use crate::memory::Chunked;

/// See [`super::Index::iter`].
pub(crate) struct Matches<'a> {
    pub(super) buckets: &'a Chunked<Bucket>,
    pub(super) hash: u64,
    pub(super) rows: u32,
    /// The row to look at next, and how many there are to look at.
    pub(super) next: u32,
    pub(super) left: u32,
    pub(super) bucket: Option<&'a Bucket>,
    /// Its entries not handed out yet.
    pub(super) matches: u16,
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
            let place = place(number(self.hash), self.next);
            let bucket = self.buckets.get(place)?;
            self.bucket = Some(bucket);
            self.matches = bucket.matches(tag(self.hash));
            self.next = if self.next + 1 < self.rows {
                self.next + 1
            } else {
                0
            };
            self.left = if bucket.passed == 0 { 0 } else { self.left - 1 };
        }
    }
}
