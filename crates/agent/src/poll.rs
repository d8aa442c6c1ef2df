//! One pass over the kernel's table, into the flow table.
//!
//! Entries come a receive buffer at a time (about 130), are checked against the selection, and are merged
//! under one short lock. Only a complete pass ends connections by their absence.

use std::time::Instant;

use flow_table::{Admission, NamesId, Observation, Poll, Progress, Scope};
use netfilter::{ConntrackSocket, Counts, DumpOutcome, Family};

use crate::exporter::Shared;
use crate::notice::PollSummary;
use crate::observation::observation;
use crate::own_sessions::OwnSessions;
use crate::selection::Selection;
use crate::{Error, now};

/// What a kernel thread needs to poll, kept from one poll to the next.
pub(crate) struct Poller {
    socket: ConntrackSocket,
    selection: Selection,
    /// One buffer of observations for each scope; their room is reused.
    buffers: Vec<Vec<Observation>>,
    /// Connections of the last complete poll in the selected zones.
    last_selected: u64,
}

impl Poller {
    pub(crate) fn new(socket: ConntrackSocket, selection: Selection) -> Self {
        let scopes = selection.zones.len().max(1);
        Self {
            socket,
            selection,
            buffers: vec![Vec::new(); scopes],
            last_selected: 0,
        }
    }

    /// Polls once. An error means that nothing was ended; what was seen before it stays observed.
    pub(crate) fn poll(&mut self, shared: &Shared) -> Result<PollSummary, Error> {
        let begun = Instant::now();
        let counts = self.socket.counts()?;
        shared.set_kernel_counts(&counts);
        let before = shared.table().stats();
        shared.own().begin_poll();

        let mut pass = Pass::default();
        let result = if self.one_dump_is_cheaper(&counts) {
            self.dump_all_zones(shared, &mut pass)
        } else {
            self.dump_each_zone(shared, &mut pass)
        };
        shared.count_malformed(pass.malformed);
        finish_work(shared);
        if !pass.complete {
            shared.count_incomplete();
        }
        result?;

        if pass.complete {
            shared.own().end_complete_poll();
            self.last_selected = pass.ipv4 + pass.ipv6;
        }
        let after = shared.table().stats();
        Ok(PollSummary {
            ipv4: pass.ipv4,
            ipv6: pass.ipv6,
            kernel_entries: counts.entries,
            kernel_max: counts.max.unwrap_or(0),
            added: after.added_total.saturating_sub(before.added_total),
            ended: after.ended_total.saturating_sub(before.ended_total),
            duration_ms: begun.elapsed().as_secs_f64() * 1000.0,
            complete: pass.complete,
        })
    }

    /// With several zones: a dump that filters walks the whole table for each zone, at 0.24 us an entry it
    /// leaves out and 1.6 us one it sends; a dump of everything costs 1.6 us an entry, once. Which is less
    /// follows from how many of the entries were in the zones at the last poll.
    fn one_dump_is_cheaper(&self, counts: &Counts) -> bool {
        let zones = self.selection.zones.len();
        if zones < 2 {
            return false;
        }
        let entries = f64::from(counts.entries);
        let selected = (self.last_selected as f64).min(entries);
        let each = 0.24 * entries * zones as f64 + (1.6 - 0.24) * selected;
        1.6 * entries < each
    }

    /// One dump for each selected zone, or one for all entries when no zone is selected.
    fn dump_each_zone(&mut self, shared: &Shared, pass: &mut Pass) -> Result<(), Error> {
        let zones: Vec<Option<u16>> = if self.selection.zones.is_empty() {
            vec![None]
        } else {
            self.selection.zones.iter().copied().map(Some).collect()
        };
        pass.complete = true;
        for (scope, zone) in (0..=u8::MAX).map(Scope).zip(zones) {
            let poll = shared.table().begin_poll(scope, now());
            let outcome = self.dump(shared, zone, &[(zone, poll)], pass);
            let complete = matches!(&outcome, Ok(outcome) if outcome.complete);
            shared.table().end_poll(poll, complete, now());
            pass.complete &= complete;
            outcome?;
        }
        Ok(())
    }

    /// One dump, its entries sorted into the scopes of their zones.
    fn dump_all_zones(&mut self, shared: &Shared, pass: &mut Pass) -> Result<(), Error> {
        let begun = now();
        let polls: Vec<(Option<u16>, Poll)> = (0..=u8::MAX)
            .map(Scope)
            .zip(&self.selection.zones)
            .map(|(scope, &zone)| (Some(zone), shared.table().begin_poll(scope, begun)))
            .collect();
        let outcome = self.dump(shared, None, &polls, pass);
        pass.complete = matches!(&outcome, Ok(outcome) if outcome.complete);
        for (_, poll) in polls {
            shared.table().end_poll(poll, pass.complete, now());
        }
        outcome.map(drop)
    }

    fn dump(
        &mut self,
        shared: &Shared,
        zone: Option<u16>,
        polls: &[(Option<u16>, Poll)],
        pass: &mut Pass,
    ) -> Result<DumpOutcome, Error> {
        let mut dump = self.socket.dump(&self.selection.filter(zone))?;
        while let Some(entries) = dump.next_buffer()? {
            if shared.requests.stopped() {
                break;
            }
            for connection in entries {
                if !self.selection.admits(&connection) {
                    continue;
                }
                let of_zone = |&(zone, _): &(Option<u16>, Poll)| {
                    zone.is_none_or(|zone| {
                        connection.original_zone() == zone || connection.reply_zone() == zone
                    })
                };
                let Some(buffer) = polls
                    .iter()
                    .position(of_zone)
                    .and_then(|at| self.buffers.get_mut(at))
                else {
                    continue;
                };
                match connection.family {
                    Family::Ipv4 => pass.ipv4 += 1,
                    Family::Ipv6 => pass.ipv6 += 1,
                }
                buffer.push(observation(&connection));
            }
            for (buffer, &(_, poll)) in self.buffers.iter_mut().zip(polls) {
                if !buffer.is_empty() {
                    let mut table = shared.table();
                    let mut own = shared.own();
                    table.observe(poll, buffer, &mut Strangers(&mut own), now());
                    buffer.clear();
                }
            }
        }
        let outcome = dump.finish();
        pass.malformed += outcome.malformed;
        Ok(outcome)
    }
}

/// What the dumps of one poll add up to.
#[derive(Default)]
struct Pass {
    ipv4: u64,
    ipv6: u64,
    malformed: u64,
    complete: bool,
}

/// Admits every connection but the agent's own.
struct Strangers<'a>(&'a mut OwnSessions);

impl Admission for Strangers<'_> {
    fn admit(&mut self, observation: &Observation) -> Option<NamesId> {
        if self.0.meets(&observation.original) {
            None
        } else {
            Some(NamesId(0))
        }
    }
}

/// Does the table's slices of work, giving the lock back between them.
pub(crate) fn finish_work(shared: &Shared) {
    loop {
        if shared.requests.stopped() {
            return;
        }
        let progress = shared.table().work(now());
        match progress {
            Progress::Done => return,
            // The mutex is not fair: without a pause the thread that waits for it may never get it.
            Progress::More => std::thread::yield_now(),
        }
    }
}
