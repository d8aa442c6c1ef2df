//! Connections, their deadlines, and what is to be exported when. No sockets, no clock, no bytes on the wire.
//!
//! Data enters as [`Observation`]s, through [`FlowTable::observe`] (a dump's receive buffer), [`FlowTable::created`] and
//! [`FlowTable::destroyed`] (events) and [`FlowTable::refreshed`] (lookups); it leaves as [`Record`]s through
//! [`FlowTable::take_batch`]. Read [`FlowTable`] and [`Batch`] first.
//!
//! # Parts
//! A table is made of parts that own their fields: what has a slot (`store`), what has none (`store::remembered`), the queues
//! of deadlines (`queues`), polls (`polls`), lookups to make (`lookups`), what came in (`intake`), what goes out (`export`),
//! and what is to be done in slices (`housekeeping`). What takes several of them is a method of [`FlowTable`], in the module of
//! the stage it belongs to.
//!
//! # States
//! live ⇄ idle → ended → done → gone. *Ended*: missing from a complete dump, destroyed, or closed (TCP TIME_WAIT and CLOSE,
//! SCTP CLOSED). *Done*: its end is settled and the kernel still holds the entry. *Gone*: the kernel seems to have dropped it
//! too; until two complete dumps in a row have missed it, or its DESTROY has had its time, it may come back and go on.
//!
//! # Incarnations
//! A connection is the same while conntrack id and kernel start time are the same, whatever its counters say: if they fall,
//! somebody has zeroed them, deltas go on exactly and totals go on from where they were. Without timestamps counters that fall
//! and a closed connection that is open again mean another one. What was exported of an incarnation has one answer: its slot's,
//! else that of what is remembered (refused, evicted, outside the selection, restored from a state file), else nothing.
//!
//! //! # Records
//! | when | reason |
//! |---|---|
//! | the active timeout has passed since the last record (at first: since the start) and counters moved | 2 |
//! | counters have rested for the idle timeout, and moved since the last record or there is none; then it is idle | 1, once |
//! | it has ended | 3, once, at once |
//! | it moved after all after its end: when the kernel drops it, or an active timeout after its last record | 3 |
//! | the table stops and something is unexported; or it left the selection while it lives | 4 |
//! | it rests, and a connection was refused for lack of room (`evict-idle`): its last record | 5 |
//!
//! Where accounting is off, activity is a change of the protocol state or a timeout that was refreshed.
//!
//! # What is held, and for how long
//! A connection costs a slot of 144 octets (IPv4) or 168 (IPv6), 8 to 12 of index and 16 of queue; a translated reply, a
//! reply zone of its own or labels add 36 (IPv4) or 60 (IPv6); one that is only remembered costs 88 (IPv4) or 112 (IPv6). Slots, index and queue grow without moving what they hold, and shrink in steps after a peak: connections in
//! sparse upper ranges move down, and the memory above goes back to the system. Slots and index ask for huge pages from their
//! first few MiB on: with small ones a poll of a large table mostly waits for the processor to look pages up.
//!
//! No call does more than about a millisecond's work at a million connections. What takes longer is done by
//! [`FlowTable::work`], a slice a call. The exception is [`FlowTable::left_at_stop`], after which nothing comes.
//!
//! Nothing is exported twice, and what is not exported is counted in [`Stats::losses`]: for every connection held, exported
//! deltas and counted losses together are its last observed totals minus what it started from. Where that cannot be held,
//! [`Stats::unremembered`] and [`Stats::forgotten_total`] say so.

#[cfg(test)]
extern crate self as flow_table;

mod clock;
mod config;
mod export;
mod housekeeping;
mod intake;
mod lookups;
mod memory;
mod names;
mod observation;
mod polls;
mod queues;
#[cfg(test)]
#[path = "../tests/simulation/main.rs"]
mod simulation;
mod state_file;
mod stats;
mod store;
mod table;

pub use config::{Config, InitialDelta, WhenFull};
pub use export::{Batch, EndReason, Loss, Losses, Lost, Record, Taken};
pub use lookups::{Answer, RefreshKey};
pub use names::{Named, NamesCursor};
pub use observation::{Admission, Counters, NamesId, Now, Observation, Scope, Tuple};
pub use polls::Poll;
pub use queues::expiry_queue;
pub use state_file::{StateCursor, StateEntry};
pub use stats::Stats;
pub use table::{FlowTable, Progress};
