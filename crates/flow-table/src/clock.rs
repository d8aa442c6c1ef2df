//! The two clocks: which monotonic moment a wall-clock time was, however often the wall clock has been set since.

use crate::observation::Now;

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

/// What the wall clock shows may wander this far from the monotonic one before that counts as a step.
const STEP_MS: i64 = 1000;
/// Steps remembered; starts from before the first of them are taken by the first.
const MOST_SPANS: usize = 16;

/// A time in which nobody set the wall clock.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Monotonic: the last moment that was seen before it, and the first one in it. The step lies between.
    after_ms: i64,
    from_ms: i64,
    /// Wall clock minus monotonic clock.
    offset_ms: i64,
}

/// The steps of the wall clock so far.
///
/// A kernel start time is wall-clock time of the connection's creation. Whether that was before or after something else
/// can be told on the monotonic clock only: after the wall clock was set back, new connections have smaller start times
/// than old ones for as long as the step.
#[derive(Default)]
pub(crate) struct Clock {
    spans: Vec<Span>,
    last_ms: i64,
}

impl Clock {
    /// Of a run that began then; at zero that is not known.
    pub(crate) fn new(began: Now) -> Self {
        let mut clock = Self::default();
        if began.wall_ns != 0 {
            clock.note(began);
        }
        clock
    }

    /// Takes notice of a moment.
    #[inline]
    pub(crate) fn note(&mut self, now: Now) {
        let monotonic = now.monotonic_ms as i64;
        let offset = offset(now);
        let same = self
            .spans
            .last()
            .is_some_and(|span| same_clock(offset, span.offset_ms));
        if !same {
            self.stepped(monotonic, offset);
        }
        self.last_ms = self.last_ms.max(monotonic);
    }

    /// Takes notice of a moment of a former run.
    pub(crate) fn note_former(&mut self, moment: Now) {
        let monotonic = moment.monotonic_ms as i64;
        let offset_ms = offset(moment);
        if let Some(first) = self.spans.first_mut() {
            if same_clock(offset_ms, first.offset_ms) {
                return;
            }
            first.after_ms = monotonic;
        }
        let span = Span {
            after_ms: i64::MIN,
            from_ms: monotonic,
            offset_ms,
        };
        self.spans.insert(0, span);
        self.last_ms = self.last_ms.max(monotonic);
    }

    #[cold]
    fn stepped(&mut self, monotonic: i64, offset_ms: i64) {
        if self.spans.len() == MOST_SPANS {
            self.spans.remove(0);
        }
        let after_ms = if self.spans.is_empty() {
            i64::MIN
        } else {
            self.last_ms
        };
        self.spans.push(Span {
            after_ms,
            from_ms: monotonic,
            offset_ms,
        });
    }

    /// The monotonic moment of a wall-clock time that has passed: the latest one at which the clock showed it. None: as far
    /// as was seen it never did (a step forward jumped over it, or it is yet to come).
    pub(crate) fn monotonic_of(&self, wall_ns: u64, now: Now) -> Option<i64> {
        self.moments(wall_ns, now).next().map(|(at, _)| at)
    }

    /// A wall-clock time that has passed was before that moment. Milliseconds cannot tell what began just before it, so
    /// that it is the wall clock that tells, unless it was set in between.
    pub(crate) fn is_before(&self, wall_ns: u64, moment: Now, now: Now) -> bool {
        let shown = self.moments(wall_ns, now).next();
        shown.is_some_and(
            |(at, offset_ms)| match same_clock(offset_ms, offset(moment)) {
                true => wall_ns < moment.wall_ns,
                false => at < moment.monotonic_ms as i64,
            },
        )
    }

    /// The earliest one at which the clock showed it.
    pub(crate) fn earliest_of(&self, wall_ns: u64, now: Now) -> Option<i64> {
        self.moments(wall_ns, now).map(|(at, _)| at).min()
    }

    /// Every moment at which the clock showed this time, that of the latest step first, and by how much it was ahead then.
    fn moments(&self, wall_ns: u64, now: Now) -> impl Iterator<Item = (i64, i64)> {
        let wall = (wall_ns / 1_000_000) as i64;
        let now = now.monotonic_ms as i64;
        let mut until = now;
        let spans = self.spans.iter().enumerate().rev();
        spans.filter_map(move |(n, span)| {
            let at = wall - span.offset_ms;
            let after = if n == 0 { i64::MIN } else { span.after_ms };
            let shown = (after..=until.saturating_add(STEP_MS)).contains(&at);
            until = span.from_ms;
            shown.then(|| (at.min(now), span.offset_ms))
        })
    }
}

fn offset(now: Now) -> i64 {
    (now.wall_ns / 1_000_000) as i64 - now.monotonic_ms as i64
}

/// Nobody set it between these.
fn same_clock(offset_ms: i64, other_ms: i64) -> bool {
    (offset_ms - other_ms).abs() <= STEP_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    const WALL: u64 = 1_780_000_000_000;

    fn now(monotonic_ms: u64, wall_ms: u64) -> Now {
        Now {
            monotonic_ms,
            wall_ns: wall_ms * 1_000_000,
        }
    }

    #[test]
    fn a_wall_clock_time_is_the_latest_moment_at_which_the_clock_showed_it() {
        let mut clock = Clock::default();
        let moments = [
            now(10_000, WALL),
            now(20_000, WALL + 10_000),
            // Set back by an hour, after that forward by a day.
            now(25_000, WALL + 15_000 - HOUR),
            now(90_000, WALL + 80_000 - HOUR),
            now(95_000, WALL + 85_000 + 23 * HOUR),
        ];
        for moment in moments {
            clock.note(moment);
        }
        let last = now(100_000, WALL + 90_000 + 23 * HOUR);
        let moment = |wall: u64| clock.monotonic_of(wall * 1_000_000, last);
        let at = |wall: u64| moment(wall).unwrap();
        // Before the first step, and before the first moment.
        assert_eq!(at(WALL + 5_000), 15_000);
        assert_eq!(at(WALL - 2 * HOUR), 10_000 - 2 * HOUR as i64);
        // Within the hour that was shown again: the second time, as far as that went.
        assert_eq!(at(WALL - HOUR + 20_000), 30_000);
        assert_eq!(at(WALL - HOUR + 79_000), 89_000);
        assert_eq!(at(WALL - HOUR / 2), 10_000 - HOUR as i64 / 2);
        let first = |wall: u64| clock.earliest_of(wall * 1_000_000, last);
        assert_eq!(first(WALL + 5_000), Some(15_000));
        assert_eq!(
            first(WALL - HOUR + 20_000),
            Some(10_000 - HOUR as i64 + 20_000)
        );
        // In the last span, in the gap before it, and in the future.
        assert_eq!(at(WALL + 88_000 + 23 * HOUR), 98_000);
        assert_eq!(moment(WALL + 12 * HOUR), None);
        assert_eq!(moment(WALL + 100 * HOUR), None);
    }

    #[test]
    fn what_was_a_nanosecond_before_a_moment_was_before_it() {
        let start = now(10_000, WALL);
        let clock = Clock::new(start);
        let later = now(20_000, WALL + 10_000);
        assert!(clock.is_before(start.wall_ns - 1, start, later));
        assert!(!clock.is_before(start.wall_ns, start, later));
    }

    #[test]
    fn what_began_after_a_moment_was_not_before_it_though_the_clock_was_set_back() {
        let start = now(10_000, WALL);
        let mut clock = Clock::new(start);
        let later = now(20_000, WALL + 10_000 - HOUR);
        clock.note(later);
        let at = |wall: u64| clock.is_before(wall * 1_000_000, start, later);
        assert!(!at(WALL + 9_999 - HOUR));
        assert!(at(WALL - 2 * HOUR));
    }

    #[test]
    fn the_earliest_moment_may_be_that_of_the_later_step() {
        let mut clock = Clock::default();
        clock.note(now(10_000, WALL));
        // Set forward by five seconds at once, and nobody looked for four.
        let last = now(14_186, WALL + 4_186 + 5_000);
        clock.note(last);
        let began = clock.earliest_of((WALL + 5_003) * 1_000_000, last);
        assert_eq!(began, Some(10_003));
    }

    #[test]
    fn a_clock_that_wanders_has_not_stepped() {
        let mut clock = Clock::default();
        for n in 0..100 {
            clock.note(now(1_000 * n, WALL + 1_000 * n + n * 5));
        }
        assert_eq!(clock.spans.len(), 1);
        for n in 0..100 {
            clock.note(now(100_000 + n, WALL + n * HOUR));
        }
        assert_eq!(clock.spans.len(), MOST_SPANS);
    }
}
