//! What a dump came to: how much it brought, and whether that was all.

use crate::malformed::Malformed;

/// Why a dump did not see everything. Nothing may be concluded from an entry's absence then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Incomplete {
    /// ENOBUFS: the kernel dropped messages for want of buffer space.
    Overrun,
    /// NLM_F_DUMP_INTR, or EINTR at the end: the table changed in a way that may have hidden entries.
    Interrupted,
    /// A datagram did not fit the receive buffer, or its frame was broken: messages in it are lost.
    Cut,
    /// A message could not be decoded, so an entry is missing.
    Malformed,
    /// The kernel sent nothing for the receive timeout.
    NoProgress,
    /// The cancel flag was set.
    Cancelled,
    /// The kernel reported an error.
    Failed,
    /// The reader left before the end.
    Abandoned,
}

/// What a dump came to.
#[derive(Clone, Debug, Default)]
pub struct DumpOutcome {
    /// Entries handed out.
    pub entries: u64,
    /// Entries that the kernel sent although they do not match the filter.
    pub unwanted: u64,
    /// Messages that could not be read.
    pub malformed: u64,
    /// The first of them.
    pub first_malformed: Option<Malformed>,
    /// Octets received.
    pub octets: u64,
    /// Whether every entry that stood in the table during the whole dump was handed out.
    pub complete: bool,
    /// Why not: the first reason met.
    pub reason: Option<Incomplete>,
}
