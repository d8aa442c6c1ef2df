//! Where connections live: one slab for each family, so that IPv4 does not pay for IPv6's addresses.
//!
//! A slot's number is its place in the slab times two, plus one for IPv6.

use super::connection::Connection;
use super::facts::State;
use super::key::ConnectionKey;
use super::slab::Slab;

/// Both families.
pub(crate) struct Slots {
    v4: Slab<[u8; 4]>,
    v6: Slab<[u8; 16]>,
    last_generation: u32,
}

impl Slots {
    pub(crate) fn new() -> Self {
        Self {
            v4: Slab::new(),
            v6: Slab::new(),
            last_generation: 0,
        }
    }

    /// The one given out last.
    pub(crate) fn last_generation(&self) -> u32 {
        self.last_generation
    }

    /// A generation that no slot has had.
    pub(crate) fn next_generation(&mut self) -> u32 {
        self.last_generation = self.last_generation.wrapping_add(1).max(1);
        self.last_generation
    }

    pub(crate) fn used(&self) -> usize {
        self.v4.used() + self.v6.used()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }

    /// Above every slot's number.
    pub(crate) fn end(&self) -> u32 {
        2 * self.v4.len().max(self.v6.len()) as u32
    }

    pub(crate) fn add(&mut self, key: ConnectionKey, connection: Connection) -> u32 {
        match key {
            ConnectionKey::V4(key) => (self.v4.add(key, connection) as u32) << 1,
            ConnectionKey::V6(key) => (self.v6.add(key, connection) as u32) << 1 | 1,
        }
    }

    pub(crate) fn free(&mut self, slot: u32) {
        match slot & 1 {
            0 => self.v4.free(place(slot)),
            _ => self.v6.free(place(slot)),
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Connection> {
        match slot & 1 {
            0 => self.v4.get(place(slot)).map(|slot| &slot.connection),
            _ => self.v6.get(place(slot)).map(|slot| &slot.connection),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        match slot & 1 {
            0 => self
                .v4
                .get_mut(place(slot))
                .map(|slot| &mut slot.connection),
            _ => self
                .v6
                .get_mut(place(slot))
                .map(|slot| &mut slot.connection),
        }
    }

    /// The connection if the slot still has this life.
    pub(crate) fn life(&mut self, slot: u32, generation: u32) -> Option<&mut Connection> {
        self.get_mut(slot).filter(|connection| {
            connection.generation == generation && connection.state() != State::Free
        })
    }

    pub(crate) fn key(&self, slot: u32) -> Option<ConnectionKey> {
        match slot & 1 {
            0 => self
                .v4
                .get(place(slot))
                .map(|slot| ConnectionKey::V4(slot.key)),
            _ => self
                .v6
                .get(place(slot))
                .map(|slot| ConnectionKey::V6(slot.key)),
        }
    }

    pub(crate) fn has_key(&self, slot: u32, key: &ConnectionKey) -> bool {
        match (slot & 1, key) {
            (0, ConnectionKey::V4(key)) => self
                .v4
                .get(place(slot))
                .is_some_and(|slot| slot.key == *key),
            (1, ConnectionKey::V6(key)) => self
                .v6
                .get(place(slot))
                .is_some_and(|slot| slot.key == *key),
            _ => false,
        }
    }

    /// The slot holds this very incarnation, by id and the kernel's start, and the kernel still has it.
    #[inline]
    pub(crate) fn is_current(
        &self,
        slot: u32,
        key: &ConnectionKey,
        id: u32,
        start_ns: u64,
    ) -> bool {
        match (slot & 1, key) {
            (0, ConnectionKey::V4(key)) => {
                let slot = self.v4.get(place(slot));
                slot.is_some_and(|slot| slot.is_current(key, id, start_ns))
            }
            (1, ConnectionKey::V6(key)) => {
                let slot = self.v6.get(place(slot));
                slot.is_some_and(|slot| slot.is_current(key, id, start_ns))
            }
            _ => false,
        }
    }

    /// The connection in a slot if `is_current`.
    #[inline]
    pub(crate) fn current_mut(
        &mut self,
        slot: u32,
        key: &ConnectionKey,
        id: u32,
        start_ns: u64,
    ) -> Option<&mut Connection> {
        match (slot & 1, key) {
            (0, ConnectionKey::V4(key)) => {
                let slot = self.v4.get_mut(place(slot))?;
                slot.is_current(key, id, start_ns)
                    .then_some(&mut slot.connection)
            }
            (1, ConnectionKey::V6(key)) => {
                let slot = self.v6.get_mut(place(slot))?;
                slot.is_current(key, id, start_ns)
                    .then_some(&mut slot.connection)
            }
            _ => None,
        }
    }

    /// Reads a word of each cache line of a slot that an update uses. The loads of many slots overlap, where merging them
    /// one by one would wait for each in turn.
    #[inline]
    pub(crate) fn touch(&self, slot: u32) -> u64 {
        match slot & 1 {
            0 => self
                .v4
                .get(place(slot))
                .map_or(0, |slot| slot.connection.touch() ^ u64::from(slot.key.zone)),
            _ => self
                .v6
                .get(place(slot))
                .map_or(0, |slot| slot.connection.touch() ^ u64::from(slot.key.zone)),
        }
    }

    #[inline]
    pub(crate) fn touch_deadline(&self, slot: u32) -> u64 {
        self.get(slot).map_or(0, Connection::touch_deadline)
    }

    /// The slots of one family's topmost range, highest first, if they should move down so that memory can go back.
    pub(crate) fn to_move(&self) -> Option<impl Iterator<Item = u32> + use<>> {
        let (places, family) = match (self.v4.sparse(), self.v6.sparse()) {
            (true, _) => (self.v4.top()..self.v4.len(), 0),
            (false, true) => (self.v6.top()..self.v6.len(), 1),
            (false, false) => return None,
        };
        Some(places.rev().map(move |place| (place as u32) << 1 | family))
    }

    /// One step of giving back memory above the last range in use; true: there is more.
    pub(crate) fn give_back(&mut self) -> bool {
        let cut = self.v4.cut() | self.v6.cut();
        let more = self.v4.give_back();
        cut || more || self.v6.give_back()
    }
}

fn place(slot: u32) -> usize {
    (slot >> 1) as usize
}
