//! The end of a run.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod support;

use flow_table::EndReason::{EndDetected, Forced};
use flow_table::*;
use support::*;

#[test]
fn a_stop_forces_what_is_live_and_unexported_and_nothing_else() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(4_000));
    let rests = seen(udp(1), start, [1, 100, 0, 0]);
    let moves = |packets| seen(udp(2), start, [packets, packets * 100, 0, 0]);
    let ends = seen(udp(3), start, [3, 300, 0, 0]);
    poll(&mut table, 0, 5_000, &[rests.clone(), moves(2), ends]);
    assert_eq!(export(&mut table, 20_000).len(), 3);
    poll(&mut table, 0, 30_000, &[rests, moves(7)]);
    table.begin_stop(at(30_000));
    let mut records = brief(&export(&mut table, 30_000));
    records.sort_by_key(|record| record.0);
    assert_eq!(
        records,
        [(2, Forced, [5, 500, 0, 0]), (3, EndDetected, [0, 0, 0, 0])]
    );
    settle_down(&mut table, 30_000);
    assert_eq!(table.next_deadline(), None);
    table.left_at_stop(at(31_000));
    assert_eq!(table.stats().losses.get(Loss::LeftAtStop), Lost::default());
}

#[test]
fn what_the_grace_period_does_not_reach_is_counted_as_left() {
    let mut table = FlowTable::new(config());
    let start = Some(wall(4_000));
    poll(
        &mut table,
        0,
        5_000,
        &[
            seen(udp(1), start, [1, 100, 2, 200]),
            seen(udp(2), start, [4, 400, 0, 0]),
        ],
    );
    poll(
        &mut table,
        0,
        6_000,
        &[seen(udp(1), start, [1, 100, 2, 200])],
    );
    table.begin_stop(at(6_000));
    settle_down(&mut table, 6_000);
    table.left_at_stop(at(9_000));
    let left = Lost {
        records: 2,
        packets: 7,
        octets: 700,
    };
    assert_eq!(table.stats().losses.get(Loss::LeftAtStop), left);
    assert_eq!(brief(&export(&mut table, 9_000)), []);
}
