//! What goes out: which records are made and when, what becomes of them, and what is lost.

mod batch;
mod loss;
mod record;
mod settle;
mod stop;
mod take;

use std::sync::Arc;

use crate::store::Scan;

pub use batch::Batch;
use batch::Returns;
pub use loss::{Loss, Losses, Lost};
pub use record::{EndReason, Record, Taken};

/// What is under way, and what was lost.
#[derive(Default)]
pub(crate) struct Export {
    losses: Losses,
    /// Connections in unsettled batches.
    in_flight: usize,
    /// Where dropped batches wait.
    returns: Arc<Returns>,
    /// Connections that were refused for lack of room and that an eviction could let in.
    room_wanted: usize,
    stopping: bool,
    /// How far the search for what a stop must still export has come.
    search: Option<Scan>,
}

impl Export {
    pub(crate) fn losses(&self) -> Losses {
        self.losses
    }

    pub(crate) fn count_loss(&mut self, reason: Loss, lost: Lost) {
        self.losses.count(reason, lost);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// A connection in flight is so no longer.
    pub(crate) fn landed(&mut self) {
        self.in_flight -= 1;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// The table is being searched for what a stop must still export.
    pub(crate) fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// Batches were dropped, and are to be rolled back by the next call.
    pub(crate) fn any_dropped(&self) -> bool {
        self.returns.any()
    }

    /// One more was refused; `most`: as many may be held.
    pub(crate) fn want_room(&mut self, most: usize) {
        self.room_wanted = (self.room_wanted + 1).min(most);
    }

    /// Not more than are refused now.
    pub(crate) fn limit_room_wanted(&mut self, refused: usize) {
        self.room_wanted = self.room_wanted.min(refused);
    }
}
