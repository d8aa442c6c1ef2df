//! Which records are made, and when they are handed out.

use std::sync::Arc;

use super::batch::{Batch, Item};
use super::{EndReason, Loss, Record, Taken};
use crate::clock::Millis;
use crate::lookups::Named;
use crate::observation::{NamesId, Now};
use crate::store::{Connection, Place, Presence, State, flag, plus};
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
        self.enter(now);
        self.search_for_stop(now);
        let mut items = Vec::new();
        let mut budget = max_records.saturating_add(SLACK);
        while items.len() < max_records {
            let Some(slot) = self.queues.pop(&mut self.store, now, &mut budget) else {
                break;
            };
            let Some(connection) = self.store.get(slot) else {
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
            let Some(item) = self.take(slot, &record, record_end_s) else {
                continue;
            };
            if taken == Taken::TooLarge {
                self.settle(&item, Some(Loss::TooLarge), now.monotonic_ms, now);
            } else {
                items.push(item);
            }
        }
        let returns = &self.export.returns;
        (!items.is_empty()).then(|| Batch::new(items, now.monotonic_ms, Arc::clone(returns)))
    }

    /// Its record is under way.
    fn take(&mut self, slot: u32, record: &Record, record_end_s: u32) -> Option<Item> {
        let connection = self.store.get_mut(slot)?;
        let moved = connection.has(flag::MOVED);
        connection.put_place(Place::InFlight);
        connection.clear(flag::MOVED);
        let generation = connection.generation;
        self.export.in_flight += 1;
        if record.reason == EndReason::LackOfResources {
            self.export.room_wanted -= 1;
        }
        Some(Item {
            name: Named { slot, generation },
            deltas: record.deltas,
            record_end_s,
            reason: record.reason,
            moved,
        })
    }

    fn due(&self, connection: &Connection, now: Now) -> Due {
        match connection.state() {
            State::Done | State::Gone if !connection.unexported() => return Due::Nothing,
            State::Ended | State::Done | State::Gone if connection.presence() == Presence::Left => {
                return Due::Record(EndReason::Forced);
            }
            State::Ended | State::Done | State::Gone => return Due::Record(EndReason::EndDetected),
            State::Idle | State::Free => return Due::Nothing,
            State::Live if connection.has(flag::AT_ONCE) => return Due::Record(EndReason::Forced),
            State::Live if self.export.stopping => return Due::Nothing,
            State::Live => {}
        }
        if self.config.events && !connection.has(flag::FRESH) {
            return Due::Refresh;
        }
        let quiet = connection.is_quiet(now, self.queues.timeouts());
        match (quiet, connection.unexported()) {
            (true, unexported) if unexported || !connection.has(flag::RECORDED) => {
                match self.export.room_wanted {
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
                if let Some(connection) = self.store.get_mut(slot) {
                    connection.since_ms = Millis::new(now.monotonic_ms);
                    connection.clear(flag::FRESH);
                }
                self.enqueue(slot);
            }
            Due::Refresh => {
                if let Some(connection) = self.store.get_mut(slot) {
                    connection.put_place(Place::Awaiting);
                    let generation = connection.generation;
                    self.lookups
                        .await_answer(&self.store, Named { slot, generation });
                }
            }
            Due::Record(_) | Due::Nothing => {}
        }
    }

    /// The record, and its end in seconds.
    fn record(&self, slot: u32, reason: EndReason, now: Now) -> Option<(Record, u32)> {
        let key = self.store.key(slot)?;
        let connection = self.store.get(slot)?;
        let original = key.tuple();
        let (reply, reply_zone, labels) = self
            .store
            .side(slot)
            .unwrap_or_else(|| (original.inverse(), key.zone(), [0; 16]));
        // The wall clock may have been set back since. The start stays what it was told to be, and the end is not before it.
        let start_ns = self.store.told_start(slot).unwrap_or(connection.start_ns);
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
            totals: plus(&connection.totals, &self.store.zeroed(slot)),
            deltas: connection.deltas(),
            names: NamesId(connection.names),
        };
        Some((record, end_s))
    }
}
