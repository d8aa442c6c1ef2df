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
        // What began after that is exported whole by the next run, unless the file knows it.
        let Some(seen_until) = shared.table().seen_until() else {
            return Ok(());
        };
        let mut writer = Writer::new(&self.path, self.boot, seen_until)?;
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

#[cfg(test)]
mod tests {
    use flow_table::{Counters, NamesId, Observation, Scope, Tuple};

    use super::*;
    use crate::names::Naming;
    use crate::now;

    fn connection(number: u32) -> Observation {
        let [_, high, middle, low] = number.to_be_bytes();
        let original = Tuple {
            source: [10, high, middle, low].into(),
            destination: [198, 51, 100, 1].into(),
            protocol: 17,
            source_port: 1000,
            destination_port: 53,
        };
        Observation {
            original,
            reply: original.inverse(),
            zone: 0,
            reply_zone: 0,
            id: number,
            start_ns: Some(1_700_000_000_000_000_000),
            stop_ns: None,
            last_packet_ns: None,
            counters: Some([Counters::default(); 2]),
            mark: 0,
            status: 0,
            protocol_state: 0,
            timeout_s: Some(60),
            labels: [0; 16],
        }
    }

    #[test]
    fn a_writing_under_way_is_given_up_at_the_end_and_leaves_the_former_file() {
        let folder = std::env::temp_dir().join(format!("ctipfix-saving-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("state");
        std::fs::write(&file, "former").unwrap();
        let shared = Arc::new(Shared::for_tests(10_000, Naming::new(&Default::default())));
        let mut table = shared.table();
        // Many slices.
        let all: Vec<_> = (0..10_000).map(connection).collect();
        let poll = table.begin_poll(Scope(0), now());
        table.observe(poll, &all, &mut |_: &Observation| Some(NamesId(0)), now());
        table.end_poll(poll, true, now());
        let saver = Saver::start(file.clone(), [7; 16], &shared).unwrap();
        // The writing cannot begin while this thread has the table.
        saver.save(true);
        let orders = Arc::clone(&saver.orders);
        std::thread::scope(|scope| {
            scope.spawn(|| drop(saver));
            while !orders.halted() {
                std::thread::yield_now();
            }
            drop(table);
        });
        // Dropping has waited for its end.
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "former");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
