//! What the table owes of one incarnation, and what it has told.
//!
//! The table can only tell what it was shown. So what it owes is made of readings: the growth from one to the next, less
//! what was not its own yet at the first one. Where the kernel's words leave several answers (a counter that was zeroed and
//! has overtaken its former value, a reading that was asked for before a later one arrived and may be dropped) there is a
//! least and a most; everywhere else the two are equal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::count::{Count, fell, greater, less, lesser, sum, with};
use super::kernel::Sight;

/// A reading that reached the table.
#[derive(Clone, Debug)]
pub struct Reading {
    order: u64,
    counted: Count,
    shown: Count,
    zeros: u32,
}

/// What may be owed of a first reading: at least and at most.
pub type Share = (Count, Count);

#[derive(Clone, Default, Debug)]
pub struct Account {
    /// Incarnations that the table was told of while they were selected.
    pub ours: BTreeSet<usize>,
    /// By incarnation: without start times several share an account where nothing tells them apart.
    last: BTreeMap<usize, Reading>,
    latest: Option<usize>,
    /// Packets and octets of both directions, as losses are counted.
    pub least: [u64; 2],
    most: Count,
    /// What readings that came out of turn show beyond the last one that did not.
    ahead: Count,
    /// There were such readings since.
    pub loose: bool,
    first_loose: Option<Count>,
    /// A lookup has said that it is outside the selection now.
    pub left: bool,
    /// One has said so in this run.
    pub has_left: bool,
    /// What was owed when the state file was written: so it is again once its incarnation is seen.
    pending: Option<[u64; 2]>,
    /// This reading says that it is not.
    excused: bool,
    /// Nothing can be asked for any more.
    vague: bool,
    /// It goes on from a state file; what was owed there is not known to this run.
    pub restored: bool,
    /// The state file did not have it, though the run that wrote it knew it.
    pub dropped: bool,
    pub destroyed: BTreeSet<usize>,
    /// Deltas of committed records.
    pub told: Count,
    /// Packets and octets of both directions that were counted as lost for it alone.
    pub lost: [u64; 2],
    /// Every total that was shown.
    shown: BTreeSet<Count>,
    pub zeroed: bool,
    pub stamped: bool,
    /// Something that was shown says that it is over.
    pub may_end: bool,
    /// The kernel does not hold it any more, and the table was told so.
    pub gone: bool,
    pub held: bool,
    /// Its NEW was heard when another one with its id had taken its place.
    pub overtaken: bool,
    /// A message that carries labels was among what was shown in this run.
    pub labelled: bool,
    pub marks: BTreeSet<u32>,
    /// When its counters were last seen to move, by any reading.
    pub moved_ms: u64,
    pub ends: u32,
    /// Its end may have been counted as left at a stop.
    pub end_left: bool,
    pub start_ns: Option<u64>,
    pub totals: Count,
    pub in_flight: u32,
    pub refusals: u64,
}

impl Account {
    /// Without start times one whose counters fell is taken for two. A DESTROY names one of them: which one, nobody can
    /// tell.
    pub fn end_one_of_two(&mut self, counters: Option<Count>) {
        if self.zeroed && !self.stamped {
            self.most = with(self.most, counters.unwrap_or_default());
            self.excuse();
            self.vague = true;
        }
    }

    /// Another run knew it; this one has not met it.
    pub fn is_unmet(&self) -> bool {
        self.restored || self.dropped
    }

    /// Nothing was ever read of it: all that is known is that it began.
    pub fn is_hearsay(&self) -> bool {
        self.latest.is_none() && self.destroyed.is_empty()
    }

    /// A reading with counters reaches the table. `in_turn`: nothing newer of its place arrived since it was asked for.
    /// `first` tells how much of a first reading is owed.
    pub fn read(
        &mut self,
        sight: &Sight,
        in_turn: bool,
        selected: bool,
        first: impl FnOnce(Count) -> Share,
    ) {
        let Some(shown) = sight.shown else {
            return;
        };
        self.shown.insert(shown);
        self.zeroed |= sight.zeros > 0;
        self.stamped = sight.stamped;
        let reading = Reading {
            order: sight.order,
            counted: sight.counted,
            shown,
            zeros: sight.zeros,
        };
        let known = self.last.get(&sight.who).cloned();
        if known
            .as_ref()
            .is_some_and(|known| reading.order <= known.order)
        {
            return;
        }
        let (mut least, mut most) = match (&known, self.latest) {
            (Some(known), _) => self.growth(known, &reading),
            (None, None) => first(shown),
            (None, Some(latest)) => {
                let (least, most) = self.successor(latest, &reading);
                // Nor is more of it owed than of one that has no predecessor.
                (lesser(least, first(shown).0), most)
            }
        };
        if self.left || self.dropped || self.vague || !self.ours.contains(&sight.who) {
            least = [0; 4];
        }
        if !selected
            && !self.stamped
            && known.as_ref().is_some_and(|known| fell(known.shown, shown))
        {
            // It looks like another one, which is outside the selection.
            least = [0; 4];
        }
        if let Some(first) = self.first_loose {
            least = [0; 4];
            most = greater(most, less(reading.counted, first));
        }
        if let Some(pending) = std::mem::take(&mut self.pending)
            && known.is_some()
            && !self.excused
        {
            self.least = [self.least[0] + pending[0], self.least[1] + pending[1]];
        }
        self.excused = false;
        if !in_turn {
            self.ahead = greater(
                self.ahead,
                greater(most, shown_growth(known.as_ref(), &reading)),
            );
            self.loose = true;
            if self.latest.is_none() {
                self.first_loose.get_or_insert(reading.counted);
            }
            return;
        }
        if self.loose {
            most = greater(most, self.ahead);
        }
        let [packets, octets] = sum(least);
        self.least = [self.least[0] + packets, self.least[1] + octets];
        self.most = with(self.most, most);
        (self.ahead, self.loose, self.first_loose) = ([0; 4], false, None);
        self.left &= !selected;
        (self.restored, self.dropped) = (false, false);
        let newer = self
            .latest
            .and_then(|latest| self.last.get(&latest))
            .is_none_or(|latest| latest.order < reading.order);
        if newer {
            self.latest = Some(sight.who);
        }
        self.last.insert(sight.who, reading);
    }

    /// From one reading of an incarnation to the next.
    fn growth(&mut self, known: &Reading, reading: &Reading) -> Share {
        let truth = less(reading.counted, known.counted);
        if self.restored && reading.zeros > 0 {
            // How much of its counters the file knew is not seen any more.
            self.excuse();
            return ([0; 4], truth);
        }
        if self.left {
            return ([0; 4], truth);
        }
        if known.zeros == reading.zeros {
            return (truth, truth);
        }
        let growth = if fell(known.shown, reading.shown) {
            // Without start times this is how another incarnation looks.
            self.may_end |= !self.stamped;
            reading.shown
        } else {
            less(reading.shown, known.shown)
        };
        (growth, if self.loose { truth } else { growth })
    }

    /// The first reading of an incarnation that shares its account with an earlier one.
    fn successor(&mut self, latest: usize, reading: &Reading) -> Share {
        let Some(former) = self.last.get(&latest) else {
            return ([0; 4], reading.shown);
        };
        self.may_end = true;
        let evident = self.destroyed.contains(&latest) || fell(former.shown, reading.shown);
        if self.restored || self.loose || reading.order < former.order {
            self.excuse();
            return ([0; 4], reading.shown);
        }
        // It may be taken for any of which nobody said that it is over, and that does not have more.
        let mut least = reading.shown;
        let alive = self.last.iter().filter(|(who, other)| {
            !self.destroyed.contains(*who) && !fell(other.shown, reading.shown)
        });
        for (_, other) in alive {
            least = lesser(least, less(reading.shown, other.shown));
        }
        if !evident {
            least = lesser(least, less(reading.shown, former.shown));
        }
        (least, reading.shown)
    }

    /// Nothing of what was shown so far has to be told any more.
    pub fn excuse(&mut self) {
        self.least = self.settled();
        self.excused = true;
    }

    /// It may still be told so much.
    pub fn most(&self) -> Count {
        with(self.most, self.ahead)
    }

    /// What is owed and was neither told nor counted.
    pub fn missing(&self) -> [u64; 2] {
        let [packets, octets] = self.least;
        let [told_packets, told_octets] = self.settled();
        [
            packets.saturating_sub(told_packets),
            octets.saturating_sub(told_octets),
        ]
    }

    /// What may still be told or counted. None: more was than there is.
    pub fn left_over(&self) -> Option<[u64; 2]> {
        let [packets, octets] = sum(self.most());
        let [told_packets, told_octets] = self.settled();
        Some([
            packets.checked_sub(told_packets)?,
            octets.checked_sub(told_octets)?,
        ])
    }

    fn settled(&self) -> [u64; 2] {
        let [packets, octets] = sum(self.told);
        [packets + self.lost[0], octets + self.lost[1]]
    }

    /// These totals were shown, or are those before any were.
    pub fn has_shown(&self, totals: &Count) -> bool {
        *totals == [0; 4] || self.shown.contains(totals)
    }

    /// Another run goes on from here.
    pub fn for_next_run(&self, in_file: bool) -> Self {
        let mut account = Self {
            restored: in_file,
            dropped: !in_file,
            ours: BTreeSet::new(),
            held: false,
            labelled: false,
            has_left: false,
            gone: false,
            start_ns: None,
            totals: [0; 4],
            in_flight: 0,
            refusals: 0,
            ..self.clone()
        };
        if in_file {
            account.pending = Some(account.missing());
        }
        account.excuse();
        account.excused = false;
        account
    }
}

fn shown_growth(known: Option<&Reading>, reading: &Reading) -> Count {
    match known {
        Some(known) => less(reading.counted, known.counted),
        None => reading.shown,
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "owed {:?} to {:?}, told {:?}, lost {:?}",
            self.least,
            sum(self.most()),
            sum(self.told),
            self.lost
        )
    }
}
