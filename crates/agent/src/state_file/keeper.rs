//! When the state file is read and written.
//!
//! Read before the first poll, so that connections met there go on from what the former run exported. Written every
//! minute and at the stop, but never before a poll was complete: what that poll has not met yet would be missing.

use std::io;
use std::path::PathBuf;

use flow_table::{Progress, StateCursor};

use crate::kernel::notice::Notice;
use crate::kernel::shared::Shared;
use crate::now;
use crate::state_file::{self, SLICE, StateFileError, Writer};

/// How often, in milliseconds.
const INTERVAL_MS: u64 = 60_000;

/// Keeps one state file.
pub(crate) struct StateKeeper {
    path: PathBuf,
    boot: [u8; 16],
    /// Monotonic ms of the next regular writing; None before the first complete poll.
    next_ms: Option<u64>,
    /// A failure is said when it begins, not every minute while it lasts.
    failing: bool,
}

impl StateKeeper {
    /// Reads the file into the table. A file that cannot be used is a warning, and the export goes on without. None
    /// where this boot's id cannot be read: a file of another boot could not be told from one of this then.
    pub(crate) fn open(path: PathBuf, boot: io::Result<[u8; 16]>, shared: &Shared) -> Option<Self> {
        let refused = |reason: &dyn std::fmt::Display| {
            shared.tell(Notice::Warning {
                code: "STATE_FILE_REFUSED",
                message: format!(
                    "the state file is not used, connections older than this start are exported from now on: {reason}"
                ),
            });
        };
        let boot = match boot {
            Ok(boot) => boot,
            Err(error) => {
                refused(&format_args!("this boot's id cannot be read: {error}"));
                return None;
            }
        };
        let result = state_file::read(
            &path,
            boot,
            |written_ns| shared.table().begin_import(written_ns),
            |entries| shared.table().import_state(entries),
        );
        if let Err(error) = result {
            refused(&error);
        }
        Some(Self {
            path,
            boot,
            next_ms: None,
            failing: false,
        })
    }

    /// A poll saw the whole table: entries of the file that met no connection are of no more use.
    pub(crate) fn complete_poll(&mut self, shared: &Shared) {
        if self.next_ms.is_none() {
            shared.table().end_import();
            self.next_ms = Some(now().monotonic_ms.saturating_add(INTERVAL_MS));
        }
    }

    /// Writes when the minute is over.
    pub(crate) fn keep(&mut self, shared: &Shared) {
        if self.next_ms.is_some_and(|next| next <= now().monotonic_ms) {
            self.save(shared);
        }
    }

    /// Writes now, unless no poll was complete yet: then the former file still says more.
    pub(crate) fn save(&mut self, shared: &Shared) {
        if self.next_ms.is_none() {
            return;
        }
        self.next_ms = Some(now().monotonic_ms.saturating_add(INTERVAL_MS));
        let written = self.write(shared);
        shared.table().end_export_state();
        match written {
            Ok(()) => self.failing = false,
            Err(error) => {
                if !std::mem::replace(&mut self.failing, true) {
                    shared.tell(Notice::Warning {
                        code: "STATE_FILE_NOT_WRITTEN",
                        message: format!(
                            "{error}; the former state file stands, and this is tried every minute"
                        ),
                    });
                }
            }
        }
    }

    fn write(&self, shared: &Shared) -> Result<(), StateFileError> {
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
                Progress::More if shared.requests.stopped() => return Ok(()),
                // As in `finish_work`: whoever waits for the table may have it.
                Progress::More => std::thread::yield_now(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Naming;

    #[test]
    fn without_a_boot_id_no_file_is_kept_and_it_is_said() {
        let shared = Shared::for_tests(1, Naming::new(&Default::default()));
        let unreadable = Err(io::ErrorKind::PermissionDenied.into());
        assert!(StateKeeper::open("state".into(), unreadable, &shared).is_none());
        let [Notice::Warning { code, message }] = &shared.notices()[..] else {
            panic!("a warning and nothing else")
        };
        assert_eq!(*code, "STATE_FILE_REFUSED");
        assert!(message.contains("boot's id"), "{message}");
    }
}
