//! One pass over the kernel's table, as JSON text: what `conntrack-ipfix dump` prints.
//!
//! Names are those of exported records where IPFIX has an element, and conntrack's own for the rest. [`dump`] reads on the
//! calling thread; a [`DumpTask`] is a thread that does, with a bounded queue to its reader.

mod line;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use netfilter::netns::Netns;
use netfilter::{ConntrackSocket, SocketOptions};

use crate::Error;
use crate::selection::Selection;
use line::write_line;

pub use task::{DumpPart, DumpTask};

/// How a dump ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dumped {
    /// Connections that were selected.
    pub connections: u64,
    /// Messages that could not be read, and were skipped.
    pub malformed: u64,
    /// False when the kernel did not give the whole table, or the dump was cancelled.
    pub complete: bool,
}

/// Dumps the connections of `selection` as JSON lines, one receive buffer (about 130 connections) at a time, until
/// `cancel` is set: it is looked at before each buffer, also where nothing in them is selected. Enters `netns` with the
/// calling thread, which has to end in it.
///
/// # Errors
/// What the kernel refuses, and a selection that cannot be meant.
pub fn dump(
    selection: &Selection,
    netns: Option<&Netns>,
    cancel: &Arc<AtomicBool>,
    mut sink: impl FnMut(Vec<u8>),
) -> Result<Dumped, Error> {
    selection.check()?;
    let selection = selection.clone().without_repeats();
    if let Some(netns) = netns {
        netns.enter()?;
    }
    let mut socket = ConntrackSocket::open_with(SocketOptions {
        cancel: Some(Arc::clone(cancel)),
        ..SocketOptions::default()
    })?;
    let zones: Vec<Option<u16>> = match selection.zones.as_slice() {
        [] => vec![None],
        zones => zones.iter().copied().map(Some).collect(),
    };
    let mut dumped = Dumped {
        connections: 0,
        malformed: 0,
        complete: true,
    };
    for zone in zones {
        if cancel.load(Ordering::Relaxed) {
            dumped.complete = false;
            break;
        }
        let mut dump = socket.dump(&selection.filter(zone))?;
        while let Some(entries) = dump.next_buffer()? {
            let mut lines = Vec::with_capacity(64 * 1024);
            for connection in entries {
                if selection.admits(&connection) {
                    write_line(&mut lines, &connection);
                    dumped.connections += 1;
                }
            }
            if !lines.is_empty() {
                sink(lines);
            }
        }
        let outcome = dump.finish();
        dumped.malformed += outcome.malformed;
        dumped.complete &= outcome.complete;
    }
    Ok(dumped)
}
