//! The Pods that are known, by address. Data enters as a list of [`Pod`]s, whole each time, and is asked for one address at
//! a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::{SystemTime, UNIX_EPOCH};

use ahash::RandomState;

use super::json::Node;
use super::place;
use super::wrong::NamesError;

/// One Pod, as its owner tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// At least one octet.
    pub name: String,
    /// Empty where Pods have none.
    pub namespace: String,
    /// The node that it runs on; empty: not known.
    pub node: String,
    /// Of both families. None: it has no address yet, and names nothing.
    pub addresses: Vec<IpAddr>,
    /// RFC 9562, in network order.
    pub uid: Option<[u8; 16]>,
    /// Connections that began earlier are not its own. Pods that had one address after the other are told apart by it.
    pub start: Option<SystemTime>,
    /// How its connections leave the cluster.
    pub egress: Option<Egress>,
}

/// Where connections to external ends leave the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// At least one octet.
    pub name: String,
    /// The address that external ends see.
    pub ip: Option<IpAddr>,
    /// The node that has it; empty: not known.
    pub node: String,
}

/// Addresses of all Pods together: about 50 MB, beside the names.
const MAX_ADDRESSES: usize = 1_000_000;

/// Octets of a name, a namespace and a node's name each: the longest that Kubernetes gives (RFC 1123 subdomains).
pub(super) const MAX_TEXT: usize = 253;

/// A whole set of Pods, found by address.
#[derive(Debug, Default)]
pub struct Pods {
    by_address: HashMap<IpAddr, Holders, RandomState>,
    /// Their addresses are in `by_address`.
    pods: Vec<PodNames>,
}

/// Pods by their index: one, or several that had the address one after the other, the last one first.
#[derive(Debug)]
enum Holders {
    One(u32),
    Many(Vec<u32>),
}

/// What a Pod is called.
#[derive(Debug)]
pub(crate) struct PodNames {
    pub(crate) name: Box<str>,
    pub(crate) namespace: Box<str>,
    pub(crate) node: Box<str>,
    pub(crate) uid: Option<[u8; 16]>,
    pub(crate) egress: Option<Box<Egress>>,
    /// Nanoseconds since 1970; 0: it was always there.
    start_ns: u64,
    /// Its place in the list.
    place: u32,
}

impl Pods {
    /// Takes the list over. A Pod may name an address twice; several may share one only if all start at different times.
    pub fn new(list: Vec<Pod>) -> Result<Self, NamesError> {
        let addresses = list.iter().map(|pod| pod.addresses.len()).sum();
        if addresses > MAX_ADDRESSES {
            return Err(NamesError::text(
                LIST,
                [],
                format!("more than {MAX_ADDRESSES} addresses"),
                format!(
                    "at most {MAX_ADDRESSES} addresses: give only the Pods that this node's connections meet"
                ),
            ));
        }
        let mut set = Self {
            by_address: HashMap::with_capacity_and_hasher(addresses, RandomState::new()),
            // Pods without an address are not kept, so that the addresses bound them.
            pods: Vec::new(),
        };
        for (place, pod) in list.into_iter().enumerate() {
            if pod.addresses.is_empty() {
                continue;
            }
            let start = pod.start.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let index = set.pods.len() as u32;
            set.pods.push(PodNames {
                name: pod.name.into(),
                namespace: pod.namespace.into(),
                node: pod.node.into(),
                uid: pod.uid,
                egress: pod.egress.map(Box::new),
                start_ns: start.map_or(0, |since| {
                    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
                }),
                place: place as u32,
            });
            for (at, value) in pod.addresses.iter().enumerate() {
                // An IPv4-mapped address is IPv4 to conntrack.
                let value = value.to_canonical();
                if let Err(other) = set.add(value, index) {
                    let path = [place.into(), "addresses".into(), at.into()];
                    let expected = format!(
                        "an address that no other Pod has: it is that of pods[{other}] too; leave out Pods on the host's \
                         network and those that have ended"
                    );
                    return Err(NamesError::text(LIST, path, value, expected));
                }
            }
        }
        Ok(set)
    }

    /// A list of objects with `name`, `namespace`, `node`, `addresses`, `uid`, `startTime` (RFC 3339) and `egress` (`name`,
    /// `ip`, `node`); `name` and `addresses` have to be there.
    pub fn from_json(json: &str) -> Result<Self, NamesError> {
        Self::new(read(json)?)
    }

    /// Err: the place of a Pod that has this address at the same time.
    fn add(&mut self, address: IpAddr, index: u32) -> Result<(), u32> {
        let pods = &self.pods;
        let start_of = |index: u32| pods.get(index as usize).map_or(0, |pod| pod.start_ns);
        let mut entry = match self.by_address.entry(address) {
            Entry::Vacant(entry) => {
                entry.insert(Holders::One(index));
                return Ok(());
            }
            Entry::Occupied(entry) => entry,
        };
        let mut holders = match entry.get_mut() {
            Holders::One(holder) => vec![*holder],
            Holders::Many(holders) => std::mem::take(holders),
        };
        let same = holders
            .iter()
            .copied()
            .find(|&it| it != index && start_of(it) == start_of(index));
        if !holders.contains(&index) {
            let before = holders.partition_point(|&it| start_of(it) > start_of(index));
            holders.insert(before, index);
        }
        entry.insert(match holders[..] {
            [one] => Holders::One(one),
            _ => Holders::Many(holders),
        });
        match same.and_then(|same| pods.get(same as usize)) {
            Some(pod) => Err(pod.place),
            None => Ok(()),
        }
    }

    /// The Pod that had this address when a connection began (None: it begins now), by a number that means it in this set.
    pub(crate) fn at(&self, address: IpAddr, start_ns: Option<u64>) -> Option<NonZeroU32> {
        let had = |index: u32| {
            let pod = self.pods.get(index as usize)?;
            start_ns
                .is_none_or(|start| pod.start_ns <= start)
                .then_some(index)
        };
        let index = match self.by_address.get(&address)? {
            Holders::One(index) => had(*index),
            Holders::Many(indices) => indices.iter().find_map(|&index| had(index)),
        };
        NonZeroU32::new(index? + 1)
    }

    pub(crate) fn get(&self, number: NonZeroU32) -> Option<&PodNames> {
        self.pods.get(place(number))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}

const LIST: &str = "pods";

const KEYS: [&str; 7] = [
    "name",
    "namespace",
    "node",
    "addresses",
    "uid",
    "startTime",
    "egress",
];

fn read(json: &str) -> Result<Vec<Pod>, NamesError> {
    let list = Node::whole(LIST, json)?;
    let elements = list.elements("a list of Pods")?;
    let pods = elements.iter().enumerate();
    pods.map(|(place, raw)| pod(&list.at(place, raw))).collect()
}

fn pod(node: &Node<'_, '_>) -> Result<Pod, NamesError> {
    let fields = node.fields(&KEYS, "an object with name, namespace and addresses")?;
    let expected = "the Pod's name";
    let name = node.required(&fields, "name", expected)?;
    let name = name.name(MAX_TEXT, expected)?;
    let optional = |key, expected| match node.key(&fields, key) {
        Some(text) => text.text(MAX_TEXT, expected).map(String::from),
        None => Ok(String::new()),
    };
    let namespace = optional("namespace", "the Pod's namespace, which may be empty")?;
    let on = optional("node", "a node's name")?;
    let addresses = node.addresses(&fields)?;
    let uid = node.key(&fields, "uid").map(|uid| {
        let expected = "a UUID such as 550e8400-e29b-41d4-a716-446655440000";
        let text = uid.text(usize::MAX, expected)?;
        uuid(&text).ok_or_else(|| uid.wrong(expected))
    });
    let start = node.key(&fields, "startTime").map(|start| {
        let expected = "a time such as 2026-01-31T12:00:00Z";
        let text = start.text(usize::MAX, expected)?;
        humantime::parse_rfc3339(&text).map_err(|_| start.wrong(expected))
    });
    let egress = node.key(&fields, "egress").map(|it| egress(&it));
    Ok(Pod {
        name: name.into(),
        namespace,
        node: on,
        addresses,
        uid: uid.transpose()?,
        start: start.transpose()?,
        egress: egress.transpose()?,
    })
}

fn egress(node: &Node<'_, '_>) -> Result<Egress, NamesError> {
    let fields = node.fields(&["name", "ip", "node"], "an object with name, ip and node")?;
    let expected = "the egress's name";
    let name = node.required(&fields, "name", expected)?;
    let ip = node.key(&fields, "ip").map(|ip| ip.address()).transpose()?;
    let on = node.key(&fields, "node");
    let on = on
        .map(|on| on.text(MAX_TEXT, "a node's name"))
        .transpose()?;
    Ok(Egress {
        name: name.name(MAX_TEXT, expected)?.into(),
        ip,
        node: on.map(String::from).unwrap_or_default(),
    })
}

/// `8-4-4-4-12` hexadecimal digits (RFC 9562, section 4).
fn uuid(text: &str) -> Option<[u8; 16]> {
    let groups: Vec<&str> = text.split('-').collect();
    if groups.iter().map(|group| group.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    let digits = groups.concat();
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(&digits, 16)
        .ok()
        .map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pod(name: &str, addresses: &[&str]) -> Pod {
        Pod {
            name: name.to_owned(),
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            ..Pod::default()
        }
    }

    #[test]
    fn each_address_finds_its_pod_and_no_other_finds_one() {
        let pods = Pods::new(vec![
            pod("pending", &[]),
            pod("a", &["10.0.0.1", "fd00::1", "::ffff:10.0.0.1"]),
            pod("b", &["10.0.0.2"]),
        ])
        .unwrap();
        let name = |text: &str| {
            let number = pods.at(text.parse().unwrap(), Some(1))?;
            Some(&*pods.get(number)?.name)
        };
        assert_eq!(name("10.0.0.1"), Some("a"));
        assert_eq!(name("fd00::1"), Some("a"));
        assert_eq!(name("10.0.0.2"), Some("b"));
        assert_eq!(name("10.0.0.3"), None);
    }

    #[test]
    fn an_address_passes_from_one_pod_to_the_next_when_that_one_starts() {
        let started = |name: &str, seconds: Option<u64>| Pod {
            start: seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)),
            ..pod(name, &["10.0.0.1"])
        };
        let pods = Pods::new(vec![
            started("third", Some(30)),
            started("first", None),
            started("second", Some(20)),
        ])
        .unwrap();
        let name = |start_ns| {
            let number = pods.at("10.0.0.1".parse().unwrap(), start_ns)?;
            Some(&*pods.get(number)?.name)
        };
        assert_eq!(name(Some(19_999_999_999)), Some("first"));
        assert_eq!(name(Some(20_000_000_000)), Some("second"));
        assert_eq!(name(Some(29_999_999_999)), Some("second"));
        assert_eq!(name(Some(30_000_000_000)), Some("third"));
        assert_eq!(name(None), Some("third"), "it begins now");
        let alone = Pods::new(vec![started("a", Some(20))]).unwrap();
        let address = "10.0.0.1".parse().unwrap();
        assert_eq!(alone.at(address, Some(19_999_999_999)), None);
        assert!(alone.at(address, Some(20_000_000_000)).is_some());
        let twice = Pods::new(vec![started("a", Some(20)), started("b", Some(20))]);
        assert_eq!(
            twice.unwrap_err().path(),
            [1.into(), "addresses".into(), 0.into()]
        );
    }

    #[test]
    fn json_gives_all_that_a_pod_has() {
        let json = r#"[{"name":"web-0","namespace":"shop","node":"k1","addresses":["::ffff:10.0.0.1","FD00:0::1"],
            "uid":"01234567-89ab-CDEF-0123-456789abcdef","startTime":"1970-01-01T00:00:02.5Z",
            "egress":{"name":"out","ip":"192.0.2.9","node":"k3"}},
            {"name":"pending","addresses":[],"node":null}]"#;
        let pods = read(json).unwrap();
        let expected = Pod {
            name: "web-0".into(),
            namespace: "shop".into(),
            node: "k1".into(),
            addresses: vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
            uid: Some([
                1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd,
                0xef,
            ]),
            start: Some(UNIX_EPOCH + Duration::from_millis(2_500)),
            egress: Some(Egress {
                name: "out".into(),
                ip: Some("192.0.2.9".parse().unwrap()),
                node: "k3".into(),
            }),
        };
        assert_eq!(pods, [expected, pod("pending", &[])]);
    }

    #[test]
    fn a_wrong_list_is_refused_with_the_place_and_what_to_do() {
        let long = format!(
            r#"[{{"name":"a","addresses":[],"node":"{}"}}]"#,
            "n".repeat(254)
        );
        let cases = [
            ("7", "pods: got 7, expected a list of Pods"),
            (
                "[7]",
                "pods[0]: got 7, expected an object with name, namespace and addresses",
            ),
            (
                r#"[{"name":"a","addresses":[]},{"name":"","addresses":[]}]"#,
                "pods[1].name: got \"\", expected the Pod's name",
            ),
            (
                r#"[{"addresses":[]}]"#,
                "pods[0].name: got nothing, expected the Pod's name",
            ),
            (
                r#"[{"name":"a"}]"#,
                "pods[0].addresses: got nothing, expected a list of addresses",
            ),
            (
                r#"[{"name":"a","addresses":"10.0.0.1"}]"#,
                "pods[0].addresses: got \"10.0.0.1\", expected a list of addresses",
            ),
            (
                r#"[{"name":"a","addresses":[],"ip":"::1"}]"#,
                "pods[0].ip: got \"::1\", expected no option of this name",
            ),
            (
                r#"[{"name":"a","addresses":["::1",10]}]"#,
                "pods[0].addresses[1]: got 10, expected an IPv4 or IPv6 address",
            ),
            (
                r#"[{"name":"a","addresses":["fe80::1%lo"]}]"#,
                "pods[0].addresses[0]: got \"fe80::1%lo\", expected an IPv4 or IPv6 address",
            ),
            (
                r#"[{"name":"a\ud800","addresses":[]}]"#,
                "pods[0].name: got \"a\\ud800\", expected whole characters",
            ),
            (
                r#"[{"name":"a","addresses":[],"uid":"1234"}]"#,
                "pods[0].uid: got \"1234\", expected a UUID such as 550e8400-e29b-41d4-a716-446655440000",
            ),
            (
                r#"[{"name":"a","addresses":[],"startTime":5}]"#,
                "pods[0].startTime: got 5, expected a time such as 2026-01-31T12:00:00Z",
            ),
            (
                r#"[{"name":"a","addresses":[],"egress":{"name":""}}]"#,
                "pods[0].egress.name: got \"\", expected the egress's name",
            ),
            (
                r#"[{"name":"pending","addresses":[]},{"name":"a","addresses":["10.0.0.1"]},{"name":"b","addresses":["10.0.0.2","::ffff:10.0.0.1"]}]"#,
                "pods[2].addresses[1]: got \"10.0.0.1\", expected an address that no other Pod has: it is that of pods[1] too; \
                 leave out Pods on the host's network and those that have ended",
            ),
        ];
        for (json, message) in cases {
            assert_eq!(Pods::from_json(json).unwrap_err().to_string(), message);
        }
        let error = Pods::from_json(&long).unwrap_err();
        assert_eq!(error.path(), [0.into(), "node".into()]);
        assert_eq!(error.expected(), "at most 253 octets");
        assert!(
            Pods::from_json("[}")
                .unwrap_err()
                .to_string()
                .ends_with("expected JSON")
        );
    }

    #[test]
    fn the_addresses_are_bounded() {
        let many = |count: u32| Pod {
            addresses: (0..count)
                .map(|number| IpAddr::from(number.to_be_bytes()))
                .collect(),
            ..pod("a", &[])
        };
        assert!(Pods::new(vec![many(1_000_000)]).is_ok());
        let error = Pods::new(vec![many(1_000_000), pod("b", &["fd00::1"])]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "pods: got \"more than 1000000 addresses\", expected at most 1000000 addresses: give only the Pods that this node's \
             connections meet"
        );
    }
}
