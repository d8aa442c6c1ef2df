//! Room for names: what happens without it, and how a collection makes some. The table is real, its kernel is not.

use flow_table::{Counters, Observation, Scope, Taken, Tuple};

use super::collect::look_after_names;
use super::*;
use crate::kernel::first_sight::AdmitSelected;
use crate::kernel::notice::Notice;
use crate::kernel::shared::Shared;
use crate::now;
use crate::selection::Selection;

/// Pod `name` at 10.0.0.`number`.
fn pods(list: &[(u8, &str)]) -> Arc<Pods> {
    let list = list.iter().map(|&(number, name)| Pod {
        name: name.to_owned(),
        addresses: vec![[10, 0, 0, number].into()],
        ..Pod::default()
    });
    Arc::new(Pods::new(list.collect()).unwrap())
}

/// From 10.0.0.`number` to a server that is no Pod.
fn seen(number: u8) -> Observation {
    let original = Tuple {
        source: [10, 0, 0, number].into(),
        destination: [192, 0, 2, 1].into(),
        protocol: 17,
        source_port: 1000,
        destination_port: 53,
    };
    Observation {
        original,
        reply: original.inverse(),
        zone: 0,
        reply_zone: 0,
        id: number.into(),
        start_ns: Some(1),
        stop_ns: None,
        last_packet_ns: None,
        counters: Some([Counters::default(); 2]),
        mark: 0,
        status: 0,
        protocol_state: 0,
        timeout_s: None,
        labels: [0; 16],
    }
}

fn shared(room: usize, pods: Arc<Pods>) -> Shared {
    Shared::for_tests(100, Naming::with_room_for(room, pods))
}

/// The kernel has these connections and no others; what ended is exported, its source Pods' names by number of address. The
/// first dump may have missed what it does not show, and the second one is sure of it.
fn poll(shared: &Shared, numbers: &[u8]) -> Vec<(u8, String)> {
    let ended = dump(shared, numbers);
    assert_eq!(dump(shared, numbers), []);
    ended
}

fn dump(shared: &Shared, numbers: &[u8]) -> Vec<(u8, String)> {
    let selection = Selection::default();
    let observations: Vec<_> = numbers.iter().copied().map(seen).collect();
    let mut table = shared.table();
    let mut own = shared.own();
    let mut names = shared.names();
    let poll = table.begin_poll(Scope(0), now());
    let mut admission = AdmitSelected::new(&mut own, &mut names, &selection);
    table.observe(poll, &observations, &mut admission, now());
    table.end_poll(poll, true, now());
    while table.work(now()) == Progress::More {}
    let mut told = Vec::new();
    while let Some(batch) = table.take_batch(now(), 100, |record| {
        let name = names
            .store()
            .get(record.names)
            .map_or_else(String::new, |names| names.texts().source_pod_name.clone());
        told.push((record.id as u8, name));
        Taken::Yes
    }) {
        table.commit(batch, now());
    }
    told.sort();
    told
}

fn named(list: &[(u8, &str)]) -> Vec<(u8, String)> {
    list.iter()
        .map(|&(number, name)| (number, name.to_owned()))
        .collect()
}

#[test]
fn without_room_connections_come_in_unnamed_and_it_is_said_once() {
    let shared = shared(2, pods(&[(1, "a"), (2, "b"), (3, "c"), (4, "d")]));
    poll(&shared, &[1, 2, 3, 4]);
    let stats = shared.names().stats();
    assert_eq!((stats.held, stats.unnamed_total), (2, 2));
    look_after_names(&shared);
    let [Notice::Warning { code, message }] = &shared.notices()[..] else {
        panic!("a warning and nothing else")
    };
    assert_eq!(*code, "NAMES_FULL");
    assert!(
        message.contains("2 different combinations") && message.contains("give fewer Pods"),
        "{message}"
    );
    assert_eq!(
        poll(&shared, &[]),
        named(&[(1, "a"), (2, "b"), (3, ""), (4, "")])
    );
    // The last collection found both in use, and the next has to wait: still no room.
    poll(&shared, &[3]);
    assert_eq!(shared.names().stats().unnamed_total, 3);
    look_after_names(&shared);
    assert!(shared.notices().is_empty());
}

#[test]
fn a_full_store_that_is_collected_has_room_for_new_names() {
    let shared = shared(3, pods(&[(1, "a"), (2, "b"), (3, "c"), (4, "d")]));
    poll(&shared, &[1, 2, 3]);
    assert_eq!(poll(&shared, &[1, 3]), named(&[(2, "b")]));
    look_after_names(&shared);
    assert_eq!(shared.names().stats().held, 2);
    // "d" has the number that "b" had, which nobody may remember: there is no room for "b" again.
    poll(&shared, &[1, 3, 4]);
    poll(&shared, &[1, 2, 3, 4]);
    assert_eq!(
        poll(&shared, &[]),
        named(&[(1, "a"), (2, ""), (3, "c"), (4, "d")])
    );
    assert_eq!(shared.names().stats().unnamed_total, 1);
}

#[test]
fn the_same_names_of_another_set_of_pods_are_the_same_combination() {
    let shared = shared(10, pods(&[(1, "a"), (2, "b")]));
    poll(&shared, &[1]);
    // Their places in the list have changed.
    drop(shared.names().set_pods(pods(&[(2, "b"), (3, "a")])));
    poll(&shared, &[1, 2, 3]);
    assert_eq!(shared.names().stats().held, 2);
    assert_eq!(poll(&shared, &[]), named(&[(1, "a"), (2, "b"), (3, "a")]));
}
