//! Whether a connection is translated is judged once: its records and its line of a dump say the same.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;

use agent::{Selection, dump};
use netfilter::testing::{icmp_echo, in_tracked_namespace, nft};
use serde_json::Value;
use support::{Run, config, number};

/// One port alone is changed, on either side; an address alone; nothing.
const RULES: &str = "table ip nat {
    chain output {
        type nat hook output priority -100;
        udp dport 9000 redirect to :9001
        udp dport 9300 dnat to 127.0.0.3
    }
    chain postrouting {
        type nat hook postrouting priority 100;
        udp dport 9100 snat to 127.0.0.1:9555
    }
}";

const NAMES: [&str; 4] = [
    "postNATSourceIPv4Address",
    "postNATDestinationIPv4Address",
    "postNAPTSourceTransportPort",
    "postNAPTDestinationTransportPort",
];

/// What is said of the other ends, by the destination's port (0 for ICMP).
fn translations(records: &[Value]) -> BTreeMap<u64, Vec<Value>> {
    let port = |record: &Value| record["destinationTransportPort"].as_u64();
    let ends = |record: &Value| NAMES.map(|name| record[name].clone()).to_vec();
    records
        .iter()
        .map(|record| (port(record).unwrap_or_default(), ends(record)))
        .collect()
}

#[test]
fn records_and_a_dump_agree_on_what_is_translated() {
    in_tracked_namespace(|| {
        nft(RULES);
        let socket = UdpSocket::bind("127.0.0.1:6100").unwrap();
        for port in [9000, 9100, 9200, 9300] {
            socket.send_to(&[1], ("127.0.0.1", port)).unwrap();
        }
        icmp_echo("127.0.0.1".parse().unwrap(), 77);
        let mut lines = Vec::new();
        dump(&Selection::default(), None, &Arc::default(), |part| {
            lines.extend(part)
        })
        .unwrap();
        let lines: Vec<Value> = serde_json::Deserializer::from_slice(&lines)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap();
        let mut run = Run::start(config());
        run.poll();
        run.exporter.begin_stop();
        let records = run.export_until(|records, _| records.len() == lines.len());
        // What could not be delivered came back as an ICMP error, which is no connection of its own.
        assert!(records.iter().all(|record| number(record, "mark") == 0));

        let text = |text: &str| Value::from(text);
        let (own, none) = (text("127.0.0.1"), vec![Value::Null; 4]);
        let expected: BTreeMap<u64, Vec<Value>> = [
            (
                9000,
                vec![own.clone(), own.clone(), 6100.into(), 9001.into()],
            ),
            (
                9100,
                vec![own.clone(), own.clone(), 9555.into(), 9100.into()],
            ),
            (9200, none.clone()),
            (9300, vec![own, text("127.0.0.3"), 6100.into(), 9300.into()]),
            (0, none),
        ]
        .into();
        assert_eq!(translations(&lines), expected);
        assert_eq!(translations(&records), expected);
    });
}
