//! Joins conntrack, the flow table and the IPFIX encoder.
//!
//! Data enters through [`poll`](crate::poll) as connections of the kernel, is kept as flows, and leaves
//! through [`Exporter::take_batch`] as IPFIX message bodies. One kernel thread per exporter owns the netlink
//! sockets and the network namespace; every other call comes from the thread that owns the [`Exporter`].
//!
//! Read [`Exporter`] and [`Selection`] first.

mod admission;
mod clock;
mod dump;
mod error;
mod events;
mod export;
mod exporter;
mod format;
mod kernel_thread;
mod names;
mod notice;
mod observation;
mod own_sessions;
mod poll;
mod refresh;
mod selection;
mod shared;
mod state_file;
mod state_keeper;
mod wake;
mod warning;

pub use clock::now;
pub use dump::{Dumped, dump};
pub use error::Error;
pub use export::{Amount, BatchId, EncodedBatch};
pub use exporter::{Config, Exporter, Stats};
pub use format::{FormatId, FormatSpec, ProfileName};
pub use names::{NamesStats, Pod, Pods, PodsError};
pub use notice::{Notice, PollSummary};
pub use own_sessions::OwnSession;
pub use selection::{Network, Selection, SelectionError};
pub use shared::KernelStats;
