//! Names of connections' ends, from a list of Pods to the decoded record, on real conntrack. What is expected is written
//! by hand.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::{Extras, NameSet, NamesConfig, Pod, Pods, ProfileName};
use netfilter::testing::{Entry, Maker, in_tracked_namespace, tuple};
use serde_json::Value;

use support::{Run, config, number, with_events};

fn pods(list: &[(&str, &str, &str, &[&str])]) -> Pods {
    let list = list.iter().map(|&(name, namespace, node, addresses)| Pod {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        node: node.to_owned(),
        addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
        ..Pod::default()
    });
    Pods::new(list.collect()).unwrap()
}

fn with_pods(pods: Pods) -> NamesConfig {
    NamesConfig {
        pods: Arc::new(pods),
        ..NamesConfig::default()
    }
}

fn set_pods(run: &Run, pods: Pods) {
    run.exporter.set_names(NameSet::Pods(Arc::new(pods)));
}

const NAMED: ProfileName = ProfileName::StandardWith(Extras {
    names: true,
    node: false,
    cluster: false,
});

const SHOP: [&str; 3] = ["web-7d4b9c6f5d-x2x9k", "shop", "node-1"];
const CART: [&str; 3] = ["cart-0", "shop", "node-2"];
const LATE: [&str; 3] = ["late-5c8f7b-qqqqq", "batch", ""];
const NOBODY: [&str; 3] = ["", "", ""];

const FIRST: &[(&str, &str, &str, &[&str])] = &[
    (SHOP[0], SHOP[1], SHOP[2], &["10.10.0.5", "fd00:10::5"]),
    (CART[0], CART[1], CART[2], &["10.10.1.7", "fd00:10::1:7"]),
];
/// The shop's Pod is gone and its IPv4 address another's; a client of the IPv6 connection has become known.
const SECOND: &[(&str, &str, &str, &[&str])] = &[
    (LATE[0], LATE[1], LATE[2], &["10.10.0.5", "2001:db8::9"]),
    (CART[0], CART[1], CART[2], &["10.10.1.7", "fd00:10::1:7"]),
];

/// Name, namespace and node of source and destination, by source port; None: the record has no such elements.
fn names(records: &[Value]) -> BTreeMap<u64, Option<[Vec<String>; 2]>> {
    let text = |record: &Value, name: &str| record[name].as_str().map(str::to_owned);
    let end = |record: &Value, end: &str| -> Option<Vec<String>> {
        ["PodName", "PodNamespace", "NodeName"]
            .iter()
            .map(|name| text(record, &format!("{end}{name}")))
            .collect()
    };
    records
        .iter()
        .map(|record| {
            let both = end(record, "source").zip(end(record, "destination"));
            (
                number(record, "sourceTransportPort"),
                both.map(|(source, destination)| [source, destination]),
            )
        })
        .collect()
}

fn expected<const N: usize>(
    list: [(u64, [&str; 3], [&str; 3]); N],
) -> BTreeMap<u64, Option<[Vec<String>; 2]>> {
    let texts = |end: [&str; 3]| end.map(str::to_owned).to_vec();
    list.into_iter()
        .map(|(port, source, destination)| (port, Some([texts(source), texts(destination)])))
        .collect()
}

fn first_entries() -> [Entry; 3] {
    [
        // Through a Service: the endpoint is the Pod.
        Entry {
            destination_nat: Some(("10.10.1.7".parse().unwrap(), 8080)),
            ..Entry::new(tuple("10.10.0.5:1001", "10.96.0.10:80", 6))
        },
        Entry::new(tuple("[2001:db8::9]:1002", "[fd00:10::1:7]:8080", 6)),
        Entry::new(tuple("192.0.2.1:1003", "198.51.100.1:53", 17)),
    ]
}

/// Two polls with a set of Pods each, and the records of the end.
fn exported(profile: ProfileName) -> Vec<Value> {
    let mut maker = Maker::open().unwrap();
    maker.create(first_entries()).unwrap();
    let mut run = Run::start_with(
        agent::Config {
            names: with_pods(pods(FIRST)),
            ..config()
        },
        profile,
    );
    assert_eq!(run.poll().added, 3);
    set_pods(&run, pods(SECOND));
    maker
        .create([Entry::new(tuple("10.10.0.5:1004", "10.10.1.7:8080", 6))])
        .unwrap();
    assert_eq!(run.poll().added, 1);
    maker.flush().unwrap();
    run.poll();
    // A known and an unknown end; and both ends of the second set.
    assert_eq!(run.exporter.stats().names.held, 3);
    run.export()
}

#[test]
fn a_connection_is_named_at_first_sight_and_keeps_its_names() {
    for profile in [NAMED, ProfileName::Antrea] {
        in_tracked_namespace(move || {
            assert_eq!(
                names(&exported(profile)),
                expected([
                    (1001, SHOP, CART),
                    // Its source was unknown then.
                    (1002, LATE, CART),
                    (1003, NOBODY, NOBODY),
                    (1004, LATE, CART),
                ])
            );
        });
    }
}

#[test]
fn fields_select_names_as_they_select_others() {
    in_tracked_namespace(|| {
        let fields = ["destinationPodName", "sourceTransportPort"].map(str::to_owned);
        let records = exported(ProfileName::Standard(Some(fields.to_vec())));
        let found: BTreeMap<u64, &str> = records
            .iter()
            .map(|record| {
                let name = record["destinationPodName"].as_str().unwrap();
                (number(record, "sourceTransportPort"), name)
            })
            .collect();
        let cart = CART[0];
        assert_eq!(
            found,
            [(1001, cart), (1002, cart), (1003, ""), (1004, cart)].into()
        );
    });
}

#[test]
fn a_format_without_names_has_none_however_many_are_known() {
    in_tracked_namespace(|| {
        let records = exported(ProfileName::Standard(None));
        assert_eq!(
            names(&records),
            [(1001, None), (1002, None), (1003, None), (1004, None)].into()
        );
    });
}

#[test]
fn a_connection_that_an_event_tells_of_is_named() {
    in_tracked_namespace(|| {
        let mut run = Run::start_with(
            agent::Config {
                names: with_pods(pods(FIRST)),
                ..with_events()
            },
            NAMED,
        );
        run.poll();
        let mut maker = Maker::open().unwrap();
        let [service, ..] = first_entries();
        maker.create([service]).unwrap();
        run.export_until(|_, exporter| exporter.stats().table.connections == 1);
        set_pods(&run, Pods::default());
        maker.flush().unwrap();
        let records = run.export_until(|records, _| !records.is_empty());
        assert_eq!(names(&records), expected([(1001, SHOP, CART)]));
    });
}

/// 300 rounds of 40 Pods that were never there before; five connections of five Pods live through all of them.
#[test]
fn names_of_pods_that_are_gone_are_given_back_and_the_living_keep_theirs() {
    in_tracked_namespace(|| {
        let mut maker = Maker::open().unwrap();
        let mut run = Run::start_with(config(), NAMED);
        let living: Vec<String> = (0..5).map(|it| format!("10.1.0.{it}")).collect();
        let long_lived = |list: &mut Vec<Pod>| {
            list.extend(living.iter().map(|address| Pod {
                name: format!("db-{address}"),
                addresses: vec![address.parse().unwrap()],
                ..Pod::default()
            }));
        };
        let mut list = Vec::new();
        long_lived(&mut list);
        set_pods(&run, Pods::new(list).unwrap());
        let to_server =
            |address: &str| Entry::new(tuple(&format!("{address}:1000"), "198.51.100.1:53", 17));
        maker
            .create(living.iter().map(|address| to_server(address)))
            .unwrap();
        run.poll();
        let mut most = 0;
        for round in 0..300 {
            let addresses: Vec<String> = (0..40).map(|it| format!("10.2.0.{it}")).collect();
            let mut list: Vec<Pod> = addresses
                .iter()
                .map(|address| Pod {
                    name: format!("job-{round}-{address}"),
                    addresses: vec![address.parse().unwrap()],
                    ..Pod::default()
                })
                .collect();
            // In every other round the living Pods are not even known.
            if round % 2 == 0 {
                long_lived(&mut list);
            }
            set_pods(&run, Pods::new(list).unwrap());
            let entries = || addresses.iter().map(|address| to_server(address));
            maker.create(entries()).unwrap();
            run.poll();
            maker.delete(entries()).unwrap();
            run.poll();
            let records = run.export();
            assert_eq!(records.len(), 40);
            for record in records {
                let address = record["sourceIPv4Address"].as_str().unwrap();
                assert_eq!(record["sourcePodName"], format!("job-{round}-{address}"));
            }
            most = most.max(run.exporter.stats().names.held);
        }
        // 12,005 combinations were there. A collection comes with the 4,096th at the latest, after the poll's end was told.
        assert!((4_000..4_300).contains(&most), "{most} were held at once");
        maker.flush().unwrap();
        run.poll();
        let records = run.export();
        let mut found: Vec<_> = records
            .iter()
            .map(|record| record["sourcePodName"].as_str().unwrap())
            .collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "db-10.1.0.0",
                "db-10.1.0.1",
                "db-10.1.0.2",
                "db-10.1.0.3",
                "db-10.1.0.4"
            ]
        );
        assert_eq!(run.exporter.stats().names.unnamed_total, 0);
    });
}
