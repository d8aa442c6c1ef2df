//! One connection in the table: 128 octets beside its key.

mod advance;

use advance::{ended_ms, expires_s};

use super::counters::{backwards, minus};
use super::facts::{Place, Presence, State, flag};
use super::identity::Identity;
use crate::clock::Millis;
use crate::observation::{Counters, Now, Observation, closed};
use crate::queues::Timeouts;

const PLACE_SHIFT: u32 = 9;
const PRESENCE_SHIFT: u32 = 11;
const STATE_SHIFT: u32 = 13;
/// Of the two bits of presence, the one that Missing and Destroyed have.
const GONE: u16 = 2 << PRESENCE_SHIFT;
const NOT_HELD: u16 = 3 << PRESENCE_SHIFT;

/// What the table knows of one connection beside its key.
///
/// In the order of use: an update ends with `end_ms` (74 octets), so that it rarely touches a third cache line; what a
/// deadline is made of lies around it.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Connection {
    /// The kernel's start time, or the first sighting.
    pub(crate) start_ns: u64,
    /// The kernel's counters as last observed.
    pub(crate) totals: [Counters; 2],
    pub(crate) id: u32,
    /// Requests (polls, lookups) with a lower number than this were made before the last observation was merged.
    pub(crate) stamp: u32,
    pub(crate) mark: u32,
    /// Index into the side storage plus one; 0: a reply that is the inverse, one zone, no labels. Free slots: the next.
    pub(crate) side: u32,
    facts: u16,
    pub(crate) status: u16,
    pub(crate) protocol_state: u8,
    pub(crate) scope: u8,
    /// Monotonic clock when the counters were last seen to move.
    pub(crate) moved_ms: Millis,
    /// Wall clock of the same.
    pub(crate) end_ms: Millis,
    /// Monotonic: last record, or start; once it has ended: the later of that end's sighting and the last record.
    pub(crate) since_ms: Millis,
    /// Which life of the slot; a generation is given out once in the table, so no slot remembers its former ones.
    pub(crate) generation: u32,
    pub(crate) names: u32,
    /// What settled records hold, or the baseline, in the kernel's counting: where counters were zeroed before what they
    /// held was exported this is below zero, and wraps.
    pub(crate) exported: [Counters; 2],
    /// End of the last settled record in seconds since 1970; 0: none.
    pub(crate) record_end_s: u32,
    /// Without counters: monotonic second at which the kernel would drop it.
    expires_s: u32,
}

/// The memory goal: 180 octets a connection for IPv4 with 8 to 12 of index and 16 to 17 of queue.
const _: () = assert!(size_of::<Connection>() == 128);

impl Connection {
    /// As an observation shows it that is the first of it.
    pub(crate) fn seen_first(seen: &Observation, destroyed: bool, now: Now) -> Self {
        let moment = Millis::new(now.monotonic_ms);
        let mut connection = Self {
            totals: seen.counters.unwrap_or_default(),
            id: seen.id,
            mark: seen.mark,
            status: seen.status as u16,
            protocol_state: seen.protocol_state,
            moved_ms: moment,
            since_ms: moment,
            end_ms: Millis::new(ended_ms(seen, destroyed, 0, now)),
            expires_s: expires_s(seen, now),
            ..Self::default()
        };
        if seen.counters.is_some() {
            connection.set(flag::ACCOUNTED);
        }
        connection
    }

    /// A free slot, before another one.
    pub(crate) fn free(next: u32) -> Self {
        Self {
            side: next,
            ..Self::default()
        }
    }

    pub(crate) fn state(&self) -> State {
        match self.facts >> STATE_SHIFT {
            1 => State::Live,
            2 => State::Idle,
            3 => State::Ended,
            4 => State::Done,
            5 => State::Gone,
            _ => State::Free,
        }
    }

    /// Its end is settled.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state(), State::Done | State::Gone)
    }

    pub(crate) fn put_state(&mut self, state: State) {
        self.put(STATE_SHIFT, 7, state as u16);
    }

    pub(crate) fn place(&self) -> Place {
        match self.facts >> PLACE_SHIFT & 3 {
            0 => Place::Out,
            1 => Place::Queued,
            2 => Place::InFlight,
            _ => Place::Awaiting,
        }
    }

    pub(crate) fn put_place(&mut self, place: Place) {
        self.put(PLACE_SHIFT, 3, place as u16);
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.place() == Place::InFlight
    }

    pub(crate) fn presence(&self) -> Presence {
        match self.facts >> PRESENCE_SHIFT & 3 {
            0 => Presence::Held,
            1 => Presence::Left,
            2 => Presence::Missing,
            _ => Presence::Destroyed,
        }
    }

    pub(crate) fn put_presence(&mut self, presence: Presence) {
        self.put(PRESENCE_SHIFT, 3, presence as u16);
    }

    fn put(&mut self, shift: u32, mask: u16, value: u16) {
        self.facts = self.facts & !(mask << shift) | value << shift;
    }

    /// Missing or Destroyed.
    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        self.has(GONE)
    }

    /// The kernel holds it in the selection, and its start is the kernel's: id and start tell it.
    #[inline]
    pub(crate) fn is_named(&self) -> bool {
        self.facts & (flag::KERNEL_START | NOT_HELD) == flag::KERNEL_START
    }

    #[inline]
    pub(crate) fn has(&self, flags: u16) -> bool {
        self.facts & flags != 0
    }

    pub(crate) fn set(&mut self, flags: u16) {
        self.facts |= flags;
    }

    pub(crate) fn clear(&mut self, flags: u16) {
        self.facts &= !flags;
    }

    /// Reads a word of each cache line that an update uses.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        self.start_ns ^ u64::from(self.stamp) ^ self.end_ms.get()
    }

    /// Reads a word of each cache line that a deadline is made of.
    #[inline]
    pub(crate) fn touch_deadline(&self) -> u64 {
        u64::from(self.facts) ^ u64::from(self.generation)
    }

    pub(crate) fn identity(&self) -> Identity {
        let start = self.has(flag::KERNEL_START).then_some(self.start_ns);
        Identity::new(self.id, start)
    }

    /// Its protocol is over with it.
    pub(crate) fn is_closed(&self, protocol: u8) -> bool {
        closed(protocol, self.protocol_state)
    }

    /// After `advance`, an observation by a dump means nothing beyond the connection's own fields unless events are on: it
    /// lives, nobody waits for it, it has no labels.
    #[inline]
    pub(crate) fn is_settled(&self, seen: &Observation) -> bool {
        self.state() == State::Live
            && self.side == 0
            && seen.labels == [0; 16]
            && self.place() != Place::Awaiting
            && !self.is_closed(seen.original.protocol)
    }

    /// Something that no settled record holds. A done connection's refreshed timeout is not worth a record.
    pub(crate) fn unexported(&self) -> bool {
        if self.has(flag::ACCOUNTED) {
            self.totals != self.exported
        } else {
            self.has(flag::MOVED) && !self.is_done()
        }
    }

    /// Its end was told, and nothing has come since.
    pub(crate) fn has_ended_for_good(&self) -> bool {
        self.has(flag::END_TOLD) && !self.unexported() && !self.is_in_flight()
    }

    /// Its record is due at once, before any deadline.
    pub(crate) fn urgent(&self) -> bool {
        self.state() == State::Ended || self.has(flag::AT_ONCE)
    }

    /// Its counters have rested for the idle timeout.
    pub(crate) fn is_quiet(&self, now: Now, timeouts: Timeouts) -> bool {
        now.monotonic_ms >= self.quiet_at(timeouts)
    }

    fn quiet_at(&self, timeouts: Timeouts) -> u64 {
        self.moved_ms.get().saturating_add(timeouts.idle)
    }

    /// Ended ones: since when. Others: the active timeout after the last record, or the idle timeout after the last
    /// movement, whichever comes first; of a done one only the former.
    pub(crate) fn deadline(&self, timeouts: Timeouts) -> u64 {
        let since = self.since_ms.get();
        if self.urgent() {
            return since;
        }
        let active = since.saturating_add(timeouts.active);
        match self.state() {
            State::Done | State::Gone => active,
            _ => active.min(self.quiet_at(timeouts)),
        }
    }

    /// What no settled record holds.
    pub(crate) fn deltas(&self) -> [Counters; 2] {
        minus(&self.totals, &self.exported)
    }

    /// The start that records have told, if that was not the kernel's.
    pub(crate) fn told_start(&self) -> Option<u64> {
        let told = self.has(flag::RECORDED) || self.is_in_flight();
        (told && !self.has(flag::KERNEL_START)).then_some(self.start_ns)
    }

    /// Nobody need look at it any more, nor waits for that.
    pub(crate) fn forget_questions(&mut self) {
        if self.place() == Place::Awaiting {
            self.put_place(Place::Out);
        }
        self.clear(flag::FRESH | flag::SUSPECT);
    }

    /// Nothing is unexported any more.
    pub(crate) fn mark_exported(&mut self) {
        self.exported = self.totals;
        self.clear(flag::MOVED | flag::AT_ONCE);
    }

    /// Counters of an incarnation never go back, unless somebody zeroes them.
    #[inline]
    pub(crate) fn went_back(&self, seen: &Observation) -> bool {
        self.has(flag::ACCOUNTED)
            && seen
                .counters
                .as_ref()
                .is_some_and(|counters| backwards(counters, &self.totals))
    }

    /// Somebody has zeroed the kernel's counters: what was not exported of them stays due. Hands back how far they had come.
    pub(crate) fn zero(&mut self) -> [Counters; 2] {
        self.exported = minus(&self.exported, &self.totals);
        std::mem::take(&mut self.totals)
    }
}
