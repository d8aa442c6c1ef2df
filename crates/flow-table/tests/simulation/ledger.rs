//! The one law: what was exported, what was counted as lost and what is still to come are what the kernel counted, of
//! each incarnation and of all together; nothing twice, one end for each, totals that never fall.
//!
//! It knows the kernel's truth and what the table was shown, and none of the table's rules.

use std::collections::{BTreeMap, BTreeSet};

use flow_table::Stats;

use super::account::Account;
use super::kernel::Incarnation;
use super::place::{Place, in_zone, tuple_of};

/// Broken, and how.
pub type Verdict = Result<(), String>;

/// How a reading reaches the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Dump,
    Lookup,
    /// An answer about one that is outside the selection and that the table does not hold.
    Aside,
    New,
    Destroy,
}

/// What tells incarnations apart for those who can only see what the kernel says: place, id, and the start where there is
/// one.
pub type Name = (Place, u32, u64);

/// One pass over a scope that was complete.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    pub scope: usize,
    pub began_ms: u64,
}

/// What a state file holds of the judge's own knowledge.
#[derive(Clone, Default)]
pub struct Snapshot {
    pub accounts: BTreeMap<Name, Account>,
    pub in_file: BTreeSet<Name>,
    pub passes: Vec<Pass>,
    pub zones: Vec<u16>,
    pub clock_sets: u32,
}

pub struct Ledger {
    pub accounts: BTreeMap<Name, Account>,
    pub marked: bool,
    pub total: bool,
    pub zones: Vec<u16>,
    pub own: BTreeSet<Place>,
    pub started_ms: u64,
    pub file: Option<Snapshot>,
    pub passes: Vec<Pass>,
    /// Moments at which the wall clock was set, and what it showed at monotonic 0 from then on.
    pub clock_sets: Vec<(u64, i64)>,
    /// Moments of this run at which the table was called: it sees the clock only then.
    pub called_ms: BTreeSet<u64>,
    /// Calls of the table are numbered; requests bear the number of theirs.
    pub calls: u64,
    pub merged: BTreeMap<Place, u64>,
    /// Lost, by whom is not known: packets and octets.
    pub pool: [u64; 2],
    pub stale_records: u64,
    pub evictions: u64,
    pub stopping: bool,
    /// More were refused than are remembered, and the table has said so: nobody knows of whom it will count what.
    pub blurred: bool,
    /// It has let go of some that the kernel may still hold, and has said so.
    pub forgetful: bool,
    pub most_remembered: usize,
}

pub fn scope_count(zones: &[u16]) -> usize {
    zones.len().max(1)
}

/// Whether the dump of this scope shows a place.
pub fn in_scope(place: Place, zones: &[u16], scope: usize) -> bool {
    zones.get(scope).is_none_or(|zone| in_zone(place, *zone))
}

pub fn name_of(who: &Incarnation, stamps: bool) -> Name {
    (who.place, who.id, if stamps { who.start_ns } else { 0 })
}

pub fn broken(what: impl Into<String>) -> Verdict {
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
            called_ms: BTreeSet::new(),
            calls: 0,
            merged: BTreeMap::new(),
            pool: [0; 2],
            stale_records: 0,
            evictions: 0,
            stopping: false,
            blurred: false,
            forgetful: false,
            most_remembered: usize::MAX,
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
        self.called_ms = [ms].into();
        self.merged.clear();
        self.pool = [0; 2];
        (self.stale_records, self.evictions) = (0, 0);
        (self.stopping, self.blurred, self.forgetful) = (false, false, false);
    }

    /// One whose end was told has moved since.
    pub fn has_remainders(&self) -> bool {
        self.accounts
            .values()
            .any(|account| account.ends > 0 && account.missing() != [0; 2])
    }

    pub fn clock_set(&mut self, ms: u64, offset_ns: i64) {
        self.clock_sets.push((ms, offset_ns));
    }

    /// What the state file begun now is to be judged by.
    pub fn snapshot(&self) -> Snapshot {
        let mut accounts = self.accounts.clone();
        // Of those that this run never met nothing is known to it.
        accounts.retain(|_, account| !account.is_unmet());
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

    pub fn own_tuples(&self) -> Vec<flow_table::Tuple> {
        self.own.iter().map(|place| tuple_of(*place)).collect()
    }

    pub fn is_own(&self, place: Place) -> bool {
        self.own.contains(&place)
    }

    pub fn marks(&self, mark: u32) -> bool {
        !self.marked || mark & 1 == 1
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
        self.blurred |= after.unremembered.records > 0 || after.remembered >= self.most_remembered;
        self.forgetful |= after.forgotten_total > 0;
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
                if name.2 != 0 && account.refusals > 1 && !self.blurred && !account.overtaken {
                    return broken(format!("{name:?} is refused for the first time once more"));
                }
                if account.left_over().is_none()
                    && !self.forgetful
                    && !(self.blurred && name.2 == 0)
                {
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
}
