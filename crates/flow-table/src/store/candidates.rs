//! Which connections with a slot an observation may speak of.

use super::{Connection, ConnectionKey, Match, Spoken, Store};

/// The incarnations of one key that an observation may speak of. None of them was destroyed.
#[derive(Default)]
pub(crate) struct Candidates {
    /// Held by the kernel, as far as we know, whatever its identity.
    pub(crate) current: Option<u32>,
    /// Same id and the same known start; the current one if it is among them.
    pub(crate) exact: Option<u32>,
    /// Same id, a start unknown on either side, still current.
    pub(crate) similar: Option<u32>,
    /// The same, but missing; the one seen last.
    pub(crate) similar_missing: Option<u32>,
    /// How many are missing, and which of them was seen last the longest ago.
    pub(crate) missing: usize,
    pub(crate) oldest_missing: Option<u32>,
}

impl Store {
    /// Every incarnation of the key that may be meant.
    pub(crate) fn candidates(
        &self,
        key: &ConnectionKey,
        hash: u64,
        spoken: Spoken<'_>,
    ) -> Candidates {
        let mut found = Candidates::default();
        // Of two with one stamp the one that came later has the higher generation.
        let rank = |connection: &Connection| (connection.stamp, connection.generation);
        let seen_last = |slot: Option<u32>| slot.and_then(|slot| self.get(slot)).map(rank);
        for slot in self.index.iter(hash) {
            if !self.slots.has_key(slot, key) {
                continue;
            }
            let Some(connection) = self.slots.get(slot) else {
                continue;
            };
            let gone = connection.is_gone();
            let stamp = Some(rank(connection));
            if !gone {
                found.current = Some(slot);
            } else {
                found.missing += 1;
                if found.oldest_missing.is_none() || seen_last(found.oldest_missing) > stamp {
                    found.oldest_missing = Some(slot);
                }
            }
            match spoken.compare(connection.identity(), connection.start_ns) {
                Match::Same if !gone || found.exact.is_none() => found.exact = Some(slot),
                Match::Similar if !gone => found.similar = Some(slot),
                Match::Similar if seen_last(found.similar_missing) < stamp => {
                    found.similar_missing = Some(slot);
                }
                Match::Same | Match::Similar | Match::Other => {}
            }
        }
        found
    }
}
