//! Which key is due next, when almost every deadline moves to a later one before it comes.
//!
//! The queue does not own the deadlines: their authority does, through [`Deadlines`], typically a slab that has them in a
//! cache line it touches anyway. The queue holds entries (deadline, slot, generation) in binary heaps and repairs them when
//! they reach the top:
//!
//! | change | what it costs |
//! |---|---|
//! | a later deadline | nothing here: the authority's write is all. The entry is *stale* until it is met |
//! | an earlier deadline | a removal and an insertion |
//! | removal | [`remove`](ExpiryQueue::remove): a count; the entry is dead |
//! | a stale or dead top | re-keyed through `PeekMut`, or dropped |
//! | too many of them | one heap is rebuilt from its own live entries with the authority's deadlines |
//!
//! A pair (slot, generation) names one entry for its whole life: whoever removes one gives the slot another generation
//! and lets the authority answer `None` for the old pair. So every queued key has exactly one live entry.
//!
//! There is one heap for each range of [`RANGE`] slots, and a line of their tops. A rebuild therefore touches one range (at
//! most about 25,000 entries, a fraction of a millisecond) instead of a million, a heap's `Vec` never moves megabytes when
//! it grows, and a pop sinks through a heap that fits the second-level cache. Below `RANGE` slots it is one plain heap.
//!
//! Bounds: a heap is rebuilt when its dead entries exceed half of its live ones plus one, and when a pass of
//! [`maintain`](ExpiryQueue::maintain) meets more than `len / 32 + 64` stale tops. `entries() <= 1.5 * len() + ranges`
//! holds after every `maintain` that returned false, with at most 64 ranges for a million slots; pops in between never
//! rebuild.

mod heap;

use heap::{Entry, Heap, NEVER};

/// Slots that share a heap.
pub const RANGE: u32 = 1 << RANGE_BITS;
/// Unit tests cross ranges with a handful of connections.
const RANGE_BITS: u32 = if cfg!(test) { 2 } else { 15 };

/// A slot during one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// Where it is.
    pub slot: u32,
    /// Which life.
    pub generation: u32,
}

/// Knows every queued key's deadline.
pub trait Deadlines {
    /// The deadline now in force; `None` when the key is not queued (any more).
    fn deadline(&self, key: Key) -> Option<u64>;

    /// Reads what `deadline` will read and does nothing with it. A rebuild calls it for some keys in a row before it asks
    /// for their deadlines, so that their cache misses overlap.
    fn touch(&self, _key: Key) -> u64 {
        0
    }
}

/// Stale tops put right in one slice of upkeep.
const SLICE: usize = 1024;

/// See the [module](self).
#[derive(Default)]
pub struct ExpiryQueue {
    heaps: Vec<Heap>,
    /// The first entry's deadline of each heap, right or stale: never later than the earliest live one.
    tops: Vec<u64>,
    live: usize,
    /// Where `maintain` goes on.
    cursor: usize,
}

impl ExpiryQueue {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Queued keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// No key is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Entries in the heaps, dead ones included.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.heaps.iter().map(|heap| heap.entries.len()).sum()
    }

    /// Memory of the heaps, by what is in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries() * size_of::<Entry>()
            + self.heaps.capacity() * (size_of::<Heap>() + size_of::<u64>())
    }

    /// Queues a key that is not queued. The authority must answer `deadline` for it, from now on or by the next call.
    pub fn insert(&mut self, key: Key, deadline: u64) {
        if let Some(at) = self.push(key, deadline) {
            at.live += 1;
            self.live += 1;
        }
    }

    /// Takes a queued key out. The authority no longer knows it.
    pub fn remove(&mut self, key: Key, deadlines: &impl Deadlines) {
        if let Some(heap) = self.heaps.get_mut(range(key.slot)) {
            heap.live = heap.live.saturating_sub(1);
            self.live = self.live.saturating_sub(1);
        }
        self.relieve(key.slot, deadlines);
    }

    /// No live deadline is earlier than this. It may be that of a stale or dead entry, which the next
    /// [`pop_due`](Self::pop_due) or [`maintain`](Self::maintain) clears away. None: no entries.
    #[must_use]
    pub fn peek(&self) -> Option<u64> {
        self.tops.iter().copied().min().filter(|top| *top != NEVER)
    }

    /// The earliest live key with a deadline of at most `limit`, without taking it. Costs and bounds as
    /// [`pop_due`](Self::pop_due).
    pub fn peek_due(
        &mut self,
        limit: u64,
        deadlines: &impl Deadlines,
        budget: &mut usize,
    ) -> Option<(u64, Key)> {
        let at = self.settle_top(limit, deadlines, budget)?;
        self.heaps
            .get(at)?
            .entries
            .peek()
            .map(|entry| (entry.deadline, entry.key))
    }

    /// Takes the earliest live key with a deadline of at most `limit`; the authority must forget its deadline before the
    /// next call. Each top that is met, right or not, costs one of `budget`: at zero the answer is `None` too.
    pub fn pop_due(
        &mut self,
        limit: u64,
        deadlines: &impl Deadlines,
        budget: &mut usize,
    ) -> Option<(u64, Key)> {
        let at = self.settle_top(limit, deadlines, budget)?;
        let heap = self.heaps.get_mut(at)?;
        let entry = heap.entries.pop()?;
        heap.live = heap.live.saturating_sub(1);
        self.live = self.live.saturating_sub(1);
        self.note_top(at);
        Some((entry.deadline, entry.key))
    }

    /// One slice of upkeep: puts right the tops of one range that claim to be due by `limit`, rebuilds it where that is
    /// cheaper or where dead entries crowd it. True: there may be more to do.
    pub fn maintain(&mut self, limit: u64, deadlines: &impl Deadlines) -> bool {
        let mut all = 0;
        for at in self.cursor..self.heaps.len() {
            let Some(heap) = self.heaps.get_mut(at) else {
                break;
            };
            let allowed = heap.entries.len() / 32 + 64;
            let mut met = 0;
            while heap.top() <= limit
                && !heap.entries.is_empty()
                && met <= allowed
                && !heap.top_is_right(deadlines)
            {
                met += 1;
            }
            let slack = heap.entries.capacity() > 4 * heap.entries.len() + 256;
            let rebuilt = met > allowed || heap.crowded() || slack;
            if rebuilt {
                heap.rebuild(deadlines);
            }
            self.note_top(at);
            all += met;
            if rebuilt || all > SLICE {
                self.cursor = at + 1;
                return true;
            }
        }
        self.cursor = 0;
        while self
            .heaps
            .last()
            .is_some_and(|heap| heap.entries.is_empty())
        {
            self.heaps.pop();
            self.tops.pop();
        }
        false
    }

    fn push(&mut self, key: Key, deadline: u64) -> Option<&mut Heap> {
        let at = range(key.slot);
        while self.heaps.len() <= at {
            self.heaps.push(Heap::new());
            self.tops.push(NEVER);
        }
        if let Some(top) = self.tops.get_mut(at) {
            *top = deadline.min(*top);
        }
        let heap = self.heaps.get_mut(at)?;
        heap.entries.push(Entry { deadline, key });
        Some(heap)
    }

    fn relieve(&mut self, slot: u32, deadlines: &impl Deadlines) {
        let at = range(slot);
        let Some(heap) = self.heaps.get_mut(at) else {
            return;
        };
        if heap.crowded() {
            heap.rebuild(deadlines);
            self.note_top(at);
        }
    }

    /// The heap whose top is the earliest live entry, if that is due by `limit`.
    fn settle_top(
        &mut self,
        limit: u64,
        deadlines: &impl Deadlines,
        budget: &mut usize,
    ) -> Option<usize> {
        while *budget > 0 {
            let earliest = self.peek()?;
            if earliest > limit {
                return None;
            }
            *budget -= 1;
            let at = self.tops.iter().position(|top| *top == earliest)?;
            let right = self.heaps.get_mut(at)?.top_is_right(deadlines);
            if right {
                return Some(at);
            }
            self.note_top(at);
        }
        None
    }

    fn note_top(&mut self, at: usize) {
        if let (Some(heap), Some(top)) = (self.heaps.get(at), self.tops.get_mut(at)) {
            *top = heap.top();
        }
    }
}

fn range(slot: u32) -> usize {
    (slot >> RANGE_BITS) as usize
}
