//! A full table: who is refused, what that counts, and who comes in again.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::EndReason::{EndDetected, Idle, LackOfResources};
use flow_table::*;
use support::*;

fn full(events: bool) -> FlowTable {
    let mut table = FlowTable::new(Config {
        events,
        max_connections: 1,
        ..config()
    });
    poll(&mut table, 0, 1_000, &[one()]);
    table
}

/// The one that there is room for.
fn one() -> Observation {
    seen(udp(1), Some(wall(500)), [1, 100, 0, 0])
}

/// Another one, by its id, its start and its packets.
fn two(id: u32, start_ms: u64, packets: u64) -> Observation {
    Observation {
        id,
        ..seen(udp(2), Some(wall(start_ms)), [packets, packets * 100, 0, 0])
    }
}

fn end_of_one(table: &mut FlowTable, ms: u64) {
    let destroy = destroy_event(udp(1), 7, 500, ms, [1, 100, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(ms));
    assert_eq!(
        brief(&export(table, ms)),
        [(1, EndDetected, [1, 100, 0, 0])]
    );
}

#[test]
fn a_full_table_lets_the_longest_quiet_idle_connection_go() {
    let mut table = FlowTable::new(Config {
        max_connections: 2,
        when_full: WhenFull::EvictIdle,
        ..config()
    });
    let start = Some(wall(4_000));
    let one = seen(udp(1), start, [1, 100, 0, 0]);
    poll(
        &mut table,
        0,
        5_000,
        &[one.clone(), seen(udp(2), start, [1, 100, 0, 0])],
    );
    poll(
        &mut table,
        0,
        6_000,
        &[one.clone(), seen(udp(2), start, [2, 200, 0, 0])],
    );
    assert_eq!(export(&mut table, 21_000).len(), 2);
    assert_eq!(table.stats().idle, 2);
    let two = seen(udp(2), start, [2, 200, 0, 0]);
    let three = seen(udp(3), Some(wall(21_500)), [1, 100, 0, 0]);
    poll(
        &mut table,
        0,
        22_000,
        &[one.clone(), two.clone(), three.clone()],
    );
    assert_eq!(
        (
            table.stats().connections,
            table.stats().evicted_total,
            table.stats().refused
        ),
        (2, 1, 0)
    );
    // The evicted one moves and takes the next idle one's place: what it moved meanwhile is counted, nothing twice.
    poll(
        &mut table,
        0,
        23_000,
        &[three.clone(), seen(udp(1), start, [5, 500, 0, 0])],
    );
    assert_eq!(
        table.stats().losses.get(Loss::Evicted),
        Lost {
            records: 0,
            packets: 4,
            octets: 400
        }
    );
    poll(
        &mut table,
        0,
        24_000,
        &[three, seen(udp(1), start, [6, 600, 0, 0])],
    );
    assert_eq!(
        (table.stats().connections, table.stats().evicted_total),
        (2, 2)
    );
    let records = brief(&export(&mut table, 39_000));
    assert_eq!(
        records,
        [(3, Idle, [1, 100, 0, 0]), (1, Idle, [1, 100, 0, 0])]
    );
}

#[test]
fn lack_of_room_turns_an_idle_record_into_the_last_one() {
    let mut table = FlowTable::new(Config {
        max_connections: 1,
        when_full: WhenFull::EvictIdle,
        ..config()
    });
    let start = Some(wall(4_000));
    let (one, two) = (
        seen(udp(1), start, [1, 100, 0, 0]),
        seen(udp(2), start, [2, 200, 0, 0]),
    );
    poll(&mut table, 0, 5_000, &[one.clone(), two.clone()]);
    assert_eq!(
        table.stats().losses.get(Loss::Refused),
        Lost {
            records: 1,
            packets: 2,
            octets: 200
        }
    );
    assert_eq!((table.stats().refused, table.stats().refused_total), (1, 1));
    assert_eq!(
        brief(&export(&mut table, 20_000)),
        [(1, LackOfResources, [1, 100, 0, 0])]
    );
    assert_eq!(table.stats().connections, 0);
    // The refused one comes in, from its totals of then; the evicted one now has no room and did not move.
    poll(&mut table, 0, 21_000, &[two, one]);
    assert_eq!(
        (
            table.stats().refused,
            table.stats().refused_total,
            table.stats().connections
        ),
        (0, 1, 1)
    );
    assert_eq!(
        brief(&export(&mut table, 36_000)),
        [(2, Idle, [0, 0, 0, 0])]
    );
}

#[test]
fn a_refused_connection_is_counted_once_and_its_growth_too() {
    let mut table = FlowTable::new(Config {
        max_connections: 1,
        ..config()
    });
    let start = Some(wall(4_000));
    let two = |packets| seen(udp(2), start, [packets, packets * 100, 0, 0]);
    let one = seen(udp(1), start, [1, 100, 0, 0]);
    poll(&mut table, 0, 5_000, &[one.clone(), two(2)]);
    poll(&mut table, 0, 10_000, &[one, two(5)]);
    assert_eq!(
        table.stats().losses.get(Loss::Refused),
        Lost {
            records: 1,
            packets: 5,
            octets: 500
        }
    );
    assert_eq!((table.stats().refused, table.stats().refused_total), (1, 1));
    poll(&mut table, 0, 15_000, &[two(6)]);
    assert_eq!(
        brief(&export(&mut table, 15_000)),
        [(1, EndDetected, [1, 100, 0, 0])]
    );
    poll(&mut table, 0, 20_000, &[two(8)]);
    assert_eq!(
        table.stats().losses.get(Loss::Refused),
        Lost {
            records: 1,
            packets: 8,
            octets: 800
        }
    );
    poll(&mut table, 0, 25_000, &[two(9)]);
    poll(&mut table, 0, 30_000, &[]);
    assert_eq!(
        brief(&export(&mut table, 30_000)),
        [(2, EndDetected, [1, 100, 0, 0])]
    );
    assert_eq!(table.stats().refused, 0);
}

#[test]
fn a_refused_connection_that_is_destroyed_during_a_dump_is_counted_once() {
    let mut table = full(true);
    let poll = table.begin_poll(Scope(0), at(2_000));
    table.created(Scope(0), &new_event(udp(2), 9), &mut everyone, at(2_000));
    let destroy = destroy_event(udp(2), 9, 1_500, 2_100, [10, 1_000, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(2_100));
    assert_eq!(lost(&table, Loss::Refused), [1, 10, 1_000]);
    // The dump has read it before.
    table.observe(poll, &[one(), two(9, 1_500, 10)], &mut everyone, at(2_200));
    table.end_poll(poll, true, at(2_200));
    settle_down(&mut table, 2_200);
    assert_eq!(lost(&table, Loss::Refused), [1, 10, 1_000]);
    assert_eq!(table.stats().refused_total, 1);
    assert_eq!((table.stats().live, table.stats().remembered), (1, 0));
}

#[test]
fn a_dump_that_shows_a_refused_and_destroyed_connection_does_not_end_its_successor() {
    let mut table = full(true);
    table.created(Scope(0), &new_event(udp(2), 9), &mut everyone, at(2_000));
    let poll = table.begin_poll(Scope(0), at(3_000));
    end_of_one(&mut table, 3_100);
    let destroy = destroy_event(udp(2), 9, 2_000, 3_200, [10, 1_000, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(3_200));
    table.created(Scope(0), &new_event(udp(2), 9), &mut everyone, at(3_300));
    table.observe(poll, &[two(9, 2_000, 10)], &mut everyone, at(3_400));
    table.end_poll(poll, true, at(3_400));
    settle_down(&mut table, 3_400);
    assert_eq!(brief(&export(&mut table, 3_400)), []);
    let destroy = destroy_event(udp(2), 9, 3_300, 4_000, [4, 400, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(4_000));
    assert_eq!(
        brief(&export(&mut table, 4_000)),
        [(2, EndDetected, [4, 400, 0, 0])]
    );
    assert_eq!(lost(&table, Loss::Refused), [1, 10, 1_000]);
}

#[test]
fn the_new_of_a_connection_that_a_dump_has_shown_brings_nothing_that_was_counted() {
    let mut table = full(true);
    poll(&mut table, 0, 2_000, &[one(), two(9, 1_500, 10)]);
    assert_eq!(lost(&table, Loss::Refused), [1, 10, 1_000]);
    end_of_one(&mut table, 2_050);
    // It has no start, so it may be another one's: that is told by who is shown next.
    table.created(Scope(0), &new_event(udp(2), 9), &mut everyone, at(2_070));
    assert_eq!(table.stats().live, 0);
    poll(&mut table, 0, 2_100, &[two(9, 1_500, 10)]);
    assert_eq!(table.stats().live, 1);
    let destroy = destroy_event(udp(2), 9, 1_500, 3_000, [12, 1_200, 0, 0]);
    table.destroyed(Scope(0), &destroy, &mut everyone, at(3_000));
    assert_eq!(
        brief(&export(&mut table, 3_000)),
        [(2, EndDetected, [2, 200, 0, 0])]
    );
    assert_eq!(lost(&table, Loss::Refused), [1, 10, 1_000]);
}

#[test]
fn a_reused_id_with_another_start_has_an_account_of_its_own() {
    let mut table = full(false);
    poll(&mut table, 0, 2_000, &[one(), two(9, 1_500, 10)]);
    poll(&mut table, 0, 3_000, &[one(), two(9, 2_500, 12)]);
    assert_eq!(lost(&table, Loss::Refused), [2, 22, 2_200]);
    poll(&mut table, 0, 4_000, &[one(), two(9, 2_500, 13)]);
    assert_eq!(lost(&table, Loss::Refused), [2, 23, 2_300]);
    assert_eq!((table.stats().refused, table.stats().refused_total), (1, 2));
}

#[test]
fn refused_connections_beyond_those_remembered_are_a_figure_of_their_own() {
    let mut table = full(false);
    let many = |packets: u64| -> Vec<Observation> {
        let refused = (0..70_000u32).map(|n| {
            let original = Tuple {
                destination_port: (n / 50_000) as u16,
                ..udp(10 + (n % 50_000) as u16)
            };
            seen(original, Some(wall(900)), [packets, packets * 100, 0, 0])
        });
        std::iter::once(one()).chain(refused).collect()
    };
    for (ms, packets) in [(2_000, 10), (3_000, 11), (4_000, 12)] {
        poll(&mut table, 0, ms, &many(packets));
        let stats = table.stats();
        assert_eq!((stats.refused, stats.refused_total), (70_000, 65_536));
        assert_eq!(stats.remembered, 65_536);
        assert_eq!(
            lost(&table, Loss::Refused),
            [65_536, 65_536 * packets, 65_536 * packets * 100]
        );
        let beyond = 70_000 - 65_536;
        assert_eq!(
            stats.unremembered,
            Lost {
                records: beyond,
                packets: beyond * packets,
                octets: beyond * packets * 100
            }
        );
    }
    poll(&mut table, 0, 5_000, &[one()]);
    poll(&mut table, 0, 6_000, &[one()]);
    let stats = table.stats();
    assert_eq!((stats.refused, stats.remembered), (0, 0));
    assert_eq!(stats.unremembered, Lost::default());
}

#[test]
fn a_refused_connection_that_one_dump_misses_is_not_counted_again() {
    let mut table = full(false);
    poll(&mut table, 0, 2_000, &[one(), two(9, 1_500, 10)]);
    poll(&mut table, 0, 3_000, &[one()]);
    poll(&mut table, 0, 4_000, &[one(), two(9, 1_500, 11)]);
    assert_eq!(lost(&table, Loss::Refused), [1, 11, 1_100]);
}

#[test]
fn closed_connections_that_are_only_remembered_refuse_nobody() {
    let mut table = FlowTable::new(Config {
        max_connections: 1_500,
        ..config()
    });
    let closed = |port: u16| Observation {
        protocol_state: 7,
        ..seen(tcp(port), Some(wall(900)), [5, 500, 4, 400])
    };
    let closed: Vec<Observation> = (0..1_500).map(closed).collect();
    poll(&mut table, 0, 1_000, &closed);
    assert_eq!(export(&mut table, 1_000).len(), 1_500);
    let live = (0..1_500).map(|port| seen(udp(port), Some(wall(1_500)), [1, 100, 0, 0]));
    let all: Vec<Observation> = closed.into_iter().chain(live).collect();
    poll(&mut table, 0, 2_000, &all);
    let stats = table.stats();
    assert_eq!((stats.live, stats.done, stats.refused), (1_500, 1_500, 0));
    assert_eq!(lost(&table, Loss::Refused), [0, 0, 0]);
}

/// A done connection that moves again has something to export, and is in nobody's way.
#[test]
fn a_remainder_of_a_closed_connection_is_exported_from_a_full_table() {
    let mut table = FlowTable::new(Config {
        max_connections: 1,
        ..config()
    });
    let closed = |packets: u64| Observation {
        protocol_state: 8,
        ..seen(tcp(2), Some(wall(500)), [packets, packets * 100, 0, 0])
    };
    poll(&mut table, 0, 1_000, &[closed(5)]);
    assert_eq!(export(&mut table, 1_000).len(), 1);
    poll(&mut table, 0, 2_000, &[closed(7), one()]);
    let stats = table.stats();
    assert_eq!((stats.live, stats.ended, stats.refused), (1, 0, 0));
    poll(&mut table, 0, 3_000, &[one()]);
    assert_eq!(
        brief(&export(&mut table, 3_000)),
        [(2, EndDetected, [2, 200, 0, 0])]
    );
    let stats = table.stats();
    assert!(stats.live + stats.idle + stats.ended <= 1, "{stats:?}");
}

/// Its DESTROY is lost, and another one gets its id: by its own NEW, or by a start that is later than the first one's NEW.
#[test]
fn a_refused_connection_known_by_its_new_alone_is_not_its_successor() {
    for by_new in [true, false] {
        let mut table = full(true);
        table.created(Scope(0), &new_event(udp(2), 9), &mut everyone, at(2_000));
        assert_eq!(lost(&table, Loss::Refused), [1, 0, 0]);
        if by_new {
            table.created(Scope(0), &new_event(udp(2), 9), &mut everyone, at(3_000));
        }
        poll(&mut table, 0, 3_100, &[one(), two(9, 2_999, 5)]);
        assert_eq!(lost(&table, Loss::Refused), [2, 5, 500]);
        let destroy = destroy_event(udp(2), 9, 2_999, 4_000, [6, 600, 0, 0]);
        table.destroyed(Scope(0), &destroy, &mut everyone, at(4_000));
        assert_eq!(lost(&table, Loss::Refused), [2, 6, 600]);
        assert_eq!(table.stats().refused_total, 2);
    }
}
