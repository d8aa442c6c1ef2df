//! The agent's own sessions, which a poll may have met before they were known as its own.

use crate::key::ConnectionKey;
use crate::observation::{Now, Tuple};
use crate::observe::CHUNK;
use crate::table::FlowTable;

/// Zones searched in one slice.
const ZONES: usize = 4096;

impl FlowTable {
    /// Drops every incarnation with this original tuple, in whatever zone, uncounted. Where connections were in more than
    /// 4,096 zones, those in the highest are dropped by [`work`](Self::work).
    pub fn forget(&mut self, original: &Tuple, now: Now) {
        self.take_returns(now);
        self.forget_from(*original, 0);
    }

    /// One slice of what `forget` has left; true: there may be more.
    pub(crate) fn forget_rest(&mut self) -> bool {
        let Some((original, zone)) = self.forgetting.pop_front() else {
            return false;
        };
        self.forget_from(original, zone);
        true
    }

    fn forget_from(&mut self, original: Tuple, zone: u16) {
        let mut zones = self.zones.range(zone..).copied();
        let mut found: Vec<u32> = Vec::new();
        for _ in 0..ZONES.div_ceil(CHUNK) {
            let keys: Vec<(ConnectionKey, u64)> = zones
                .by_ref()
                .take(CHUNK)
                .filter_map(|zone| ConnectionKey::new(&original, zone))
                .map(|key| (key, key.hash(&self.seed)))
                .collect();
            self.index.touch_all(keys.iter().map(|(_, hash)| *hash));
            for (key, hash) in &keys {
                let slots = self.index.iter(*hash);
                found.extend(slots.filter(|slot| self.slots.has_key(*slot, key)));
            }
        }
        if let Some(zone) = zones.next() {
            self.forgetting.push_back((original, zone));
        }
        for slot in found {
            self.free(slot);
        }
    }
}
