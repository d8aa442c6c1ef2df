//! Names what was unknown of connections and is known by now, after a set has changed. For the kernel thread.

use flow_table::{Named, NamesCursor, Progress};

use super::Found;
use super::joined::Facts;
use crate::kernel::shared::Shared;
use crate::now;

/// Slots of the table looked at in one slice: about half a millisecond.
const LOOKED_AT: u32 = 2_048;

/// Sets that change all the time take a fifth of the thread's time at most: after a pass it rests for four times as long.
const REST: u64 = 4;

/// One pass over the table, when there is reason to. Cheap when there is none. Gives the locks back between slices.
pub(crate) fn name_what_was_unknown(shared: &Shared) {
    let begun_ms = now().monotonic_ms;
    if !shared.names().begin_pass(begun_ms) {
        return;
    }
    let mut cursor = NamesCursor::default();
    let mut found = Found::default();
    loop {
        let progress = {
            let mut table = shared.table();
            let mut names = shared.names();
            table.rename(&mut cursor, LOOKED_AT, |it| {
                names.named_later(&mut found, it.names, &facts(it))
            })
        };
        if progress == Progress::Done || shared.requests.stopped() {
            break;
        }
        // As in `finish_work`: whoever waits for the table may have it.
        std::thread::yield_now();
    }
    let ended_ms = now().monotonic_ms;
    let rest = REST * ended_ms.saturating_sub(begun_ms);
    shared.names().end_pass(ended_ms.saturating_add(rest));
}

fn facts(named: &Named) -> Facts<'_> {
    Facts {
        original: &named.original,
        endpoint: named.reply.source,
        mark: named.mark,
        labels: &named.labels,
        start_ns: Some(named.start_ns),
    }
}
