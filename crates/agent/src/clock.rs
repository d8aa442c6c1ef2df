//! Where deadlines and record times come from. What is only measured (how long a poll took) takes an `Instant`.

use flow_table::Now;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Deadlines count in CLOCK_BOOTTIME, which goes on while the machine sleeps and which nobody can set, so
/// that a suspended host does not find every connection young. Record times are the wall clock's.
pub fn now() -> Now {
    Now {
        monotonic_ms: nanoseconds(clock_gettime(ClockId::Boottime)) / 1_000_000,
        wall_ns: nanoseconds(clock_gettime(ClockId::Realtime)),
    }
}

/// Times before 1970 (a machine whose clock was never set) read as 0.
fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}
