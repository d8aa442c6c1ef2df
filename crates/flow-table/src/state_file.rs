//! What outlives a run: for each incarnation, how much of it has been exported. The caller keeps it in a file.

use crate::observation::{Counters, Now, Tuple};
use crate::store::{ConnectionKey, Keep, Past, Presence, Scan, State, Why, flag, minus, plus};
use crate::table::{FlowTable, Progress};

/// What was exported of one incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateEntry {
    /// The direction of the first packet.
    pub original: Tuple,
    /// Zone of the original direction.
    pub zone: u16,
    /// CTA_ID.
    pub id: u32,
    /// Kernel start time, or first sighting: ns since 1970.
    pub start_ns: u64,
    /// `start_ns` is the kernel's and tells incarnations apart.
    pub kernel_start: bool,
    /// The totals up to which committed records (and counted losses) hold it; original, reply.
    pub exported: [Counters; 2],
    /// The totals at which somebody zeroed the kernel's counters; zero: nobody has.
    pub zeroed: [Counters; 2],
    /// End of the last record, in seconds since 1970; 0: none was made.
    pub record_end_s: u32,
    /// At least one record was made.
    pub recorded: bool,
    /// Its end has been exported; the kernel still held the entry.
    pub done: bool,
}

/// How far an export of the state has come. Starts with `StateCursor::default()`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct StateCursor {
    slots: Scan,
    slots_done: bool,
    segment: usize,
}

/// What the previous run left.
#[derive(Default)]
pub(crate) struct Import {
    seen_until: Option<Now>,
    /// The request after which another complete poll of each scope is to be waited for.
    waiting: Option<u32>,
    /// The segment from which on what met no connection is to be dropped.
    dropping: Option<usize>,
}

impl Import {
    /// What began before it was seen by the previous run, if there was one.
    pub(crate) fn seen_until(&self) -> Option<Now> {
        self.seen_until
    }
}

/// Segments of what is remembered that are looked at in one slice.
const SEGMENTS: usize = 16;

impl FlowTable {
    /// Hands out about `limit` entries of the state; call until Done. Connections may change between the calls; each that
    /// is there throughout is handed out at least once, with what was exported of it at that moment. The last one counts.
    pub fn export_state(
        &mut self,
        cursor: &mut StateCursor,
        limit: usize,
        mut sink: impl FnMut(&StateEntry),
    ) -> Progress {
        if cursor.slots_done {
            return self.export_remembered(cursor, limit, sink);
        }
        // Free slots cost time too.
        let scanned = 8 * u32::try_from(limit).unwrap_or(u32::MAX).clamp(1, 1 << 20);
        let mut scan = cursor.slots;
        cursor.slots_done = self.scan(&mut scan, scanned, limit.max(1), |table, slot| {
            table.state_of(slot).inspect(&mut sink).is_some()
        });
        cursor.slots = scan;
        Progress::More
    }

    fn state_of(&self, slot: u32) -> Option<StateEntry> {
        let connection = self.store.get(slot)?;
        // What the kernel no longer holds will not be met again.
        if connection.state() == State::Free || connection.presence() == Presence::Destroyed {
            return None;
        }
        let key = self.store.key(slot)?;
        let zeroed = self.store.zeroed(slot);
        // Either is kept: what was told once is told again.
        let told_start = self.store.told_start(slot);
        Some(StateEntry {
            original: key.tuple(),
            zone: key.zone(),
            id: connection.id,
            start_ns: told_start.unwrap_or(connection.start_ns),
            kernel_start: connection.has(flag::KERNEL_START) && told_start.is_none(),
            exported: plus(&connection.exported, &zeroed),
            zeroed,
            record_end_s: connection.record_end_s,
            recorded: connection.has(flag::RECORDED),
            done: connection.has(flag::END_TOLD),
        })
    }

    fn export_remembered(
        &self,
        cursor: &mut StateCursor,
        limit: usize,
        mut sink: impl FnMut(&StateEntry),
    ) -> Progress {
        let mut given = 0;
        for _ in 0..SEGMENTS {
            let found = self.remembered.visit(cursor.segment, |key, past| {
                if past.why != Why::Destroyed {
                    sink(&of_past(&key, past));
                    given += 1;
                }
            });
            if !found {
                return Progress::Done;
            }
            cursor.segment += 1;
            if given >= limit {
                break;
            }
        }
        Progress::More
    }

    /// Before the first poll: a state file is about to be read in that was written by a run for which
    /// [`seen_until`](Self::seen_until) was this moment. A connection that it does not know is exported whole if it began
    /// after it, and is an older one otherwise.
    pub fn begin_import(&mut self, seen_until: Now) {
        self.clock.note_former(seen_until);
        self.import.seen_until = Some(seen_until);
        self.import.dropping = None;
    }

    /// Takes in entries of a state file, in any number of slices between `begin_import` and the first poll.
    pub fn import_state(&mut self, entries: &[StateEntry]) {
        for entry in entries {
            let Some(key) = ConnectionKey::new(&entry.original, entry.zone) else {
                self.intake.count_malformed();
                continue;
            };
            let hash = self.store.hash(&key);
            if !self.remembered.put(&key, hash, restored(entry)) {
                self.remembered.count_forgotten();
            }
        }
    }

    /// After the first complete poll of every scope: entries that meet no connection in another one either are dropped by
    /// `work`, in slices.
    pub fn end_import(&mut self) {
        self.import.waiting = Some(self.polls.last_request());
    }

    /// A complete poll has ended.
    pub(crate) fn go_on_with_import(&mut self) {
        let complete = |request: &u32| self.polls.all_complete_since(*request);
        if self
            .import
            .waiting
            .take_if(|request| complete(request))
            .is_some()
        {
            self.import.dropping = Some(0);
        }
    }

    /// One slice of that; true: there is more.
    pub(crate) fn drop_imported(&mut self) -> bool {
        let Some(first) = self.import.dropping else {
            return false;
        };
        for segment in first..first + SEGMENTS {
            let keep = |past: &Past| match past.why {
                Why::Restored => Keep::No,
                _ => Keep::Yes,
            };
            if !self.remembered.sweep(segment, keep) {
                self.import.dropping = None;
                self.remembered.end_restored();
                return true;
            }
        }
        self.import.dropping = Some(first + SEGMENTS);
        true
    }
}

fn of_past(key: &ConnectionKey, past: &Past) -> StateEntry {
    let zeroed = past.zeroed.as_deref().copied().unwrap_or_default();
    StateEntry {
        original: key.tuple(),
        zone: key.zone(),
        id: past.id,
        start_ns: past.start_ns,
        kernel_start: past.kernel_start,
        exported: plus(&past.exported, &zeroed),
        zeroed,
        record_end_s: past.record_end_s,
        recorded: past.recorded,
        done: past.done,
    }
}

fn restored(entry: &StateEntry) -> Past {
    let zeroed = entry.zeroed;
    Past {
        exported: minus(&entry.exported, &zeroed),
        zeroed: (zeroed != <[Counters; 2]>::default()).then(|| Box::new(zeroed)),
        start_ns: entry.start_ns,
        id: entry.id,
        stamp: 0,
        record_end_s: entry.record_end_s,
        scope: 0,
        why: Why::Restored,
        kernel_start: entry.kernel_start,
        recorded: entry.recorded,
        done: entry.done,
    }
}
