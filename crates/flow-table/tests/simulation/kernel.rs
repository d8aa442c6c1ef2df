//! A connection tracking table: entries that are created, moved, marked, zeroed, destroyed. It knows nothing of who reads it.

use std::collections::VecDeque;

use flow_table::{Counters, Now, Observation};

use super::count::Count;
use super::place::{Place, is_tcp, labels_of, reply_of, tuple_of, zones_of};

/// Wall clock at monotonic 0, in 2026.
pub const EPOCH_NS: i64 = 1_780_000_000_000_000_000;

/// One life of an entry, and all that ever happened to it.
#[derive(Clone, Debug)]
pub struct Incarnation {
    pub place: Place,
    pub id: u32,
    pub start_ns: u64,
    pub born_ms: u64,
    /// What it has moved since its beginning, whoever zeroed what meanwhile.
    pub counted: Count,
    /// Of that, what has been zeroed away.
    zeroed: Count,
    /// How often that was.
    zeros: u32,
    pub marks: Vec<u32>,
    state: u8,
    refreshed_ms: u64,
}

/// What somebody read of an entry, and what was true at that moment.
#[derive(Clone, Debug)]
pub struct Sight {
    /// Number of the incarnation.
    pub who: usize,
    /// Readings are numbered.
    pub order: u64,
    pub counted: Count,
    /// None where the message carries none.
    pub shown: Option<Count>,
    pub zeros: u32,
    /// The entry has a start time, whether or not this message says it.
    pub stamped: bool,
    pub seen: Observation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    New,
    Update,
    Destroy,
}

pub struct Kernel {
    pub ms: u64,
    pub wall_offset_ns: i64,
    /// Entries get a start time.
    pub stamps: bool,
    /// Entries get counters.
    pub counts: bool,
    pub everybody: Vec<Incarnation>,
    table: Vec<Option<usize>>,
    pub events: VecDeque<(Kind, Sight)>,
    /// DESTROYs that were sent to this listener.
    sent: Vec<Sight>,
    listened_to: bool,
    readings: u64,
}

impl Kernel {
    pub fn new(places: usize, stamps: bool, counts: bool) -> Self {
        Self {
            ms: 1_000_000,
            wall_offset_ns: EPOCH_NS,
            stamps,
            counts,
            everybody: Vec::new(),
            table: vec![None; places],
            events: VecDeque::new(),
            sent: Vec::new(),
            listened_to: false,
            readings: 0,
        }
    }

    pub fn now(&self) -> Now {
        let wall = self.ms as i64 * 1_000_000 + self.wall_offset_ns;
        Now {
            monotonic_ms: self.ms,
            wall_ns: wall as u64,
        }
    }

    /// By so many seconds; never to before 1970 plus the time since the start, which the kernel refuses.
    pub fn set_clock(&mut self, seconds: i64) {
        self.wall_offset_ns = (self.wall_offset_ns + seconds * 1_000_000_000).max(0);
    }

    /// Two starts are never the same: the nanosecond tells.
    pub fn create(&mut self, place: Place, id: u32, mark: u32) {
        self.destroy(place);
        let who = self.everybody.len();
        self.everybody.push(Incarnation {
            place,
            id,
            start_ns: self.now().wall_ns + 1 + who as u64,
            born_ms: self.ms,
            counted: [1, 61, 0, 0],
            zeroed: [0; 4],
            zeros: 0,
            marks: vec![mark],
            state: 1,
            refreshed_ms: self.ms,
        });
        self.table[place] = Some(who);
        self.send(Kind::New, place);
    }

    pub fn grow(&mut self, place: Place, packets: u64) {
        let ms = self.ms;
        if let Some(entry) = self.entry(place) {
            entry.refreshed_ms = ms;
            let more = [packets, packets * 97, packets / 2, packets / 2 * 1_013];
            for (counter, more) in entry.counted.iter_mut().zip(more) {
                *counter += more;
            }
        }
    }

    pub fn turn(&mut self, place: Place, state: u8) {
        // A closed one does not open again: another SYN makes another entry.
        if is_tcp(place)
            && let Some(entry) = self.entry(place)
            && (!matches!(entry.state, 7 | 8) || matches!(state, 7 | 8))
        {
            entry.state = state;
            self.send(Kind::Update, place);
        }
    }

    pub fn mark(&mut self, place: Place, mark: u32) {
        if let Some(entry) = self.entry(place) {
            entry.marks.push(mark);
            self.send(Kind::Update, place);
        }
    }

    /// Another listener has missed a DESTROY, one of the last: everybody gets it again.
    pub fn repeat(&mut self, which: usize) {
        let last = self.sent.len().checked_sub(1 + which);
        if let Some(sight) = last
            .and_then(|last| self.sent.get(last))
            .filter(|_| self.stamps)
        {
            self.events.push_back((Kind::Destroy, sight.clone()));
        }
    }

    /// The listener's buffer was full: what waits is lost, and is not sent again either.
    pub fn overrun(&mut self) {
        self.events.clear();
        self.sent.clear();
    }

    /// Somebody listens, or nobody does, from now on.
    pub fn listen(&mut self, listened_to: bool) {
        self.listened_to = listened_to;
        self.events.clear();
        self.sent.clear();
    }

    pub fn destroy(&mut self, place: Place) {
        self.send(Kind::Destroy, place);
        self.table[place] = None;
    }

    pub fn zero(&mut self) {
        for who in self.table.iter().flatten() {
            let entry = &mut self.everybody[*who];
            entry.zeroed = entry.counted;
            entry.zeros += 1;
        }
    }

    pub fn flush(&mut self) {
        (0..self.table.len()).for_each(|place| self.destroy(place));
    }

    fn entry(&mut self, place: Place) -> Option<&mut Incarnation> {
        let who = self.table[place]?;
        self.everybody.get_mut(who)
    }

    pub fn places(&self) -> usize {
        self.table.len()
    }

    fn send(&mut self, kind: Kind, place: Place) {
        if !self.listened_to {
            return;
        }
        let Some(mut sight) = self.look(place) else {
            return;
        };
        let seen = &mut sight.seen;
        if kind == Kind::Destroy {
            seen.stop_ns = self.stamps.then_some(self.now().wall_ns);
            seen.timeout_s = None;
        } else {
            sight.shown = None;
            seen.counters = None;
            seen.start_ns = None;
        }
        if kind != Kind::New {
            seen.labels = [0; 16];
        }
        if kind == Kind::Destroy {
            self.sent.push(sight.clone());
        }
        self.events.push_back((kind, sight));
    }

    /// What is at a place, as a dump or a lookup reads it.
    pub fn look(&mut self, place: Place) -> Option<Sight> {
        let who = self.table[place]?;
        self.readings += 1;
        let entry = &self.everybody[who];
        let mut shown = entry.counted;
        for (counter, zeroed) in shown.iter_mut().zip(entry.zeroed) {
            *counter -= zeroed;
        }
        let [packets, octets, reply_packets, reply_octets] = shown;
        let shown = self.counts.then_some(shown);
        let counters = [
            Counters { packets, octets },
            Counters {
                packets: reply_packets,
                octets: reply_octets,
            },
        ];
        let original = tuple_of(place);
        let (zone, reply_zone) = zones_of(place);
        let expires = (entry.refreshed_ms + 600_000).saturating_sub(self.ms) / 1000;
        Some(Sight {
            who,
            order: self.readings,
            counted: entry.counted,
            shown,
            zeros: entry.zeros,
            stamped: self.stamps,
            seen: Observation {
                original,
                reply: reply_of(place),
                zone,
                reply_zone,
                id: entry.id,
                start_ns: self.stamps.then_some(entry.start_ns),
                stop_ns: None,
                last_packet_ns: None,
                counters: shown.map(|_| counters),
                mark: entry.marks[entry.marks.len() - 1],
                // The table keeps sixteen bits: what is above them reaches the admission and tells it who is meant.
                status: 0xe | (who as u32 + 1) << 16,
                protocol_state: if is_tcp(place) { entry.state } else { 0 },
                timeout_s: Some(expires as u32),
                labels: labels_of(place),
            },
        })
    }
}
