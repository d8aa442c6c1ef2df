//! What the kernel thread and the owner of an exporter share, each part behind its own lock.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flow_table::FlowTable;
use netfilter::Counts;
use rustix::io::Errno;

use crate::kernel::notice::{Notice, Notices};
use crate::kernel::own_sessions::OwnSessions;
use crate::kernel::wake::Requests;
use crate::names::Naming;
use crate::now;

/// What the kernel thread has met.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelStats {
    /// Entries of the namespace at the last poll.
    pub entries: u32,
    /// `nf_conntrack_max`, 0 when unknown.
    pub max: u32,
    /// Polls that ended, complete or not.
    pub polls: u64,
    /// Polls that failed.
    pub poll_failures: u64,
    /// Polls that did not see the whole table.
    pub incomplete_dumps: u64,
    /// Messages of the kernel that could not be read, and were skipped; and lookups of a connection that it refused.
    pub malformed_messages: u64,
    /// Times that events were lost; each led to a dump.
    pub event_overruns: u64,
}

/// What the kernel thread and the owner share.
///
/// Locks are taken in this order: `table`, `own`, `names`. Whoever holds one may take those that follow, and none that come
/// before; `notices` and `kernel` may be taken under any of them, and nothing is taken under these.
pub(crate) struct Shared {
    table: Mutex<FlowTable>,
    own: Mutex<OwnSessions>,
    names: Mutex<Naming>,
    notices: Mutex<Notices>,
    kernel: Mutex<KernelStats>,
    pub(crate) requests: Requests,
    /// The owner knows that something is due.
    due_known: AtomicBool,
    wake_pending: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

/// A panic inside a lock is caught at the thread's edge and ends the exporter; until then what the lock
/// guards is still read for the statistics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_due(table: &FlowTable) -> bool {
    table
        .next_deadline()
        .is_some_and(|deadline| deadline <= now().monotonic_ms)
}

impl Shared {
    pub(crate) fn new(
        table: FlowTable,
        names: Naming,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Result<Self, Errno> {
        Ok(Self {
            table: Mutex::new(table),
            own: Mutex::default(),
            names: Mutex::new(names),
            notices: Mutex::default(),
            kernel: Mutex::default(),
            requests: Requests::new()?,
            due_known: AtomicBool::new(false),
            wake_pending: AtomicBool::new(false),
            wake,
        })
    }

    /// Held for about a millisecond at most.
    pub(crate) fn table(&self) -> MutexGuard<'_, FlowTable> {
        lock(&self.table)
    }

    pub(crate) fn own(&self) -> MutexGuard<'_, OwnSessions> {
        lock(&self.own)
    }

    /// Held as long as the table, by whoever admits or encodes.
    pub(crate) fn names(&self) -> MutexGuard<'_, Naming> {
        lock(&self.names)
    }

    /// Leaves a notice for the owner and wakes it, unless a wake-up is still on its way.
    pub(crate) fn tell(&self, notice: Notice) {
        lock(&self.notices).push(notice);
        if !self.wake_pending.swap(true, Ordering::AcqRel) {
            (self.wake)();
        }
    }

    /// What was told since the last call. The next notice wakes the owner again.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.wake_pending.store(false, Ordering::Release);
        lock(&self.notices).drain()
    }

    pub(crate) fn kernel(&self) -> KernelStats {
        *lock(&self.kernel)
    }

    pub(crate) fn set_kernel_counts(&self, counts: &Counts) {
        let mut kernel = lock(&self.kernel);
        kernel.entries = counts.entries;
        kernel.max = counts.max.unwrap_or(0);
    }

    pub(crate) fn kernel_entries(&self) -> u32 {
        lock(&self.kernel).entries
    }

    pub(crate) fn count_poll(&self) {
        lock(&self.kernel).polls += 1;
    }

    pub(crate) fn count_poll_failure(&self) {
        lock(&self.kernel).poll_failures += 1;
    }

    pub(crate) fn count_overrun(&self) {
        lock(&self.kernel).event_overruns += 1;
    }

    /// The event thread cannot read any more: what the kernel sends is lost until another one does.
    pub(crate) fn events_ended(&self) {
        self.count_overrun();
        self.tell(Notice::Warning {
            code: "EVENTS_ENDED",
            message:
                "conntrack events can no longer be read: they are asked for again, with a resync"
                    .to_owned(),
        });
    }

    /// Tells the owner that something is due, unless it knows: it was told, or has seen it, and has taken nothing since.
    pub(crate) fn tell_due(&self) {
        let untold = {
            // The owner's answer and this question are made under the same lock: neither misses the other.
            let table = self.table();
            is_due(&table) && !self.due_known.swap(true, Ordering::AcqRel)
        };
        if untold {
            self.tell(Notice::Due);
        }
    }

    /// What the owner is told when it asks for the next deadline.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let table = self.table();
        self.due_known.store(is_due(&table), Ordering::Release);
        table.next_deadline()
    }

    /// The owner takes what is due: what is due afterwards is news to it.
    pub(crate) fn taking(&self) {
        self.due_known.store(false, Ordering::Release);
    }

    /// A thread ended by a panic.
    pub(crate) fn tell_panic(&self, thread: &str, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        self.tell(Notice::Fatal {
            code: "ERR_INTERNAL",
            message: format!(
                "the {thread} thread stopped by an internal error: {}",
                text.unwrap_or("unknown panic")
            ),
        });
    }

    pub(crate) fn count_incomplete(&self) {
        lock(&self.kernel).incomplete_dumps += 1;
    }

    pub(crate) fn count_malformed(&self, messages: u64) {
        lock(&self.kernel).malformed_messages += messages;
    }
}

#[cfg(test)]
impl Shared {
    /// With an empty table that holds so many connections, and nobody to wake.
    pub(crate) fn for_tests(max_connections: usize, names: Naming) -> Self {
        let table = FlowTable::new(flow_table::Config {
            active_timeout_ms: 60_000,
            idle_timeout_ms: 15_000,
            stale_timeout_ms: 300_000,
            max_connections,
            when_full: flow_table::WhenFull::RejectNew,
            initial_delta: flow_table::InitialDelta::Zero,
            agent_start: crate::now(),
            seconds_end_monotonic: false,
            events: false,
            confirm_absent: false,
        });
        match Self::new(table, names, Box::new(|| {})) {
            Ok(shared) => shared,
            Err(errno) => panic!("no eventfd: {errno}"),
        }
    }
}
