//! When the state file is read and written.
//!
//! Read before the first poll, so that connections met there go on from what the former run exported. Written every
//! minute and at the stop, but never before a poll was complete: what that poll has not met yet would be missing.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::kernel::notice::Notice;
use crate::kernel::shared::Shared;
use crate::now;
use crate::state_file;
use crate::state_file::saving::Saver;

/// How often, in milliseconds.
const INTERVAL_MS: u64 = 60_000;

/// Keeps one state file. Dropping it gives up a writing under way.
pub(crate) struct StateKeeper {
    saver: Saver,
    /// Monotonic ms of the next regular writing; None before the first complete poll.
    next_ms: Option<u64>,
}

impl StateKeeper {
    /// Reads the file into the table. A file that cannot be used is a warning, and the export goes on without. None
    /// where this boot's id cannot be read: a file of another boot could not be told from one of this then.
    pub(crate) fn open(
        path: PathBuf,
        boot: io::Result<[u8; 16]>,
        shared: &Arc<Shared>,
    ) -> Option<Self> {
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
            |seen_until| shared.table().begin_import(seen_until),
            |entries| shared.table().import_state(entries),
        );
        if let Err(error) = result {
            refused(&error);
        }
        match Saver::start(path, boot, shared) {
            Ok(saver) => Some(Self {
                saver,
                next_ms: None,
            }),
            Err(error) => {
                refused(&format_args!("its thread cannot be started: {error}"));
                None
            }
        }
    }

    /// A poll saw the whole table: entries of the file that met no connection are of no more use.
    pub(crate) fn complete_poll(&mut self, shared: &Shared) {
        if self.next_ms.is_none() {
            shared.table().end_import();
            self.next_ms = Some(now().monotonic_ms.saturating_add(INTERVAL_MS));
        }
    }

    /// Has the file written when the minute is over, or when `asked`, unless no poll was complete yet: then the former file
    /// still says more. [`Notice::Saved`] answers who asked, when that is done.
    pub(crate) fn keep(&mut self, shared: &Shared, asked: bool) {
        let now_ms = now().monotonic_ms;
        match self.next_ms {
            Some(next) if asked || next <= now_ms => {
                self.next_ms = Some(now_ms.saturating_add(INTERVAL_MS));
                self.saver.save(asked);
            }
            None if asked => shared.tell(Notice::Saved),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
