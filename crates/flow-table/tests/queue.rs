//! The expiry queue alone, against a plain map.
#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

use std::collections::HashMap;

use flow_table::expiry_queue::{Deadlines, ExpiryQueue, Key, RANGE};
use proptest::prelude::*;

/// Slots with their generation and deadline.
#[derive(Default)]
struct Slab(HashMap<u32, (u32, u64)>);

impl Deadlines for Slab {
    fn deadline(&self, key: Key) -> Option<u64> {
        self.0
            .get(&key.slot)
            .filter(|(generation, _)| *generation == key.generation)
            .map(|(_, deadline)| *deadline)
    }
}

#[test]
fn a_later_deadline_is_one_write_and_an_earlier_one_takes_its_place() {
    let (mut queue, mut slab) = (ExpiryQueue::new(), Slab::default());
    for (slot, deadline) in [(1, 10), (2, 20), (3, 30)] {
        slab.0.insert(slot, (1, deadline));
        queue.insert(
            Key {
                slot,
                generation: 1,
            },
            deadline,
        );
    }
    assert_eq!((queue.len(), queue.peek()), (3, Some(10)));
    slab.0.insert(1, (1, 25));
    let mut budget = 10;
    assert_eq!(queue.pop_due(19, &slab, &mut budget), None);
    slab.0.insert(3, (2, 5));
    let key = |generation| Key {
        slot: 3,
        generation,
    };
    queue.remove(key(1), &slab);
    queue.insert(key(2), 5);
    assert_eq!(queue.len(), 3);
    let mut popped = Vec::new();
    while let Some((deadline, key)) = queue.pop_due(100, &slab, &mut budget) {
        slab.0.remove(&key.slot);
        popped.push((key.slot, deadline));
    }
    assert_eq!(popped, [(3, 5), (2, 20), (1, 25)]);
    assert!(queue.is_empty());
    assert!(!queue.maintain(100, &slab));
    assert_eq!((queue.entries(), queue.peek()), (0, None));
}

#[test]
fn a_pass_over_a_million_later_deadlines_rebuilds_instead_of_sinking_each() {
    let (mut queue, mut slab) = (ExpiryQueue::new(), Slab::default());
    for slot in 0..40_000 {
        slab.0.insert(slot, (1, u64::from(slot % 7)));
        queue.insert(
            Key {
                slot,
                generation: 1,
            },
            u64::from(slot % 7),
        );
    }
    slab.0.values_mut().for_each(|slot| slot.1 += 100);
    let mut slices = 0;
    while queue.maintain(50, &slab) {
        slices += 1;
    }
    // Two ranges of 32,768 slots, each rebuilt once.
    assert_eq!(
        (slices, queue.entries(), queue.peek()),
        (2, 40_000, Some(100))
    );
}

#[test]
fn the_budget_bounds_what_one_call_looks_at() {
    let (mut queue, mut slab) = (ExpiryQueue::new(), Slab::default());
    for slot in 0..100 {
        slab.0.insert(slot, (1, 1000));
        queue.insert(
            Key {
                slot,
                generation: 1,
            },
            1,
        );
    }
    let mut budget = 30;
    assert_eq!(queue.pop_due(10, &slab, &mut budget), None);
    assert_eq!((budget, queue.peek()), (0, Some(1)));
    let mut budget = 1000;
    assert_eq!(queue.pop_due(10, &slab, &mut budget), None);
    assert_eq!((budget, queue.peek()), (930, Some(1000)));
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u32, u64),
    Move(u32, i64),
    Remove(u32),
    Pop(u64, usize),
    Maintain(u64),
}

fn op() -> impl Strategy<Value = Op> {
    // Four ranges, so that several heaps are in play.
    let slot = (0..4u32, 0..40u32).prop_map(|(range, slot)| range * RANGE + slot);
    prop_oneof![
        4 => (slot.clone(), 0..1000u64).prop_map(|(slot, deadline)| Op::Insert(slot, deadline)),
        4 => (slot.clone(), -200..400i64).prop_map(|(slot, by)| Op::Move(slot, by)),
        1 => slot.prop_map(Op::Remove),
        2 => (0..1200u64, 1..20usize).prop_map(|(limit, count)| Op::Pop(limit, count)),
        1 => (0..1200u64).prop_map(Op::Maintain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_a_plain_map(ops in prop::collection::vec(op(), 1..300)) {
        let (mut queue, mut slab) = (ExpiryQueue::new(), Slab::default());
        let mut generation = 0;
        for op in ops {
            generation += 1;
            match op {
                Op::Insert(slot, deadline) => {
                    if let std::collections::hash_map::Entry::Vacant(free) = slab.0.entry(slot) {
                        free.insert((generation, deadline));
                        queue.insert(Key { slot, generation }, deadline);
                    }
                }
                Op::Move(slot, by) => {
                    if let Some((life, deadline)) = slab.0.get_mut(&slot) {
                        *deadline = deadline.saturating_add_signed(by);
                        if by < 0 {
                            let former = std::mem::replace(life, generation);
                            let deadline = *deadline;
                            queue.remove(Key { slot, generation: former }, &slab);
                            queue.insert(Key { slot, generation }, deadline);
                        }
                    }
                }
                Op::Remove(slot) => {
                    if let Some((generation, _)) = slab.0.remove(&slot) {
                        queue.remove(Key { slot, generation }, &slab);
                    }
                }
                Op::Pop(limit, count) => {
                    for _ in 0..count {
                        let earliest = slab.0.values().map(|(_, deadline)| *deadline).min();
                        let due = earliest.filter(|deadline| *deadline <= limit);
                        let mut budget = usize::MAX;
                        let popped = queue.pop_due(limit, &slab, &mut budget);
                        prop_assert_eq!(popped.map(|(deadline, _)| deadline), due);
                        if let Some((deadline, key)) = popped {
                            prop_assert_eq!(slab.0.remove(&key.slot), Some((key.generation, deadline)));
                        }
                    }
                }
                Op::Maintain(limit) => {
                    while queue.maintain(limit, &slab) {}
                    prop_assert!(queue.entries() <= queue.len() + queue.len() / 2 + 64);
                }
            }
            prop_assert_eq!(queue.len(), slab.0.len());
            let earliest = slab.0.values().map(|(_, deadline)| *deadline).min();
            prop_assert!(earliest.is_none_or(|earliest| queue.peek().is_some_and(|top| top <= earliest)));
        }
    }
}
