//! The one law: what was exported, what was counted as lost and what is still to come are what the kernel counted, of
//! each incarnation and of all together; nothing twice, one end for each, totals that never fall.
//!
//! It knows the kernel's truth and what the table was shown, and none of the table's rules.

use std::collections::{BTreeMap, BTreeSet};

use flow_table::{EndReason, Record, Stats};

use super::account::{Account, Share, sum};
use super::kernel::{Count, Incarnation, Sight, in_zone, tuple_of, zones_of};
use super::step::Place;

/// Broken, and how.
pub type Verdict = Result<(), String>;

/// How a reading reaches the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Dump,
    Lookup,
    New,
    Destroy,
}

/// What tells incarnations apart for those who can only see what the kernel says: place, id, and the start where there is
/// one.
type Name = (Place, u32, u64);

/// One pass over a scope that was complete.
#[derive(Clone, Copy, Debug)]
struct Pass {
    scope: usize,
    began_ms: u64,
}

/// What a state file holds of the judge's own knowledge.
#[derive(Clone, Default)]
pub struct Snapshot {
    accounts: BTreeMap<Name, Account>,
    in_file: BTreeSet<Name>,
    passes: Vec<Pass>,
    zones: Vec<u16>,
    clock_sets: u32,
}

pub struct Ledger {
    accounts: BTreeMap<Name, Account>,
    marked: bool,
    total: bool,
    pub zones: Vec<u16>,
    own: BTreeSet<Place>,
    started_ms: u64,
    file: Option<Snapshot>,
    passes: Vec<Pass>,
    /// Moments at which the wall clock was set.
    clock_sets: Vec<u64>,
    /// Calls of the table are numbered; requests bear the number of theirs.
    pub calls: u64,
    merged: BTreeMap<Place, u64>,
    /// The kernel's events name an incarnation without its start.
    new_heard: BTreeSet<usize>,
    /// Lost, by whom is not known: packets and octets.
    pool: [u64; 2],
    stale_records: u64,
    evictions: u64,
    pub stopping: bool,
}

pub fn scope_count(zones: &[u16]) -> usize {
    zones.len().max(1)
}

/// Whether the dump of this scope shows a place.
pub fn in_scope(place: Place, zones: &[u16], scope: usize) -> bool {
    zones.get(scope).is_none_or(|zone| in_zone(place, *zone))
}

fn name_of(who: &Incarnation, stamps: bool) -> Name {
    (who.place, who.id, if stamps { who.start_ns } else { 0 })
}

fn broken(what: impl Into<String>) -> Verdict {
    Err(what.into())
}

impl Ledger {
    pub fn new(marked: bool, total: bool) -> Self {
        Self {
            accounts: BTreeMap::new(),
            marked,
            total,
            zones: Vec::new(),
            own: BTreeSet::new(),
            started_ms: 0,
            file: None,
            passes: Vec::new(),
            clock_sets: Vec::new(),
            calls: 0,
            merged: BTreeMap::new(),
            new_heard: BTreeSet::new(),
            pool: [0; 2],
            stale_records: 0,
            evictions: 0,
            stopping: false,
        }
    }

    /// A run begins, with what this state file holds or with nothing.
    pub fn start(&mut self, ms: u64, zones: Vec<u16>, file: Option<&Snapshot>) {
        self.started_ms = ms;
        self.zones = zones;
        self.accounts = file.map_or_else(BTreeMap::new, |file| {
            let next = |(name, account): (&Name, &Account)| {
                (*name, account.for_next_run(file.in_file.contains(name)))
            };
            file.accounts.iter().map(next).collect()
        });
        self.file = file.cloned();
        self.passes.clear();
        self.merged.clear();
        self.pool = [0; 2];
        (self.stale_records, self.evictions) = (0, 0);
        self.stopping = false;
    }

    /// One whose end was told has moved since.
    pub fn has_remainders(&self) -> bool {
        self.accounts
            .values()
            .any(|account| account.ends > 0 && account.missing() != [0; 2])
    }

    pub fn clock_set(&mut self, ms: u64) {
        self.clock_sets.push(ms);
    }

    /// What the state file begun now is to be judged by.
    pub fn snapshot(&self) -> Snapshot {
        let mut accounts = self.accounts.clone();
        if self.pool != [0; 2] {
            // What was lost by unknown ones is among what is owed.
            accounts.values_mut().for_each(Account::excuse);
        }
        Snapshot {
            accounts,
            in_file: BTreeSet::new(),
            passes: self.passes.clone(),
            zones: self.zones.clone(),
            clock_sets: self.clock_sets.len() as u32,
        }
    }

    /// The file has this incarnation, as it is now.
    pub fn saved(&self, snapshot: &mut Snapshot, everybody: &[Incarnation], key: Name) {
        let name = self.resolve(everybody, key);
        if let Some(account) = self.accounts.get(&name) {
            let mut account = account.clone();
            if self.pool != [0; 2] {
                account.excuse();
            }
            snapshot.accounts.insert(name, account);
            snapshot.in_file.insert(name);
        }
    }

    /// One whose start is not the kernel's is the last one with its place and id.
    fn resolve(&self, everybody: &[Incarnation], key: Name) -> Name {
        let (place, id, _) = key;
        if self.accounts.contains_key(&key) {
            return key;
        }
        let last = everybody
            .iter()
            .rev()
            .find(|who| who.place == place && who.id == id);
        last.map_or(key, |who| (place, id, who.start_ns))
    }

    pub fn forget(&mut self, place: Place, places: usize) {
        for other in (0..places).filter(|other| tuple_of(*other) == tuple_of(place)) {
            self.own.insert(other);
        }
    }

    pub fn is_own(&self, place: Place) -> bool {
        self.own.contains(&place)
    }

    pub fn marks(&self, mark: u32) -> bool {
        !self.marked || mark & 1 == 1
    }

    /// A reading is about to reach the table. `asked`: the call in which it was asked for.
    pub fn shown(&mut self, everybody: &[Incarnation], sight: &Sight, way: Way, asked: u64) {
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
        let in_turn = way == Way::Destroy || self.merged.get(&place).is_none_or(|at| asked >= *at);
        if way == Way::New {
            self.new_heard.insert(sight.who);
        } else {
            self.merged.insert(place, self.calls + 1);
        }
        let mut account = self.accounts.remove(&name).unwrap_or_default();
        if selected {
            account.ours.insert(sight.who);
        }
        account.read(sight, in_turn, selected, |shown| {
            self.first_share(who, sight, way, shown)
        });
        account.may_end |= sight.seen.is_closed();
        if way == Way::Destroy {
            account.destroyed.insert(sight.who);
            (account.may_end, account.gone) = (true, true);
        } else if !account.destroyed.contains(&sight.who) {
            account.gone = false;
        }
        self.accounts.insert(name, account);
    }

    /// How much of the first reading in this run is owed.
    fn first_share(&self, who: &Incarnation, sight: &Sight, way: Way, shown: Count) -> Share {
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
        let set_since = self.clock_sets.iter().any(|set| *set >= who.born_ms);
        let stamped = sight.seen.start_ns.is_some();
        if younger {
            let early = !stamped
                && matches!(way, Way::Dump | Way::Lookup)
                && !self.new_heard.contains(&sight.who)
                && !self.passes.iter().any(|pass| scopes.contains(&pass.scope));
            return match overlooked || early {
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
            let unknown = self.set_before_start(who) || (self.total && overlooked);
            return match (unknown, self.total) {
                (true, _) => either,
                (false, false) => nothing,
                (false, true) => whole,
            };
        };
        if set_since && (file.clock_sets as usize) < self.clock_sets.len()
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
        let last = begins.iter().max().copied().unwrap_or(0);
        if who.born_ms > last {
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
        self.clock_sets.iter().any(|set| between.contains(set))
    }

    /// A lookup has found nothing at a place.
    pub fn absent(&mut self, place: Place) {
        for (_, account) in self.accounts.iter_mut().filter(|(name, _)| name.0 == place) {
            (account.may_end, account.gone) = (true, true);
        }
        self.merged.insert(place, self.calls + 1);
    }

    /// A lookup has found that an entry is outside the selection.
    pub fn left(&mut self, everybody: &[Incarnation], sight: &Sight) {
        let name = name_of(&everybody[sight.who], sight.stamped);
        if let Some(account) = self.accounts.get_mut(&name) {
            account.left = true;
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
                account.may_end = true;
                account.gone = true;
            }
        }
    }

    /// What one call that spoke of one incarnation (or of none) has changed.
    pub fn called(
        &mut self,
        everybody: &[Incarnation],
        who: Option<usize>,
        known_lost: [u64; 2],
        before: &Stats,
        after: &Stats,
    ) -> Verdict {
        self.calls += 1;
        let lost = |stats: &Stats| {
            stats
                .losses
                .iter()
                .fold([0; 2], |[packets, octets], (_, it)| {
                    [packets + it.packets, octets + it.octets]
                })
        };
        let (then, now) = (lost(before), lost(after));
        if now[0] < then[0] || now[1] < then[1] {
            return broken("a count of losses fell");
        }
        let grown = [now[0] - then[0], now[1] - then[1]];
        let Some(grown) = grown[0]
            .checked_sub(known_lost[0])
            .zip(grown[1].checked_sub(known_lost[1]))
            .map(|(packets, octets)| [packets, octets])
        else {
            return broken("a record that is too large was not counted as lost");
        };
        self.evictions += after.evicted_total - before.evicted_total;
        let refused = after.refused_total - before.refused_total;
        let account = who.and_then(|who| {
            let who = &everybody[who];
            self.accounts
                .iter_mut()
                .find(|(name, _)| **name == name_of(who, true) || **name == name_of(who, false))
        });
        match account {
            Some((name, account)) => {
                account.lost = [account.lost[0] + grown[0], account.lost[1] + grown[1]];
                account.refusals += refused;
                if name.2 != 0 && account.refusals > 1 {
                    return broken(format!("{name:?} is refused for the first time once more"));
                }
                if account.left_over().is_none() {
                    return broken(format!(
                        "more of {name:?} is counted as lost than there is: {account}"
                    ));
                }
            }
            None => {
                self.pool = [self.pool[0] + grown[0], self.pool[1] + grown[1]];
            }
        }
        let stale: u64 = after.losses.iter().map(|(_, it)| it.records).sum::<u64>()
            - before.losses.iter().map(|(_, it)| it.records).sum::<u64>();
        if who.is_none() {
            self.stale_records += stale;
        }
        Ok(())
    }

    /// The table holds these.
    pub fn holds(&mut self, everybody: &[Incarnation], who: usize) {
        let (stamped, nameless) = (
            name_of(&everybody[who], true),
            name_of(&everybody[who], false),
        );
        for (name, account) in &mut self.accounts {
            if *name == stamped || *name == nameless {
                account.held = true;
            }
        }
    }

    fn account_of(
        &mut self,
        everybody: &[Incarnation],
        record: &Record,
    ) -> Option<(Name, &mut Account)> {
        let place = everybody.iter().map(|who| who.place).find(|place| {
            tuple_of(*place) == record.original && zones_of(*place).0 == record.zone
        })?;
        let named = everybody.get((record.names.0 as usize).wrapping_sub(1));
        let mut names = vec![(place, record.id, record.start_ns), (place, record.id, 0)];
        names.extend(named.map(|who| name_of(who, true)));
        let name = names
            .into_iter()
            .find(|name| self.accounts.contains_key(name))?;
        self.accounts.get_mut(&name).map(|account| (name, account))
    }

    /// The table makes a record. `twice`: it is among those that are in flight.
    pub fn taken(&mut self, everybody: &[Incarnation], record: &Record) -> Verdict {
        let stopping = self.stopping;
        let Some((name, account)) = self.account_of(everybody, record) else {
            return broken(format!("a record of nobody: {}", brief(record)));
        };
        let (totals, deltas) = (count(record.totals), count(record.deltas));
        let fell = totals
            .iter()
            .zip(account.totals)
            .any(|(now, then)| *now < then);
        let stamped = name.2 != 0;
        if stamped && fell {
            return broken(format!(
                "totals of {name:?} fall from {:?}: {}",
                account.totals,
                brief(record)
            ));
        }
        account.totals = totals;
        if stamped && !account.zeroed && !account.has_shown(&totals) {
            return broken(format!(
                "nobody ever read these totals of {name:?}: {}",
                brief(record)
            ));
        }
        if deltas
            .iter()
            .zip(totals)
            .any(|(delta, total)| *delta > total)
        {
            return broken(format!("deltas above totals: {}", brief(record)));
        }
        if record.end_ns < record.start_ns {
            return broken(format!("an end before its start: {}", brief(record)));
        }
        if stamped && account.in_flight > 0 {
            return broken(format!("{name:?} is in two batches: {}", brief(record)));
        }
        account.in_flight += 1;
        match record.reason {
            EndReason::EndDetected if !account.may_end => {
                return broken(format!(
                    "the end of one that lives, {name:?}: {}",
                    brief(record)
                ));
            }
            EndReason::EndDetected if stamped && account.ends > 0 && deltas == [0; 4] => {
                return broken(format!("a second end of {name:?}: {}", brief(record)));
            }
            EndReason::Forced if !stopping && !account.left => {
                return broken(format!(
                    "a forced record of {name:?}, for no reason: {}",
                    brief(record)
                ));
            }
            _ => {}
        }
        let mut then = account.clone();
        then.told
            .iter_mut()
            .zip(deltas)
            .for_each(|(told, delta)| *told += delta);
        if then.left_over().is_none() {
            return broken(format!(
                "more of {name:?} is exported than there is: {}; {account}",
                brief(record)
            ));
        }
        Ok(())
    }

    /// It is exported. `lost`: it was too large instead.
    pub fn settled(
        &mut self,
        everybody: &[Incarnation],
        record: &Record,
        exported: bool,
        lost: bool,
    ) -> Verdict {
        let Some((name, account)) = self.account_of(everybody, record) else {
            return broken(format!("a record of nobody: {}", brief(record)));
        };
        account.in_flight = account.in_flight.saturating_sub(1);
        let deltas = count(record.deltas);
        if lost {
            let [packets, octets] = sum(deltas);
            account.lost = [account.lost[0] + packets, account.lost[1] + octets];
        }
        if exported {
            account
                .told
                .iter_mut()
                .zip(deltas)
                .for_each(|(told, delta)| *told += delta);
            let start = *account.start_ns.get_or_insert(record.start_ns);
            if name.2 != 0 && start != record.start_ns {
                return broken(format!(
                    "the start of {name:?} was exported as {start}: {}",
                    brief(record)
                ));
            }
        }
        if (exported || lost) && record.reason == EndReason::EndDetected {
            account.ends += 1;
        }
        Ok(())
    }

    fn told(&self) -> String {
        let each = self.accounts.iter();
        each.map(|(name, account)| format!("\n  {name:?}: {account}"))
            .collect()
    }

    /// Nothing is unexported any more: all together.
    pub fn close(&self, all_end: bool) -> Verdict {
        let mut missing = [0; 2];
        let mut room = [0; 2];
        let mut endless = Vec::new();
        for (name, account) in &self.accounts {
            let Some(left_over) = account.left_over() else {
                return broken(format!("more of {name:?} is told than there is: {account}"));
            };
            room = [room[0] + left_over[0], room[1] + left_over[1]];
            if self.is_own(name.0) {
                continue;
            }
            let missed = account.missing();
            missing = [missing[0] + missed[0], missing[1] + missed[1]];
            if self.pool == [0; 2] && missed != [0; 2] {
                return broken(format!(
                    "{missed:?} packets and octets of {name:?} are neither exported nor counted as lost: {account}"
                ));
            }
            // Who has only heard of its beginning takes another one with its place and id for it.
            let mistaken = account.is_hearsay()
                && self
                    .accounts
                    .keys()
                    .any(|other| other != name && (other.0, other.1) == (name.0, name.1));
            if all_end
                && !mistaken
                && account.held
                && account.gone
                && !account.left
                && account.ends == 0
                && account.refusals == 0
            {
                endless.push(*name);
            }
        }
        if missing[0] > self.pool[0] || missing[1] > self.pool[1] {
            return broken(format!(
                "{missing:?} packets and octets are missing, {:?} are counted as lost: {}",
                self.pool,
                self.told()
            ));
        }
        if self.pool[0] > room[0] || self.pool[1] > room[1] {
            return broken(format!(
                "{:?} packets and octets are counted as lost, of {room:?}: {}",
                self.pool,
                self.told()
            ));
        }
        if endless.len() as u64 > self.stale_records + self.evictions {
            return broken(format!("no end of {endless:?} was told or counted"));
        }
        Ok(())
    }
}

/// A record, as far as it matters here.
fn brief(record: &Record) -> String {
    format!(
        "{:?}, totals {:?}, deltas {:?}, from {} to {}",
        record.reason,
        count(record.totals),
        count(record.deltas),
        record.start_ns,
        record.end_ns
    )
}

pub fn count(counters: [flow_table::Counters; 2]) -> Count {
    let [original, reply] = counters;
    [
        original.packets,
        original.octets,
        reply.packets,
        reply.octets,
    ]
}
