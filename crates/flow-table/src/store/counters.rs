//! Arithmetic on both directions' counters.

use crate::observation::Counters;

/// In both directions, wrapping where counters were zeroed between the two.
pub(crate) fn minus(left: &[Counters; 2], right: &[Counters; 2]) -> [Counters; 2] {
    combine(left, right, u64::wrapping_sub)
}

/// In both directions.
pub(crate) fn plus(left: &[Counters; 2], right: &[Counters; 2]) -> [Counters; 2] {
    combine(left, right, u64::wrapping_add)
}

fn combine(
    left: &[Counters; 2],
    right: &[Counters; 2],
    of: impl Fn(u64, u64) -> u64,
) -> [Counters; 2] {
    let [a, b] = left;
    let [c, d] = right;
    [(a, c), (b, d)].map(|(left, right)| Counters {
        packets: of(left.packets, right.packets),
        octets: of(left.octets, right.octets),
    })
}

/// A counter went back. What was zeroed before it was exported is below zero, and nothing is before that.
pub(crate) fn backwards(new: &[Counters; 2], old: &[Counters; 2]) -> bool {
    let less = |new: u64, old: u64| (new as i64) < (old as i64);
    new.iter()
        .zip(old)
        .any(|(new, old)| less(new.packets, old.packets) || less(new.octets, old.octets))
}
