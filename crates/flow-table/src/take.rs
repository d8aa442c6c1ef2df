//! Which records are made, and when they are handed out.

use std::sync::Arc;

use crate::batch::{Batch, Item};
use crate::connection::{Connection, Millis, State, flag};
use crate::deadline::Authority;
use crate::expiry_queue::Key;
use crate::loss::Loss;
use crate::observation::{NamesId, Now};
use crate::record::{EndReason, Record, Taken};
use crate::table::FlowTable;

/// Tops of the queue met in one call beyond the records asked for.
const SLACK: usize = 1024;

/// What a due connection does.
enum Due {
    Record(EndReason),
    /// Everything is exported and it rests.
    BecomesIdle,
    /// Nothing moved within the active timeout: the deadline moves on.
    MovesOn,
    /// Done, and nothing is left.
    Nothing,
    /// Nobody has looked at it since its deadline came.
    Refresh,
}

impl FlowTable {
    /// Takes due connections, ended ones first, then by deadline, and hands each one's record to `sink`, which encodes it.
    /// What it takes is in flight: in no other batch, and updated further.
    ///
    /// At most `max_records` and a bounded number of other queue entries are looked at: None with a
    /// [`next_deadline`](Self::next_deadline) that has come means that another call goes on.
    pub fn take_batch(
        &mut self,
        now: Now,
        max_records: usize,
        mut sink: impl FnMut(&Record) -> Taken,
    ) -> Option<Batch> {
        self.take_returns(now);
        self.scan_for_stop(now);
        let mut items = Vec::new();
        let mut budget = max_records.saturating_add(SLACK);
        while items.len() < max_records {
            let Some(slot) = self.pop_due(now, &mut budget) else {
                break;
            };
            let Some(connection) = self.slots.get(slot) else {
                continue;
            };
            let reason = match self.due(connection, now) {
                Due::Record(reason) => reason,
                other => {
                    self.without_record(slot, other, now);
                    continue;
                }
            };
            let Some((record, record_end_s)) = self.record(slot, reason, now) else {
                continue;
            };
            let taken = sink(&record);
            if taken == Taken::Full {
                self.enqueue(slot);
                break;
            }
            if reason == EndReason::LackOfResources {
                self.room_wanted -= 1;
            }
            let Some(connection) = self.slots.get_mut(slot) else {
                continue;
            };
            let moved = connection.has(flag::MOVED);
            connection.set(flag::IN_FLIGHT);
            connection.clear(flag::MOVED);
            self.stats.in_flight += 1;
            let generation = connection.generation;
            let item = Item {
                slot,
                generation,
                totals: record.totals,
                record_end_s,
                reason,
                moved,
            };
            if taken == Taken::TooLarge {
                self.settle(&item, Some(Loss::TooLarge), now.monotonic_ms, now);
            } else {
                items.push(item);
            }
        }
        (!items.is_empty()).then(|| Batch::new(items, now.monotonic_ms, Arc::clone(&self.returns)))
    }

    fn pop_due(&mut self, now: Now, budget: &mut usize) -> Option<u32> {
        let mut authority = Authority {
            slots: &self.slots,
            timeouts: self.timeouts,
            urgent: true,
        };
        let (_, Key { slot, .. }) = self
            .urgent
            .pop_due(u64::MAX - 1, &authority, budget)
            .or_else(|| {
                authority.urgent = false;
                self.queue.pop_due(now.monotonic_ms, &authority, budget)
            })?;
        self.slots.get_mut(slot)?.clear(flag::QUEUED);
        Some(slot)
    }

    fn due(&self, connection: &Connection, now: Now) -> Due {
        match connection.state() {
            State::Ended if connection.has(flag::LEFT) => return Due::Record(EndReason::Forced),
            State::Ended => return Due::Record(EndReason::EndDetected),
            State::Done if connection.unexported() => return Due::Record(EndReason::EndDetected),
            State::Done | State::Idle | State::Free => return Due::Nothing,
            State::Live if connection.has(flag::STOPPING) => return Due::Record(EndReason::Forced),
            State::Live if self.stopping => return Due::Nothing,
            State::Live => {}
        }
        if self.config.events && !connection.has(flag::FRESH) {
            return Due::Refresh;
        }
        let quiet =
            now.monotonic_ms >= connection.moved_ms.get().saturating_add(self.timeouts.idle);
        match (quiet, connection.unexported()) {
            (true, unexported) if unexported || !connection.has(flag::RECORDED) => {
                match self.room_wanted {
                    0 => Due::Record(EndReason::Idle),
                    _ => Due::Record(EndReason::LackOfResources),
                }
            }
            (true, _) => Due::BecomesIdle,
            (false, true) => Due::Record(EndReason::Active),
            (false, false) => Due::MovesOn,
        }
    }

    fn without_record(&mut self, slot: u32, due: Due, now: Now) {
        match due {
            Due::BecomesIdle => self.set_state(slot, State::Idle),
            Due::MovesOn => {
                if let Some(connection) = self.slots.get_mut(slot) {
                    connection.since_ms = Millis::new(now.monotonic_ms);
                    connection.clear(flag::FRESH);
                }
                self.enqueue(slot);
            }
            Due::Refresh => {
                if let Some(connection) = self.slots.get_mut(slot) {
                    connection.set(flag::AWAITING);
                    let generation = connection.generation;
                    self.awaiting.push_back(Key { slot, generation });
                }
            }
            Due::Record(_) | Due::Nothing => {}
        }
    }

    /// The record, and its end in seconds.
    fn record(&self, slot: u32, reason: EndReason, now: Now) -> Option<(Record, u32)> {
        let key = self.slots.key(slot)?;
        let connection = self.slots.get(slot)?;
        let original = key.tuple();
        let (reply, reply_zone, labels) = self
            .side
            .get(slot, connection.side)
            .unwrap_or_else(|| (original.inverse(), key.zone(), [0; 16]));
        // The wall clock may have been set back since: neither time is after now, and the end is not before the start.
        let start_ns = connection.start_ns.min(now.wall_ns);
        let mut end_ns = (connection.end_ms.get() * 1_000_000)
            .min(now.wall_ns)
            .max(start_ns);
        let mut end_s = (end_ns / 1_000_000_000) as u32;
        if self.config.seconds_end_monotonic
            && connection.record_end_s != 0
            && end_s <= connection.record_end_s
        {
            end_s = connection.record_end_s.saturating_add(1);
            end_ns = u64::from(end_s) * 1_000_000_000;
        }
        let record = Record {
            original,
            reply,
            zone: key.zone(),
            reply_zone,
            id: connection.id,
            mark: connection.mark,
            status: u32::from(connection.status),
            protocol_state: connection.protocol_state,
            labels,
            start_ns,
            end_ns,
            reason,
            totals: connection.totals,
            deltas: connection.deltas(&connection.totals),
            names: NamesId(connection.names),
        };
        Some((record, end_s))
    }
}
