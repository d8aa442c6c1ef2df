//! What an observation changes about a connection that it is known to speak of.

use crate::connection::{Connection, Millis, State, flag};
use crate::merge::{Source, start_of};
use crate::observation::{Now, Observation, closed};
use crate::table::FlowTable;

impl FlowTable {
    /// What is new about a known connection.
    pub(crate) fn update(&mut self, slot: u32, source: Source, seen: &Observation, now: Now) {
        let stamp = self.newer_than_all();
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        let moved = advance(connection, source, seen, now, stamp);
        self.follow(slot, source, seen, moved, now);
    }

    /// What an update means beyond the connection's own fields: labels, another state, an answer that was waited for.
    pub(crate) fn follow(
        &mut self,
        slot: u32,
        source: Source,
        seen: &Observation,
        moved: bool,
        now: Now,
    ) {
        let Some(connection) = self.slots.get(slot) else {
            return;
        };
        let (side, state) = (connection.side, connection.state());
        let over = over(connection, source, seen);
        let awaited = connection.has(flag::AWAITING);
        if side != 0 || seen.labels != [0; 16] {
            self.update_labels(slot, side, source, seen);
        }
        match state {
            State::Idle if moved && !over => {
                self.set_state(slot, State::Live);
                self.enqueue(slot);
            }
            State::Live | State::Idle if over => {
                let why = if source == Source::Destroy {
                    flag::GONE | flag::DESTROYED
                } else {
                    0
                };
                return self.end(slot, why, now);
            }
            State::Done if moved => self.enqueue_remainder(slot),
            _ => {}
        }
        if awaited || self.config.events {
            self.release_awaited(slot, now);
        }
    }

    pub(crate) fn enqueue_remainder(&mut self, slot: u32) {
        if self.slots.get(slot).is_some_and(Connection::unexported) {
            self.enqueue(slot);
        }
    }

    /// A live connection has just been looked at: it may act on a deadline that has come, and is in the queue again.
    pub(crate) fn release_awaited(&mut self, slot: u32, now: Now) {
        let timeouts = self.timeouts;
        let Some(connection) = self.slots.get_mut(slot) else {
            return;
        };
        if connection.state() == State::Live && timeouts.deadline(connection) <= now.monotonic_ms {
            connection.set(flag::FRESH);
        }
        if connection.has(flag::AWAITING) {
            connection.clear(flag::AWAITING);
            self.enqueue(slot);
        }
    }

    fn update_labels(&mut self, slot: u32, side: u32, source: Source, seen: &Observation) {
        if source == Source::Destroy {
            return;
        }
        if side != 0 {
            if let Some(labels) = self.side.labels_mut(slot, side)
                && (source != Source::New || seen.labels != [0; 16])
            {
                *labels = seen.labels;
            }
        } else {
            let side = self
                .side
                .add(slot, &seen.reply, seen.reply_zone, seen.labels);
            if let Some(connection) = self.slots.get_mut(slot) {
                connection.side = side;
            }
        }
    }
}

/// What a known connection takes from an observation into its own fields; true: it moved.
#[inline]
pub(crate) fn advance(
    connection: &mut Connection,
    source: Source,
    seen: &Observation,
    now: Now,
    stamp: u32,
) -> bool {
    connection.stamp = stamp;
    if !connection.has(flag::KERNEL_START)
        && let Some(start) = start_of(seen)
    {
        connection.start_ns = start;
        connection.set(flag::KERNEL_START);
    }
    let moved = moved(connection, source, seen, now);
    if moved {
        // What moved since came after what had moved before.
        let former = connection.end_ms.get();
        let ended_ms =
            ended_ms(source, seen, now).map_or(now.wall_ns / 1_000_000, |it| it.max(former));
        connection.moved_ms = Millis::new(now.monotonic_ms);
        connection.end_ms = Millis::new(ended_ms.min(now.wall_ns / 1_000_000));
        connection.clear(flag::FRESH);
    }
    connection.mark = seen.mark;
    connection.status = seen.status as u16;
    if source != Source::Destroy || seen.protocol_state != 0 {
        connection.protocol_state = seen.protocol_state;
    }
    connection.clear(flag::SUSPECT);
    moved
}

/// Wall-clock ms at which it last moved, where something tells: of a destroyed one its stop.
pub(crate) fn ended_ms(source: Source, seen: &Observation, now: Now) -> Option<u64> {
    let told = match source {
        Source::Destroy => seen.stop_ns.filter(|stop| *stop != 0),
        _ => seen.last_packet_ns,
    };
    told.map(|told| told.min(now.wall_ns) / 1_000_000)
}

/// After `advance`, nothing is left for [`FlowTable::follow`] unless events are on: it lives, nobody waits for it, it
/// has no labels.
#[inline]
pub(crate) fn settled(connection: &Connection, source: Source, seen: &Observation) -> bool {
    connection.state() == State::Live
        && connection.side == 0
        && seen.labels == [0; 16]
        && !connection.has(flag::AWAITING)
        && !over(connection, source, seen)
}

#[inline]
fn over(connection: &Connection, source: Source, seen: &Observation) -> bool {
    source == Source::Destroy || closed(seen.original.protocol, connection.protocol_state)
}

/// Merges the counters, or what takes their place; true: they moved since the last observation.
#[inline]
fn moved(connection: &mut Connection, source: Source, seen: &Observation, now: Now) -> bool {
    if let Some(counters) = seen.counters {
        let first = !connection.has(flag::ACCOUNTED);
        if first {
            connection.set(flag::ACCOUNTED);
            connection.clear(flag::MOVED);
        }
        let moved = connection.totals != counters;
        if moved {
            connection.totals = counters;
        }
        return moved;
    }
    if connection.has(flag::ACCOUNTED) || source == Source::New {
        return false;
    }
    // A timeout counts down with the clock; seconds are cut off on both sides, so only more than one is a refresh.
    let expires = expires_s(seen, now);
    let refreshed = seen.timeout_s.is_some() && expires > connection.expires_s.saturating_add(1);
    let moved = refreshed
        || (seen.protocol_state != connection.protocol_state && source != Source::Destroy);
    if seen.timeout_s.is_some() {
        connection.expires_s = expires;
    }
    if moved {
        connection.set(flag::MOVED);
    }
    moved
}

pub(crate) fn expires_s(seen: &Observation, now: Now) -> u32 {
    let seconds = u32::try_from(now.monotonic_ms / 1000).unwrap_or(u32::MAX);
    seen.timeout_s
        .map_or(0, |timeout| seconds.saturating_add(timeout))
}
