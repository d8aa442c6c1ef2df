//! DESTROYs that were merged lately. What a listener with NETLINK_BROADCAST_ERROR has missed, the kernel sends again, and to
//! everybody: it keeps the dead entry until all have it.

use std::collections::HashSet;

use ahash::RandomState;

use super::identity::Identity;

/// The last so many are known, and up to twice as many: 2.4 MiB.
const MOST: usize = 65_536;

/// Fingerprints of incarnations whose DESTROY was merged. Only where there are start times: without them the next one may
/// have the same id.
pub(crate) struct Ends {
    seed: RandomState,
    recent: HashSet<u64, RandomState>,
    former: HashSet<u64, RandomState>,
}

impl Ends {
    pub(crate) fn new(seed: RandomState) -> Self {
        Self {
            recent: HashSet::with_hasher(seed.clone()),
            former: HashSet::with_hasher(seed.clone()),
            seed,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.recent.capacity() + self.former.capacity()) * (size_of::<u64>() + 1)
    }

    /// A DESTROY was heard; true: not for the first time.
    pub(crate) fn hear(&mut self, hash: u64, identity: Identity) -> bool {
        let Some(start) = identity.start_ns else {
            return false;
        };
        let fingerprint = self.seed.hash_one((hash, identity.id, start));
        if self.recent.len() >= MOST {
            std::mem::swap(&mut self.recent, &mut self.former);
            self.recent.clear();
        }
        !self.recent.insert(fingerprint) || self.former.contains(&fingerprint)
    }
}
