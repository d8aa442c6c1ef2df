//! What goes out: one flow record, not yet encoded.

use crate::observation::{Counters, NamesId, Tuple};

/// flowEndReason, element 136 (RFC 5102).
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndReason {
    /// Counters rested for the idle timeout.
    Idle = 1,
    /// The active timeout passed.
    Active = 2,
    /// The connection ended.
    EndDetected = 3,
    /// The exporter stops, or the connection left the selection while it lives.
    Forced = 4,
    /// It goes because the table is full.
    LackOfResources = 5,
}

/// One data record: the connection as it was when the record was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The direction of the first packet.
    pub original: Tuple,
    /// The direction of the answers; other than [`Tuple::inverse`] of the original where addresses are translated.
    pub reply: Tuple,
    /// Zone of the original direction.
    pub zone: u16,
    /// Zone of the reply direction.
    pub reply_zone: u16,
    /// CTA_ID.
    pub id: u32,
    /// Connection mark.
    pub mark: u32,
    /// IPS_* bits, the lower sixteen.
    pub status: u32,
    /// TCP or SCTP state number, else 0.
    pub protocol_state: u8,
    /// Connection labels; zero: none.
    pub labels: [u8; 16],
    /// Kernel start time, else first sighting; the same in each record of a connection, and never after `end_ns`. It may be
    /// after now where the wall clock was set back.
    pub start_ns: u64,
    /// When the counters were last seen to move, to the millisecond; not before the start, else not after now.
    pub end_ns: u64,
    /// Why this record was made.
    pub reason: EndReason,
    /// The kernel's counters, original and reply; where somebody zeroed them, they go on from where they were.
    pub totals: [Counters; 2],
    /// What of the totals no committed record (nor a counted loss) holds yet.
    pub deltas: [Counters; 2],
    /// The names given at admission, or later.
    pub names: NamesId,
}

/// What the sink did with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// Encoded; it is part of the batch.
    Yes,
    /// No room: the record stays due, and the batch ends here.
    Full,
    /// It can never be encoded: lost, counted as [`Loss::TooLarge`](crate::Loss::TooLarge), and settled.
    TooLarge,
}
