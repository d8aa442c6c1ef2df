//! Connections, their deadlines, and what is to be exported when.
#[cfg(test)]
extern crate self as flow_table;

mod batch;
mod chunked;
mod config;
mod connection;
mod events;
pub mod expiry_queue;
mod index;
mod key;
mod life;
mod loss;
mod merge;
#[cfg(test)]
mod model;
mod observation;
mod outside;
mod record;
mod refresh;
mod settle;
mod side;
mod slots;
mod state;
mod stats;
mod table;
mod take;
mod work;

pub use batch::Batch;
pub use config::{Config, InitialDelta, WhenFull};
pub use loss::{Loss, Losses, Lost};
pub use observation::{Admission, Counters, NamesId, Now, Observation, Scope, Tuple};
pub use record::{EndReason, Record, Taken};
pub use refresh::{Answer, RefreshKey};
pub use state::{StateCursor, StateEntry};
pub use stats::Stats;
pub use table::{FlowTable, Poll, Progress};
