//! One range's entries.

use std::mem;

use binary_heap_plus::{BinaryHeap, PeekMut};
use compare::Compare;

use super::{Deadlines, Key};

/// The deadline of an empty heap.
pub(super) const NEVER: u64 = u64::MAX;
/// Deadlines that a rebuild asks for at a stretch: their cache misses overlap.
const TOUCHED: usize = 64;

#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) deadline: u64,
    pub(super) key: Key,
}

/// The earliest deadline is the greatest entry: binary-heap-plus keeps the greatest on top.
#[derive(Clone, Copy, Default)]
pub(super) struct Earliest;

impl Compare<Entry> for Earliest {
    fn compare(&self, left: &Entry, right: &Entry) -> std::cmp::Ordering {
        right.deadline.cmp(&left.deadline)
    }
}

pub(super) struct Heap {
    pub(super) entries: BinaryHeap<Entry, Earliest>,
    pub(super) live: usize,
}

impl Heap {
    pub(super) fn new() -> Self {
        Self {
            entries: BinaryHeap::from_vec_cmp(Vec::new(), Earliest),
            live: 0,
        }
    }

    pub(super) fn top(&self) -> u64 {
        self.entries.peek().map_or(NEVER, |entry| entry.deadline)
    }

    pub(super) fn crowded(&self) -> bool {
        let dead = self.entries.len() - self.live;
        dead > self.live / 2 + 1 || (self.live == 0 && dead > 0)
    }

    /// One pass over this heap's entries: the dead go, the stale get their deadline, spare memory is given back.
    pub(super) fn rebuild(&mut self, deadlines: &impl Deadlines) {
        let heap = mem::replace(
            &mut self.entries,
            BinaryHeap::from_vec_cmp(Vec::new(), Earliest),
        );
        let mut entries = heap.into_vec();
        let mut kept = 0;
        for first in (0..entries.len()).step_by(TOUCHED) {
            let last = entries.len().min(first + TOUCHED);
            let part = entries.get(first..last).unwrap_or_default();
            let lines = part
                .iter()
                .fold(0, |lines, entry| lines ^ deadlines.touch(entry.key));
            std::hint::black_box(lines);
            for at in first..last {
                let Some(mut entry) = entries.get(at).copied() else {
                    break;
                };
                if let Some(deadline) = deadlines.deadline(entry.key)
                    && let Some(to) = entries.get_mut(kept)
                {
                    entry.deadline = deadline;
                    *to = entry;
                    kept += 1;
                }
            }
        }
        entries.truncate(kept);
        if entries.capacity() > 2 * entries.len() + 64 {
            entries.shrink_to(entries.len() + entries.len() / 4);
        }
        debug_assert_eq!(
            entries.len(),
            self.live,
            "one live entry for each queued key"
        );
        self.entries = BinaryHeap::from_vec_cmp(entries, Earliest);
    }

    /// Re-keys or drops the top unless it is live and right; true if it was.
    pub(super) fn top_is_right(&mut self, deadlines: &impl Deadlines) -> bool {
        let Some(mut top) = self.entries.peek_mut() else {
            return true;
        };
        match deadlines.deadline(top.key) {
            Some(deadline) if deadline == top.deadline => true,
            Some(deadline) => {
                top.deadline = deadline;
                false
            }
            None => {
                PeekMut::pop(top);
                false
            }
        }
    }
}
