//! One dump for each zone, or one for all: which is cheaper is judged by what the kernel sends.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use netfilter::testing::{Entry, Zone, numbered};

use support::config;
use support::pace::Point;
use support::world::World;

in_both_worlds!(
    entries_that_only_the_agent_filters_out_count_for_the_zone_plan,
    entries_of_other_zones_do_not_count_for_the_zone_plan,
    a_kernel_that_ignores_the_zone_is_asked_once,
);

fn in_zone(numbers: std::ops::Range<u32>, zone: u16) -> impl Iterator<Item = Entry> {
    numbers.map(move |number| Entry {
        zone: Zone::Shared(zone),
        ..Entry::new(numbered(number))
    })
}

fn selection(protocols: Option<Vec<u8>>) -> agent::Config {
    agent::Config {
        selection: agent::Selection {
            zones: vec![5, 6],
            protocols,
            ..agent::Selection::default()
        },
        ..config()
    }
}

/// Dumps of a first poll, when nothing is known yet, and of a second one.
fn dumps(world: &impl World, config: agent::Config) -> [u64; 2] {
    dumps_with_unwanted(world, config, 0)
}

fn dumps_with_unwanted(world: &impl World, config: agent::Config, unwanted: u64) -> [u64; 2] {
    let (mut run, pace) = world.run(config);
    pace.ignore_filters(unwanted);
    [1, 2].map(|_| {
        let before = pace.passed(Point::Dump);
        run.poll();
        pace.passed(Point::Dump) - before
    })
}

/// All are in the two zones, where two dumps that send each entry once and leave it out once cost more than one.
fn entries_that_only_the_agent_filters_out_count_for_the_zone_plan(mut world: impl World) {
    world.create(in_zone(0..500, 5));
    world.create(in_zone(500..1000, 6));
    assert_eq!(dumps(&world, selection(None)), [2, 1]);
    // TCP alone, of which there is none: the kernel sends the same.
    assert_eq!(dumps(&world, selection(Some(vec![6]))), [2, 1]);
}

/// One in a hundred is in the two zones: one dump would bring 99 that nobody wants.
fn entries_of_other_zones_do_not_count_for_the_zone_plan(mut world: impl World) {
    world.create(in_zone(0..5, 5));
    world.create(in_zone(5..10, 6));
    world.create(in_zone(10..1000, 7));
    assert_eq!(dumps(&world, selection(None)), [2, 2]);
}

fn a_kernel_that_ignores_the_zone_is_asked_once(mut world: impl World) {
    world.create(in_zone(0..5, 5));
    world.create(in_zone(5..10, 6));
    world.create(in_zone(10..1000, 7));
    let config = || selection(None);
    assert_eq!(dumps_with_unwanted(&world, config(), 995), [2, 1]);
    assert_eq!(dumps_with_unwanted(&world, config(), 0), [2, 2]);
}
