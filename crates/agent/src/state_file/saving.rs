//! The thread that writes the state file, so that polls, lookups and events never wait for a disk.
//!
//! It takes what it writes out of the table in slices, and gives the table back before each is written.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use flow_table::{Progress, StateCursor};

use crate::kernel::notice::Notice;
use crate::kernel::shared::{Shared, lock};
use crate::now;
use crate::state_file::{SLICE, StateFileError, Writer};

/// The thread. Dropping it gives up a writing under way and waits for its end.
pub(crate) struct Saver {
    orders: Arc<Orders>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Orders {
    order: Mutex<Order>,
    changed: Condvar,
}

/// Asking twice before the thread has looked is asking once.
#[derive(Clone, Copy, Default)]
struct Order {
    write: bool,
    /// Somebody waits for [`Notice::Saved`].
    tell: bool,
    halt: bool,
}

impl Saver {
    pub(crate) fn start(path: PathBuf, boot: [u8; 16], shared: &Arc<Shared>) -> io::Result<Self> {
        let orders = Arc::new(Orders::default());
        let (for_thread, shared) = (Arc::clone(&orders), Arc::clone(shared));
        let mut file = StateFile {
            path,
            boot,
            failing: false,
        };
        let thread = std::thread::Builder::new()
            .name("conntrack-state".to_owned())
            .spawn(move || {
                let work = AssertUnwindSafe(|| file.serve(&for_thread, &shared));
                if let Err(panic) = catch_unwind(work) {
                    shared.tell_panic("state file's", &*panic);
                }
            })?;
        Ok(Self {
            orders,
            thread: Some(thread),
        })
    }

    /// Has the file written. `tell`: and says so afterwards.
    pub(crate) fn save(&self, tell: bool) {
        self.orders.change(|order| {
            order.write = true;
            order.tell |= tell;
        });
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.orders.change(|order| order.halt = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Orders {
    fn change(&self, change: impl FnOnce(&mut Order)) {
        change(&mut lock(&self.order));
        self.changed.notify_one();
    }

    /// Waits for something to do, and takes it. None: the thread is to end.
    fn next(&self) -> Option<Order> {
        let idle = |order: &mut Order| !order.write && !order.halt;
        let waited = self.changed.wait_while(lock(&self.order), idle);
        let mut order = waited.unwrap_or_else(PoisonError::into_inner);
        (!order.halt).then(|| std::mem::take(&mut *order))
    }

    fn halted(&self) -> bool {
        lock(&self.order).halt
    }
}

struct StateFile {
    path: PathBuf,
    boot: [u8; 16],
    /// A failure is said when it begins, not every minute while it lasts.
    failing: bool,
}

impl StateFile {
    fn serve(&mut self, orders: &Orders, shared: &Shared) {
        while let Some(order) = orders.next() {
            let written = self.write(orders, shared);
            shared.table().end_export_state();
            match written {
                Ok(()) => self.failing = false,
                Err(error) => self.failed(&error, shared),
            }
            if order.tell {
                shared.tell(Notice::Saved);
            }
        }
    }

    fn failed(&mut self, error: &StateFileError, shared: &Shared) {
        if !std::mem::replace(&mut self.failing, true) {
            shared.tell(Notice::Warning {
                code: "STATE_FILE_NOT_WRITTEN",
                message: format!(
                    "{error}; the former state file stands, and this is tried every minute"
                ),
            });
        }
    }

    fn write(&self, orders: &Orders, shared: &Shared) -> Result<(), StateFileError> {
        let mut writer = Writer::new(&self.path, self.boot, now().wall_ns)?;
        let mut cursor = StateCursor::default();
        let mut slice = Vec::with_capacity(SLICE);
        loop {
            let progress = shared
                .table()
                .export_state(&mut cursor, SLICE, |entry| slice.push(*entry));
            writer.entries(&slice)?;
            slice.clear();
            match progress {
                Progress::Done => return writer.finish(),
                // Nobody waits for it any more: the former file stands.
                Progress::More if orders.halted() => return Ok(()),
                // As in `finish_work`: whoever waits for the table may have it.
                Progress::More => std::thread::yield_now(),
            }
        }
    }
}
