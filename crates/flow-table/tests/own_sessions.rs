//! The agent's own sessions, which a poll may have met before they were known as its own.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::*;
use support::*;

#[test]
fn the_own_session_is_forgotten_where_it_was_refused_too() {
    let mut table = FlowTable::new(Config {
        max_connections: 1,
        ..config()
    });
    let one = seen(udp(1), Some(wall(500)), [1, 100, 0, 0]);
    let own = |packets: u64| Observation {
        zone: 9,
        ..seen(tcp(2), Some(wall(500)), [packets, packets * 100, 0, 0])
    };
    poll(&mut table, 0, 1_000, &[one.clone(), own(5)]);
    assert_eq!(lost(&table, Loss::Refused), [1, 5, 500]);
    table.forget(&tcp(2), at(1_500));
    assert_eq!(table.stats().remembered, 0);
    // From here on it is not admitted.
    let mut strangers = |seen: &Observation| (seen.original.protocol == 17).then_some(NamesId(0));
    let poll = table.begin_poll(Scope(0), at(2_000));
    table.observe(poll, &[one, own(9)], &mut strangers, at(2_000));
    assert_eq!(lost(&table, Loss::Refused), [1, 5, 500]);
}

#[test]
fn the_own_session_is_forgotten_uncounted_in_every_zone() {
    let mut table = FlowTable::new(config());
    let own = seen(tcp(1), Some(wall(1_000)), [5, 500, 0, 0]);
    let zoned = Observation {
        zone: 9,
        reply_zone: 9,
        ..own.clone()
    };
    poll(
        &mut table,
        0,
        5_000,
        &[own, zoned, seen(tcp(2), Some(wall(1_000)), [1, 100, 0, 0])],
    );
    assert_eq!(table.stats().connections, 3);
    table.forget(&tcp(1), at(5_000));
    assert_eq!((table.stats().connections, table.stats().queued), (1, 1));
    assert_eq!(table.stats().losses, Losses::default());
}

#[test]
fn the_own_session_is_forgotten_in_slices_where_there_are_thousands_of_zones() {
    let mut table = FlowTable::new(config());
    let zones = 10_000;
    let in_every_zone: Vec<Observation> = (0..zones)
        .map(|zone| Observation {
            zone,
            ..seen(tcp(1), Some(wall(1_000)), [5, 500, 0, 0])
        })
        .collect();
    poll(&mut table, 0, 5_000, &in_every_zone);
    assert_eq!(table.stats().connections, usize::from(zones));
    table.forget(&tcp(1), at(5_000));
    let left = table.stats().connections;
    assert!(left > 0 && left < usize::from(zones), "{left}");
    while table.work(at(5_000)) == Progress::More {}
    assert_eq!(table.stats().connections, 0);
    assert_eq!(table.stats().losses, Losses::default());
}
