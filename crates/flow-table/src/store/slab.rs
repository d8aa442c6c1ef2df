//! One family's slots.
//!
//! Free slots are kept in lists, one for each range of [`RANGE`] places, and the lowest range is filled first: after a peak
//! the upper ranges drain, the rest is moved down in steps, and the memory above goes back.

use super::connection::Connection;
use super::key::{Address, FamilyKey};
use crate::memory::Chunked;
use crate::queues::expiry_queue;

/// Places that share a free list: with both families, the slots of one heap of the queue.
const RANGE: usize = expiry_queue::RANGE as usize / 2;
const NONE: u32 = u32::MAX;

/// In this order: what an observation is compared with comes first.
#[repr(C)]
pub(super) struct Slot<A> {
    pub(super) key: FamilyKey<A>,
    pub(super) connection: Connection,
}

impl<A: Address> Slot<A> {
    #[inline]
    pub(super) fn is_current(&self, key: &FamilyKey<A>, id: u32, start_ns: u64) -> bool {
        let connection = &self.connection;
        connection.id == id
            && connection.start_ns == start_ns
            && self.key == *key
            && connection.is_named()
    }
}

const _: () = assert!(size_of::<Slot<[u8; 4]>>() == 144);
const _: () = assert!(size_of::<Slot<[u8; 16]>>() == 168);

#[derive(Clone, Copy)]
struct Range {
    free: u32,
    live: u32,
}

/// One family's slots.
pub(super) struct Slab<A> {
    slots: Chunked<Slot<A>>,
    ranges: Vec<Range>,
    /// No range below this one has a free slot.
    lowest: usize,
    used: usize,
}

impl<A: Address> Slab<A> {
    pub(super) fn new() -> Self {
        Self {
            slots: Chunked::new(),
            ranges: Vec::new(),
            lowest: 0,
            used: 0,
        }
    }

    pub(super) fn add(&mut self, key: FamilyKey<A>, connection: Connection) -> usize {
        self.used += 1;
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

    pub(super) fn free(&mut self, place: usize) {
        let (Some(slot), Some(range)) = (
            self.slots.get_mut(place),
            self.ranges.get_mut(place / RANGE),
        ) else {
            return;
        };
        slot.connection = Connection::free(range.free);
        range.free = place as u32;
        range.live -= 1;
        self.lowest = self.lowest.min(place / RANGE);
        self.used -= 1;
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Places, free ones included.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&Slot<A>> {
        self.slots.get(place)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Slot<A>> {
        self.slots.get_mut(place)
    }

    /// Cuts off the ranges above the last one in use. True: it cut.
    pub(super) fn cut(&mut self) -> bool {
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
    pub(super) fn sparse(&self) -> bool {
        self.ranges.len() > 1 && self.used < self.slots.len() / 2
    }

    /// The first place of the topmost range.
    pub(super) fn top(&self) -> usize {
        self.ranges.len().saturating_sub(1) * RANGE
    }

    /// One step of giving back memory above the ranges; true: there is more.
    pub(super) fn give_back(&mut self) -> bool {
        self.slots.give_back(self.ranges.len() * RANGE)
    }
}
