//! Numbers, room, and what a collection frees.

use proptest::prelude::*;

use super::*;

fn texts(name: &str) -> NameTexts {
    NameTexts {
        source_pod_name: name.to_owned(),
        ..NameTexts::default()
    }
}

fn name(store: &NamesStore, id: NamesId) -> Option<&str> {
    store.get(id).map(|names| &*names.texts().source_pod_name)
}

fn sweep(store: &mut NamesStore) {
    while store.sweep(2) == Progress::More {}
}

#[test]
fn the_same_texts_have_one_number_and_others_another() {
    let mut store = NamesStore::new(10);
    let a = store.intern(texts("a")).unwrap();
    let b = store.intern(texts("b")).unwrap();
    assert_ne!(a, b);
    assert_ne!(a, NamesId(0), "0 is no names");
    assert_eq!(store.intern(texts("a")), Some(a));
    assert_eq!((name(&store, a), name(&store, b)), (Some("a"), Some("b")));
    assert_eq!(name(&store, NamesId(0)), None);
    assert_eq!(store.len(), 2);
}

#[test]
fn a_full_store_takes_no_more_and_still_knows_what_it_has() {
    let mut store = NamesStore::new(2);
    let a = store.intern(texts("a"));
    store.intern(texts("b"));
    assert_eq!(store.intern(texts("c")), None);
    assert_eq!(store.intern(texts("a")), a);
}

#[test]
fn a_collection_frees_what_nobody_kept_and_nothing_else() {
    let mut store = NamesStore::new(5);
    let ids = ["a", "b", "c", "d", "e"].map(|it| store.intern(texts(it)).unwrap());
    store.begin_collection(0);
    store.keep(ids[1]);
    // Found again while the table is asked: a connection has it from now on.
    assert_eq!(store.intern(texts("d")), Some(ids[3]));
    assert_eq!(store.sweep(1), Progress::More);
    // "a" is gone, and its number serves another, which is new and stays; "e" is not reached yet, and found again.
    assert_eq!(store.intern(texts("f")), Some(ids[0]));
    assert_eq!(store.intern(texts("e")), Some(ids[4]));
    sweep(&mut store);
    assert_eq!(
        ids.map(|id| name(&store, id)),
        [Some("f"), Some("b"), None, Some("d"), Some("e")]
    );
    assert_eq!(store.len(), 4);
    assert!(store.intern(texts("g")).is_some(), "there is room again");
}

#[test]
fn a_collection_that_is_given_up_frees_nothing() {
    let mut store = NamesStore::new(5);
    let a = store.intern(texts("a")).unwrap();
    store.begin_collection(0);
    store.give_up();
    assert_eq!(store.sweep(9), Progress::Done);
    assert_eq!(name(&store, a), Some("a"));
}

#[test]
fn it_is_collected_when_it_has_doubled_and_when_it_is_full_but_not_all_the_time() {
    let mut store = NamesStore::new(20_000);
    let fill = |store: &mut NamesStore, to: usize| {
        for number in store.len()..to {
            store.intern(texts(&number.to_string())).unwrap();
        }
    };
    // Nobody keeps anything up to here, then everything.
    fill(&mut store, 4_095);
    assert!(!store.wants_collection(0), "too few");
    fill(&mut store, 4_096);
    assert!(store.wants_collection(0));
    let collect = |store: &mut NamesStore, now_ms| {
        store.begin_collection(now_ms);
        for place in 0..store.places.len() {
            store.keep(NamesId(place as u32 + 1));
        }
        sweep(store);
    };
    collect(&mut store, 0);
    assert!(!store.wants_collection(60_000));
    fill(&mut store, 8_191);
    assert!(!store.wants_collection(60_000));
    fill(&mut store, 8_192);
    assert!(store.wants_collection(60_000));
    collect(&mut store, 60_000);
    fill(&mut store, 16_384);
    collect(&mut store, 60_000);
    // Twice as many have no room.
    fill(&mut store, 19_999);
    assert!(!store.wants_collection(659_999));
    assert!(store.wants_collection(660_000), "ten minutes later");
    fill(&mut store, 20_000);
    assert!(store.wants_collection(120_000));
    collect(&mut store, 120_000);
    assert!(!store.wants_collection(129_999), "all of them are in use");
    assert!(store.wants_collection(130_000));
    // Nobody holds them any more: the memory goes back.
    store.begin_collection(130_000);
    sweep(&mut store);
    assert_eq!(
        (store.len(), store.places.len(), store.free.len()),
        (0, 0, 0)
    );
    assert_eq!(
        (store.index.octets().sum::<usize>(), store.places.capacity()),
        (0, 0)
    );
}

#[test]
fn no_single_name_moves_many_others_in_the_index() {
    let mut store = NamesStore::new(40_000);
    let capacities = |store: &NamesStore| store.index.capacities().collect::<Vec<_>>();
    let mut before = capacities(&store);
    for number in 0..40_000 {
        store.intern(texts(&number.to_string())).unwrap();
        let after = capacities(&store);
        let grown = before.iter().zip(&after).filter(|(was, is)| was != is);
        assert!(grown.map(|(was, _)| was).sum::<usize>() < 2_000);
        before = after;
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// A connection comes, with this name.
    Admit(u8),
    /// One of them goes.
    End(prop::sample::Index),
    /// The next stage of a collection, or this many places of its last one.
    Collect(usize),
    GiveUp,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (0..24_u8).prop_map(Op::Admit),
        4 => any::<prop::sample::Index>().prop_map(Op::End),
        6 => (1..6_usize).prop_map(Op::Collect),
        1 => Just(Op::GiveUp),
    ]
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    None,
    Begun,
    Marked,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a plain list of the connections that hold a number.
    #[test]
    fn whoever_holds_a_number_has_its_names_whatever_is_collected(ops in prop::collection::vec(op(), 1..150)) {
        let mut store = NamesStore::new(10);
        let mut held: Vec<(NamesId, u8)> = Vec::new();
        let mut throughout: Vec<(NamesId, u8)> = Vec::new();
        let mut stage = Stage::None;
        for op in ops {
            match (op, stage) {
                (Op::Admit(name), _) => match store.intern(texts(&name.to_string())) {
                    Some(id) => held.push((id, name)),
                    None => prop_assert_eq!(store.len(), 10),
                },
                (Op::End(index), _) => {
                    if !held.is_empty() {
                        let gone = held.swap_remove(index.index(held.len()));
                        // Another that came later may hold the same number: it was given out during the collection.
                        throughout.retain(|it| *it != gone || held.contains(it));
                    }
                }
                (Op::Collect(_), Stage::None) => {
                    store.begin_collection(0);
                    throughout.clone_from(&held);
                    stage = Stage::Begun;
                }
                (Op::Collect(_), Stage::Begun) => {
                    throughout.iter().for_each(|(id, _)| store.keep(*id));
                    stage = Stage::Marked;
                }
                (Op::Collect(places), Stage::Marked) => {
                    if store.sweep(places) == Progress::Done {
                        stage = Stage::None;
                    }
                }
                (Op::GiveUp, _) => {
                    store.give_up();
                    stage = Stage::None;
                }
            }
            for &(id, held_name) in &held {
                prop_assert_eq!(name(&store, id), Some(&*held_name.to_string()));
            }
        }
        store.begin_collection(0);
        held.iter().for_each(|(id, _)| store.keep(*id));
        sweep(&mut store);
        let distinct: std::collections::BTreeSet<u8> = held.iter().map(|(_, name)| *name).collect();
        prop_assert_eq!(store.len(), distinct.len());
        prop_assert_eq!(store.places.len(), distinct.len() + store.free.len());
    }
}
