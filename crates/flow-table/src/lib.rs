//! Connections, their deadlines, and what is to be exported when.
mod batch;
mod config;
mod loss;
mod observation;
mod record;
mod refresh;
mod state;
mod stats;
mod table;

pub use batch::Batch;
pub use config::{Config, InitialDelta, WhenFull};
pub use loss::{Loss, Losses, Lost};
pub use observation::{Admission, Counters, NamesId, Now, Observation, Scope, Tuple};
pub use record::{EndReason, Record, Taken};
pub use refresh::{Answer, RefreshKey};
pub use state::{StateCursor, StateEntry};
pub use stats::Stats;
pub use table::{FlowTable, Poll, Progress};
