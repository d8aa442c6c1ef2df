//! One connection in the table: 128 octets beside its key.

use crate::observation::Counters;

/// 48 bits: milliseconds for 8,900 years.
#[derive(Clone, Copy, Default)]
pub(crate) struct Millis([u16; 3]);

impl Millis {
    pub(crate) fn new(ms: u64) -> Self {
        Self([ms as u16, (ms >> 16) as u16, (ms >> 32) as u16])
    }

    pub(crate) fn get(self) -> u64 {
        let [low, middle, high] = self.0;
        u64::from(low) | u64::from(middle) << 16 | u64::from(high) << 32
    }
}

/// Where a connection is in its life; see the crate's documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum State {
    /// The slot is free.
    #[default]
    Free,
    Live,
    /// Quiet and exported as such: out of the queue.
    Idle,
    /// Ended, its end not settled.
    Ended,
    /// Its end is settled, and somebody may still speak of it.
    Done,
}

/// Single facts about a connection.
pub(crate) mod flag {
    /// In an unsettled batch, therefore not in the queue.
    pub(crate) const IN_FLIGHT: u16 = 1;
    /// The kernel counts for it.
    pub(crate) const ACCOUNTED: u16 = 1 << 1;
    /// The kernel no longer holds it, or holds another incarnation.
    pub(crate) const GONE: u16 = 1 << 2;
    /// A DESTROY event said so.
    pub(crate) const DESTROYED: u16 = 1 << 3;
    /// Without counters: activity that no record tells of.
    pub(crate) const MOVED: u16 = 1 << 4;
    /// A record of it has been settled.
    pub(crate) const RECORDED: u16 = 1 << 5;
    /// `start_ns` is the kernel's.
    pub(crate) const KERNEL_START: u16 = 1 << 6;
    /// In the queue.
    pub(crate) const QUEUED: u16 = 1 << 7;
    /// Due, and out of the queue until a lookup answers.
    pub(crate) const AWAITING: u16 = 1 << 8;
    /// Looked at since it became due.
    pub(crate) const FRESH: u16 = 1 << 9;
    /// Missing from a filtered dump, or perhaps over, and not yet looked up.
    pub(crate) const SUSPECT: u16 = 1 << 10;
    /// Its next record has reason 4, because the table stops.
    pub(crate) const STOPPING: u16 = 1 << 11;
    /// It left the selection: one record with reason 4, then it is forgotten.
    pub(crate) const LEFT: u16 = 1 << 12;
}

const STATE_SHIFT: u32 = 13;

/// What the table knows of one connection beside its key.
///
/// In the order of use: an update ends with `end_ms` (74 octets), so that it rarely touches a third cache line; what a
/// deadline is made of lies around it.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Connection {
    /// The kernel's start time, or the first sighting.
    pub(crate) start_ns: u64,
    /// As last observed.
    pub(crate) totals: [Counters; 2],
    pub(crate) id: u32,
    /// Requests (polls, lookups) with a lower number than this were made before the last observation was merged.
    pub(crate) stamp: u32,
    pub(crate) mark: u32,
    /// Index into the side storage plus one; 0: a reply that is the inverse, one zone, no labels. Free slots: the next.
    pub(crate) side: u32,
    pub(crate) flags_and_state: u16,
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
    /// What settled records hold, or the baseline.
    pub(crate) exported: [Counters; 2],
    /// End of the last settled record in seconds since 1970; 0: none.
    pub(crate) record_end_s: u32,
    /// Without counters: monotonic second at which the kernel would drop it.
    pub(crate) expires_s: u32,
}

impl Connection {
    pub(crate) fn state(&self) -> State {
        match self.flags_and_state >> STATE_SHIFT {
            1 => State::Live,
            2 => State::Idle,
            3 => State::Ended,
            4 => State::Done,
            _ => State::Free,
        }
    }

    pub(crate) fn put_state(&mut self, state: State) {
        self.flags_and_state =
            self.flags_and_state & ((1 << STATE_SHIFT) - 1) | (state as u16) << STATE_SHIFT;
    }

    pub(crate) fn has(&self, flags: u16) -> bool {
        self.flags_and_state & flags != 0
    }

    pub(crate) fn set(&mut self, flags: u16) {
        self.flags_and_state |= flags;
    }

    pub(crate) fn clear(&mut self, flags: u16) {
        self.flags_and_state &= !flags;
    }

    /// Something that no settled record holds. A done connection's refreshed timeout is not worth a record.
    pub(crate) fn unexported(&self) -> bool {
        if self.has(flag::ACCOUNTED) {
            self.totals != self.exported
        } else {
            self.has(flag::MOVED) && self.state() != State::Done
        }
    }

    /// Its record is due at once, before any deadline.
    pub(crate) fn urgent(&self) -> bool {
        self.state() == State::Ended || self.has(flag::STOPPING)
    }

    /// Totals minus what settled records hold.
    pub(crate) fn deltas(&self, totals: &[Counters; 2]) -> [Counters; 2] {
        let [original, reply] = totals;
        let [exported_original, exported_reply] = &self.exported;
        [
            less(original, exported_original),
            less(reply, exported_reply),
        ]
    }
}

fn less(total: &Counters, exported: &Counters) -> Counters {
    Counters {
        packets: total.packets.saturating_sub(exported.packets),
        octets: total.octets.saturating_sub(exported.octets),
    }
}

/// A counter went back: no incarnation's counters do.
pub(crate) fn backwards(new: &[Counters; 2], old: &[Counters; 2]) -> bool {
    new.iter()
        .zip(old)
        .any(|(new, old)| new.packets < old.packets || new.octets < old.octets)
}

/// `monotonic` minus the age that a wall-clock time has; times in the future have none.
pub(crate) fn monotonic_of(start_ns: u64, now: crate::Now) -> u64 {
    now.monotonic_ms
        .saturating_sub(now.wall_ns.saturating_sub(start_ns) / 1_000_000)
}

/// The memory goal: 180 octets a connection for IPv4 with 8 to 12 of index and 16 to 17 of queue.
const _: () = assert!(size_of::<Connection>() == 128);
