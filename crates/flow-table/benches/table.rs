//! What a connection costs, in the thread's processor time: first insert, updates, take and commit, at three sizes; figures are for all connections of a
//! pass, `thrpt` is connections a second. `cold` writes to 64 MiB between two buffers: harsher than the kernel's
//! walk, because page tables leave the caches too.
#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark"
)]

mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flow_table::*;
use support::*;

const SIZES: [u32; 3] = [10_000, 100_000, 1_000_000];

fn passes(c: &mut Criterion) {
    for size in SIZES {
        let mut group = c.benchmark_group(format!("{size}"));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(2))
            .warm_up_time(Duration::from_millis(500));
        group.throughput(Throughput::Elements(u64::from(size)));
        let mut flows = flows(size, false, 1);
        group.bench_function("first insert", |b| {
            b.iter_custom(|times| {
                (0..times)
                    .map(|_| {
                        let mut table = FlowTable::new(config(size as usize));
                        let poll = table.begin_poll(Scope(0), at(1_000));
                        let begun = spent();
                        for chunk in flows.chunks(BUFFER) {
                            table.observe(poll, chunk, &mut everyone, at(1_000));
                        }
                        support::spent() - begun
                    })
                    .sum()
            });
        });
        let mut table = FlowTable::new(config(size as usize));
        poll(&mut table, &flows, 1_000, BUFFER);
        let mut ms = 1_000;
        let mut timed = |table: &mut FlowTable, flows: &[Observation], buffer: usize| {
            ms += 1;
            let poll = table.begin_poll(Scope(0), at(ms));
            let begun = spent();
            for chunk in flows.chunks(buffer) {
                table.observe(poll, chunk, &mut everyone, at(ms));
            }
            let time = support::spent() - begun;
            table.end_poll(poll, false, at(ms));
            time
        };
        group.bench_function("update without change", |b| {
            b.iter_custom(|times| (0..times).map(|_| timed(&mut table, &flows, BUFFER)).sum());
        });
        group.bench_function("update with change, dump order", |b| {
            b.iter_custom(|times| {
                (0..times)
                    .map(|_| {
                        move_all(&mut flows);
                        timed(&mut table, &flows, BUFFER)
                    })
                    .sum()
            });
        });
        group.bench_function("update with change, dump order, one by one", |b| {
            b.iter_custom(|times| {
                (0..times)
                    .map(|_| {
                        move_all(&mut flows);
                        timed(&mut table, &flows, 1)
                    })
                    .sum()
            });
        });
        let mut random = shuffled(flows.clone());
        group.bench_function("update with change, random order", |b| {
            b.iter_custom(|times| {
                (0..times)
                    .map(|_| {
                        move_all(&mut random);
                        timed(&mut table, &random, BUFFER)
                    })
                    .sum()
            });
        });
        drop(random);
        group.bench_function("take and commit", |b| {
            b.iter_custom(|times| {
                (0..times)
                    .map(|_| {
                        move_all(&mut flows);
                        let mut table = FlowTable::new(config(size as usize));
                        poll(&mut table, &flows, 1_000, BUFFER);
                        let begun = spent();
                        while let Some(batch) = table.take_batch(at(70_000), 1024, |record| {
                            black_box(record);
                            Taken::Yes
                        }) {
                            table.commit(batch, at(70_000));
                        }
                        support::spent() - begun
                    })
                    .sum()
            });
        });
        group.finish();
    }
}

/// One buffer after the other, with everything else thrown out of the caches in between.
fn cold(c: &mut Criterion) {
    let mut group = c.benchmark_group("1000000, cold caches");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_millis(500));
    let mut flows = flows(1_000_000, false, 1);
    let mut table = FlowTable::new(config(1_000_000));
    poll(&mut table, &flows, 1_000, BUFFER);
    let mut walked = vec![1u8; 64 << 20];
    for (name, buffer) in [
        ("a buffer of known connections", BUFFER),
        ("the same, one by one", 1),
    ] {
        group.throughput(Throughput::Elements(BUFFER as u64));
        let mut ms = 2_000;
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                ms += 1;
                move_all(&mut flows);
                let poll = table.begin_poll(Scope(0), at(ms));
                let mut time = Duration::ZERO;
                for (n, chunk) in flows
                    .chunks(BUFFER)
                    .cycle()
                    .step_by(37)
                    .take(times as usize)
                    .enumerate()
                {
                    for line in walked.iter_mut().step_by(64) {
                        *line = line.wrapping_add(n as u8);
                    }
                    // What the decoder has just written is warm.
                    let chunk = chunk.to_vec();
                    let begun = spent();
                    for part in chunk.chunks(buffer) {
                        table.observe(poll, part, &mut everyone, at(ms));
                    }
                    time += support::spent() - begun;
                }
                table.end_poll(poll, false, at(ms));
                time
            });
        });
    }
    group.finish();
}

criterion_group!(benches, passes, cold);
criterion_main!(benches);
