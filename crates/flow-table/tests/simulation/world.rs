//! Plays a history: the kernel's part, and the agent's as `crates/agent` plays it.

use std::collections::BTreeSet;

use flow_table::*;

use super::exporting::{File, Writing};
use super::kernel::Kernel;
use super::ledger::{Ledger, Verdict, scope_count};
use super::looking::Lookup;
use super::reading::Dump;
use super::setup::{Finale, Setup};
use super::step::{Ending, Step};

/// One run of the agent.
pub struct Run {
    pub table: FlowTable,
    pub dumps: Vec<Dump>,
    pub lookups: Vec<Lookup>,
    pub batches: Vec<(Batch, Vec<Record>)>,
    pub writing: Option<Writing>,
    /// Scopes that had a complete poll in this run.
    pub complete: Vec<bool>,
}

pub struct World {
    pub setup: Setup,
    pub kernel: Kernel,
    pub ledger: Ledger,
    pub run: Option<Run>,
    pub file: Option<File>,
    /// Entries that the last dump over them has missed although they lived.
    pub missed: BTreeSet<usize>,
}

const ZONES: [&[u16]; 4] = [&[], &[0], &[1], &[0, 1]];
pub const ACTIVE_MS: u64 = 60_000;
pub const IDLE_MS: u64 = 15_000;
/// How many the table remembers at least: where this is part of its unit tests, a handful.
const LEAST_REMEMBERED: usize = if super::IN_UNIT_TESTS { 8 } else { 65_536 };

impl World {
    pub fn new(setup: &Setup) -> Self {
        Self {
            setup: setup.clone(),
            kernel: Kernel::new(setup.places, setup.stamps, setup.counts),
            ledger: Ledger {
                most_remembered: setup.cap.max(LEAST_REMEMBERED),
                ..Ledger::new(setup.marked, setup.total)
            },
            run: None,
            file: None,
            missed: BTreeSet::new(),
        }
    }

    pub fn step(&mut self, step: &Step) -> Verdict {
        // Nothing happens at the same time as anything else.
        self.kernel.ms += 1;
        match *step {
            Step::Create { place, id, mark } => self.kernel.create(place, id, mark),
            Step::Move { place, packets } => self.kernel.grow(place, packets),
            Step::Turn { place, state } => self.kernel.turn(place, state),
            Step::Mark { place, mark } => self.kernel.mark(place, mark),
            Step::Destroy { place } => self.kernel.destroy(place),
            Step::Zero => self.kernel.zero(),
            Step::Flush => self.kernel.flush(),
            Step::Overrun => self.kernel.events.clear(),
            Step::Wait(ms) => self.kernel.ms += ms,
            Step::Clock(seconds) => {
                // The agent wakes often enough to have seen what the clock shows until now.
                if self.run.is_some() {
                    self.work()?;
                }
                self.kernel.set_clock(seconds);
                self.ledger
                    .clock_set(self.kernel.ms, self.kernel.wall_offset_ns);
            }
            Step::Start { file, zones } => self.start(file, zones),
            Step::Stop(ending) => return self.stop(ending),
            _ if self.run.is_none() => {}
            Step::Poll {
                missed,
                complete,
                together,
            } => return self.poll(missed, complete, together),
            Step::Begin { scope } => self.begin(scope),
            Step::Buffer {
                entries,
                missed,
                again,
            } => return self.buffer(entries, missed, again),
            Step::End { complete } => return self.end(complete),
            Step::Hear(events) => return self.hear(events),
            Step::Ask(limit) => return self.ask(limit).map(drop),
            Step::Answer(which, luck) => self.answer(which, luck),
            Step::Tell(which) => return self.tell(which),
            Step::LookUp => return self.look_up(),
            Step::Work => return self.work(),
            Step::Export => return self.export(),
            Step::Take {
                max,
                full,
                too_large,
            } => return self.take(max, full, too_large).map(drop),
            Step::Settle(which, fate) => return self.settle(which, fate),
            Step::Save => return self.save(usize::MAX),
            Step::SaveSlice(entries) => return self.save(entries),
            Step::Own { place } => return self.own(place),
        }
        Ok(())
    }

    fn start(&mut self, file: bool, zones: usize) {
        let file = self.file.as_ref().filter(|_| file);
        let now = self.kernel.now();
        let zones = ZONES[zones].to_vec();
        let snapshot = file.map(|file| &file.snapshot);
        self.ledger.start(self.kernel.ms, zones.clone(), snapshot);
        let mut table = FlowTable::new(Config {
            active_timeout_ms: ACTIVE_MS,
            idle_timeout_ms: IDLE_MS,
            stale_timeout_ms: self.setup.stale_ms,
            max_connections: self.setup.cap,
            when_full: match self.setup.evict {
                true => WhenFull::EvictIdle,
                false => WhenFull::RejectNew,
            },
            initial_delta: match self.setup.total {
                true => InitialDelta::Total,
                false => InitialDelta::Zero,
            },
            agent_start: now,
            seconds_end_monotonic: self.setup.seconds,
            events: self.setup.events,
            confirm_absent: self.setup.marked,
        });
        if let Some(file) = file {
            table.begin_import(file.seen_until);
            file.entries
                .chunks(2)
                .for_each(|some| table.import_state(some));
        }
        self.kernel.events.clear();
        self.kernel.listened_to = self.setup.events;
        self.run = Some(Run {
            table,
            dumps: Vec::new(),
            lookups: Vec::new(),
            batches: Vec::new(),
            writing: None,
            complete: vec![false; scope_count(&zones)],
        });
    }

    fn stop(&mut self, ending: Ending) -> Verdict {
        if self.run.is_some() && ending != Ending::Crash {
            self.final_poll()?;
            self.finish(ending == Ending::Clean)?;
            if let Some(run) = &mut self.run {
                run.writing = None;
            }
            self.save(usize::MAX)?;
        }
        self.run = None;
        self.kernel.listened_to = false;
        self.kernel.events.clear();
        Ok(())
    }

    fn final_poll(&mut self) -> Verdict {
        self.poll(0, true, false)
    }

    /// The stop: everything is exported, or counted as left.
    fn finish(&mut self, taken: bool) -> Verdict {
        let now = self.kernel.now();
        self.ledger.stopping = true;
        self.call(None, [0; 2], |table| table.begin_stop(now))?;
        self.work()?;
        if taken {
            self.export()?;
        }
        self.call(None, [0; 2], |table| table.left_at_stop(now))?;
        self.ledger.close(false)?;
        // What is still on its way has been counted as lost, whatever becomes of it.
        let batches = self
            .run
            .as_mut()
            .map(|run| std::mem::take(&mut run.batches));
        for (at, (batch, _)) in batches.into_iter().flatten().enumerate() {
            self.call(None, [0; 2], |table| match at % 3 {
                0 => table.commit(batch, now),
                1 => table.rollback(batch, now),
                _ => drop(batch),
            })?;
        }
        Ok(())
    }

    /// The history is over: whatever is unexported goes out, and the law is applied.
    pub fn close(&mut self) -> Verdict {
        self.kernel.ms += 1;
        if self.run.is_none() {
            return Ok(());
        }
        match self.setup.end {
            Finale::AllEnds => {
                self.kernel.ms += 10;
                self.kernel.flush();
                for _ in 0..2 {
                    self.kernel.ms += 1_000;
                    self.poll(0, true, false)?;
                    self.export()?;
                }
            }
            Finale::Stop => {
                self.final_poll()?;
                return self.finish(true);
            }
            Finale::Rest => {
                self.poll(0, true, false)?;
                for ms in [ACTIVE_MS + 1, IDLE_MS + 1, ACTIVE_MS + 1] {
                    self.kernel.ms += ms;
                    self.look_up()?;
                    self.work()?;
                    self.export()?;
                }
            }
        }
        self.ledger.close(self.setup.end == Finale::AllEnds)
    }

    pub fn holds(&self, who: usize) -> bool {
        let run = self.run.as_ref();
        run.is_some_and(|run| held(&run.table).contains(&who))
    }

    /// As `agent::admission`: a selected mark, and none of the agent's own. The name says who was meant.
    pub fn admission(&self) -> impl FnMut(&Observation) -> Option<NamesId> + use<> {
        let (own, marked) = (self.ledger.own_tuples(), self.setup.marked);
        move |seen| {
            let admitted = (!marked || seen.mark & 1 == 1) && !own.contains(&seen.original);
            admitted.then_some(NamesId(seen.status >> 16))
        }
    }

    /// Every call of the table goes through here, so that what it changes is known by whom.
    pub fn call<T>(
        &mut self,
        who: Option<usize>,
        known_lost: [u64; 2],
        call: impl FnOnce(&mut FlowTable) -> T,
    ) -> Result<T, String> {
        let Some(run) = &mut self.run else {
            return Err("no run".to_owned());
        };
        self.ledger.called_ms.insert(self.kernel.ms);
        let before = run.table.stats();
        let result = call(&mut run.table);
        let after = run.table.stats();
        if after.live + after.idle + after.ended > self.setup.cap {
            return Err(format!("more connections than may be: {}", brief(&after)));
        }
        if after.refused_total > before.refused_total && who.is_some() {
            let room = before.live + before.idle + before.ended < self.setup.cap;
            let remembered = before.done == 0 || !self.ledger.has_remainders();
            if room && remembered {
                return Err(format!("refused though there is room: {}", brief(&before)));
            }
            if self.setup.evict && after.idle > 0 && after.in_flight == 0 && !self.ledger.blurred {
                return Err(format!("refused though one rests: {}", brief(&after)));
            }
        }
        if after.added_total > before.added_total {
            for who in held(&run.table) {
                self.ledger.holds(&self.kernel.everybody, who);
            }
        }
        self.ledger
            .called(&self.kernel.everybody, who, known_lost, &before, &after)?;
        Ok(result)
    }
}

/// Who was meant by the names of those that the table holds.
fn held(table: &FlowTable) -> Vec<usize> {
    let mut held = Vec::new();
    let mut cursor = NamesCursor::default();
    let mut tell = |names: NamesId| held.extend((names.0 as usize).checked_sub(1));
    while table.names_in_use(&mut cursor, 64, &mut tell) == Progress::More {}
    held
}

fn brief(stats: &Stats) -> String {
    format!(
        "live {}, idle {}, ended {}, done {}",
        stats.live, stats.idle, stats.ended, stats.done
    )
}
