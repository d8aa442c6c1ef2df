//! What outlives a run: for each incarnation, how much of it has been exported. The caller keeps it in a file.

use ahash::RandomState;

use crate::chunked::Chunked;
use crate::connection::{State, flag};
use crate::index::Index;
use crate::key::ConnectionKey;
use crate::observation::{Counters, Tuple};
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
    /// The counters that committed records (and counted losses) hold; original, reply.
    pub exported: [Counters; 2],
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
    position: u32,
}

/// What the previous run left, until its connections are seen again.
#[derive(Default)]
pub(crate) struct Restored {
    written_ns: Option<u64>,
    entries: Option<Entries>,
    seed: RandomState,
    /// What is left is being dropped.
    dropping: bool,
}

/// Entries in the order of the file, those that were taken included, and where they are found.
struct Entries {
    entries: Chunked<StateEntry>,
    index: Index,
}

impl Restored {
    pub(crate) fn written_ns(&self) -> Option<u64> {
        self.written_ns
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries
            .as_ref()
            .map_or(0, |it| it.entries.bytes() + it.index.bytes())
    }

    fn hash(&self, key: &ConnectionKey, id: u32) -> u64 {
        self.seed.hash_one((key.hash(&self.seed), id))
    }

    /// The entry of this incarnation, if the previous run knew it.
    pub(crate) fn take(
        &mut self,
        key: &ConnectionKey,
        id: u32,
        start_ns: Option<u64>,
    ) -> Option<StateEntry> {
        let hash = self.entries.as_ref().map(|_| self.hash(key, id))?;
        let Entries { entries, index } = self.entries.as_mut()?;
        let same = |entry: &StateEntry| {
            entry.id == id
                && ConnectionKey::new(&entry.original, entry.zone)
                    .is_some_and(|other| other == *key)
                && (!entry.kernel_start || start_ns.is_none_or(|start| start == entry.start_ns))
        };
        let mut found = index.iter(hash);
        let at = found.find(|at| entries.get(*at as usize).is_some_and(same))?;
        index.remove(hash, at);
        entries.get(at as usize).copied()
    }

    /// Gives back some of the memory of what no connection has asked for; true: there is more.
    pub(crate) fn give_back(&mut self) -> bool {
        if !self.dropping {
            return false;
        }
        let more = self.entries.as_mut().is_some_and(|it| {
            it.entries.truncate(0);
            it.entries.give_back(0) || it.index.drop_some()
        });
        if !more {
            self.dropping = false;
            self.entries = None;
        }
        true
    }
}

impl FlowTable {
    /// Hands out about `limit` entries of the state; call until Done. Connections may change between the calls; each that
    /// is there throughout is handed out once, with what was exported of it at that moment. Until Done, or until
    /// [`end_export_state`](Self::end_export_state), no slots are moved for the sake of memory.
    pub fn export_state(
        &mut self,
        cursor: &mut StateCursor,
        limit: usize,
        mut sink: impl FnMut(&StateEntry),
    ) -> Progress {
        self.exporting = true;
        let mut given = 0;
        // Free slots cost time too.
        let last = cursor
            .position
            .saturating_add(8 * u32::try_from(limit).unwrap_or(u32::MAX).min(1 << 20))
            .max(1);
        while cursor.position < self.slots.end() && cursor.position < last && given < limit {
            if let Some(entry) = self.state_of(cursor.position) {
                sink(&entry);
                given += 1;
            }
            cursor.position += 1;
        }
        if cursor.position < self.slots.end() {
            return Progress::More;
        }
        self.end_export_state();
        Progress::Done
    }

    /// For an export that is given up before it is done.
    pub fn end_export_state(&mut self) {
        self.exporting = false;
    }

    fn state_of(&self, slot: u32) -> Option<StateEntry> {
        let connection = self.slots.get(slot)?;
        // What the kernel no longer holds will not be met again.
        if connection.state() == State::Free || connection.has(flag::GONE) {
            return None;
        }
        let key = self.slots.key(slot)?;
        Some(StateEntry {
            original: key.tuple(),
            zone: key.zone(),
            id: connection.id,
            start_ns: connection.start_ns,
            kernel_start: connection.has(flag::KERNEL_START),
            exported: connection.exported,
            record_end_s: connection.record_end_s,
            recorded: connection.has(flag::RECORDED),
            done: connection.state() == State::Done,
        })
    }

    /// Before the first poll: a state file that was written at this wall-clock time is about to be read in. A connection
    /// that it does not know is exported whole if it began after that time, and is an older one otherwise.
    pub fn begin_import(&mut self, written_ns: u64) {
        self.restored.written_ns = Some(written_ns);
        self.restored.entries = Some(Entries {
            entries: Chunked::new(),
            index: Index::new(),
        });
        self.restored.dropping = false;
    }

    /// Takes in entries of a state file, in any number of slices between `begin_import` and the first poll.
    pub fn import_state(&mut self, entries: &[StateEntry]) {
        for entry in entries {
            let Some(key) = ConnectionKey::new(&entry.original, entry.zone) else {
                self.stats.malformed += 1;
                continue;
            };
            let hash = self.restored.hash(&key, entry.id);
            if let Some(restored) = self.restored.entries.as_mut() {
                restored.index.insert(hash, restored.entries.len() as u32);
                restored.entries.push(*entry);
            }
        }
    }

    /// After the first complete poll of every scope: entries that met no connection are dropped by `work`, in slices.
    pub fn end_import(&mut self) {
        self.restored.dropping = self.restored.entries.is_some();
    }
}
