//! A snapshot of the table for metrics.

use crate::loss::Losses;

/// What the table holds and what it has done so far. Counters start at zero with the table.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Connections held, in any state; never above the cap.
    pub connections: usize,
    /// Of these: live, counters moving or not yet exported as idle.
    pub live: usize,
    /// Of these: quiet, exported as such, out of the queue.
    pub idle: usize,
    /// Of these: ended, the end not yet settled.
    pub ended: usize,
    /// Of these: end settled, kept while the kernel (or a dump or event under way) may still speak of them.
    pub done: usize,
    /// Connections in the queue.
    pub queued: usize,
    /// Entries of the queue's heaps, dead ones included.
    pub queue_entries: usize,
    /// Connections in unsettled batches.
    pub in_flight: usize,
    /// Memory of slots, index, queue and what belongs to them, by capacity in use.
    pub bytes: usize,
    /// Refused connections that the last polls met (gauge).
    pub refused: usize,
    /// Connections refused at least once.
    pub refused_total: u64,
    /// Idle connections evicted for room.
    pub evicted_total: u64,
    /// Connections taken in.
    pub added_total: u64,
    /// Connections whose end was seen.
    pub ended_total: u64,
    /// Records of committed batches.
    pub committed_records: u64,
    /// Batches that were dropped without being settled, and therefore rolled back.
    pub dropped_batches: u64,
    /// Observations that name no possible connection (addresses of two families).
    pub malformed: u64,
    /// Losses by reason.
    pub losses: Losses,
}
