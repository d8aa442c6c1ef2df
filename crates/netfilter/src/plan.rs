//! How to dump several zones: one filtered dump for each, or one for all of them, sorted out by the reader.
//!
//! The kernel walks the whole table in either case. An entry that it leaves out costs it 0.24 µs, one that it writes and we
//! receive 1.6 µs (measured on a table of a million). With N entries in the table, S of them in Z zones,
//!
//! - a dump a zone costs 1.6 · S + 0.24 · (Z · N − S),
//! - one dump for all costs 1.6 · N.
//!
//! One zone is always asked for by itself; seven or more never are. A kernel before 6.8 ignores the zone in the request
//! and sends everything each time.

/// What an entry costs that the kernel leaves out, in hundredths of a microsecond.
const LEFT_OUT: u64 = 24;
/// What an entry costs that is received.
const RECEIVED: u64 = 160;

/// How the entries of several zones are got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZonePlan {
    /// One dump for each zone, with [`crate::Filter::zone`].
    DumpEach,
    /// One dump of every zone.
    DumpAll,
}

impl ZonePlan {
    /// The cheaper way, given the table's entries ([`crate::Counts::entries`]), how many of them were in the zones the last
    /// time (0 if unknown), and whether the kernel was seen to apply the filter ([`crate::DumpOutcome::unwanted`] is 0).
    #[must_use]
    pub const fn choose(zones: usize, entries: u64, selected: u64, kernel_filters: bool) -> Self {
        let selected = if selected < entries {
            selected
        } else {
            entries
        };
        let zones = zones as u64;
        let received = if kernel_filters {
            selected
        } else {
            zones.saturating_mul(entries)
        };
        let left_out = zones.saturating_mul(entries).saturating_sub(received);
        let each = received
            .saturating_mul(RECEIVED)
            .saturating_add(left_out.saturating_mul(LEFT_OUT));
        if zones <= 1 || each <= entries.saturating_mul(RECEIVED) {
            Self::DumpEach
        } else {
            Self::DumpAll
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ZonePlan::{self, DumpAll, DumpEach};

    /// Two zones of a million entries: 0.48 s for leaving out, 1.36 s per million selected; all at once 1.6 s. Even at
    /// 823,529 selected.
    #[test]
    fn the_cheaper_way_is_chosen_by_what_the_kernel_takes() {
        let two = |selected| ZonePlan::choose(2, 1_000_000, selected, true);
        assert_eq!(
            [two(0), two(823_000), two(824_000), two(1_000_000)],
            [DumpEach, DumpEach, DumpAll, DumpAll]
        );
        assert_eq!(ZonePlan::choose(6, 1_000_000, 100_000, true), DumpEach);
        assert_eq!(ZonePlan::choose(7, 1_000_000, 0, true), DumpAll);
    }

    #[test]
    fn one_zone_is_asked_for_by_itself_and_a_kernel_that_does_not_filter_is_asked_once() {
        assert_eq!(ZonePlan::choose(1, 1_000_000, 1_000_000, true), DumpEach);
        assert_eq!(ZonePlan::choose(1, 1_000, 10, false), DumpEach);
        assert_eq!(ZonePlan::choose(2, 1_000, 10, false), DumpAll);
        assert_eq!(ZonePlan::choose(2, 0, 5, true), DumpEach);
        assert_eq!(ZonePlan::choose(0, 1_000, 1_000, true), DumpEach);
    }
}
