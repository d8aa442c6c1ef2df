//! A dump's receive buffers on their way in: hashed and touched together, then merged one by one.

use crate::key::ConnectionKey;
use crate::merge::{Source, start_of, went_back};
use crate::observation::{Admission, Now, Observation};
use crate::table::{FlowTable, Poll, before};
use crate::update::{advance, settled};

/// An observation's key, ready to be merged.
#[derive(Clone, Copy)]
pub(crate) struct Hashed {
    key: Option<ConnectionKey>,
    hash: u64,
    probable: u32,
}

/// Observations merged at a stretch: their slots fit the first-level cache's reach after the touch pass.
pub(crate) const CHUNK: usize = 256;

impl FlowTable {
    /// Merges one receive buffer of a dump. Buffers of a pass that has ended are ignored.
    pub fn observe(
        &mut self,
        poll: Poll,
        observations: &[Observation],
        admission: &mut impl Admission,
        now: Now,
    ) {
        self.take_returns(now);
        if !self.running.iter().any(|(running, _)| *running == poll) {
            return;
        }
        for chunk in observations.chunks(CHUNK) {
            let hashed = self.touch(chunk);
            for (seen, hashed) in chunk.iter().zip(&hashed) {
                let Some(key) = &hashed.key else {
                    self.stats.malformed += 1;
                    continue;
                };
                if !self.advance_known(poll, seen, key, hashed.probable, now) {
                    self.merge(poll, Source::Dump, seen, key, hashed.hash, admission, now);
                }
            }
            self.scratch = hashed;
        }
    }

    /// The short way for what nearly every observation is: of the incarnation that this slot held at the last poll too,
    /// with counters that have not gone back. False: it is not, and nothing has been done.
    #[inline]
    fn advance_known(
        &mut self,
        poll: Poll,
        seen: &Observation,
        key: &ConnectionKey,
        slot: u32,
        now: Now,
    ) -> bool {
        let stamp = self.newer_than_all();
        let Some(connection) = start_of(seen)
            .and_then(|start| self.slots.current_mut(slot, key, seen.id, start))
            .filter(|it| !before(poll.sequence, it.stamp) && !went_back(it, seen))
        else {
            return false;
        };
        let moved = advance(connection, Source::Dump, seen, now, stamp);
        if self.config.events || !settled(connection, Source::Dump, seen) {
            self.follow(slot, Source::Dump, seen, moved, now);
        }
        true
    }

    /// Hashes all keys, then reads all index lines, then all slot lines: after the kernel has walked its own table ours is
    /// out of the caches, and misses that overlap cost a fifth of misses in a row.
    fn touch(&mut self, chunk: &[Observation]) -> Vec<Hashed> {
        let mut hashed = std::mem::take(&mut self.scratch);
        hashed.clear();
        hashed.extend(chunk.iter().map(|observation| {
            let key = ConnectionKey::new(&observation.original, observation.zone);
            Hashed {
                key,
                hash: key.map_or(0, |key| key.hash(&self.seed)),
                probable: u32::MAX,
            }
        }));
        self.index.touch_all(hashed.iter().map(|entry| entry.hash));
        for entry in &mut hashed {
            entry.probable = self.index.probable(entry.hash);
        }
        let lines = hashed
            .iter()
            .fold(0, |lines, entry| lines ^ self.slots.touch(entry.probable));
        std::hint::black_box(lines);
        hashed
    }
}
