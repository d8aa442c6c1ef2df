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
    let config = NamesConfig {
        pods,
        ..NamesConfig::default()
    };
    Shared::for_tests(100, Naming::with_room_for(room, &config))
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
            .names(record.names)
            .map_or_else(String::new, |names| names.texts().source_pod_name.clone());
        told.push((record.id as u8, name));
        Taken::Yes
    }) {
        table.commit(batch, now());
    }
    told.sort();
    told
}

fn set(shared: &Shared, pods: Arc<Pods>) {
    let sources = shared.names().sources().with(NameSet::Pods(pods), 0);
    drop(shared.names().replace(sources));
}

fn named(list: &[(u8, &str)]) -> Vec<(u8, String)> {
    list.iter()
        .map(|&(number, name)| (number, name.to_owned()))
        .collect()
}

#[test]
fn without_room_connections_come_in_unnamed_and_it_is_said_once() {
    let shared = shared(2, pods(&[(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]));
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
    poll(&shared, &[5]);
    assert_eq!(shared.names().stats().unnamed_total, 3);
    look_after_names(&shared);
    assert!(shared.notices().is_empty());
}

#[test]
fn a_full_store_that_is_collected_has_room_for_new_names() {
    let known = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (12, "b")];
    let shared = shared(3, pods(&known));
    poll(&shared, &[1, 2, 3]);
    assert_eq!(poll(&shared, &[1, 3]), named(&[(2, "b")]));
    // The table lets go of what has ended when another dump has not met it either.
    poll(&shared, &[1, 3]);
    look_after_names(&shared);
    assert_eq!(shared.names().stats().held, 2);
    // "d" has the number that "b" had, which nobody may remember: there is no room for "b" again.
    poll(&shared, &[1, 3, 4]);
    poll(&shared, &[1, 12, 3, 4]);
    assert_eq!(
        poll(&shared, &[]),
        named(&[(1, "a"), (3, "c"), (4, "d"), (12, "")])
    );
    assert_eq!(shared.names().stats().unnamed_total, 1);
}

#[test]
fn an_end_that_becomes_known_is_named_once_and_for_all() {
    let shared = shared(10, pods(&[(1, "a")]));
    poll(&shared, &[1, 2, 3]);
    set(&shared, pods(&[(1, "other"), (2, "b")]));
    look_after_names(&shared);
    // The pass rests for four times as long as it took, which is next to nothing here.
    set(&shared, pods(&[(1, "third"), (2, "third"), (3, "c")]));
    shared.names().end_pass(0);
    look_after_names(&shared);
    assert_eq!(poll(&shared, &[]), named(&[(1, "a"), (2, "b"), (3, "c")]));
}

#[test]
fn sets_that_change_all_the_time_are_looked_at_now_and_then() {
    let shared = shared(10, pods(&[]));
    poll(&shared, &[1]);
    shared.names().end_pass(u64::MAX);
    set(&shared, pods(&[(1, "a")]));
    look_after_names(&shared);
    assert_eq!(shared.names().stats().held, 0, "it rests");
    shared.names().end_pass(0);
    look_after_names(&shared);
    assert_eq!(poll(&shared, &[]), named(&[(1, "a")]));
    assert!(
        !shared.names().begin_pass(u64::MAX),
        "nothing has changed since"
    );
}

#[test]
fn a_set_that_changes_during_a_pass_does_not_mix_with_the_former() {
    let shared = shared(10, pods(&[(9, "x")]));
    let seen = [seen(1), seen(2)];
    let mut found = Found::default();
    let mut later = |number: usize| {
        let mut names = shared.names();
        let id = names.named_later(&mut found, NamesId(0), &(&seen[number]).into());
        let id = id.unwrap();
        names.names(id).unwrap().texts().source_pod_name.clone()
    };
    // The Pods' numbers in their sets are the same.
    set(&shared, pods(&[(1, "a"), (2, "b")]));
    assert_eq!((later(0), later(1)), ("a".into(), "b".into()));
    set(&shared, pods(&[(2, "b"), (1, "a")]));
    assert_eq!((later(0), later(1)), ("a".into(), "b".into()));
}

#[test]
fn a_connection_whose_start_the_kernel_does_not_tell_begins_now() {
    let pod = |name: &str, start| Pod {
        name: name.to_owned(),
        addresses: vec![[10, 0, 0, 1].into()],
        start,
        ..Pod::default()
    };
    let later = std::time::UNIX_EPOCH + std::time::Duration::from_secs(5);
    let list = vec![pod("former", None), pod("present", Some(later))];
    let config = NamesConfig {
        pods: Arc::new(Pods::new(list).unwrap()),
        ..NamesConfig::default()
    };
    let mut naming = Naming::new(&config);
    for (start_ns, expected) in [(None, "present"), (Some(0), "present"), (Some(1), "former")] {
        let id = naming.name(&Observation {
            start_ns,
            ..seen(1)
        });
        let names = naming.names(id).unwrap();
        assert_eq!(names.texts().source_pod_name, expected, "{start_ns:?}");
    }
}

#[test]
fn a_pods_name_takes_the_place_of_its_networks_and_no_other_name_changes() {
    let pods = |json: &str| NameSet::Pods(Arc::new(Pods::from_json(json).unwrap()));
    let csv = "10.0.0.0/8,inside\n192.0.2.0/24,outside";
    let config = NamesConfig {
        networks: Arc::new(Networks::from_csv(csv).unwrap()),
        ..NamesConfig::default()
    };
    let shared = Shared::for_tests(10, Naming::new(&config));
    let ends = || {
        let mut names = shared.names();
        let id = names.name(&seen(1));
        let texts = names.names(id).unwrap().texts();
        [
            texts.source_pod_name.clone(),
            texts.source_network.clone(),
            texts.destination_network.clone(),
        ]
    };
    assert_eq!(ends(), ["", "inside", "outside"]);
    poll(&shared, &[1]);
    let set = |set| {
        let sources = shared.names().sources().with(set, 0);
        drop(shared.names().replace(sources));
        shared.names().end_pass(0);
        look_after_names(&shared);
    };
    set(NameSet::Networks(Arc::new(
        Networks::from_csv("0.0.0.0/0,all").unwrap(),
    )));
    set(pods(r#"[{"name":"a","addresses":["10.0.0.1"]}]"#));
    set(pods(r#"[{"name":"b","addresses":["10.0.0.1"]}]"#));
    assert_eq!(poll(&shared, &[]), named(&[(1, "a")]));
}

/// A source of each kind in which everything is called `name`.
fn all_called(name: &str) -> [NameSet; 3] {
    let pods = format!(
        r#"[{{"name":"{name}","addresses":["10.0.0.1"]}},{{"name":"{name}-2","addresses":["192.0.2.1"]}}]"#
    );
    let services =
        format!(r#"[{{"name":"{name}","addresses":["192.0.2.1"],"port":53,"protocol":"UDP"}}]"#);
    let rule =
        |number| format!(r#"{{"number":{number},"name":"{name}","type":"K8sNetworkPolicy"}}"#);
    let rules = format!("[{},{}]", rule(7), rule(8));
    [
        NameSet::Pods(Arc::new(Pods::from_json(&pods).unwrap())),
        NameSet::Services(Arc::new(Services::from_json(&services).unwrap())),
        NameSet::PolicyRules(Arc::new(PolicyRules::from_json(&rules).unwrap())),
    ]
}

#[test]
fn every_part_of_the_names_is_filled_once_in_any_order_and_then_stays() {
    let mut seen = seen(1);
    seen.labels[..8].copy_from_slice(&(8_u64 << 32 | 7).to_ne_bytes());
    let kinds = 3;
    for first in 0..kinds {
        let mut naming = Naming::new(&NamesConfig::default());
        let mut held = NamesId(0);
        let order = (0..kinds).map(|it| (it + first) % kinds);
        // Each kind is known later than the one before, and what that was called has changed by then.
        for (round, kind) in order.clone().enumerate() {
            for (other, set) in all_called(&format!("round-{round}"))
                .into_iter()
                .enumerate()
            {
                if order.clone().take(round + 1).any(|known| known == other) {
                    let sources = naming.sources().with(set, 0);
                    drop(naming.replace(sources));
                }
            }
            let later = naming.named_later(&mut Found::default(), held, &(&seen).into());
            held = later.unwrap_or_else(|| panic!("kind {kind} is new"));
        }
        let round = |kind: usize| format!("round-{}", (kind + kinds - first) % kinds);
        let texts = naming.names(held).unwrap().texts();
        assert_eq!(
            [
                &texts.source_pod_name,
                &texts.destination_pod_name,
                &texts.destination_service_port_name,
                &texts.ingress_policy.name,
                &texts.egress_policy.name,
            ],
            [
                &round(0),
                &format!("{}-2", round(0)),
                &round(1),
                &round(2),
                &round(2)
            ]
        );
        let again = naming.named_later(&mut Found::default(), held, &(&seen).into());
        assert_eq!(again, None);
    }
}

#[test]
fn unknown_rules_are_all_counted_and_said_at_most_once_a_minute() {
    let config = NamesConfig {
        policy_rules: Some(Arc::default()),
        ..NamesConfig::default()
    };
    let mut naming = Naming::new(&config);
    let labelled = |naming: &mut Naming, labels: [u32; 2]| {
        let mut seen = seen(1);
        let bits = u64::from(labels[1]) << 32 | u64::from(labels[0]);
        seen.labels[..8].copy_from_slice(&bits.to_ne_bytes());
        assert_eq!(naming.name(&seen), NamesId(0));
    };
    assert!(naming.take_warnings(0).is_empty());
    labelled(&mut naming, [0, 0]);
    assert!(naming.take_warnings(0).is_empty());
    labelled(&mut naming, [7, 8]);
    labelled(&mut naming, [0, 9]);
    let warnings = naming.take_warnings(1_000);
    let [(code, message)] = &warnings[..] else {
        panic!("one warning: {warnings:?}")
    };
    assert_eq!(*code, "POLICY_RULE_UNKNOWN");
    assert!(
        message.starts_with("3 labels ") && message.contains("such as 9 (egress)"),
        "{message}"
    );
    labelled(&mut naming, [7, 0]);
    assert!(naming.take_warnings(60_999).is_empty());
    assert_eq!(naming.take_warnings(61_000).len(), 1);
    assert!(naming.take_warnings(200_000).is_empty(), "nothing new");
    assert_eq!(naming.stats().unknown_rules_total, 4);
}

#[test]
fn the_same_names_of_another_set_of_pods_are_the_same_combination() {
    let shared = shared(10, pods(&[(1, "a"), (2, "b")]));
    poll(&shared, &[1]);
    // Their places in the list have changed.
    set(&shared, pods(&[(2, "b"), (3, "a")]));
    poll(&shared, &[1, 2, 3]);
    assert_eq!(shared.names().stats().held, 2);
    assert_eq!(poll(&shared, &[]), named(&[(1, "a"), (2, "b"), (3, "a")]));
}
