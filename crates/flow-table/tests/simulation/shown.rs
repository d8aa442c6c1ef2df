//! What the table is shown, and how much of it becomes its own.

use std::collections::BTreeSet;

use super::account::Share;
use super::count::Count;
use super::kernel::{Incarnation, Sight};
use super::ledger::{Ledger, Name, Pass, Way, in_scope, name_of, scope_count};
use super::place::{Place, labels_of};

impl Ledger {
    /// A reading is about to reach the table. `asked`: the call in which it was asked for.
    pub fn shown(
        &mut self,
        everybody: &[Incarnation],
        sight: &Sight,
        way: Way,
        asked: u64,
        ms: u64,
    ) {
        let who = &everybody[sight.who];
        let name = name_of(who, sight.stamped);
        let (place, _, _) = name;
        if self.is_own(place) {
            return;
        }
        let selected = self.marks(sight.seen.mark);
        // Another one at the same place says that this one is over.
        for (other, account) in &mut self.accounts {
            account.may_end |= other.0 == place && *other != name;
        }
        if !selected && !self.accounts.contains_key(&name) {
            return;
        }
        let in_turn = match way {
            Way::Destroy => true,
            Way::Aside => false,
            _ => self.merged.get(&place).is_none_or(|at| asked >= *at),
        };
        if way != Way::New {
            self.merged.insert(place, self.calls + 1);
        }
        let mut account = self.accounts.remove(&name).unwrap_or_default();
        if selected {
            account.ours.insert(sight.who);
        }
        account.labelled |= in_turn
            && matches!(way, Way::Dump | Way::Lookup)
            && sight.seen.labels == labels_of(place);
        account.marks.insert(sight.seen.mark);
        // It has no start, and what has one began before it was heard of: until its DESTROY nothing tells the two apart.
        account.overtaken |= way == Way::New
            && self.marked
            && everybody
                .iter()
                .skip(sight.who + 1)
                .any(|other| (other.place, other.id) == (place, who.id));
        let held = account.held && account.is_hearsay();
        let (before, certain) = (account.least, !account.loose);
        account.read(sight, in_turn, selected, |shown| {
            self.first_share(who, sight, way, held, shown)
        });
        if certain && account.least != before {
            account.moved_ms = ms;
        }
        account.may_end |= sight.seen.is_closed();
        if way == Way::Destroy {
            account.destroyed.insert(sight.who);
            account.end_one_of_two(sight.shown);
            (account.may_end, account.gone) = (true, true);
        } else if !account.destroyed.contains(&sight.who) {
            account.gone = false;
        }
        self.accounts.insert(name, account);
    }

    /// How much of the first reading in this run is owed.
    fn first_share(
        &self,
        who: &Incarnation,
        sight: &Sight,
        way: Way,
        held: bool,
        shown: Count,
    ) -> Share {
        let (nothing, whole) = (([0; 4], [0; 4]), (shown, shown));
        let either = ([0; 4], shown);
        let scopes: Vec<usize> = (0..scope_count(&self.zones))
            .filter(|scope| in_scope(who.place, &self.zones, *scope))
            .collect();
        let passed = |pass: &&Pass| scopes.contains(&pass.scope);
        let overlooked = who.marks.iter().any(|mark| !self.marks(*mark))
            || self
                .passes
                .iter()
                .filter(passed)
                .any(|pass| pass.began_ms > who.born_ms);
        let younger = who.born_ms >= self.started_ms;
        let stamped = sight.seen.start_ns.is_some();
        if younger {
            let early = !stamped
                && matches!(way, Way::Dump | Way::Lookup)
                && !held
                && !self.passes.iter().any(|pass| scopes.contains(&pass.scope));
            return match overlooked || early || !self.shown_clock(who) {
                true => either,
                false => whole,
            };
        }
        if !stamped {
            let first_pass = !self.passes.iter().any(|pass| scopes.contains(&pass.scope));
            let polled = matches!(way, Way::Dump | Way::Lookup);
            return match (first_pass && polled && self.file.is_none(), self.total) {
                (true, false) => nothing,
                (true, true) => whole,
                (false, _) => either,
            };
        }
        let Some(file) = &self.file else {
            let unknown =
                self.set_before_start(who) || self.looks_younger(who) || (self.total && overlooked);
            return match (unknown, self.total) {
                (true, _) => either,
                (false, false) => nothing,
                (false, true) => whole,
            };
        };
        if (file.clock_sets as usize) < self.clock_sets.len()
            || self.set_before_start(who)
            || overlooked
        {
            return either;
        }
        let last = |scope: usize| {
            file.passes
                .iter()
                .filter(|pass| pass.scope == scope)
                .map(|pass| pass.began_ms)
                .max()
                .unwrap_or(0)
        };
        let begins: Vec<u64> = (0..scope_count(&file.zones)).map(last).collect();
        let first = begins.iter().min().copied().unwrap_or(0);
        // The run that wrote the file would have met it in its next pass.
        let own = (0..begins.len()).filter(|scope| in_scope(who.place, &file.zones, *scope));
        let last = own.filter_map(|scope| begins.get(scope)).max().copied();
        if last.is_some_and(|last| who.born_ms > last) {
            return whole;
        }
        match (who.born_ms < first, self.total) {
            (true, false) => nothing,
            (true, true) => whole,
            (false, _) => either,
        }
    }

    /// The wall clock was set between an incarnation's beginning and the agent's: starts do not compare.
    fn set_before_start(&self, who: &Incarnation) -> bool {
        let between = who.born_ms..=self.started_ms;
        self.clock_sets.iter().any(|(set, _)| between.contains(set))
    }

    /// From when on, until when and by how much the wall clock went in this run, each time it was set.
    fn clocks(&self) -> impl Iterator<Item = (u64, u64, i64)> {
        let sets = self.clock_sets.iter().enumerate();
        sets.map(|(n, (from, offset))| {
            let until = self.clock_sets.get(n + 1).map_or(u64::MAX, |next| next.0);
            (*from, until, *offset)
        })
    }

    /// The clock by which this one began was in force at a call of the table.
    fn shown_clock(&self, who: &Incarnation) -> bool {
        let mut clocks = self.clocks();
        clocks
            .find(|(from, until, _)| (*from..*until).contains(&who.born_ms))
            .is_none_or(|(from, until, _)| self.called_ms.range(from..until).next().is_some())
    }

    /// By a clock that was set since, its start lies within this run.
    fn looks_younger(&self, who: &Incarnation) -> bool {
        self.clocks().any(|(from, _, offset)| {
            // When the clock was set the table knows by its calls only.
            let from = self.called_ms.range(..from).next_back().copied();
            let at = (who.start_ns as i64).saturating_sub(offset) / 1_000_000;
            from.is_some_and(|from| at >= from as i64)
        })
    }

    /// A lookup has found nothing at a place.
    pub fn absent(&mut self, place: Place) {
        for (_, account) in self.accounts.iter_mut().filter(|(name, _)| name.0 == place) {
            (account.may_end, account.gone) = (true, true);
        }
        self.merged.insert(place, self.calls + 1);
    }

    /// Its end was told.
    pub fn has_ended(&self, everybody: &[Incarnation], sight: &Sight) -> bool {
        let name = name_of(&everybody[sight.who], sight.stamped);
        self.accounts
            .get(&name)
            .is_some_and(|account| account.ends > 0)
    }

    /// A lookup has found that an entry is outside the selection.
    pub fn left(&mut self, everybody: &[Incarnation], sight: &Sight) {
        let name = name_of(&everybody[sight.who], sight.stamped);
        if let Some(account) = self.accounts.get_mut(&name) {
            (account.left, account.has_left) = (true, true);
            // Nobody keeps the labels of one that is outside.
            account.labelled = false;
        }
    }

    /// A complete pass ends; these incarnations it has shown.
    pub fn passed(
        &mut self,
        everybody: &[Incarnation],
        scope: usize,
        began_ms: u64,
        shown: &BTreeSet<usize>,
        confirms: bool,
    ) {
        self.passes.push(Pass { scope, began_ms });
        if confirms {
            return;
        }
        let seen: BTreeSet<Name> = shown
            .iter()
            .flat_map(|who| {
                [
                    name_of(&everybody[*who], true),
                    name_of(&everybody[*who], false),
                ]
            })
            .collect();
        for (name, account) in &mut self.accounts {
            if in_scope(name.0, &self.zones, scope) && !seen.contains(name) {
                (account.may_end, account.gone) = (true, true);
                self.merged.insert(name.0, self.calls + 1);
            }
        }
    }
}
