//! One family's slots.
//!
//! Free slots are kept in lists, one for each range of [`RANGE`] places, and the lowest range is filled first: after a peak
//! the upper ranges drain, the rest is moved down in steps, and the memory above goes back.

use crate::chunked::Chunked;
use crate::connection::{Connection, flag};
use crate::expiry_queue;
use crate::key::{Address, FamilyKey};

/// Places that share a free list: with both families, the slots of one heap of the queue.
pub(crate) const RANGE: usize = expiry_queue::RANGE as usize / 2;
const NONE: u32 = u32::MAX;

/// In this order: what an observation is compared with comes first.
#[repr(C)]
pub(crate) struct Slot<A> {
    pub(crate) key: FamilyKey<A>,
    pub(crate) connection: Connection,
}

impl<A: Address> Slot<A> {
    #[inline]
    pub(crate) fn is_current(&self, key: &FamilyKey<A>, id: u32, start_ns: u64) -> bool {
        let connection = &self.connection;
        connection.id == id
            && connection.start_ns == start_ns
            && self.key == *key
            && connection.has(flag::KERNEL_START)
            && !connection.has(flag::GONE)
    }
}

const _: () = assert!(size_of::<Slot<[u8; 4]>>() == 144);
const _: () = assert!(size_of::<Slot<[u8; 16]>>() == 168);

#[derive(Clone, Copy)]
pub(crate) struct Range {
    free: u32,
    live: u32,
}

/// One family's slots.
pub(crate) struct Slab<A> {
    pub(crate) slots: Chunked<Slot<A>>,
    pub(crate) ranges: Vec<Range>,
    /// No range below this one has a free slot.
    lowest: usize,
    pub(crate) live: usize,
}

impl<A: Address> Slab<A> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Chunked::new(),
            ranges: Vec::new(),
            lowest: 0,
            live: 0,
        }
    }

    pub(crate) fn add(&mut self, key: FamilyKey<A>, connection: Connection) -> usize {
        self.live += 1;
        while let Some(range) = self.ranges.get_mut(self.lowest) {
            if let Some(slot) = self.slots.get_mut(range.free as usize) {
                let place = range.free as usize;
                range.free = slot.connection.side;
                range.live += 1;
                *slot = Slot { key, connection };
                return place;
            }
            self.lowest += 1;
        }
        let place = self.slots.len();
        self.slots.push(Slot { key, connection });
        if self.ranges.len() <= place / RANGE {
            self.ranges.push(Range {
                free: NONE,
                live: 0,
            });
        }
        if let Some(range) = self.ranges.get_mut(place / RANGE) {
            range.live += 1;
        }
        place
    }

    pub(crate) fn free(&mut self, place: usize) {
        let (Some(slot), Some(range)) = (
            self.slots.get_mut(place),
            self.ranges.get_mut(place / RANGE),
        ) else {
            return;
        };
        slot.connection = Connection {
            side: range.free,
            ..Connection::default()
        };
        range.free = place as u32;
        range.live -= 1;
        self.lowest = self.lowest.min(place / RANGE);
        self.live -= 1;
    }

    /// Cuts off the ranges above the last one in use. True: it cut.
    pub(crate) fn cut(&mut self) -> bool {
        let mut cut = false;
        while self.ranges.last().is_some_and(|range| range.live == 0) {
            self.ranges.pop();
            cut = true;
        }
        self.slots.truncate(self.ranges.len() * RANGE);
        self.lowest = self.lowest.min(self.ranges.len());
        cut
    }

    /// More than half of more than one range is unused.
    pub(crate) fn sparse(&self) -> bool {
        self.ranges.len() > 1 && self.live < self.slots.len() / 2
    }
}
