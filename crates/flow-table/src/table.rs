//! The table.

use std::collections::HashMap;
use std::sync::Arc;

use crate::batch::{Batch, Item, Returns};
use crate::config::Config;
use crate::loss::{Loss, Losses, Lost};
use crate::observation::{Admission, Counters, NamesId, Now, Observation, Scope, Tuple};
use crate::record::{EndReason, Record, Taken};
use crate::refresh::{Answer, RefreshKey};
use crate::state::{StateCursor, StateEntry};
use crate::stats::Stats;

/// Names one pass over the kernel's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Poll {
    pub(crate) scope: Scope,
    pub(crate) sequence: u32,
}

/// Whether `work` has more to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Call again, perhaps after letting others at the table.
    More,
    /// Nothing to do for now.
    Done,
}

struct Flow {
    seen: Observation,
    totals: [Counters; 2],
    exported: [Counters; 2],
    names: NamesId,
    poll: Poll,
    moved_ms: u64,
    end_ns: u64,
    since_ms: u64,
    ended: bool,
    in_flight: bool,
    recorded: bool,
}

/// Connections, their deadlines, and what is to be exported when.
pub struct FlowTable {
    config: Config,
    sequence: u32,
    next_slot: u32,
    flows: HashMap<u32, Flow>,
    keys: HashMap<(Tuple, u16), u32>,
    losses: Losses,
    committed: u64,
    stopping: bool,
    returns: Arc<Returns>,
}

impl FlowTable {
    /// An empty table.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            sequence: 0,
            next_slot: 0,
            flows: HashMap::new(),
            keys: HashMap::new(),
            losses: Losses::default(),
            committed: 0,
            stopping: false,
            returns: Arc::default(),
        }
    }

    /// Begins a pass over one scope.
    pub fn begin_poll(&mut self, scope: Scope, _now: Now) -> Poll {
        self.sequence += 1;
        Poll {
            scope,
            sequence: self.sequence,
        }
    }

    /// Merges one receive buffer of a dump.
    pub fn observe(
        &mut self,
        poll: Poll,
        observations: &[Observation],
        admission: &mut impl Admission,
        now: Now,
    ) {
        for observation in observations {
            self.merge(poll, observation, admission, now);
        }
    }

    fn merge(
        &mut self,
        poll: Poll,
        seen: &Observation,
        admission: &mut impl Admission,
        now: Now,
    ) -> Option<u32> {
        let totals = seen.counters.unwrap_or_default();
        let key = (seen.original, seen.zone);
        let slot = match self.keys.get(&key) {
            Some(&slot) => slot,
            None => {
                let names = admission.admit(seen)?;
                if self.flows.len() >= self.config.max_connections {
                    return None;
                }
                self.next_slot += 1;
                self.keys.insert(key, self.next_slot);
                let flow = Flow {
                    seen: seen.clone(),
                    totals,
                    exported: Default::default(),
                    names,
                    poll,
                    moved_ms: now.monotonic_ms,
                    end_ns: now.wall_ns,
                    since_ms: now.monotonic_ms,
                    ended: false,
                    in_flight: false,
                    recorded: false,
                };
                self.flows.insert(self.next_slot, flow);
                self.next_slot
            }
        };
        let flow = self.flows.get_mut(&slot)?;
        flow.poll = poll;
        if flow.totals != totals && seen.counters.is_some() {
            flow.totals = totals;
            flow.moved_ms = now.monotonic_ms;
            flow.end_ns = now.wall_ns;
        }
        flow.seen = seen.clone();
        Some(slot)
    }

    /// Ends a pass. An incomplete one ends no connection.
    pub fn end_poll(&mut self, poll: Poll, complete: bool, now: Now) {
        for flow in self.flows.values_mut() {
            if complete && flow.poll.scope == poll.scope && flow.poll.sequence < poll.sequence {
                flow.ended = true;
                flow.since_ms = now.monotonic_ms;
            }
        }
    }

    /// One slice of housekeeping.
    pub fn work(&mut self, now: Now) -> Progress {
        let _ = (now, self.returns.take());
        Progress::Done
    }

    /// A NEW event.
    pub fn created(
        &mut self,
        scope: Scope,
        seen: &Observation,
        admission: &mut impl Admission,
        now: Now,
    ) {
        let poll = Poll {
            scope,
            sequence: self.sequence,
        };
        self.merge(poll, seen, admission, now);
    }

    /// A DESTROY event.
    pub fn destroyed(
        &mut self,
        scope: Scope,
        seen: &Observation,
        admission: &mut impl Admission,
        now: Now,
    ) {
        let poll = Poll {
            scope,
            sequence: self.sequence,
        };
        let slot = self.merge(poll, seen, admission, now);
        if let Some(flow) = slot.and_then(|slot| self.flows.get_mut(&slot)) {
            flow.ended = true;
        }
    }

    /// Events only: connections that must be looked up before their deadline acts, at most `limit` of them.
    pub fn refresh_due(&mut self, now: Now, out: &mut Vec<RefreshKey>, limit: usize) {
        let _ = (now, out, limit);
    }

    /// The answer to a lookup that `refresh_due` asked for.
    pub fn refreshed(
        &mut self,
        key: &RefreshKey,
        answer: Answer<'_>,
        admission: &mut impl Admission,
        now: Now,
    ) {
        let _ = (
            key,
            answer,
            admission,
            now,
            EndReason::LackOfResources,
            key.slot,
            key.generation,
            key.request,
        );
    }

    /// Takes due connections, ended ones first, and hands each one's record to `sink`.
    pub fn take_batch(
        &mut self,
        now: Now,
        max_records: usize,
        mut sink: impl FnMut(&Record) -> Taken,
    ) -> Option<Batch> {
        let mut items = Vec::new();
        let mut slots: Vec<(bool, u32)> = self
            .flows
            .iter()
            .map(|(slot, flow)| (!flow.ended, *slot))
            .collect();
        slots.sort_unstable();
        for (_, slot) in slots {
            if items.len() == max_records {
                break;
            }
            let Some(flow) = self.flows.get_mut(&slot).filter(|flow| !flow.in_flight) else {
                continue;
            };
            let quiet = now.monotonic_ms >= flow.moved_ms + self.config.idle_timeout_ms;
            let active = now.monotonic_ms >= flow.since_ms + self.config.active_timeout_ms;
            let unexported = flow.totals != flow.exported;
            let reason = match () {
                () if flow.ended => EndReason::EndDetected,
                () if self.stopping && unexported => EndReason::Forced,
                () if quiet && (unexported || !flow.recorded) => EndReason::Idle,
                () if active && unexported => EndReason::Active,
                () => continue,
            };
            let seen = &flow.seen;
            let delta = |i: usize| {
                let (total, before) = match i {
                    0 => (flow.totals[0], flow.exported[0]),
                    _ => (flow.totals[1], flow.exported[1]),
                };
                Counters {
                    packets: total.packets - before.packets,
                    octets: total.octets - before.octets,
                }
            };
            let start_ns = seen.start_ns.unwrap_or(flow.end_ns);
            let record = Record {
                original: seen.original,
                reply: seen.reply,
                zone: seen.zone,
                reply_zone: seen.reply_zone,
                id: seen.id,
                mark: seen.mark,
                status: seen.status,
                protocol_state: seen.protocol_state,
                labels: seen.labels,
                start_ns,
                end_ns: flow.end_ns.max(start_ns),
                reason,
                totals: flow.totals,
                deltas: [delta(0), delta(1)],
                names: flow.names,
            };
            match sink(&record) {
                Taken::Full => break,
                Taken::TooLarge => self.losses.count(
                    Loss::TooLarge,
                    Lost {
                        records: 1,
                        ..Lost::default()
                    },
                ),
                Taken::Yes => {
                    flow.in_flight = true;
                    let totals = flow.totals;
                    items.push(Item {
                        slot,
                        generation: 0,
                        totals,
                        record_end_s: 0,
                        reason,
                        moved: false,
                    });
                }
            }
        }
        (!items.is_empty()).then(|| Batch::new(items, now.monotonic_ms, Arc::clone(&self.returns)))
    }

    /// The batch has been exported.
    pub fn commit(&mut self, batch: Batch, now: Now) {
        for item in batch.settle() {
            let Some(flow) = self.flows.get_mut(&item.slot) else {
                continue;
            };
            self.committed += 1;
            flow.in_flight = false;
            flow.exported = item.totals;
            flow.recorded = true;
            flow.since_ms = now.monotonic_ms;
            if item.reason == EndReason::EndDetected {
                let key = (flow.seen.original, flow.seen.zone);
                self.keys.remove(&key);
                self.flows.remove(&item.slot);
            }
        }
    }

    /// The batch has not been exported: all of it is due again.
    pub fn rollback(&mut self, batch: Batch, _now: Now) {
        for item in batch.settle() {
            if let Some(flow) = self.flows.get_mut(&item.slot) {
                flow.in_flight = false;
            }
        }
    }

    /// The batch is lost: counted by reason, not exported again.
    pub fn lose(&mut self, batch: Batch, reason: Loss, now: Now) {
        self.losses.count(
            reason,
            Lost {
                records: batch.len() as u64,
                ..Lost::default()
            },
        );
        self.commit(batch, now);
    }

    /// When something may be due, in monotonic ms; never late, perhaps early. None: nothing is queued.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let due = |flow: &Flow| match flow.ended {
            true => 0,
            false => (flow.moved_ms + self.config.idle_timeout_ms)
                .min(flow.since_ms + self.config.active_timeout_ms),
        };
        self.flows
            .values()
            .filter(|flow| !flow.in_flight)
            .map(due)
            .min()
    }

    /// After the final poll: what is live with something unexported is due with reason 4.
    pub fn begin_stop(&mut self, _now: Now) {
        self.stopping = true;
    }

    /// The grace period is over: counts what is unexported as lost.
    pub fn left_at_stop(&mut self, _now: Now) {}

    /// Drops what the agent's own session left behind, uncounted.
    pub fn forget(&mut self, original: &Tuple, _now: Now) {
        let flows = &mut self.flows;
        self.keys
            .retain(|(tuple, _), slot| tuple != original || flows.remove(slot).is_none());
    }

    /// A snapshot.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            connections: self.flows.len(),
            committed_records: self.committed,
            losses: self.losses,
            ..Stats::default()
        }
    }

    /// Hands out at most `limit` entries of the state; call until Done. Connections may change between calls.
    pub fn export_state(
        &mut self,
        cursor: &mut StateCursor,
        limit: usize,
        sink: impl FnMut(&StateEntry),
    ) -> Progress {
        let _ = (cursor.position, limit, sink);
        Progress::Done
    }

    /// Before the first poll: a state file written at this wall-clock time is about to be read in.
    pub fn begin_import(&mut self, written_ns: u64) {
        let _ = written_ns;
    }

    /// Takes in entries of a state file, in any number of slices.
    pub fn import_state(&mut self, entries: &[StateEntry]) {
        let _ = entries;
    }

    /// After the first complete poll of every scope: entries that met no connection are dropped (by `work`, in slices).
    pub fn end_import(&mut self) {}
}
