//! Looks connections up in the kernel before the table acts on them.
//!
//! The kernel sends no event when counters move, so with events a deadline acts on what was known at the last dump;
//! and a connection that is missing from a dump filtered by mark may live on with another mark. Both are asked for
//! one by one, many requests on their way at once.

use flow_table::{Answer, Observation, RefreshKey};
use netfilter::{Query, Tuple};

use crate::kernel::first_sight::AdmitSelected;
use crate::kernel::last_packet::LastPackets;
use crate::kernel::observation::observation;
use crate::kernel::shared::Shared;
use crate::kernel::sockets::RequestSocket;
use crate::selection::Selection;
use crate::{Error, now};

/// Lookups of one round: a fraction of a millisecond of the table's time.
const ROUND: usize = 512;

/// Which events are to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Those that were read.
    Read,
    /// All that the kernel has sent.
    Sent,
}

/// What came of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refreshed {
    /// The table asked for nothing.
    Nothing,
    /// The table asks for nothing more.
    All,
    /// As many were looked up as a dump of the whole table costs, and more are due.
    DumpIsCheaper,
}

/// What one lookup costs, in tenths of a dumped entry: 3.8 us to 2.3 us, measured by `benches/lookup_or_dump.rs`.
const LOOKUP_IN_TENTHS: u64 = 17;

/// Looks up whatever the table asks for until it asks for nothing more, or until that has cost as much as a dump of
/// `kernel_entries` would. How many are due is not known before they are taken: giving up there costs at most twice
/// what the cheaper way would have. An error gives the round's connections back unanswered: they are asked for again.
/// `merge` merges the events that came meanwhile: many rounds take longer than the event queue holds out, and the DESTROY of
/// a connection that is no longer found was sent before that, and has its last counters.
pub(crate) fn refresh(
    socket: &mut impl RequestSocket,
    selection: &Selection,
    shared: &Shared,
    kernel_entries: u32,
    last_packets: &LastPackets,
    mut merge: impl FnMut(Merge),
) -> Result<Refreshed, Error> {
    let worth = usize::try_from(u64::from(kernel_entries) * 10 / LOOKUP_IN_TENTHS)
        .unwrap_or(usize::MAX)
        .max(ROUND);
    let mut keys: Vec<RefreshKey> = Vec::with_capacity(ROUND);
    let mut asked = 0;
    while !shared.requests.stopped() {
        keys.clear();
        shared.table().refresh_due(now(), &mut keys, ROUND);
        if keys.is_empty() {
            break;
        }
        if asked >= worth {
            give_back(&keys, selection, shared);
            return Ok(Refreshed::DumpIsCheaper);
        }
        let queries: Vec<Query> = keys.iter().map(query).collect();
        let mut answers: Vec<Found> = vec![Found::Nothing; keys.len()];
        let mut result = socket.lookup(&queries, |index, connection| {
            if let Some(place) = answers.get_mut(index) {
                *place = match connection {
                    Ok(Some(it)) => {
                        let seen = observation(it, last_packets.of(it, now().wall_ns));
                        match selection.marks(it.mark) {
                            true => Found::Selected(seen),
                            false => Found::Outside(seen),
                        }
                    }
                    Ok(None) => Found::Nothing,
                    Err(_) => Found::Unreadable,
                };
            }
        });
        let unreadable = answers.iter().filter(|it| matches!(it, Found::Unreadable));
        let unreadable = unreadable.count();
        shared.count_malformed(unreadable as u64);
        if unreadable == keys.len() {
            // Perhaps nothing can be asked any more, as without the module: then nothing was learned of any of them.
            result = result.and_then(|()| socket.counts().map(drop));
        }
        if result.is_ok() && answers.iter().any(|it| matches!(it, Found::Nothing)) {
            merge(Merge::Sent);
        }
        let mut table = shared.table();
        let mut own = shared.own();
        let mut names = shared.names();
        for (key, found) in keys.iter().zip(&answers) {
            let answer = match (&result, found) {
                (Err(_), _) => Answer::Failed,
                (Ok(()), Found::Nothing) => Answer::Absent,
                (Ok(()), Found::Selected(seen)) => Answer::Present(seen),
                (Ok(()), Found::Outside(seen)) => Answer::LeftSelection(seen),
                (Ok(()), Found::Unreadable) => Answer::Unreadable,
            };
            let mut admission = AdmitSelected::new(&mut own, &mut names, selection);
            table.refreshed(key, answer, &mut admission, now());
        }
        drop((table, own, names));
        asked += keys.len();
        result?;
        merge(Merge::Read);
    }
    Ok(match asked {
        0 => Refreshed::Nothing,
        _ => Refreshed::All,
    })
}

/// Says of connections that were asked for that nothing is known.
fn give_back(keys: &[RefreshKey], selection: &Selection, shared: &Shared) {
    let mut table = shared.table();
    let mut own = shared.own();
    let mut names = shared.names();
    for key in keys {
        let mut admission = AdmitSelected::new(&mut own, &mut names, selection);
        table.refreshed(key, Answer::Failed, &mut admission, now());
    }
}

#[derive(Clone)]
enum Found {
    Nothing,
    Selected(Observation),
    /// Alive, but its mark no longer matches.
    Outside(Observation),
    /// The kernel refused this one query, or its answer makes no sense.
    Unreadable,
}

fn query(key: &RefreshKey) -> Query {
    Query {
        tuple: Tuple {
            source: key.original.source,
            destination: key.original.destination,
            protocol: key.original.protocol,
            source_port: key.original.source_port,
            destination_port: key.original.destination_port,
            zone: None,
        },
        zone: key.zone,
    }
}
