//! A snapshot of the table for metrics.

use crate::export::{Losses, Lost};

/// What the table holds and what it has done so far. Counters start at zero with the table.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Connections held, in any state.
    pub connections: usize,
    /// Of these: live, counters moving or not yet exported as idle. Live, idle and ended ones together are never above the
    /// cap.
    pub live: usize,
    /// Of these: quiet, exported as such, out of the queue.
    pub idle: usize,
    /// Of these: ended, the end not yet settled.
    pub ended: usize,
    /// Of these: end settled, kept while the kernel holds them. Never above the cap, or 65,536; they refuse nobody.
    pub done: usize,
    /// Connections in the queue.
    pub queued: usize,
    /// Entries of the queue's heaps, dead ones included.
    pub queue_entries: usize,
    /// Connections in unsettled batches.
    pub in_flight: usize,
    /// Incarnations that are not held, and of which it is remembered what was exported or counted: refused, evicted, left,
    /// missing. Never above twice the cap, or 131,072, but for what a state file brings.
    pub remembered: usize,
    /// Memory of slots, index, queue and what belongs to them, by capacity in use.
    pub bytes: usize,
    /// Refused connections that the last polls met (gauge).
    pub refused: usize,
    /// Of these: those beyond what is remembered, with all that the kernel counted for them (gauge). They are in no other
    /// figure: their traffic is no part of the losses, and is exported if there is room for them later.
    pub unremembered: Lost,
    /// Connections refused at least once.
    pub refused_total: u64,
    /// Idle connections evicted for room.
    pub evicted_total: u64,
    /// Connections taken in.
    pub added_total: u64,
    /// Connections whose end was seen.
    pub ended_total: u64,
    /// Observations that name no possible connection (addresses of two families).
    pub malformed: u64,
    /// Incarnations that were let go although the kernel might still speak of them, because there were too many of one
    /// tuple or too many in all.
    pub forgotten_total: u64,
    /// Lookups of unknown connections that were not made, because too many waited: the next dump shows them.
    pub unasked_total: u64,
    /// Losses by reason.
    pub losses: Losses,
}
