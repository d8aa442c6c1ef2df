//! What can be true of a connection.

/// Where a connection is in its life; see the crate's documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum State {
    /// The slot is free.
    #[default]
    Free,
    Live,
    /// Quiet and exported as such: out of the queue.
    Idle,
    /// Ended, its end not settled.
    Ended,
    /// Its end is settled, and the kernel still holds it.
    Done,
    /// The same, and the kernel seems to have dropped it: remembered in case that it comes back, or its DESTROY.
    Gone,
}

/// Who has its next step in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Nobody: it waits for what is said of it.
    Out,
    /// A deadline in a queue.
    Queued,
    /// An unsettled batch.
    InFlight,
    /// A lookup that has not answered.
    Awaiting,
}

/// How it stands with the kernel, as far as we know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(crate) enum Presence {
    /// The kernel holds it.
    Held,
    /// It lives on outside the selection: one record with reason 4, then it is only remembered.
    Left,
    /// A complete dump or a lookup missed it, or showed another incarnation. The index still names it.
    Missing,
    /// A DESTROY event said so, or nothing more can come. The index no longer names it.
    Destroyed,
}

/// Single facts about a connection.
pub(crate) mod flag {
    /// The kernel counts for it.
    pub(crate) const ACCOUNTED: u16 = 1;
    /// Without counters: activity that no record tells of.
    pub(crate) const MOVED: u16 = 1 << 1;
    /// A record of it has been settled.
    pub(crate) const RECORDED: u16 = 1 << 2;
    /// `start_ns` is the kernel's.
    pub(crate) const KERNEL_START: u16 = 1 << 3;
    /// Looked at since it became due.
    pub(crate) const FRESH: u16 = 1 << 4;
    /// Missing from a filtered dump, or perhaps over, and not yet looked up.
    pub(crate) const SUSPECT: u16 = 1 << 5;
    /// Its next record is due at once: the table stops, or a done one has something left and the kernel has dropped it.
    pub(crate) const AT_ONCE: u16 = 1 << 6;
    /// The store knows more of it: its counters were zeroed, or another start was told.
    pub(crate) const EXTRA: u16 = 1 << 7;
    /// Its end was exported, or counted as lost. It may go on all the same, and then has no other end without something new.
    pub(crate) const END_TOLD: u16 = 1 << 8;
}
