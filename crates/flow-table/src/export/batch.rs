//! Records taken and not yet settled.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::EndReason;
use crate::lookups::Named;
use crate::observation::Counters;

/// What one record of a batch held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) name: Named,
    pub(super) deltas: [Counters; 2],
    pub(super) record_end_s: u32,
    pub(super) reason: EndReason,
    /// Activity without counters that this record tells of.
    pub(super) moved: bool,
}

/// Records taken from the table. Settle it once, by `commit` or `rollback`, in any order among batches. One that is dropped
/// instead is rolled back at the table's next call.
#[derive(Debug)]
pub struct Batch {
    items: Vec<Item>,
    pub(super) taken_ms: u64,
    returns: Arc<Returns>,
}

impl Batch {
    pub(super) fn new(items: Vec<Item>, taken_ms: u64, returns: Arc<Returns>) -> Self {
        Self {
            items,
            taken_ms,
            returns,
        }
    }

    /// Records in it; never 0.
    #[must_use]
    #[allow(
        clippy::len_without_is_empty,
        reason = "a batch is never empty: take_batch gives None instead"
    )]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Takes the records out: what is left drops without a trace.
    pub(super) fn settle(mut self) -> Vec<Item> {
        mem::take(&mut self.items)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if !self.items.is_empty() {
            self.returns.put(mem::take(&mut self.items));
        }
    }
}

/// Where dropped batches wait for the table. A batch may be dropped on any thread.
#[derive(Debug, Default)]
pub(super) struct Returns {
    any: AtomicBool,
    batches: Mutex<Vec<Vec<Item>>>,
}

impl Returns {
    fn put(&self, items: Vec<Item>) {
        self.batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(items);
        self.any.store(true, Ordering::Release);
    }

    /// Batches were dropped since the last `take`. Costs one load.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// The batches dropped since the last call.
    pub(super) fn take(&self) -> Vec<Vec<Item>> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        self.any.store(false, Ordering::Release);
        mem::take(&mut *batches)
    }
}
