//! Looks after the names that were given out. For the kernel thread, which admits connections too.

use flow_table::{NamesCursor, Progress};

use crate::kernel::notice::Notice;
use crate::kernel::shared::Shared;
use crate::names::later::name_what_was_unknown;
use crate::now;

/// Slots of the table looked at in one slice: about a tenth of a millisecond, and 20 ms for all of a million connections.
const ASKED: u32 = 8_192;

/// Names looked at in one slice; each that goes frees some ten allocations.
const SWEPT: usize = 512;

/// Names what was unknown when sets have changed, gives back the names that no connection holds any more, when there is reason to, and says what is to be said of them. Cheap when there is nothing to do.
pub(crate) fn look_after_names(shared: &Shared) {
    shared.names().tick(now().monotonic_ms);
    name_what_was_unknown(shared);
    collect(shared);
    let warnings = shared.names().take_warnings(now().monotonic_ms);
    for (code, message) in warnings {
        shared.tell(Notice::Warning { code, message });
    }
}

/// Gives the locks back between slices.
fn collect(shared: &Shared) {
    let now_ms = now().monotonic_ms;
    if !shared.names().wants_collection(now_ms) {
        return;
    }
    {
        // Whoever admits a connection holds the table until its names are in the slot: nobody is half-way now.
        let _table = shared.table();
        shared.names().begin_collection(now_ms);
    }
    let mut cursor = NamesCursor::default();
    loop {
        let progress = {
            let table = shared.table();
            let mut names = shared.names();
            table.names_in_use(&mut cursor, ASKED, |id| names.keep(id))
        };
        match progress {
            Progress::Done => break,
            Progress::More if shared.requests.stopped() => return shared.names().give_up(),
            // As in `finish_work`: whoever waits for the table may have it.
            Progress::More => std::thread::yield_now(),
        }
    }
    loop {
        // The guard ends with the statement.
        let progress = shared.names().sweep(SWEPT);
        if progress == Progress::Done || shared.requests.stopped() {
            return;
        }
        std::thread::yield_now();
    }
}
