//! What happens in a history, one step at a time, as one reads it.

use std::fmt;

use super::place::Place;

/// How a run of the agent ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// A final poll, everything exported, the state file written.
    Clean,
    /// The same, but nobody takes the last records: they are counted as left.
    NobodyTakes,
    /// Nothing at all.
    Crash,
}

/// What becomes of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Committed,
    RolledBack,
    Dropped,
}

/// What a lookup meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Luck {
    Answered,
    Failed,
    Unreadable,
}

#[derive(Clone, Debug)]
pub enum Step {
    Create {
        place: Place,
        id: u32,
        mark: u32,
    },
    Move {
        place: Place,
        packets: u64,
    },
    Turn {
        place: Place,
        state: u8,
    },
    Mark {
        place: Place,
        mark: u32,
    },
    Destroy {
        place: Place,
    },
    Zero,
    Flush,
    /// A DESTROY, the last or one before it, is sent again.
    Repeat(usize),
    /// The events that wait are lost.
    Overrun,
    Wait(u64),
    /// The wall clock is set, by seconds.
    Clock(i64),
    Start {
        file: bool,
        zones: usize,
    },
    Stop(Ending),
    /// A whole pass over every scope; it misses the places whose bits are set.
    Poll {
        missed: u32,
        complete: bool,
        together: bool,
    },
    Begin {
        scope: usize,
    },
    /// The next receive buffer of the oldest dump under way is read; the one before is handed over.
    Buffer {
        entries: usize,
        missed: u32,
        again: bool,
    },
    /// The rest of the oldest dump under way.
    End {
        complete: bool,
    },
    Hear(usize),
    Ask(usize),
    /// The kernel answers the lookup: what it says is what is there now.
    Answer(usize, Luck),
    /// The answer reaches the table.
    Tell(usize),
    /// All lookups that are wanted, asked and answered.
    LookUp,
    Work,
    Export,
    Take {
        max: usize,
        full: Option<usize>,
        too_large: Option<usize>,
    },
    Settle(usize, Fate),
    Save,
    SaveSlice(usize),
    /// The tuple becomes one of the agent's own sessions.
    Own {
        place: Place,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Create { place, id, mark } => {
                write!(f, "kernel: {place} begins, id {id}, mark {mark}")
            }
            Step::Move { place, packets } => write!(f, "kernel: {place} moves {packets} packets"),
            Step::Turn { place, state } => write!(f, "kernel: {place} goes to TCP state {state}"),
            Step::Mark { place, mark } => write!(f, "kernel: {place} is marked {mark}"),
            Step::Destroy { place } => write!(f, "kernel: {place} is destroyed"),
            Step::Zero => write!(f, "kernel: another reader zeroes all counters"),
            Step::Flush => write!(f, "kernel: everything is flushed"),
            Step::Repeat(which) => write!(f, "kernel: DESTROY {which} is sent again"),
            Step::Overrun => write!(f, "kernel: the events that wait are lost"),
            Step::Wait(ms) => write!(f, "clock: {ms} ms pass"),
            Step::Clock(seconds) => write!(f, "clock: the wall clock is set by {seconds} s"),
            Step::Start { file, zones } => {
                write!(f, "agent: starts, file {file}, zones {zones}")
            }
            Step::Stop(ending) => write!(f, "agent: stops, {ending:?}"),
            Step::Poll {
                missed,
                complete,
                together,
            } => write!(
                f,
                "agent: polls, missing {missed:#b}, complete {complete}, one dump for all {together}"
            ),
            Step::Begin { scope } => write!(f, "agent: a dump of scope {scope} begins"),
            Step::Buffer {
                entries,
                missed,
                again,
            } => write!(
                f,
                "agent: the dump's next buffer, {entries} entries, missing {missed:#b}, a bucket again {again}"
            ),
            Step::End { complete } => write!(f, "agent: the dump ends, complete {complete}"),
            Step::Hear(events) => write!(f, "agent: hears {events} events"),
            Step::Ask(limit) => write!(f, "agent: asks for {limit} lookups"),
            Step::Answer(which, luck) => write!(f, "kernel: lookup {which} is {luck:?}"),
            Step::Tell(which) => write!(f, "agent: the answer to lookup {which} arrives"),
            Step::LookUp => write!(f, "agent: looks everything up that is wanted"),
            Step::Work => write!(f, "agent: housekeeping"),
            Step::Export => write!(f, "agent: exports all that is due"),
            Step::Take {
                max,
                full,
                too_large,
            } => write!(
                f,
                "agent: takes {max} records, full at {full:?}, too large at {too_large:?}"
            ),
            Step::Settle(which, fate) => write!(f, "agent: batch {which} is {fate:?}"),
            Step::Save => write!(f, "agent: writes the state file"),
            Step::SaveSlice(entries) => {
                write!(f, "agent: writes {entries} entries of the state file")
            }
            Step::Own { place } => write!(f, "agent: {place} is a session of its own"),
        }
    }
}
