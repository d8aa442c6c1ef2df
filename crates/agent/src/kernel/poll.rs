//! One pass over the kernel's table, into the flow table.
//!
//! Entries come a receive buffer at a time (about 130), are checked against the selection, and are merged
//! under one short lock. Only a complete pass ends connections by their absence.

use std::time::{Duration, Instant};

use flow_table::{Observation, Poll, Progress, Scope};
use netfilter::{Counts, Family, Timeouts, ZonePlan};

use crate::kernel::event_reader::EventReader;
use crate::kernel::first_sight::AdmitSelected;
use crate::kernel::follow_events::{Repair, merge_events};
use crate::kernel::last_packet::LastPackets;
use crate::kernel::notice::PollSummary;
use crate::kernel::observation::observation;
use crate::kernel::refresh::{Merge, Refreshed, refresh};
use crate::kernel::shared::Shared;
use crate::kernel::sockets::{DumpSource, RequestSocket};
use crate::selection::Selection;
use crate::{Error, now};

/// Between two lookups of what is due: connections that close one after the other are looked up together, which costs half
/// as much as one by one.
const LOOKUP_REST: Duration = Duration::from_millis(50);

/// What a kernel thread needs to poll, kept from one poll to the next.
pub(crate) struct Poller<R> {
    socket: R,
    /// After an error it may hold half an answer.
    socket_failed: bool,
    selection: Selection,
    events: Option<EventReader>,
    /// Whether a dump has to put right what events did not tell, or what another dump did not show.
    repair: Repair,
    /// How long the last poll waited for the event reader.
    waited: Duration,
    /// When events were followed by lookups the last time; None: nothing was due the last time.
    looked_up: Option<Instant>,
    lookups_wait: bool,
    /// One buffer of observations for each scope; their room is reused.
    buffers: Vec<Vec<Observation>>,
    /// Entries of the last complete poll in the selected zones, of whatever protocol and address.
    last_in_zones: u64,
    /// No dump brought entries of zones that were not asked for, as those of kernels before 6.8 do.
    kernel_filters: bool,
    last_packets: LastPackets,
}

impl<R: RequestSocket> Poller<R> {
    pub(crate) fn new(socket: R, selection: Selection, events: Option<EventReader>) -> Self {
        let scopes = selection.zones.len().max(1);
        Self {
            socket,
            socket_failed: false,
            selection,
            events,
            repair: Repair::NotNeeded,
            waited: Duration::ZERO,
            looked_up: None,
            lookups_wait: false,
            buffers: vec![Vec::new(); scopes],
            last_in_zones: 0,
            kernel_filters: true,
            last_packets: LastPackets::default(),
        }
    }

    /// Polls once, by the `timeouts` that the namespace has now. A zone in whose dump an error came has no connection ended
    /// by its absence; what was seen before the error stays observed, and what ended, ended.
    pub(crate) fn poll(
        &mut self,
        timeouts: Timeouts,
        shared: &Shared,
    ) -> Result<PollSummary, Error> {
        let (begun, begun_ns) = (Instant::now(), now().wall_ns);
        self.waited = Duration::ZERO;
        self.last_packets.set_timeouts(timeouts);
        let counts = self.socket.counts()?;
        shared.set_kernel_counts(&counts);
        let before = shared.table().stats();
        shared.own().begin_poll();
        // This poll puts right what was lost before it, not what is lost while it runs.
        self.merge_events(shared);
        if self.repair == Repair::LossUnderWay {
            self.catch_up(shared);
        }
        let repairs = self.repair == Repair::Needed;
        if repairs {
            self.repair = Repair::NotNeeded;
        }

        let mut pass = Pass::default();
        let result = match self.zone_plan(&counts) {
            ZonePlan::DumpAll => self.dump_all_zones(shared, &mut pass),
            ZonePlan::DumpEach => self.dump_each_zone(shared, &mut pass),
        };
        shared.count_malformed(pass.malformed);
        self.merge_events(shared);
        finish_work(shared);
        if !pass.complete {
            // With events nobody asks for the next one soon.
            if self.repair == Repair::NotNeeded && self.events.is_some() {
                self.repair = Repair::Needed;
            }
            shared.count_incomplete();
        }
        result?;
        self.refresh(shared, u32::MAX)?;
        finish_work(shared);

        if pass.complete {
            shared.own().end_complete_poll();
            self.last_in_zones = pass.in_zones;
            self.last_packets.polled(begun_ns);
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
            asked: false,
        })
    }

    /// Merges what events have brought, and looks up what their deadlines ask for. Cheap when there is neither.
    /// True when a dump is needed: a loss of events is over, the last dump was incomplete, the socket failed, or more
    /// connections are due than lookups are worth.
    pub(crate) fn follow_events(&mut self, shared: &Shared) -> Result<bool, Error> {
        if self.events.is_none() {
            return Ok(false);
        }
        self.merge_events(shared);
        if self.socket_failed {
            shared.tell_due();
            return Ok(true);
        }
        self.lookups_wait = self.looked_up.is_some_and(|at| at.elapsed() < LOOKUP_REST);
        let mut refreshed = Refreshed::Nothing;
        if !self.lookups_wait {
            refreshed = self.refresh(shared, shared.kernel_entries())?;
            self.looked_up = (refreshed != Refreshed::Nothing).then(Instant::now);
        }
        shared.tell_due();
        Ok(self.repair == Repair::Needed || refreshed == Refreshed::DumpIsCheaper)
    }

    /// Connections may be due that the last [`Poller::follow_events`] did not look up, because it had done so just before.
    pub(crate) fn lookups_wait(&self) -> bool {
        self.lookups_wait
    }

    /// Merges what events have brought.
    pub(crate) fn merge_events(&mut self, shared: &Shared) {
        if let Some(reader) = &self.events {
            merge_events(reader, &self.selection, shared, &mut self.repair);
        }
    }

    /// Merges every event that the kernel has sent by now. False when the reader does not get to their end.
    fn catch_up(&mut self, shared: &Shared) -> bool {
        let Self {
            events: Some(reader),
            selection,
            repair,
            waited,
            ..
        } = self
        else {
            return true;
        };
        let begun = Instant::now();
        let caught_up = reader.catch_up(&shared.requests, || {
            merge_events(reader, selection, shared, repair);
        });
        *waited += begun.elapsed();
        caught_up
    }

    /// How long the last poll waited for the event reader. That costs nobody anything.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    fn refresh(&mut self, shared: &Shared, kernel_entries: u32) -> Result<Refreshed, Error> {
        let (events, selection, repair) = (&self.events, &self.selection, &mut self.repair);
        let waited = &mut self.waited;
        refresh(
            &mut self.socket,
            selection,
            shared,
            kernel_entries,
            &self.last_packets,
            |which| {
                let Some(reader) = events else {
                    return;
                };
                match which {
                    Merge::Read => merge_events(reader, selection, shared, repair),
                    Merge::Sent => {
                        let begun = Instant::now();
                        // Should the reader make no headway, the answers stand for what it does not tell.
                        reader.catch_up(&shared.requests, || {
                            merge_events(reader, selection, shared, repair);
                        });
                        *waited += begun.elapsed();
                    }
                }
            },
        )
    }

    /// The socket for requests is used no more: only [`Poller::replace_request_socket`] helps. Events go on being heard.
    pub(crate) fn give_up_request_socket(&mut self) {
        self.socket_failed = true;
    }

    pub(crate) fn request_socket_failed(&self) -> bool {
        self.socket_failed
    }

    pub(crate) fn replace_request_socket(&mut self, socket: R) {
        self.socket = socket;
        self.socket_failed = false;
    }

    /// Octets of the event socket's receive buffer; None without events.
    pub(crate) fn granted_event_buffer(&self) -> Option<usize> {
        self.events.as_ref().map(EventReader::granted_buffer)
    }

    /// Whether the events that were asked for still come.
    pub(crate) fn events_are_read(&self) -> bool {
        self.events.as_ref().is_none_or(EventReader::is_alive)
    }

    fn zone_plan(&self, counts: &Counts) -> ZonePlan {
        ZonePlan::choose(
            self.selection.zones.len(),
            u64::from(counts.entries),
            self.last_in_zones,
            self.kernel_filters,
        )
    }

    /// One dump for each selected zone, or one for all entries when no zone is selected.
    fn dump_each_zone(&mut self, shared: &Shared, pass: &mut Pass) -> Result<(), Error> {
        let zones: Vec<Option<u16>> = match self.selection.zones.as_slice() {
            [] => vec![None],
            zones => zones.iter().copied().map(Some).collect(),
        };
        pass.complete = true;
        for (scope, zone) in (0..=u8::MAX).map(Scope).zip(zones) {
            let poll = shared.table().begin_poll(scope, now());
            let outcome = self.dump(shared, zone, &[poll], pass);
            let complete = matches!(outcome, Ok(true));
            shared.table().end_poll(poll, complete, now());
            pass.complete &= complete;
            outcome?;
        }
        Ok(())
    }

    /// One dump, its entries sorted into the scopes of their zones.
    fn dump_all_zones(&mut self, shared: &Shared, pass: &mut Pass) -> Result<(), Error> {
        let begun = now();
        let polls: Vec<Poll> = (0..=u8::MAX)
            .map(Scope)
            .take(self.selection.zones.len())
            .map(|scope| shared.table().begin_poll(scope, begun))
            .collect();
        let outcome = self.dump(shared, None, &polls, pass);
        pass.complete = matches!(outcome, Ok(true));
        for poll in polls {
            shared.table().end_poll(poll, pass.complete, now());
        }
        outcome.map(drop)
    }

    /// Dumps one zone, or everything, into the polls of its scopes: one, or one for each selected zone. True: the whole of
    /// it was seen, and every event merged that came before its end.
    fn dump(
        &mut self,
        shared: &Shared,
        zone: Option<u16>,
        polls: &[Poll],
        pass: &mut Pass,
    ) -> Result<bool, Error> {
        let Self {
            socket,
            selection,
            events,
            repair,
            buffers,
            last_packets,
            ..
        } = self;
        let mut dump = socket.dump(&selection.filter(zone))?;
        loop {
            // The kernel describes the entries of a buffer at one moment.
            let mut described_ns = None;
            let more = dump.next_buffer(|connection| {
                let scope = match polls {
                    [_] => Some(0),
                    _ => selection.scope(connection.original_zone(), connection.reply_zone()),
                };
                let Some(buffer) = scope.and_then(|scope| buffers.get_mut(scope)) else {
                    return;
                };
                pass.in_zones += 1;
                if !selection.admits(connection) {
                    return;
                }
                match connection.family {
                    Family::Ipv4 => pass.ipv4 += 1,
                    Family::Ipv6 => pass.ipv6 += 1,
                }
                let described_ns = *described_ns.get_or_insert_with(|| now().wall_ns);
                let last_packet = last_packets.of(connection, described_ns);
                buffer.push(observation(connection, last_packet));
            })?;
            if !more {
                break;
            }
            for (buffer, &poll) in buffers.iter_mut().zip(polls) {
                if !buffer.is_empty() {
                    let mut table = shared.table();
                    let mut own = shared.own();
                    let mut names = shared.names();
                    let mut admission = AdmitSelected::new(&mut own, &mut names, selection);
                    table.observe(poll, buffer, &mut admission, now());
                    buffer.clear();
                }
            }
            if let Some(reader) = events {
                merge_events(reader, selection, shared, repair);
            }
        }
        let outcome = dump.finish();
        pass.malformed += outcome.malformed;
        if zone.is_some() && outcome.unwanted > 0 {
            self.kernel_filters = false;
        }
        // The dump's end speaks of everything that was destroyed before it: those events have to be merged first.
        let caught_up = self.catch_up(shared);
        Ok(outcome.complete && caught_up)
    }
}

/// What the dumps of one poll add up to.
#[derive(Default)]
struct Pass {
    ipv4: u64,
    ipv6: u64,
    /// Entries in the selected zones, of whatever protocol and address.
    in_zones: u64,
    malformed: u64,
    complete: bool,
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
