//! Plays a history: the kernel's part, and the agent's as `crates/agent` plays it.

use std::collections::BTreeSet;

use flow_table::*;

use super::history::{Finale, Setup};
use super::kernel::{Kernel, Kind, Sight, zones_of};
use super::ledger::{Ledger, Snapshot, Verdict, in_scope, scope_count};
use super::step::{Ending, Fate, Luck, Place, Step};

/// A dump under way.
struct Dump {
    /// One for each scope that it serves.
    polls: Vec<(usize, Poll)>,
    began_ms: u64,
    asked: u64,
    next: Place,
    /// Read, and not handed over yet.
    read: Vec<Sight>,
    shown: BTreeSet<usize>,
}

struct Lookup {
    key: RefreshKey,
    place: Place,
    asked: u64,
    answer: Option<(Luck, Option<Sight>)>,
}

struct Writing {
    cursor: StateCursor,
    file: File,
}

#[derive(Clone)]
struct File {
    seen_until: Now,
    entries: Vec<StateEntry>,
    snapshot: Snapshot,
}

/// One run of the agent.
struct Run {
    table: FlowTable,
    dumps: Vec<Dump>,
    lookups: Vec<Lookup>,
    batches: Vec<(Batch, Vec<Record>)>,
    writing: Option<Writing>,
    polled: bool,
    /// Scopes that had a complete poll in this run.
    complete: Vec<bool>,
}

pub struct World {
    setup: Setup,
    kernel: Kernel,
    ledger: Ledger,
    run: Option<Run>,
    file: Option<File>,
    /// Entries that the last dump over them has missed although they lived.
    missed: BTreeSet<usize>,
}

const ZONES: [&[u16]; 4] = [&[], &[0], &[1], &[0, 1]];
pub const ACTIVE_MS: u64 = 60_000;
pub const IDLE_MS: u64 = 15_000;

impl World {
    pub fn new(setup: &Setup) -> Self {
        Self {
            setup: setup.clone(),
            kernel: Kernel::new(setup.places, setup.stamps, setup.counts),
            ledger: Ledger::new(setup.marked, setup.total),
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
                self.kernel.set_clock(seconds);
                self.ledger.clock_set(self.kernel.ms);
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
            polled: false,
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
        if let Some(run) = &mut self.run {
            run.batches.clear();
        }
        self.ledger.close(false)
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

    /// Every call of the table goes through here, so that what it changes is known by whom.
    fn call<T>(
        &mut self,
        who: Option<usize>,
        known_lost: [u64; 2],
        call: impl FnOnce(&mut FlowTable) -> T,
    ) -> Result<T, String> {
        let Some(run) = &mut self.run else {
            return Err("no run".to_owned());
        };
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
            if self.setup.evict && after.idle > 0 && after.in_flight == 0 {
                return Err(format!("refused though one rests: {}", brief(&after)));
            }
        }
        if after.added_total > before.added_total {
            let mut names = Vec::new();
            let mut cursor = NamesCursor::default();
            while run
                .table
                .names_in_use(&mut cursor, 64, |it| names.push(it.0))
                == Progress::More
            {}
            for name in names.into_iter().filter(|name| *name > 0) {
                self.ledger.holds(&self.kernel.everybody, name as usize - 1);
            }
        }
        self.ledger
            .called(&self.kernel.everybody, who, known_lost, &before, &after)?;
        Ok(result)
    }

    fn poll(&mut self, missed: u32, complete: bool, together: bool) -> Verdict {
        self.hear(usize::MAX)?;
        let scopes = scope_count(&self.ledger.zones);
        let each: Vec<Vec<usize>> = match together {
            true => vec![(0..scopes).collect()],
            false => (0..scopes).map(|scope| vec![scope]).collect(),
        };
        for scopes in each {
            self.begin_dump(&scopes);
            let last = self.run.as_ref().map_or(0, |run| run.dumps.len()) - 1;
            self.read(last, usize::MAX, missed, false);
            self.hand_over(last, complete)?;
        }
        self.work()?;
        if complete {
            self.look_up()?;
            self.work()?;
        }
        Ok(())
    }

    fn begin(&mut self, scope: usize) {
        let scope = scope % scope_count(&self.ledger.zones);
        self.begin_dump(&[scope]);
    }

    fn begin_dump(&mut self, scopes: &[usize]) {
        let now = self.kernel.now();
        let Some(run) = &mut self.run else { return };
        // A pass that is begun anew is given up.
        run.dumps
            .retain(|dump| !dump.polls.iter().any(|(scope, _)| scopes.contains(scope)));
        let polls = scopes
            .iter()
            .map(|scope| (*scope, run.table.begin_poll(Scope(*scope as u8), now)))
            .collect();
        self.ledger.calls += 1;
        run.dumps.push(Dump {
            polls,
            began_ms: self.kernel.ms,
            asked: self.ledger.calls,
            next: 0,
            read: Vec::new(),
            shown: BTreeSet::new(),
        });
    }

    /// The kernel puts the next entries into a buffer.
    fn read(&mut self, dump: usize, entries: usize, missed: u32, again: bool) {
        let Some(dump) = self.run.as_mut().and_then(|run| run.dumps.get_mut(dump)) else {
            return;
        };
        if again {
            dump.next = dump.next.saturating_sub(1);
        }
        while dump.read.len() < entries && dump.next < self.kernel.places() {
            let place = dump.next;
            dump.next += 1;
            let shows = dump
                .polls
                .iter()
                .any(|(scope, _)| in_scope(place, &self.ledger.zones, *scope));
            if !shows {
                continue;
            }
            let sight = self.kernel.look(place);
            if let Some(sight) = &sight
                && missed >> (place % 32) & 1 == 1
                && self.missed.insert(sight.who)
            {
                continue;
            }
            // Nobody is missed twice in a row.
            if let Some(sight) = &sight {
                self.missed.remove(&sight.who);
            }
            dump.read
                .extend(sight.filter(|sight| self.ledger.marks(sight.seen.mark)));
        }
    }

    fn buffer(&mut self, entries: usize, missed: u32, again: bool) -> Verdict {
        if self.run.as_ref().is_none_or(|run| run.dumps.is_empty()) {
            return Ok(());
        }
        self.observe(0)?;
        self.read(0, entries, missed, again);
        Ok(())
    }

    /// The buffer that was read reaches the table.
    fn observe(&mut self, dump: usize) -> Verdict {
        let now = self.kernel.now();
        let Some(dump) = self.run.as_mut().and_then(|run| run.dumps.get_mut(dump)) else {
            return Ok(());
        };
        let (asked, polls) = (dump.asked, dump.polls.clone());
        let read = std::mem::take(&mut dump.read);
        dump.shown.extend(read.iter().map(|sight| sight.who));
        for sight in read {
            let place = self.kernel.everybody[sight.who].place;
            let scope = polls
                .iter()
                .find(|(scope, _)| in_scope(place, &self.ledger.zones, *scope));
            let Some((_, poll)) = scope.copied() else {
                continue;
            };
            self.ledger.shown(
                &self.kernel.everybody,
                &sight,
                super::ledger::Way::Dump,
                asked,
            );
            let own = self.ledger.is_own(place);
            let marked = self.setup.marked;
            self.call(Some(sight.who), [0; 2], |table| {
                let one = std::slice::from_ref(&sight.seen);
                table.observe(
                    poll,
                    one,
                    &mut |seen: &Observation| name(seen, own, marked),
                    now,
                );
            })?;
        }
        Ok(())
    }

    fn end(&mut self, complete: bool) -> Verdict {
        if self.run.as_ref().is_none_or(|run| run.dumps.is_empty()) {
            return Ok(());
        }
        self.observe(0)?;
        self.read(0, usize::MAX, 0, false);
        self.hand_over(0, complete)
    }

    /// The last buffer, and the end of the dump.
    fn hand_over(&mut self, dump: usize, complete: bool) -> Verdict {
        self.observe(dump)?;
        // The end speaks of everything that was destroyed before it.
        self.hear(usize::MAX)?;
        let now = self.kernel.now();
        let Some(run) = &mut self.run else {
            return Ok(());
        };
        let dump = run.dumps.remove(dump);
        for (scope, poll) in &dump.polls {
            if complete {
                run.polled = true;
                run.complete[*scope] = true;
                self.ledger.passed(
                    &self.kernel.everybody,
                    *scope,
                    dump.began_ms,
                    &dump.shown,
                    self.setup.marked,
                );
            }
            run.table.end_poll(*poll, complete, now);
            self.ledger.calls += 1;
        }
        if complete && run.complete.iter().all(|complete| *complete) {
            run.table.end_import();
        }
        Ok(())
    }

    fn scope_of(&self, place: Place) -> Option<Scope> {
        let zones = &self.ledger.zones;
        (0..scope_count(zones))
            .find(|scope| in_scope(place, zones, *scope))
            .map(|scope| Scope(scope as u8))
    }

    fn hear(&mut self, events: usize) -> Verdict {
        for _ in 0..events {
            let Some((kind, sight)) = self.kernel.events.pop_front() else {
                return Ok(());
            };
            let now = self.kernel.now();
            let place = self.kernel.everybody[sight.who].place;
            let Some(scope) = self.scope_of(place) else {
                continue;
            };
            let closed = sight.seen.is_closed();
            if kind == Kind::Update && !closed && !self.setup.marked {
                continue;
            }
            let (own, marked) = (self.ledger.is_own(place), self.setup.marked);
            let way = match kind {
                Kind::Destroy => super::ledger::Way::Destroy,
                _ => super::ledger::Way::New,
            };
            if kind != Kind::Update {
                let asked = self.ledger.calls;
                self.ledger
                    .shown(&self.kernel.everybody, &sight, way, asked);
            }
            self.call(Some(sight.who), [0; 2], |table| {
                let mut names = |seen: &Observation| name(seen, own, marked);
                match kind {
                    Kind::Update => table.look_again(scope, &sight.seen, now),
                    Kind::New => {
                        table.created(scope, &sight.seen, &mut names, now);
                    }
                    Kind::Destroy => table.destroyed(scope, &sight.seen, &mut names, now),
                }
            })?;
        }
        Ok(())
    }

    fn ask(&mut self, limit: usize) -> Result<usize, String> {
        let now = self.kernel.now();
        let mut keys = Vec::new();
        self.call(None, [0; 2], |table| {
            table.refresh_due(now, &mut keys, limit)
        })?;
        let asked = self.ledger.calls;
        let found = keys.len();
        for key in keys {
            let place = (0..self.kernel.places()).find(|place| {
                super::kernel::tuple_of(*place) == key.original && zones_of(*place).0 == key.zone
            });
            let Some(place) = place else {
                return Err(format!("nobody is at {key:?}"));
            };
            if let Some(run) = &mut self.run {
                run.lookups.push(Lookup {
                    key,
                    place,
                    asked,
                    answer: None,
                });
            }
        }
        Ok(found)
    }

    fn answer(&mut self, which: usize, luck: Luck) {
        let Some(run) = &mut self.run else { return };
        if let Some(lookup) = run.lookups.get_mut(which)
            && lookup.answer.is_none()
        {
            lookup.answer = Some((luck, self.kernel.look(lookup.place)));
        }
    }

    fn tell(&mut self, which: usize) -> Verdict {
        self.answer(which, Luck::Answered);
        let now = self.kernel.now();
        let Some(run) = self.run.as_mut().filter(|run| which < run.lookups.len()) else {
            return Ok(());
        };
        let Lookup {
            key,
            place,
            asked,
            answer,
        } = run.lookups.remove(which);
        let Some((luck, sight)) = answer else {
            return Ok(());
        };
        let inside = sight
            .as_ref()
            .is_some_and(|sight| self.ledger.marks(sight.seen.mark));
        let who = sight.as_ref().map(|sight| sight.who);
        match (&sight, luck) {
            (Some(sight), Luck::Answered) => {
                self.ledger.shown(
                    &self.kernel.everybody,
                    sight,
                    super::ledger::Way::Lookup,
                    asked,
                );
                if !inside {
                    self.ledger.left(&self.kernel.everybody, sight);
                }
            }
            (None, Luck::Answered) => self.ledger.absent(place),
            _ => {}
        }
        let (own, marked) = (self.ledger.is_own(place), self.setup.marked);
        self.call(who, [0; 2], |table| {
            let answer = match (&sight, luck) {
                (_, Luck::Failed) => Answer::Failed,
                (_, Luck::Unreadable) => Answer::Unreadable,
                (None, Luck::Answered) => Answer::Absent,
                (Some(sight), Luck::Answered) if inside => Answer::Present(&sight.seen),
                (Some(sight), Luck::Answered) => Answer::LeftSelection(&sight.seen),
            };
            table.refreshed(
                &key,
                answer,
                &mut |seen: &Observation| name(seen, own, marked),
                now,
            );
        })
    }

    fn look_up(&mut self) -> Verdict {
        for round in 0.. {
            let asked = self.ask(100)?;
            while self.run.as_ref().is_some_and(|run| !run.lookups.is_empty()) {
                self.tell(0)?;
            }
            if asked == 0 {
                return Ok(());
            }
            if round > 20 {
                return Err("lookups are wanted for ever".to_owned());
            }
        }
        Ok(())
    }

    fn work(&mut self) -> Verdict {
        let now = self.kernel.now();
        for _ in 0..10_000 {
            if self.call(None, [0; 2], |table| table.work(now))? == Progress::Done {
                return Ok(());
            }
        }
        Err("housekeeping never ends".to_owned())
    }

    fn export(&mut self) -> Verdict {
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

    fn take(
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
            self.ledger.taken(&self.kernel.everybody, record)?;
            self.ledger
                .settled(&self.kernel.everybody, record, false, true)?;
        }
        for record in &taken {
            self.ledger.taken(&self.kernel.everybody, record)?;
        }
        let known_lost = lost.iter().fold([0; 2], |[packets, octets], record| {
            let more = super::account::sum(super::ledger::count(record.deltas));
            [packets + more[0], octets + more[1]]
        });
        run.batches.extend(batch.map(|batch| (batch, taken)));
        self.ledger
            .called(&self.kernel.everybody, None, known_lost, &before, &after)?;
        Ok(some)
    }

    fn settle(&mut self, which: usize, fate: Fate) -> Verdict {
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

    /// As the agent: never before a poll was complete.
    fn save(&mut self, entries: usize) -> Verdict {
        let now = self.kernel.now();
        let Some(run) = self.run.as_mut().filter(|run| run.polled) else {
            return Ok(());
        };
        let seen_until = run.table.seen_until();
        let writing = run.writing.get_or_insert_with(|| Writing {
            cursor: StateCursor::default(),
            file: File {
                seen_until: seen_until.unwrap_or(now),
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
                    super::kernel::tuple_of(*place) == entry.original
                        && zones_of(*place).0 == entry.zone
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

    fn own(&mut self, place: Place) -> Verdict {
        let now = self.kernel.now();
        self.ledger.forget(place, self.kernel.places());
        self.call(None, [0; 2], |table| {
            table.forget(&super::kernel::tuple_of(place), now);
        })
    }
}

fn brief(stats: &Stats) -> String {
    format!(
        "live {}, idle {}, ended {}, done {}",
        stats.live, stats.idle, stats.ended, stats.done
    )
}

/// As `agent::admission`: a selected mark, and none of the agent's own. The name says who was meant.
fn name(seen: &Observation, own: bool, marked: bool) -> Option<NamesId> {
    (!own && (!marked || seen.mark & 1 == 1)).then_some(NamesId(seen.status >> 16))
}
