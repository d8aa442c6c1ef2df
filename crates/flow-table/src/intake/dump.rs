//! A dump's receive buffers on their way in: hashed and touched together, then merged one by one.

use super::{Sighting, Source};
use crate::observation::{Admission, Now, Observation};
use crate::polls::{Poll, before};
use crate::store::ConnectionKey;
use crate::table::FlowTable;

/// An observation's key, ready to be merged.
#[derive(Clone, Copy)]
pub(super) struct Hashed {
    key: Option<ConnectionKey>,
    hash: u64,
    probable: u32,
}

/// Observations merged at a stretch: their slots fit the first-level cache's reach after the touch pass.
const CHUNK: usize = 256;

impl FlowTable {
    /// Merges one receive buffer of a dump. Buffers of a pass that has ended are ignored.
    pub fn observe(
        &mut self,
        poll: Poll,
        observations: &[Observation],
        admission: &mut impl Admission,
        now: Now,
    ) {
        self.enter(now);
        if !self.polls.is_running(poll) {
            return;
        }
        for chunk in observations.chunks(CHUNK) {
            let hashed = self.touch(chunk);
            for (seen, hashed) in chunk.iter().zip(&hashed) {
                let Some(key) = hashed.key else {
                    self.intake.malformed += 1;
                    continue;
                };
                let sighting = Sighting {
                    request: poll,
                    source: Source::Dump,
                    seen,
                    key,
                    hash: hashed.hash,
                    now,
                };
                if !self.advance_known(&sighting, hashed.probable) {
                    self.merge(&sighting, admission);
                }
            }
            self.intake.scratch = hashed;
        }
    }

    /// The short way for what nearly every observation is: of the incarnation that this slot held at the last poll too,
    /// with counters that have not gone back. False: it is not, and nothing has been done.
    #[inline]
    fn advance_known(&mut self, it: &Sighting<'_>, slot: u32) -> bool {
        let stamp = self.polls.newer_than_all();
        let Some(connection) = it
            .seen
            .start()
            .and_then(|start| self.store.current_mut(slot, &it.key, it.seen.id, start))
            .filter(|known| !before(it.request.sequence, known.stamp) && !known.went_back(it.seen))
        else {
            return false;
        };
        let moved = connection.advance(it.seen, false, true, it.now, stamp);
        if self.config.events || !connection.is_settled(it.seen) {
            self.follow(slot, it, moved);
        }
        true
    }

    /// Hashes all keys, then reads all index lines, then all slot lines: after the kernel has walked its own table ours is
    /// out of the caches, and misses that overlap cost a fifth of misses in a row.
    fn touch(&mut self, chunk: &[Observation]) -> Vec<Hashed> {
        let mut hashed = std::mem::take(&mut self.intake.scratch);
        hashed.clear();
        hashed.extend(chunk.iter().map(|observation| {
            let key = ConnectionKey::new(&observation.original, observation.zone);
            Hashed {
                key,
                hash: key.map_or(0, |key| self.store.hash(&key)),
                probable: u32::MAX,
            }
        }));
        self.store
            .touch_index(hashed.iter().map(|entry| entry.hash));
        for entry in &mut hashed {
            entry.probable = self.store.probable(entry.hash);
        }
        let lines = hashed
            .iter()
            .fold(0, |lines, entry| lines ^ self.store.touch(entry.probable));
        std::hint::black_box(lines);
        hashed
    }
}
