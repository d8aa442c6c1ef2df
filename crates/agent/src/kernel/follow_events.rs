//! Events on their way from the queue into the flow table, and what is known of those that were lost.

use flow_table::Scope;
use netfilter::EventKind;

use crate::kernel::event_queue::Heard;
use crate::kernel::event_reader::EventReader;
use crate::kernel::first_sight::AdmitSelected;
use crate::kernel::shared::Shared;
use crate::now;
use crate::selection::Selection;

/// Events merged under one lock.
const AT_ONCE: usize = 256;

/// Whether a dump has to put right what events did not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Nothing was lost since the last complete dump began.
    #[default]
    NotNeeded,
    /// Events are being lost. A dump that began now would not do: what was heard before the loss may be merged after it, as
    /// if it were younger.
    LossUnderWay,
    /// The loss is over and everything merged that was heard before its end: a dump that begins now puts it right.
    Needed,
}

/// Merges what waits in the queue.
pub(crate) fn merge_events(
    reader: &EventReader,
    selection: &Selection,
    shared: &Shared,
    repair: &mut Repair,
) {
    let mut heard = Vec::with_capacity(AT_ONCE);
    loop {
        reader.take(AT_ONCE, &mut heard);
        if heard.is_empty() {
            return;
        }
        let mut table = shared.table();
        let mut own = shared.own();
        let mut names = shared.names();
        for heard in heard.drain(..) {
            let (kind, seen) = match heard {
                Heard::Event { kind, seen } => (kind, seen),
                Heard::LossBegins => {
                    *repair = Repair::LossUnderWay;
                    continue;
                }
                Heard::LossEnds => {
                    *repair = Repair::Needed;
                    continue;
                }
            };
            let Some(scope) = selection.scope(seen.zone, seen.reply_zone) else {
                continue;
            };
            let Ok(scope) = u8::try_from(scope).map(Scope) else {
                continue;
            };
            let mut admission = AdmitSelected::new(&mut own, &mut names, selection);
            match kind {
                EventKind::New => table.created(scope, &seen, &mut admission, now()),
                // It closed, and the kernel keeps it for two minutes before its DESTROY; or its mark may select it now.
                EventKind::Update => table.look_again(scope, &seen, now()),
                EventKind::Destroy => table.destroyed(scope, &seen, &mut admission, now()),
            }
        }
        drop((table, own, names));
        // As in `finish_work`: whoever waits for the table may have it.
        std::thread::yield_now();
    }
}
