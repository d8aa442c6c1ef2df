//! Services, policy rules, networks and flow types, from a list of each to the decoded record, on real conntrack: marks and
//! labels are the kernel's. What is expected is written by hand.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;

use agent::{
    Extras, LabelBits, NameSet, NamesConfig, Networks, Notice, Pods, PolicyRules, Prefixes,
    ProfileName, RuleLabels, Services,
};
use netfilter::Masked;
use netfilter::testing::{Entry, Maker, in_tracked_namespace, nft, run, tuple};
use serde_json::{Value, json};

use support::{Run, config, number};

const NAMED: ProfileName = ProfileName::StandardWith(Extras {
    names: true,
    node: true,
    cluster: true,
});

const PODS: &str = r#"[
    {"name":"web-0","namespace":"shop","node":"k1","addresses":["10.10.0.5","fd00:10::5"],
     "uid":"00112233-4455-6677-8899-aabbccddeeff","egress":{"name":"out","ip":"192.0.2.9","node":"k3"}},
    {"name":"db-0","namespace":"data","node":"k1","addresses":["10.10.0.6"]},
    {"name":"cart-0","namespace":"shop","node":"k2","addresses":["10.10.1.7","fd00:10::1:7"]}
]"#;
const SERVICES: &str = r#"[
    {"name":"cart","namespace":"shop","portName":"http","addresses":["10.96.0.10"],"port":80,"protocol":"UDP"},
    {"name":"dns","namespace":"kube-system","addresses":["10.96.0.11","fd00:96::b"],"port":53,"protocol":"TCP"}
]"#;
const RULES: &str = r#"[
    {"number":5,"name":"cart-in","namespace":"shop","type":"K8sNetworkPolicy","rule":"from-web"},
    {"number":2,"name":"all-out","type":"AntreaClusterNetworkPolicy","action":"allow"},
    {"number":6,"name":"other","type":"AntreaNetworkPolicy","namespace":"n","rule":"r","action":"reject"}
]"#;

fn rules(json: &str) -> Arc<PolicyRules> {
    Arc::new(PolicyRules::from_json(json).unwrap())
}

fn names() -> NamesConfig {
    let pod_networks = ["10.10.0.0/16", "fd00:10::/32"];
    NamesConfig {
        pods: Arc::new(Pods::from_json(PODS).unwrap()),
        services: Arc::new(Services::from_json(SERVICES).unwrap()),
        policy_rules: Some(rules(RULES)),
        pod_networks: Arc::new(Prefixes::new("podNetworks", &pod_networks).unwrap()),
        service_mark: Some(Masked {
            value: 0x10,
            mask: 0x10,
        }),
        ..NamesConfig::default()
    }
}

fn start(names: NamesConfig, profile: ProfileName) -> Run {
    Run::start_with(agent::Config { names, ..config() }, profile)
}

/// What the kernel holds, in one poll, after which it is gone: the records by source port.
fn records(run: &mut Run) -> BTreeMap<u64, Value> {
    run.poll();
    ended(run)
}

fn ended(run: &mut Run) -> BTreeMap<u64, Value> {
    Maker::open().unwrap().flush().unwrap();
    run.poll();
    let records = run.export().into_iter();
    records
        .map(|record| (number(&record, "sourceTransportPort"), record))
        .collect()
}

/// These elements of a record, and no word of the others.
fn part(record: &Value, expected: &Value) -> Value {
    let elements = expected.as_object().unwrap().keys();
    elements
        .map(|name| (name.clone(), record[name].clone()))
        .collect()
}

fn labels(ingress: u32, egress: u32) -> Option<[u8; 16]> {
    let bits = u64::from(egress) << 32 | u64::from(ingress);
    let mut labels = [0; 16];
    labels[..8].copy_from_slice(&bits.to_ne_bytes());
    Some(labels)
}

#[test]
fn traffic_that_the_firewall_marked_and_labelled_has_its_service_and_both_policies() {
    in_tracked_namespace(|| {
        for address in ["10.10.0.5/32", "10.10.1.7/32"] {
            run("ip", &["address", "add", address, "dev", "lo"]);
        }
        run("ip", &["route", "add", "10.96.0.0/16", "dev", "lo"]);
        // Bits 0 and 2: ingress rule 5. Bit 33: egress rule 2.
        nft("table ip t {
            chain labels { type filter hook output priority -150;
                ip daddr 10.96.0.10 ct mark set ct mark or 0x10 ct label set 0 ct label set 2 ct label set 33
            }
            chain service { type nat hook output priority -100;
                ip daddr 10.96.0.10 udp dport 80 dnat to 10.10.1.7:8080
            }
        }");
        let mut antrea = start(names(), ProfileName::Antrea);
        let server = UdpSocket::bind("10.10.1.7:8080").unwrap();
        let client = UdpSocket::bind("10.10.0.5:1001").unwrap();
        client.send_to(b"hello", "10.96.0.10:80").unwrap();
        let mut room = [0; 16];
        let (octets, from) = server.recv_from(&mut room).unwrap();
        server.send_to(&room[..octets], from).unwrap();
        client.recv_from(&mut room).unwrap();
        let expected = json!({
            "sourceIPv4Address": "10.10.0.5", "destinationIPv4Address": "10.10.1.7", "destinationTransportPort": 8080,
            "sourcePodName": "web-0", "sourcePodNamespace": "shop", "sourceNodeName": "k1",
            "destinationPodName": "cart-0", "destinationPodNamespace": "shop", "destinationNodeName": "k2",
            "destinationServicePort": 80, "destinationServicePortName": "shop/cart:http",
            "destinationClusterIPv4": "10.96.0.10", "destinationServiceIPv4": "10.96.0.10",
            "ingressNetworkPolicyName": "cart-in", "ingressNetworkPolicyNamespace": "shop",
            "ingressNetworkPolicyType": 1, "ingressNetworkPolicyRuleName": "from-web", "ingressNetworkPolicyRuleAction": 1,
            "egressNetworkPolicyName": "all-out", "egressNetworkPolicyNamespace": "",
            "egressNetworkPolicyType": 3, "egressNetworkPolicyRuleName": "", "egressNetworkPolicyRuleAction": 1,
            "flowType": 2, "egressName": "",
        });
        assert_eq!(part(&records(&mut antrea)[&1001], &expected), expected);
    });
}

/// Of each entry: the Service's name, and what the antrea profile says of its address and port.
fn services(service_mark: Option<Masked>) -> BTreeMap<u64, (String, String, u64)> {
    let mut run = start(
        NamesConfig {
            service_mark,
            ..names()
        },
        ProfileName::Antrea,
    );
    let marked = |entry: Entry| Entry {
        mark: 0xff10,
        ..entry
    };
    Maker::open()
        .unwrap()
        .create([
            marked(Entry::new(tuple("10.10.0.5:1001", "10.96.0.11:53", 6))),
            Entry::new(tuple("10.10.0.5:1002", "10.96.0.11:53", 6)),
            // Another protocol, and another port.
            marked(Entry::new(tuple("10.10.0.5:1003", "10.96.0.11:53", 17))),
            marked(Entry::new(tuple("10.10.0.5:1004", "10.96.0.11:54", 6))),
            marked(Entry::new(tuple("[fd00:10::5]:1005", "[fd00:96::b]:53", 6))),
        ])
        .unwrap();
    let of = |(port, record): (u64, Value)| {
        let name = record["destinationServicePortName"].as_str().unwrap();
        let address = record["destinationServiceIPv4"].as_str();
        let address = address
            .or(record["destinationServiceIPv6"].as_str())
            .unwrap();
        let to = number(&record, "destinationServicePort");
        (port, (name.to_owned(), address.to_owned(), to))
    };
    records(&mut run).into_iter().map(of).collect()
}

#[test]
fn a_connection_goes_to_a_service_by_its_mark_or_else_by_its_destination() {
    let dns = |address: &str| ("kube-system/dns".to_owned(), address.to_owned(), 53);
    let unnamed = |address: &str, port| (String::new(), address.to_owned(), port);
    in_tracked_namespace(move || {
        let mark = Masked {
            value: 0x10,
            mask: 0x10,
        };
        assert_eq!(
            services(Some(mark)),
            [
                (1001, dns("10.96.0.11")),
                (1002, unnamed("0.0.0.0", 0)),
                (1003, unnamed("10.96.0.11", 53)),
                (1004, unnamed("10.96.0.11", 54)),
                (1005, dns("fd00:96::b")),
            ]
            .into()
        );
        assert_eq!(
            services(None),
            [
                (1001, dns("10.96.0.11")),
                (1002, dns("10.96.0.11")),
                (1003, unnamed("0.0.0.0", 0)),
                (1004, unnamed("0.0.0.0", 0)),
                (1005, dns("fd00:96::b")),
            ]
            .into()
        );
    });
}

fn policies(record: &Value) -> [&str; 2] {
    ["ingressNetworkPolicyName", "egressNetworkPolicyName"]
        .map(|name| record[name].as_str().unwrap())
}

#[test]
fn a_rule_that_is_gone_names_what_it_let_in_and_an_unknown_one_is_counted_and_said() {
    in_tracked_namespace(|| {
        let mut run = start(names(), NAMED);
        run.poll();
        let entry = |port: u16, labels| Entry {
            labels,
            ..Entry::new(tuple(&format!("10.10.0.5:{port}"), "10.10.1.7:80", 6))
        };
        let mut maker = Maker::open().unwrap();
        maker
            .create([
                entry(1001, labels(5, 2)),
                entry(1002, labels(7, 0)),
                entry(1003, None),
            ])
            .unwrap();
        // Rule 5 goes before any poll has met its connection; 7 comes.
        let replaced = RULES.replace("\"number\":5", "\"number\":8");
        run.exporter
            .set_names(NameSet::PolicyRules(rules(&replaced)));
        let records = records(&mut run);
        assert_eq!(policies(&records[&1001]), ["cart-in", "all-out"]);
        assert_eq!(policies(&records[&1002]), ["", ""]);
        assert_eq!(policies(&records[&1003]), ["", ""]);
        assert_eq!(run.exporter.stats().names.unknown_rules_total, 1);
        let Notice::Warning { message, .. } = run.wait(
            |notice| matches!(notice, Notice::Warning { code, .. } if *code == "POLICY_RULE_UNKNOWN"),
        ) else {
            unreachable!("it is a warning")
        };
        assert!(
            message.starts_with("1 label ") && message.contains("7 (ingress)"),
            "{message}"
        );
    });
}

#[test]
fn labels_mean_nothing_until_there_are_rules_and_may_stand_elsewhere() {
    in_tracked_namespace(|| {
        let rule_labels = RuleLabels {
            ingress: LabelBits::new(64, 16).unwrap(),
            egress: LabelBits::new(80, 3).unwrap(),
        };
        let mut run = start(
            NamesConfig {
                policy_rules: None,
                rule_labels,
                ..names()
            },
            NAMED,
        );
        let mut labels = [0; 16];
        // Bits 64 and 66; 81 and 82, 83 is no part of it.
        let bits = 0b101_u64 | 0b1110 << 16;
        labels[8..].copy_from_slice(&bits.to_ne_bytes());
        let entry = Entry {
            labels: Some(labels),
            ..Entry::new(tuple("10.10.0.5:1001", "10.10.1.7:80", 6))
        };
        Maker::open().unwrap().create([entry]).unwrap();
        run.poll();
        assert_eq!(run.exporter.stats().names.unknown_rules_total, 0);
        run.exporter.set_names(NameSet::PolicyRules(rules(RULES)));
        // Between two polls the kernel thread has looked at what was unknown.
        run.poll();
        run.poll();
        assert_eq!(policies(&ended(&mut run)[&1001]), ["cart-in", "other"]);
    });
}

#[test]
fn flow_types_tell_pods_of_this_node_and_of_others_from_what_is_external() {
    in_tracked_namespace(|| {
        let cases = [
            // web-0 and db-0 are on one node, cart-0 is on another.
            ("10.10.0.5:1001", "10.10.0.6:80", 1),
            ("10.10.0.5:1002", "10.10.1.7:80", 2),
            // Nobody that is known, in the Pods' network.
            ("10.10.0.5:1003", "10.10.9.9:80", 2),
            ("10.10.9.9:1004", "10.10.0.5:80", 2),
            ("10.10.0.5:1005", "198.51.100.1:80", 3),
            ("198.51.100.1:1006", "10.10.0.5:80", 4),
            ("198.51.100.1:1007", "198.51.100.2:80", 0),
            ("[fd00:10::5]:1008", "[fd00:10::1:7]:80", 2),
            ("[2001:db8::1]:1009", "[fd00:10::5]:80", 4),
        ];
        let entries = || cases.map(|(from, to, _)| Entry::new(tuple(from, to, 6)));
        let types = |names| {
            let mut run = start(names, NAMED);
            Maker::open().unwrap().create(entries()).unwrap();
            let records = records(&mut run);
            let out = ["egressName", "egressIP", "egressNodeName"];
            assert_eq!(
                out.map(|name| records[&1005][name].as_str().unwrap()),
                if number(&records[&1005], "flowType") == 3 {
                    ["out", "192.0.2.9", "k3"]
                } else {
                    ["", "", ""]
                }
            );
            assert_eq!(records[&1002]["egressName"], "");
            records
                .values()
                .map(|record| number(record, "flowType"))
                .collect::<Vec<_>>()
        };
        assert_eq!(types(names()), cases.map(|(_, _, expected)| expected));
        // Without Pods' networks nobody knows what is external, or whose Pods are unknown.
        let without = NamesConfig {
            pod_networks: Arc::default(),
            ..names()
        };
        assert_eq!(types(without), [1, 2, 0, 0, 0, 0, 0, 2, 0]);
    });
}

#[test]
fn networks_name_what_is_no_pod_and_the_node_and_its_cluster_name_themselves() {
    in_tracked_namespace(|| {
        let csv = "prefix,name\n0.0.0.0/0,internet\n198.51.100.0/24,office\n10.0.0.0/8,inside\n";
        let mut run = start(
            NamesConfig {
                networks: Arc::new(Networks::from_csv(csv).unwrap()),
                node: Some("k1".into()),
                cluster: Some("blue".into()),
                ..names()
            },
            NAMED,
        );
        Maker::open()
            .unwrap()
            .create([
                Entry::new(tuple("10.10.0.5:1001", "198.51.100.7:80", 6)),
                Entry::new(tuple("203.0.113.1:1002", "10.9.9.9:80", 6)),
                Entry::new(tuple("[2001:db8::1]:1003", "[2001:db8::2]:80", 6)),
            ])
            .unwrap();
        let records = records(&mut run);
        let expected = json!({
            "sourcePodName": "web-0", "sourcePodNamespace": "shop", "sourcePodUUID": "00112233445566778899aabbccddeeff",
            "destinationPodName": "office", "destinationPodNamespace": "", "destinationPodUUID": "",
            "observationDomainName": "k1", "clusterId": "blue",
        });
        assert_eq!(part(&records[&1001], &expected), expected);
        let ends = |port| {
            ["sourcePodName", "destinationPodName"]
                .map(|name| records[&port][name].as_str().unwrap())
        };
        assert_eq!(ends(1002), ["internet", "inside"]);
        assert_eq!(ends(1003), ["", ""]);
    });
}

#[test]
fn the_antrea_profile_takes_no_network_for_a_pod() {
    in_tracked_namespace(|| {
        let mut run = start(
            NamesConfig {
                networks: Arc::new(Networks::from_csv("0.0.0.0/0,internet").unwrap()),
                node: Some("k1".into()),
                cluster: Some("blue".into()),
                ..names()
            },
            ProfileName::Antrea,
        );
        let entry = Entry::new(tuple("203.0.113.1:1001", "10.10.0.5:80", 6));
        Maker::open().unwrap().create([entry]).unwrap();
        let records = records(&mut run);
        assert_eq!(records[&1001]["sourcePodName"], "");
        assert_eq!(records[&1001]["destinationPodName"], "web-0");
        let elements = records[&1001].as_object().unwrap();
        assert!(
            !elements.contains_key("clusterId") && !elements.contains_key("observationDomainName")
        );
    });
}

#[test]
fn an_address_is_the_next_pods_for_connections_since_that_one_started() {
    in_tracked_namespace(|| {
        let mut run = start(
            NamesConfig {
                pods: Arc::default(),
                ..names()
            },
            NAMED,
        );
        let entry =
            |port: u16| Entry::new(tuple(&format!("10.10.0.5:{port}"), "198.51.100.1:80", 6));
        let mut maker = Maker::open().unwrap();
        maker.create([entry(1001)]).unwrap();
        // After the first connection's start, to the second: the kernel's timestamps are those of the wall clock.
        std::thread::sleep(std::time::Duration::from_millis(5));
        let between = humantime::format_rfc3339_nanos(std::time::SystemTime::now());
        std::thread::sleep(std::time::Duration::from_millis(5));
        maker.create([entry(1002)]).unwrap();
        let pods = format!(
            r#"[{{"name":"old","addresses":["10.10.0.5"]}},
                {{"name":"new","addresses":["10.10.0.5"],"startTime":"{between}"}}]"#
        );
        let pods = Arc::new(Pods::from_json(&pods).unwrap());
        run.exporter.set_names(NameSet::Pods(pods));
        let records = records(&mut run);
        assert_eq!(records[&1001]["sourcePodName"], "old");
        assert_eq!(records[&1002]["sourcePodName"], "new");
    });
}
