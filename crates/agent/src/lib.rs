//! Joins conntrack, the flow table and the IPFIX encoder.
//!
//! Data enters in `kernel`, as connections of a dump, a lookup or an event, is kept as flows, and leaves through [`Exporter::take_batch`] as IPFIX message bodies. One kernel thread per exporter owns the netlink
//! sockets and the network namespace; every other call comes from the thread that owns the [`Exporter`].
//!
//! Read [`Exporter`] and [`Selection`] first.

mod clock;
mod datagram_socket;
mod dump;
mod error;
mod export;
mod exporter;
mod file_lock;
mod kernel;
mod names;
mod os;
mod selection;
mod session_socket;
mod state_file;

pub use clock::now;
pub use datagram_socket::DatagramSocket;
pub use dump::{DumpPart, DumpTask, Dumped, dump};
pub use error::Error;
pub use export::format::{Extras, FormatId, FormatSpec, ProfileName};
pub use export::{Amount, BatchId, EncodedBatch};
pub use exporter::{Config, Exporter, Stats};
pub use file_lock::{lock_file, unlock_file};
pub use kernel::notice::{Notice, PollSummary};
pub use kernel::own_sessions::OwnSession;
pub use kernel::shared::KernelStats;
pub use kernel::sockets::{DumpSource, EventSource, Heard, Netlink, RequestSocket, Sockets};
pub use names::{
    Egress, LabelBits, NameSet, NamesConfig, NamesError, NamesStats, Networks, PathKey, Pod, Pods,
    PolicyRule, PolicyRules, Prefixes, RuleLabels, Service, Services,
};
pub use selection::{Network, Selection, SelectionError};
pub use session_socket::{Progress, SessionSocket};

/// Ends the process at once with this code, without waiting for any of its threads.
pub fn end_process(code: i32) -> ! {
    os::end_process(code)
}
