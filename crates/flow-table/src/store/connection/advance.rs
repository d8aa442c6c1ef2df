//! What an observation changes about a connection's own fields.

use super::Connection;
use crate::clock::Millis;
use crate::observation::{Now, Observation};
use crate::store::flag;

impl Connection {
    /// Takes an observation into its own fields; true: it moved. `destroyed`: a DESTROY event said so, which knows the
    /// counters at last, and no protocol state as a rule. `told`: by somebody who sees timeouts move, not by a NEW event.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        seen: &Observation,
        destroyed: bool,
        told: bool,
        now: Now,
        stamp: u32,
    ) -> bool {
        self.stamp = stamp;
        if !self.has(flag::KERNEL_START)
            && let Some(start) = seen.start()
        {
            self.start_ns = start;
            self.set(flag::KERNEL_START);
        }
        let moved = self.moved(seen, destroyed, told, now);
        if moved {
            self.moved_ms = Millis::new(now.monotonic_ms);
            self.end_ms = Millis::new(ended_ms(seen, destroyed, self.end_ms.get(), now));
            self.clear(flag::FRESH);
        }
        self.mark = seen.mark;
        self.status = seen.status as u16;
        if !destroyed || seen.protocol_state != 0 {
            self.protocol_state = seen.protocol_state;
        }
        self.clear(flag::SUSPECT);
        moved
    }

    /// Merges the counters, or what takes their place; true: they moved since the last observation.
    #[inline]
    fn moved(&mut self, seen: &Observation, destroyed: bool, told: bool, now: Now) -> bool {
        if let Some(counters) = seen.counters {
            if !self.has(flag::ACCOUNTED) {
                self.set(flag::ACCOUNTED);
                self.clear(flag::MOVED);
            }
            let moved = self.totals != counters;
            if moved {
                self.totals = counters;
            }
            return moved;
        }
        if self.has(flag::ACCOUNTED) || !told {
            return false;
        }
        // A timeout counts down with the clock; seconds are cut off on both sides, so only more than one is a refresh.
        let expires = expires_s(seen, now);
        let refreshed = seen.timeout_s.is_some() && expires > self.expires_s.saturating_add(1);
        let moved = refreshed || (seen.protocol_state != self.protocol_state && !destroyed);
        if seen.timeout_s.is_some() {
            self.expires_s = expires;
        }
        if moved {
            self.set(flag::MOVED);
        }
        moved
    }
}

/// Wall-clock ms at which it moved: when it was seen to, or earlier where a DESTROY event or what is known of its last packet
/// says so. What moved now came after what had moved at `former_ms`.
pub(super) fn ended_ms(seen: &Observation, destroyed: bool, former_ms: u64, now: Now) -> u64 {
    let told = match destroyed {
        true => seen.stop_ns.filter(|stop| *stop != 0),
        false => seen
            .last_packet_ns
            .map(|told| told.max(former_ms * 1_000_000)),
    };
    told.map_or(now.wall_ns, |told| told.min(now.wall_ns)) / 1_000_000
}

pub(super) fn expires_s(seen: &Observation, now: Now) -> u32 {
    let seconds = u32::try_from(now.monotonic_ms / 1000).unwrap_or(u32::MAX);
    seen.timeout_s
        .map_or(0, |timeout| seconds.saturating_add(timeout))
}
