//! What a connection costs, in the thread's processor time: first insert, updates, take and commit, at three sizes. Figures
//! are for all connections of a pass, `thrpt` is connections a second. With cold caches: the benchmark `cold`.
#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark"
)]

mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use flow_table::*;
use support::*;

const SIZES: [u32; 3] = [10_000, 100_000, 1_000_000];

fn passes(c: &mut Criterion) {
    for size in SIZES {
        let mut group = c.benchmark_group(format!("{size}"));
        group
            .sample_size(10)
            .sampling_mode(SamplingMode::Flat)
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

criterion_group!(benches, passes);
criterion_main!(benches);
