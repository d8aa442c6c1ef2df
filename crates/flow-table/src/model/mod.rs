//! The table against a naive one: plain lists, no queue, every question answered by looking at everything.
//!
//! Random observations, polls whole and broken, tuple reuse, counters after the end, time, batches settled in every order,
//! drops, losses, refusal and eviction, stale ends, stops and restarts: both must agree on every record, every loss and
//! every count. Ranges of slots are tiny here, so that queues have many heaps and connections move. `FLOW_TABLE_CASES=20000 cargo test -p flow-table model` runs more cases than the 1,500 of a plain run.

#![allow(unreachable_pub, reason = "a test binary of several files")]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

#[path = "../../tests/support/mod.rs"]
mod support;

mod naive;
mod names;
mod run;

use proptest::prelude::*;
use proptest::test_runner::Config as ProptestConfig;

use self::run::{Op, Setup, run};

fn op() -> impl Strategy<Value = Op> {
    let tuple = 0..run::TUPLES;
    prop_oneof![
        3 => prop_oneof![1..20u64, 100..9_000u64, 10_000..90_000u64].prop_map(Op::Step),
        2 => (tuple.clone(), 0..4u32).prop_map(|(tuple, id)| Op::Create(tuple, id)),
        4 => (tuple.clone(), 0..50u64).prop_map(|(tuple, packets)| Op::Grow(tuple, packets)),
        1 => (tuple.clone(), 1..9u8).prop_map(|(tuple, state)| Op::Turn(tuple, state)),
        1 => tuple.clone().prop_map(Op::Vanish),
        1 => tuple.clone().prop_map(Op::Zero),
        6 => (0..3u8, 0..256u32, any::<bool>(), any::<bool>())
            .prop_map(|(scope, missed, complete, work)| Op::Poll { scope, missed, complete, work }),
        2 => Just(Op::Work),
        6 => (1..6usize, prop::option::weighted(0.1, 0..4usize), prop::option::weighted(0.1, 0..4usize))
            .prop_map(|(max, full, too_large)| Op::Take { max, full, too_large }),
        6 => (any::<prop::sample::Index>(), 0..10u8).prop_map(|(which, how)| Op::Settle(which, how)),
        1 => tuple.prop_map(Op::Forget),
        1 => any::<bool>().prop_map(Op::Restart),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
    let cap = prop_oneof![2 => Just(1000usize), 1 => 2..6usize];
    (
        cap,
        any::<[bool; 5]>(),
        prop_oneof![Just(5_000u64), Just(300_000)],
    )
        .prop_map(|(cap, flags, stale)| {
            let [evict, total, seconds, timestamps, accounting] = flags;
            Setup {
                cap,
                evict,
                total,
                seconds,
                timestamps,
                accounting: accounting || timestamps,
                stale,
            }
        })
}

fn cases() -> u32 {
    std::env::var("FLOW_TABLE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(1_500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_agrees_with_a_naive_one(setup in setup(), ops in prop::collection::vec(op(), 1..120)) {
        run(&setup, &ops);
    }
}
