//! What a history is about, how the table is set up for it, and how it ends.

/// How the table is set up, and how the history ends.
#[derive(Clone, Debug)]
pub struct Setup {
    pub places: usize,
    pub cap: usize,
    pub evict: bool,
    pub total: bool,
    pub events: bool,
    /// Only entries with an odd mark are selected.
    pub marked: bool,
    pub stamps: bool,
    pub counts: bool,
    pub seconds: bool,
    /// Buffers reach the table whole, not entry by entry.
    pub whole: bool,
    pub stale_ms: u64,
    pub end: Finale,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finale {
    /// The kernel drops everything.
    AllEnds,
    /// The agent stops while everything lives.
    Stop,
    /// Nothing happens any more, and the timeouts pass.
    Rest,
}

/// What a campaign is about. Each leaves all else as simple as it can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimension {
    /// Polls, with room: the middle.
    Polls,
    /// Between one and five connections, both policies.
    Room,
    Events,
    /// Marks come and go, zones are selected.
    Selections,
    /// The state file is written at any moment and read again.
    StateFile,
    Stops,
    /// The wall clock is set both ways.
    Clock,
    /// The kernel keeps no start times.
    NoStamps,
    /// Batches are settled in any order, and filled to the brim.
    Batches,
    /// Many connections that come and go: slots move.
    Slots,
    /// Another reader zeroes the counters.
    Zeroed,
    /// Dumps see a moving table: entries missed, and entries met twice.
    Moving,
    /// All at once.
    All,
}

impl Dimension {
    pub const EACH: [Dimension; 12] = [
        Dimension::Polls,
        Dimension::Room,
        Dimension::Events,
        Dimension::Selections,
        Dimension::StateFile,
        Dimension::Stops,
        Dimension::Clock,
        Dimension::NoStamps,
        Dimension::Batches,
        Dimension::Slots,
        Dimension::Zeroed,
        Dimension::Moving,
    ];
}
