//! Connections that have a slot, and how they are found.
//!
//! A slot's number names a connection for as long as nobody moves it; slot and generation name it safely.

mod aging;
mod candidates;
mod connection;
mod counters;
mod ends;
mod extra;
mod facts;
mod finding;
mod identity;
mod index;
mod key;
mod past;
mod remembered;
mod scan;
mod side;
mod slab;
mod slots;

use std::collections::BTreeSet;

use ahash::RandomState;

pub(crate) use aging::Keep;
pub(crate) use candidates::Candidates;
pub(crate) use connection::Connection;
pub(crate) use counters::{backwards, minus, plus};
pub(crate) use ends::Ends;
pub(crate) use facts::{Place, Presence, State, flag};
pub(crate) use identity::{Identity, Match, Spoken};
pub(crate) use key::ConnectionKey;
pub(crate) use past::{Past, Why};
pub(crate) use remembered::{LEAST_REMEMBERED, MOST_OF_A_KEY, Remembered};
pub(crate) use scan::Scan;

use crate::memory::Segmented;
use crate::observation::{Observation, Tuple};
use extra::Extra;
use index::Index;
use side::Side;
use slots::Slots;

/// Connections with a slot: slots, what most do not have, the index, and how many are in which state.
pub(crate) struct Store {
    seed: RandomState,
    slots: Slots,
    side: Side,
    /// Every slot of an incarnation of which the kernel may still speak.
    index: Index,
    /// What next to no connection has.
    extras: Segmented<Extra>,
    /// Zones that connections were ever in: where to look for a tuple whose zone is not known.
    zones: BTreeSet<u16>,
    counts: Counts,
}

/// Connections by state.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) live: usize,
    pub(crate) idle: usize,
    pub(crate) ended: usize,
    pub(crate) done: usize,
    pub(crate) gone: usize,
}

impl Store {
    pub(crate) fn new(seed: RandomState) -> Self {
        Self {
            seed,
            slots: Slots::new(),
            side: Side::new(),
            index: Index::new(),
            extras: Segmented::new(),
            zones: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    pub(crate) fn hash(&self, key: &ConnectionKey) -> u64 {
        key.hash(&self.seed)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Slots in use.
    pub(crate) fn len(&self) -> usize {
        self.slots.used()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.bytes() + self.side.bytes() + self.index.bytes() + self.extras.bytes()
    }

    /// Above every slot's number.
    pub(crate) fn end(&self) -> u32 {
        self.slots.end()
    }

    /// The connection in a slot, Free ones included.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Connection> {
        self.slots.get(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(slot)
    }

    pub(crate) fn key(&self, slot: u32) -> Option<ConnectionKey> {
        self.slots.key(slot)
    }

    /// The connection if the slot still has this life.
    pub(crate) fn life(&mut self, slot: u32, generation: u32) -> Option<&mut Connection> {
        self.slots.life(slot, generation)
    }

    /// The one given out last.
    pub(crate) fn last_generation(&self) -> u32 {
        self.slots.last_generation()
    }

    /// A generation that no slot has had.
    pub(crate) fn next_generation(&mut self) -> u32 {
        self.slots.next_generation()
    }

    /// A connection of this zone was met.
    pub(crate) fn note_zone(&mut self, zone: u16) {
        self.zones.insert(zone);
    }

    /// Zones that connections were ever in, from this one on.
    pub(crate) fn zones(&self, from: u16) -> impl Iterator<Item = u16> {
        self.zones.range(from..).copied()
    }

    /// Gives a connection a slot. It is Free until `set_state`; a destroyed one is not found by its key.
    pub(crate) fn add(
        &mut self,
        key: &ConnectionKey,
        hash: u64,
        connection: Connection,
        seen: &Observation,
    ) -> u32 {
        let slot = self.slots.add(*key, connection);
        if Side::needed(seen) {
            self.add_side(slot, seen);
        }
        if connection.presence() != Presence::Destroyed {
            self.index.insert(hash, slot);
        }
        self.zones.insert(key.zone());
        slot
    }

    fn add_side(&mut self, slot: u32, seen: &Observation) {
        let side = self
            .side
            .add(slot, &seen.reply, seen.reply_zone, seen.labels);
        if let Some(connection) = self.slots.get_mut(slot) {
            connection.side = side;
        }
    }

    /// Nobody will speak of it any more: it is found by its key no longer.
    pub(crate) fn set_destroyed(&mut self, slot: u32) {
        let Some(key) = self.key(slot) else {
            return;
        };
        if let Some(connection) = self.slots.get_mut(slot)
            && connection.presence() != Presence::Destroyed
        {
            connection.put_presence(Presence::Destroyed);
            self.index.remove(key.hash(&self.seed), slot);
        }
    }

    /// Takes a slot back. The connection must be in no queue.
    pub(crate) fn free(&mut self, slot: u32) {
        self.set_destroyed(slot);
        self.set_state(slot, State::Free);
        self.take_extra(slot);
        if let Some(connection) = self.slots.get(slot) {
            self.drop_side(slot, connection.side);
            self.slots.free(slot);
        }
    }

    fn drop_side(&mut self, slot: u32, number: u32) {
        if number == 0 {
            return;
        }
        if let Some(owner) = self
            .side
            .remove(slot, number)
            .filter(|owner| *owner != slot)
            && let Some(connection) = self.slots.get_mut(owner)
        {
            connection.side = number;
        }
    }

    /// Changes the state, and what is counted by it.
    pub(crate) fn set_state(&mut self, slot: u32, state: State) {
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        let former = connection.state();
        connection.put_state(state);
        for (state, step) in [(former, -1), (state, 1)] {
            let count = match state {
                State::Free => continue,
                State::Live => &mut self.counts.live,
                State::Idle => &mut self.counts.idle,
                State::Ended => &mut self.counts.ended,
                State::Done => &mut self.counts.done,
                State::Gone => &mut self.counts.gone,
            };
            *count = count.wrapping_add_signed(step);
        }
    }

    /// Reply tuple, reply zone, labels, where they are not what the original says.
    pub(crate) fn side(&self, slot: u32) -> Option<(Tuple, u16, [u8; 16])> {
        self.side.get(slot, self.get(slot)?.side)
    }

    /// Keeps the labels that an observation brings. `cached`: it says nothing of labels that it does not bring.
    pub(crate) fn put_labels(&mut self, slot: u32, seen: &Observation, cached: bool) {
        let Some(side) = self.get(slot).map(|connection| connection.side) else {
            return;
        };
        if side == 0 {
            self.add_side(slot, seen);
        } else if let Some(labels) = self.side.labels_mut(slot, side)
            && (!cached || seen.labels != [0; 16])
        {
            *labels = seen.labels;
        }
    }

    /// The slots that should move down so that memory can go back, highest first.
    pub(crate) fn to_move(&self) -> Option<impl Iterator<Item = u32> + use<>> {
        self.slots.to_move()
    }

    /// Moves a connection that is in no queue to a lower slot, and names that.
    pub(crate) fn move_down(&mut self, slot: u32) -> Option<u32> {
        let key = self.key(slot)?;
        let connection = *self.get(slot)?;
        let extra = self.take_extra(slot);
        self.slots.free(slot);
        let to = self.slots.add(key, connection);
        if connection.presence() != Presence::Destroyed {
            self.index.replace(key.hash(&self.seed), slot, to);
        }
        self.side.set_owner(to, connection.side);
        if let Some(extra) = extra {
            self.put_extra(to, extra);
        }
        Some(to)
    }

    /// One step of giving memory back; true: there is more.
    pub(crate) fn give_back(&mut self) -> bool {
        let seed = &self.seed;
        self.index.give_back()
            || self.extras.give_back(|extra| seed.hash_one(extra.slot))
            || self.slots.give_back()
            || Side::give_back(&mut self.side)
    }
}
