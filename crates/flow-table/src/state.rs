//! What outlives a run: for each incarnation, how much of it has been exported. The caller keeps it in a file.

use crate::observation::{Counters, Tuple};

/// What was exported of one incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateEntry {
    /// The direction of the first packet.
    pub original: Tuple,
    /// Zone of the original direction.
    pub zone: u16,
    /// CTA_ID.
    pub id: u32,
    /// Kernel start time, or first sighting: ns since 1970.
    pub start_ns: u64,
    /// `start_ns` is the kernel's and tells incarnations apart.
    pub kernel_start: bool,
    /// The counters that committed records (and counted losses) hold; original, reply.
    pub exported: [Counters; 2],
    /// End of the last record, in seconds since 1970; 0: none was made.
    pub record_end_s: u32,
    /// At least one record was made.
    pub recorded: bool,
    /// Its end has been exported; the kernel still held the entry.
    pub done: bool,
}

/// How far an export of the state has come. Starts with `StateCursor::default()`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct StateCursor {
    pub(crate) position: u64,
}
