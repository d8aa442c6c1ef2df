//! What most connections do not have: a translated reply, a reply zone of its own, labels. 36 octets for IPv4, 60 for IPv6.

use super::key::{Address, ConnectionKey, FamilyKey};
use crate::memory::Chunked;
use crate::observation::{Observation, Tuple};

struct Entry<A> {
    /// The reply tuple, with the reply's zone.
    reply: FamilyKey<A>,
    labels: [u8; 16],
    /// The slot whose `side` names this entry.
    owner: u32,
}

const _: () = assert!(size_of::<Entry<[u8; 4]>>() == 36);
const _: () = assert!(size_of::<Entry<[u8; 16]>>() == 60);

/// Entries without holes: the last one fills the place of one that goes.
struct Store<A> {
    entries: Chunked<Entry<A>>,
}

impl<A: Address> Store<A> {
    fn add(&mut self, entry: Entry<A>) -> u32 {
        self.entries.push(entry);
        self.entries.len() as u32
    }

    /// The owner of the entry that took this one's place, if any.
    fn remove(&mut self, number: u32) -> Option<u32> {
        let last = self.entries.pop()?;
        let hole = self.entries.get_mut(number.checked_sub(1)? as usize)?;
        let owner = last.owner;
        *hole = last;
        Some(owner)
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Entry<A>> {
        self.entries.get_mut(number.checked_sub(1)? as usize)
    }

    fn get(&self, number: u32) -> Option<&Entry<A>> {
        self.entries.get(number.checked_sub(1)? as usize)
    }
}

/// Both families. An entry's number is its place plus one; 0 is no entry.
pub(crate) struct Side {
    v4: Store<[u8; 4]>,
    v6: Store<[u8; 16]>,
}

impl Side {
    pub(crate) fn new() -> Self {
        Self {
            v4: Store {
                entries: Chunked::new(),
            },
            v6: Store {
                entries: Chunked::new(),
            },
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.v4.entries.bytes() + self.v6.entries.bytes()
    }

    /// An observation needs an entry.
    pub(crate) fn needed(seen: &Observation) -> bool {
        seen.labels != [0; 16]
            || seen.zone != seen.reply_zone
            || seen.reply != seen.original.inverse()
    }

    /// The number of a new entry; 0 if the reply is of another family than the original.
    pub(crate) fn add(
        &mut self,
        owner: u32,
        reply: &Tuple,
        reply_zone: u16,
        labels: [u8; 16],
    ) -> u32 {
        match (owner & 1, ConnectionKey::new(reply, reply_zone)) {
            (0, Some(ConnectionKey::V4(reply))) => self.v4.add(Entry {
                reply,
                labels,
                owner,
            }),
            (1, Some(ConnectionKey::V6(reply))) => self.v6.add(Entry {
                reply,
                labels,
                owner,
            }),
            _ => 0,
        }
    }

    /// Frees an entry. The owner of the one that took its number must be told.
    pub(crate) fn remove(&mut self, owner: u32, number: u32) -> Option<u32> {
        match owner & 1 {
            0 => self.v4.remove(number),
            _ => self.v6.remove(number),
        }
    }

    /// Reply tuple, reply zone, labels.
    pub(crate) fn get(&self, owner: u32, number: u32) -> Option<(Tuple, u16, [u8; 16])> {
        match owner & 1 {
            0 => self
                .v4
                .get(number)
                .map(|entry| (entry.reply.tuple(), entry.reply.zone, entry.labels)),
            _ => self
                .v6
                .get(number)
                .map(|entry| (entry.reply.tuple(), entry.reply.zone, entry.labels)),
        }
    }

    pub(crate) fn labels_mut(&mut self, owner: u32, number: u32) -> Option<&mut [u8; 16]> {
        match owner & 1 {
            0 => self.v4.get_mut(number).map(|entry| &mut entry.labels),
            _ => self.v6.get_mut(number).map(|entry| &mut entry.labels),
        }
    }

    /// The owner has moved to another slot.
    pub(crate) fn set_owner(&mut self, owner: u32, number: u32) {
        match owner & 1 {
            0 => self
                .v4
                .get_mut(number)
                .into_iter()
                .for_each(|entry| entry.owner = owner),
            _ => self
                .v6
                .get_mut(number)
                .into_iter()
                .for_each(|entry| entry.owner = owner),
        }
    }

    /// One step of giving memory back; true: there is more.
    pub(crate) fn give_back(&mut self) -> bool {
        let slack = |len: usize| len + len / 4;
        let more = self.v4.entries.give_back(slack(self.v4.entries.len()));
        more || self.v6.entries.give_back(slack(self.v6.entries.len()))
    }
}
