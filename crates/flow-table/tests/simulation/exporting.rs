//! How the agent exports: batches taken and settled, and the state file.

use flow_table::*;

use super::count::{count, sum};
use super::ledger::{Snapshot, Verdict};
use super::place::{Place, tuple_of, zones_of};
use super::step::Fate;
use super::world::World;

/// A state file that is being written.
pub struct Writing {
    cursor: StateCursor,
    file: File,
}

/// A state file, and what the judge knew when it was written.
#[derive(Clone)]
pub struct File {
    /// As the table said when the writing began.
    pub seen_until: Now,
    pub entries: Vec<StateEntry>,
    pub snapshot: Snapshot,
}

impl World {
    pub fn work(&mut self) -> Verdict {
        let now = self.kernel.now();
        for _ in 0..10_000 {
            if self.call(None, [0; 2], |table| table.work(now))? == Progress::Done {
                return Ok(());
            }
        }
        Err("housekeeping never ends".to_owned())
    }

    pub fn export(&mut self) -> Verdict {
        while self.run.as_ref().is_some_and(|run| !run.batches.is_empty()) {
            self.settle(0, Fate::Committed)?;
        }
        for _ in 0..1_000 {
            if !self.take(1_000, None, None)? {
                return Ok(());
            }
            self.settle(0, Fate::Committed)?;
        }
        Err("there is no end of records".to_owned())
    }

    pub fn take(
        &mut self,
        max: usize,
        full: Option<usize>,
        too_large: Option<usize>,
    ) -> Result<bool, String> {
        let now = self.kernel.now();
        let Some(run) = &mut self.run else {
            return Ok(false);
        };
        let deadline = run.table.next_deadline();
        let before = run.table.stats();
        let (mut taken, mut lost) = (Vec::new(), Vec::new());
        let mut met = 0;
        let batch = run.table.take_batch(now, max, |record| {
            met += 1;
            match met - 1 {
                at if Some(at) == full => Taken::Full,
                at if Some(at) == too_large => {
                    lost.push(record.clone());
                    Taken::TooLarge
                }
                _ => {
                    taken.push(record.clone());
                    Taken::Yes
                }
            }
        });
        let after = run.table.stats();
        if met > 0 && deadline.is_none_or(|deadline| deadline > now.monotonic_ms) {
            return Err(format!(
                "due, and the next deadline is {deadline:?} at {now:?}"
            ));
        }
        if batch.as_ref().map_or(0, Batch::len) != taken.len() {
            return Err(format!("a batch of {batch:?} with {} records", taken.len()));
        }
        let some = batch.is_some();
        for record in &lost {
            self.ledger
                .taken(&self.kernel.everybody, record, now.monotonic_ms)?;
            self.ledger
                .settled(&self.kernel.everybody, record, false, true)?;
        }
        for record in &taken {
            self.ledger
                .taken(&self.kernel.everybody, record, now.monotonic_ms)?;
        }
        let known_lost = lost.iter().fold([0; 2], |[packets, octets], record| {
            let more = sum(count(record.deltas));
            [packets + more[0], octets + more[1]]
        });
        run.batches.extend(batch.map(|batch| (batch, taken)));
        self.ledger
            .called(&self.kernel.everybody, None, known_lost, &before, &after)?;
        Ok(some)
    }

    pub fn settle(&mut self, which: usize, fate: Fate) -> Verdict {
        let now = self.kernel.now();
        let Some(run) = self.run.as_mut().filter(|run| which < run.batches.len()) else {
            return Ok(());
        };
        let (batch, records) = run.batches.remove(which);
        for record in &records {
            let exported = fate == Fate::Committed;
            self.ledger
                .settled(&self.kernel.everybody, record, exported, false)?;
        }
        self.call(None, [0; 2], |table| match fate {
            Fate::Committed => table.commit(batch, now),
            Fate::RolledBack => table.rollback(batch, now),
            Fate::Dropped => drop(batch),
        })
    }

    /// As the agent: never before a poll of every scope was complete.
    pub fn save(&mut self, entries: usize) -> Verdict {
        let Some(run) = &mut self.run else {
            return Ok(());
        };
        let Some(seen_until) = run.table.seen_until() else {
            return Ok(());
        };
        let writing = run.writing.get_or_insert_with(|| Writing {
            cursor: StateCursor::default(),
            file: File {
                seen_until,
                entries: Vec::new(),
                snapshot: self.ledger.snapshot(),
            },
        });
        loop {
            let file = &mut writing.file;
            let mut some = Vec::new();
            let progress = run
                .table
                .export_state(&mut writing.cursor, entries.min(100), |entry| {
                    some.push(*entry)
                });
            for entry in some {
                let place = (0..self.kernel.places()).find(|place| {
                    tuple_of(*place) == entry.original && zones_of(*place).0 == entry.zone
                });
                let Some(place) = place else {
                    return Err(format!("the state file has an entry of nobody: {entry:?}"));
                };
                let start = if entry.kernel_start {
                    entry.start_ns
                } else {
                    0
                };
                self.ledger.saved(
                    &mut file.snapshot,
                    &self.kernel.everybody,
                    (place, entry.id, start),
                );
                file.entries.push(entry);
            }
            if progress == Progress::Done {
                self.file = run.writing.take().map(|writing| writing.file);
                return Ok(());
            }
            if entries < 100 {
                return Ok(());
            }
        }
    }

    pub fn own(&mut self, place: Place) -> Verdict {
        let now = self.kernel.now();
        self.ledger.forget(place, self.kernel.places());
        self.call(None, [0; 2], |table| {
            table.forget(&tuple_of(place), now);
        })
    }
}
