//! Reads what Linux's netfilter says of connections, over netlink.
//!
//! Octets come from the kernel through a [`ConntrackSocket`] (dumps, lookups, counts), an [`EventSocket`] or an
//! [`nflog`] reader; they leave as borrowed [`Connection`]s. Read [`Connection`] and [`Dump`] first.
//!
//! There is no flow state here, no clock and no IPFIX: what a connection was a moment ago is the caller's to remember.
//! What could not be read, or was lost on the way, is counted and said: [`DumpOutcome`], [`Malformed`], [`Error`].

mod attribute;
mod channel;
mod connection;
mod datagram;
mod dump;
mod error;
mod events;
mod filter;
mod listener;
mod lookup;
mod malformed;
mod message;
pub mod netns;
pub mod nflog;
mod os;
mod plan;
mod request;
mod socket;
mod state;
mod stats;
pub mod sysctl;
#[cfg(feature = "testing")]
pub mod testing;
mod timeouts;
pub mod tracking;
mod tuple;
mod updates;
mod zone;

pub use channel::SocketOptions;
pub use connection::{Connection, Counters};
pub use dump::{Dump, DumpOutcome, Entries, Incomplete};
pub use error::Error;
pub use events::{
    Event, EventCounts, EventGroups, EventKind, EventOptions, EventSocket, Events, Received,
};
pub use filter::{Filter, Masked, TupleFilter};
pub use lookup::Query;
pub use malformed::{Malformed, Problem};
pub use plan::ZonePlan;
pub use socket::ConntrackSocket;
pub use state::{ProtocolState, Status};
pub use stats::Counts;
pub use timeouts::Timeouts;
pub use tuple::{Family, Tuple};
pub use updates::Updates;
pub use zone::zone_id;
