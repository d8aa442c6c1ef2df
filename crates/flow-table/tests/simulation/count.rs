//! Packets and octets of both directions, and the little arithmetic that they take.

use flow_table::Counters;

/// Packets and octets, original and reply.
pub type Count = [u64; 4];

pub fn count(counters: [Counters; 2]) -> Count {
    let [original, reply] = counters;
    [
        original.packets,
        original.octets,
        reply.packets,
        reply.octets,
    ]
}

pub fn sum(count: Count) -> [u64; 2] {
    let [packets, octets, reply_packets, reply_octets] = count;
    [packets + reply_packets, octets + reply_octets]
}

pub fn with(mut count: Count, more: Count) -> Count {
    count
        .iter_mut()
        .zip(more)
        .for_each(|(it, more)| *it += more);
    count
}

pub fn less(mut count: Count, by: Count) -> Count {
    count
        .iter_mut()
        .zip(by)
        .for_each(|(it, by)| *it = it.saturating_sub(by));
    count
}

pub fn greater(mut count: Count, other: Count) -> Count {
    count
        .iter_mut()
        .zip(other)
        .for_each(|(it, other)| *it = (*it).max(other));
    count
}

pub fn lesser(mut count: Count, other: Count) -> Count {
    count
        .iter_mut()
        .zip(other)
        .for_each(|(it, other)| *it = (*it).min(other));
    count
}

pub fn fell(before: Count, after: Count) -> bool {
    before
        .iter()
        .zip(after)
        .any(|(before, after)| after < *before)
}
