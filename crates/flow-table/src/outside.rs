//! Connections that the kernel keeps and the table does not: refused for lack of room, or evicted. What they had is
//! remembered, so that each is counted once, what they move meanwhile is counted as lost, and one that comes in again
//! starts from its current totals.

use crate::connection::flag;
use crate::deadline::Quiet;
use crate::loss::{Loss, Lost};
use crate::observation::{Counters, Observation};
use crate::table::FlowTable;

/// 32 octets for each one outside; there are never more of them than connections may be inside, or 65,536.
#[derive(Clone, Copy)]
pub(crate) struct Outside {
    /// Of key and id, by the table's seeded hash.
    pub(crate) fingerprint: u64,
    packets: u64,
    octets: u64,
    pub(crate) stamp: u32,
    pub(crate) scope: u8,
    reason: Loss,
}

const _: () = assert!(size_of::<Outside>() == 32);

/// How an unknown connection stands to the outside.
pub(crate) enum Standing {
    /// Never met.
    New,
    /// Met before; the growth is counted. It may come in, from its current totals, if there is room.
    Known {
        /// It has moved since: worth an eviction.
        moved: bool,
    },
}

const LEAST_REMEMBERED: usize = 65_536;

fn sum(counters: &Option<[Counters; 2]>) -> (u64, u64) {
    counters.map_or((0, 0), |[original, reply]| {
        (
            original.packets.saturating_add(reply.packets),
            original.octets.saturating_add(reply.octets),
        )
    })
}

impl FlowTable {
    pub(crate) fn fingerprint(&self, hash: u64, id: u32) -> u64 {
        self.seed.hash_one((hash, id))
    }

    /// Looks an unknown connection up and counts what it moved since it was last met.
    pub(crate) fn standing(
        &mut self,
        fingerprint: u64,
        seen: &Observation,
        stamp: u32,
    ) -> Standing {
        if self.outside.len() == 0 {
            return Standing::New;
        }
        let Some(known) = self
            .outside
            .find_mut(fingerprint, |known| known.fingerprint == fingerprint)
        else {
            return Standing::New;
        };
        let (packets, octets) = sum(&seen.counters);
        if seen.counters.is_some() && (packets < known.packets || octets < known.octets) {
            self.admit_again(fingerprint);
            return Standing::New;
        }
        known.stamp = stamp;
        let growth = match seen.counters {
            Some(_) => Lost {
                records: 0,
                packets: packets - known.packets,
                octets: octets - known.octets,
            },
            None => Lost::default(),
        };
        if seen.counters.is_some() {
            (known.packets, known.octets) = (packets, octets);
        }
        let reason = known.reason;
        self.losses.count(reason, growth);
        Standing::Known {
            moved: growth != Lost::default(),
        }
    }

    /// It still has no room: part of the gauge, if it was refused (one that was evicted had its turn).
    pub(crate) fn refuse_again(&mut self, fingerprint: u64, scope: crate::Scope) {
        let refused = self
            .outside
            .find(fingerprint, |known| known.fingerprint == fingerprint);
        if refused.is_some_and(|known| known.reason == Loss::Refused) {
            self.scope_mut(scope).refused_now += 1;
        }
    }

    /// It is outside no longer.
    pub(crate) fn admit_again(&mut self, fingerprint: u64) {
        self.outside
            .remove(fingerprint, |known| known.fingerprint == fingerprint);
    }

    /// First refusal: counted, and remembered while there is room for that.
    pub(crate) fn refuse(
        &mut self,
        fingerprint: u64,
        scope: crate::Scope,
        seen: &Observation,
        baseline: &[Counters; 2],
    ) {
        let (packets, octets) = sum(&seen.counters);
        let (packets_before, octets_before) = sum(&Some(*baseline));
        let lost = Lost {
            records: 1,
            packets: packets.saturating_sub(packets_before),
            octets: octets.saturating_sub(octets_before),
        };
        self.losses.count(Loss::Refused, lost);
        self.stats.refused_total += 1;
        self.scope_mut(scope).refused_now += 1;
        if self.idle_kept() {
            self.room_wanted = (self.room_wanted + 1).min(self.config.max_connections);
        }
        let stamp = self.sequence;
        self.remember(Outside {
            fingerprint,
            packets,
            octets,
            stamp,
            scope: scope.0,
            reason: Loss::Refused,
        });
    }

    fn remember(&mut self, outside: Outside) {
        if self.outside.len() < self.config.max_connections.max(LEAST_REMEMBERED) {
            self.outside
                .insert(outside.fingerprint, outside, |other| other.fingerprint);
        }
    }

    /// There is room for one more, if necessary (and worth it) by evicting the connection that has been quiet the longest.
    pub(crate) fn has_room(&mut self, worth_evicting: bool) -> bool {
        if self.slots.live() < self.config.max_connections {
            return true;
        }
        if !worth_evicting || !self.idle_kept() || self.idle.is_empty() {
            return false;
        }
        // Dead entries in front are cleared by `work`; past this many we would hold our caller for too long.
        let mut budget = 4096;
        match self
            .idle
            .peek_due(u64::MAX - 1, &Quiet(&self.slots), &mut budget)
        {
            Some((_, longest)) => {
                self.evict(longest.slot);
                self.slots.live() < self.config.max_connections
            }
            None => false,
        }
    }

    /// Lets go of a connection that the kernel keeps.
    pub(crate) fn evict(&mut self, slot: u32) {
        self.stats.evicted_total += 1;
        let (Some(key), Some(connection)) = (self.slots.key(slot), self.slots.get(slot)) else {
            return;
        };
        let connection = *connection;
        let fingerprint = self.fingerprint(key.hash(&self.seed), connection.id);
        let (packets, octets) = sum(&connection.has(flag::ACCOUNTED).then_some(connection.totals));
        self.free(slot);
        self.admit_again(fingerprint);
        self.remember(Outside {
            fingerprint,
            packets,
            octets,
            stamp: connection.stamp,
            scope: connection.scope,
            reason: Loss::Evicted,
        });
    }
}
