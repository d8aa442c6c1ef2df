//! The decoder alone: a receive buffer of entries from memory, as the kernel sends them. The time of one iteration divided
//! by 130 is an entry's.

#![allow(
    clippy::panic,
    reason = "a measurement that cannot be made ends the program"
)]

use std::hint::black_box;
use std::time::Duration;
use std::{fs, path::Path};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netfilter::testing::{datagram, decode};
use rustix::time::{ClockId, clock_gettime};

/// About as many entries as one receive buffer holds.
const ENTRIES: usize = 130;

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/connection");
    let path = path.join(name).with_extension("bin");
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The thread's own processor time: what else the machine does counts little.
fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn benchmark(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(ENTRIES as u64));
    for (name, messages) in [
        ("udp-v4", &["udp-v4"][..]),
        ("zone-shared", &["zone-shared"]),
        ("tcp-v4", &["tcp-v4-time-wait"]),
        ("tcp-v6-mark-labels", &["tcp-v6-syn-sent-mark-labels"]),
        (
            "mixed",
            &[
                "tcp-v4-time-wait",
                "udp-v4",
                "tcp-v6-time-wait",
                "icmp-v4-echo",
                "nat-both-v4",
                "sctp-v4-established",
                "zone-original",
                "udp-v6-unreplied",
                "helper-ftp",
                "gre-v4-keys",
            ],
        ),
    ] {
        let messages: Vec<Vec<u8>> = messages.iter().map(|name| golden(name)).collect();
        let octets = datagram(messages.iter().map(Vec::as_slice).cycle().take(ENTRIES));
        let outcome = decode(&octets, |_| {});
        assert_eq!((outcome.entries, outcome.malformed), (ENTRIES as u64, 0));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let start = thread_time();
                for _ in 0..iterations {
                    decode(black_box(&octets), |entry| _ = black_box(&entry));
                }
                thread_time() - start
            });
        });
    }
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
