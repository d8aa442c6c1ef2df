//! What records and the kernel say of each flow: its packets and octets.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

/// What tells a flow from others: protocol, addresses, ports (for ICMP its id is not exported).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    pub protocol: u8,
    pub source: (IpAddr, u16),
    pub destination: (IpAddr, u16),
}

/// Packets and octets, original and reply.
pub type Sums = [u64; 4];

pub fn key(record: &Value) -> FlowKey {
    let address = |name: &str| {
        let text = record[format!("{name}IPv4Address")].as_str();
        let text = text.or_else(|| record[format!("{name}IPv6Address")].as_str());
        text.expect("a record has addresses").parse().unwrap()
    };
    let port = |name: &str| {
        record[name]
            .as_u64()
            .map_or(0, |port| u16::try_from(port).unwrap())
    };
    FlowKey {
        protocol: u8::try_from(number(record, "protocolIdentifier")).unwrap(),
        source: (address("source"), port("sourceTransportPort")),
        destination: (address("destination"), port("destinationTransportPort")),
    }
}

pub fn number(record: &Value, name: &str) -> u64 {
    record[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} is a number in {record}"))
}

pub fn totals(record: &Value) -> Sums {
    [
        "packetTotalCount",
        "octetTotalCount",
        "reversePacketTotalCount",
        "reverseOctetTotalCount",
    ]
    .map(|name| number(record, name))
}

pub fn deltas(record: &Value) -> Sums {
    [
        "packetDeltaCount",
        "octetDeltaCount",
        "reversePacketDeltaCount",
        "reverseOctetDeltaCount",
    ]
    .map(|name| number(record, name))
}

/// The deltas of each flow, added up over its records.
pub fn sums(records: &[Value]) -> BTreeMap<FlowKey, Sums> {
    let mut sums: BTreeMap<FlowKey, Sums> = BTreeMap::new();
    for record in records {
        let sum = sums.entry(key(record)).or_default();
        for (sum, delta) in sum.iter_mut().zip(deltas(record)) {
            *sum += delta;
        }
    }
    sums
}

/// How many records of each flow say that it ended (reason 3).
pub fn ends(records: &[Value]) -> BTreeMap<FlowKey, usize> {
    let mut ends = BTreeMap::new();
    for record in records {
        if number(record, "flowEndReason") == 3 {
            *ends.entry(key(record)).or_default() += 1;
        }
    }
    ends
}

/// The kernel's own words, by the program `conntrack`, for TCP and UDP.
pub fn kernel_totals() -> BTreeMap<FlowKey, Sums> {
    let mut flows = BTreeMap::new();
    for family in ["ipv4", "ipv6"] {
        let text = netfilter::testing::run("conntrack", &["-L", "-f", family, "-o", "extended"]);
        for line in text.lines() {
            // ipv4 2 tcp 6 117 TIME_WAIT src=… dst=… sport=… dport=… packets=… bytes=… src=… (the reply)
            let all = |name: &str| -> Vec<String> {
                line.split_whitespace()
                    .filter_map(|word| word.strip_prefix(name)?.strip_prefix('='))
                    .map(str::to_owned)
                    .collect()
            };
            let protocol = line.split_whitespace().nth(3).unwrap().parse().unwrap();
            let (packets, octets) = (all("packets"), all("bytes"));
            let end = |address: &str, port: &str| {
                (
                    all(address)[0].parse().unwrap(),
                    all(port)[0].parse().unwrap(),
                )
            };
            let key = FlowKey {
                protocol,
                source: end("src", "sport"),
                destination: end("dst", "dport"),
            };
            let sums = [&packets[0], &octets[0], &packets[1], &octets[1]]
                .map(|text| text.parse().unwrap());
            flows.insert(key, sums);
        }
    }
    flows
}
