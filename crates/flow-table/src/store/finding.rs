//! From a key, a hash or a slot's number to a connection that has a slot.

use super::{Connection, ConnectionKey, Store};

impl Store {
    /// The connection in this slot if it is this very incarnation, by id and the kernel's start, and the kernel has it.
    #[inline]
    pub(crate) fn current_mut(
        &mut self,
        slot: u32,
        key: &ConnectionKey,
        id: u32,
        start_ns: u64,
    ) -> Option<&mut Connection> {
        self.slots.current_mut(slot, key, id, start_ns)
    }

    /// The slot of this very incarnation, as `current_mut`.
    pub(crate) fn find_current(
        &self,
        key: &ConnectionKey,
        hash: u64,
        id: u32,
        start_ns: u64,
    ) -> Option<u32> {
        let same = |slot: &u32| self.slots.is_current(*slot, key, id, start_ns);
        self.index.iter(hash).find(same)
    }

    /// Reads the index lines of these hashes, so that their cache misses overlap.
    #[inline]
    pub(crate) fn touch_index(&self, hashes: impl Iterator<Item = u64>) {
        self.index.touch_all(hashes);
    }

    /// A slot that probably has this hash; `u32::MAX`: none at first sight.
    #[inline]
    pub(crate) fn probable(&self, hash: u64) -> u32 {
        self.index.probable(hash)
    }

    /// Reads a word of each cache line of a slot that an update uses.
    #[inline]
    pub(crate) fn touch(&self, slot: u32) -> u64 {
        self.slots.touch(slot)
    }

    /// Reads a word of each cache line that a deadline is made of.
    #[inline]
    pub(crate) fn touch_deadline(&self, slot: u32) -> u64 {
        self.slots.touch_deadline(slot)
    }

    /// The incarnation of this key that the kernel holds, as far as we know.
    pub(crate) fn current(&self, key: &ConnectionKey, hash: u64) -> Option<&Connection> {
        let slots = self.index.iter(hash);
        let mut of_key = slots.filter(|slot| self.slots.has_key(*slot, key));
        of_key.find_map(|slot| self.get(slot).filter(|connection| !connection.is_gone()))
    }

    /// The slots that these tuples' incarnations have, whatever their identity.
    pub(crate) fn find_all(&self, keys: &[(ConnectionKey, u64)], found: &mut Vec<u32>) {
        self.index.touch_all(keys.iter().map(|(_, hash)| *hash));
        for (key, hash) in keys {
            let slots = self.index.iter(*hash);
            found.extend(slots.filter(|slot| self.slots.has_key(*slot, key)));
        }
    }
}
