//! How the agent reads the kernel's table: dumps, buffer by buffer, and events.

use std::collections::BTreeSet;

use flow_table::*;

use super::kernel::{Kind, Sight};
use super::ledger::{Verdict, Way, in_scope, scope_count};
use super::place::Place;
use super::world::World;

/// A dump under way.
pub struct Dump {
    /// One for each scope that it serves.
    pub polls: Vec<(usize, Poll)>,
    began_ms: u64,
    asked: u64,
    next: Place,
    /// Read, and not handed over yet.
    read: Vec<Sight>,
    shown: BTreeSet<usize>,
}

impl World {
    pub fn poll(&mut self, missed: u32, complete: bool, together: bool) -> Verdict {
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

    pub fn begin(&mut self, scope: usize) {
        let scope = scope % scope_count(&self.ledger.zones);
        self.begin_dump(&[scope]);
    }

    pub fn begin_dump(&mut self, scopes: &[usize]) {
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
    pub fn read(&mut self, dump: usize, entries: usize, missed: u32, again: bool) {
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
            dump.read
                .extend(sight.filter(|sight| self.ledger.marks(sight.seen.mark)));
        }
    }

    pub fn buffer(&mut self, entries: usize, missed: u32, again: bool) -> Verdict {
        if self.run.as_ref().is_none_or(|run| run.dumps.is_empty()) {
            return Ok(());
        }
        self.observe(0)?;
        self.read(0, entries, missed, again);
        Ok(())
    }

    /// The buffer that was read reaches the table.
    pub fn observe(&mut self, dump: usize) -> Verdict {
        let now = self.kernel.now();
        let Some(dump) = self.run.as_mut().and_then(|run| run.dumps.get_mut(dump)) else {
            return Ok(());
        };
        let (asked, polls) = (dump.asked, dump.polls.clone());
        let read = std::mem::take(&mut dump.read);
        dump.shown.extend(read.iter().map(|sight| sight.who));
        // Nobody is missed twice in a row.
        for sight in &read {
            self.missed.remove(&sight.who);
        }
        let ms = self.kernel.ms;
        for (scope, poll) in polls.iter().copied() {
            let zones = self.ledger.zones.clone();
            let first_with = |place: Place| {
                let mut scopes = polls.iter().map(|(scope, _)| *scope);
                scopes.find(|scope| in_scope(place, &zones, *scope))
            };
            let buffer: Vec<&Sight> = read
                .iter()
                .filter(|sight| first_with(self.kernel.everybody[sight.who].place) == Some(scope))
                .collect();
            // One by one it is known for whom the table counts a loss.
            let at_once = if self.setup.whole { buffer.len() } else { 1 };
            for some in buffer.chunks(at_once.max(1)) {
                for sight in some {
                    self.ledger
                        .shown(&self.kernel.everybody, sight, Way::Dump, asked, ms);
                }
                let seen: Vec<Observation> = some.iter().map(|it| it.seen.clone()).collect();
                let who = match some {
                    [one] => Some(one.who),
                    _ => None,
                };
                let mut admission = self.admission();
                self.call(who, [0; 2], |table| {
                    table.observe(poll, &seen, &mut admission, now);
                })?;
            }
        }
        Ok(())
    }

    pub fn end(&mut self, complete: bool) -> Verdict {
        if self.run.as_ref().is_none_or(|run| run.dumps.is_empty()) {
            return Ok(());
        }
        self.observe(0)?;
        self.read(0, usize::MAX, 0, false);
        self.hand_over(0, complete)
    }

    /// The last buffer, and the end of the dump.
    pub fn hand_over(&mut self, dump: usize, complete: bool) -> Verdict {
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
                if let Some(run) = &mut self.run {
                    run.complete[*scope] = true;
                }
                self.ledger.passed(
                    &self.kernel.everybody,
                    *scope,
                    dump.began_ms,
                    &dump.shown,
                    self.setup.marked,
                );
            }
            self.call(None, [0; 2], |table| table.end_poll(*poll, complete, now))?;
        }
        if let Some(run) = &mut self.run
            && complete
            && run.complete.iter().all(|complete| *complete)
        {
            run.table.end_import();
        }
        Ok(())
    }

    pub fn scope_of(&self, place: Place) -> Option<Scope> {
        let zones = &self.ledger.zones;
        (0..scope_count(zones))
            .find(|scope| in_scope(place, zones, *scope))
            .map(|scope| Scope(scope as u8))
    }

    pub fn hear(&mut self, events: usize) -> Verdict {
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
            let mut names = self.admission();
            let way = match kind {
                Kind::Destroy => Way::Destroy,
                _ => Way::New,
            };
            if kind != Kind::Update {
                let asked = self.ledger.calls;
                self.ledger
                    .shown(&self.kernel.everybody, &sight, way, asked, now.monotonic_ms);
            }
            self.call(Some(sight.who), [0; 2], |table| match kind {
                Kind::Update => table.look_again(scope, &sight.seen, now),
                Kind::New => {
                    table.created(scope, &sight.seen, &mut names, now);
                }
                Kind::Destroy => table.destroyed(scope, &sight.seen, &mut names, now),
            })?;
        }
        Ok(())
    }
}
