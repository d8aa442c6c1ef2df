//! The agent's own sessions, which a poll may have met before they were known as its own.

use crate::observation::{Now, Tuple};
use crate::store::ConnectionKey;
use crate::table::FlowTable;

/// Keys searched at a stretch.
const CHUNK: usize = 256;
/// Zones searched in one slice.
const ZONES: usize = 4096;

impl FlowTable {
    /// Drops every incarnation with this original tuple, in whatever zone, uncounted. Where connections were in more than
    /// 4,096 zones, those in the highest are dropped by [`work`](Self::work).
    pub fn forget(&mut self, original: &Tuple, now: Now) {
        self.enter(now);
        self.forget_from(*original, 0);
    }

    /// One slice of what `forget` has left; true: there may be more.
    pub(super) fn forget_rest(&mut self) -> bool {
        let Some((original, zone)) = self.housekeeping.forgetting.pop_front() else {
            return false;
        };
        self.forget_from(original, zone);
        true
    }

    fn forget_from(&mut self, original: Tuple, zone: u16) {
        let mut zones = self.store.zones(zone);
        let mut found: Vec<u32> = Vec::new();
        for _ in 0..ZONES.div_ceil(CHUNK) {
            let keys: Vec<(ConnectionKey, u64)> = zones
                .by_ref()
                .take(CHUNK)
                .filter_map(|zone| ConnectionKey::new(&original, zone))
                .map(|key| (key, self.store.hash(&key)))
                .collect();
            self.store.find_all(&keys, &mut found);
            for (key, hash) in &keys {
                self.remembered.remove_all(key, *hash);
            }
        }
        let next = zones.next();
        drop(zones);
        if let Some(zone) = next {
            self.housekeeping.forgetting.push_back((original, zone));
        }
        for slot in found {
            self.free(slot);
        }
    }
}
