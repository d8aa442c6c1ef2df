//! The Pods that are known, by address. Data enters as a list of [`Pod`]s, whole each time, and is asked for one address at
//! a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use ahash::RandomState;
use serde::Deserialize;

/// One Pod, as its owner tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// At least one octet.
    pub name: String,
    /// Empty where Pods have none.
    pub namespace: String,
    /// The node that it runs on; empty: not known.
    #[serde(default)]
    pub node: String,
    /// Of both families. None: it has no address yet, and names nothing.
    pub addresses: Vec<IpAddr>,
}

/// Addresses of all Pods together: about 50 MB, beside the names.
const MAX_ADDRESSES: usize = 1_000_000;

/// Octets of a name, a namespace and a node's name each: the longest that Kubernetes gives (RFC 1123 subdomains).
const MAX_TEXT: usize = 253;

/// A list of Pods that cannot be meant. Says where in the list: `pods[3].addresses[0]`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodsError {
    /// A Pod without a name.
    #[error("pods[{pod}].name: got \"\", expected the Pod's name")]
    NoName {
        /// Its place in the list.
        pod: usize,
    },
    /// A text that no name in a cluster has.
    #[error("pods[{pod}].{field}: got {octets} octets, expected at most {MAX_TEXT}")]
    TextTooLong {
        /// Its place in the list.
        pod: usize,
        /// `name`, `namespace` or `node`.
        field: &'static str,
        /// The text's length.
        octets: usize,
    },
    /// Two Pods with one address, which then names neither.
    #[error(
        "pods[{pod}].addresses[{address}]: got {value}, expected an address that no other Pod has: it is that of pods[{other}] too; \
         leave out Pods on the host's network and those that have ended"
    )]
    SharedAddress {
        /// The later Pod's place in the list.
        pod: usize,
        /// The address's place in its list.
        address: usize,
        /// The address.
        value: IpAddr,
        /// The earlier Pod's place.
        other: usize,
    },
    /// More addresses than are kept.
    #[error(
        "pods: got more than {MAX_ADDRESSES} addresses, expected at most that many: give only the Pods that this node's connections meet"
    )]
    TooMany,
}

/// A whole set of Pods, found by address.
#[derive(Debug, Default)]
pub struct Pods {
    by_address: HashMap<IpAddr, u32, RandomState>,
    /// Their addresses are in `by_address`.
    pods: Vec<PodNames>,
}

/// What a Pod is called.
#[derive(Debug)]
pub(crate) struct PodNames {
    pub(crate) name: Box<str>,
    pub(crate) namespace: Box<str>,
    pub(crate) node: Box<str>,
}

impl Pods {
    /// Takes the list over. A Pod may name an address twice, but no two may share one.
    pub fn new(list: Vec<Pod>) -> Result<Self, PodsError> {
        let addresses = list.iter().map(|pod| pod.addresses.len()).sum();
        if addresses > MAX_ADDRESSES {
            return Err(PodsError::TooMany);
        }
        let mut by_address = HashMap::with_capacity_and_hasher(addresses, RandomState::new());
        // Pods without an address are not kept, so that the addresses bound them.
        let mut pods = Vec::new();
        let mut places = Vec::new();
        for (place, pod) in list.into_iter().enumerate() {
            check(place, &pod)?;
            if pod.addresses.is_empty() {
                continue;
            }
            let index = pods.len() as u32;
            for (address, value) in pod.addresses.iter().enumerate() {
                // An IPv4-mapped address is IPv4 to conntrack.
                let value = value.to_canonical();
                match by_address.entry(value) {
                    Entry::Vacant(entry) => {
                        entry.insert(index);
                    }
                    Entry::Occupied(entry) if *entry.get() == index => {}
                    Entry::Occupied(entry) => {
                        return Err(PodsError::SharedAddress {
                            pod: place,
                            address,
                            value,
                            other: places.get(*entry.get() as usize).copied().unwrap_or(place),
                        });
                    }
                }
            }
            places.push(place);
            pods.push(PodNames {
                name: pod.name.into(),
                namespace: pod.namespace.into(),
                node: pod.node.into(),
            });
        }
        Ok(Self { by_address, pods })
    }

    /// The Pod with this address, by a number that means it in this set.
    pub(crate) fn at(&self, address: IpAddr) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&PodNames> {
        self.pods.get(number as usize)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}

fn check(place: usize, pod: &Pod) -> Result<(), PodsError> {
    if pod.name.is_empty() {
        return Err(PodsError::NoName { pod: place });
    }
    let texts = [
        ("name", &pod.name),
        ("namespace", &pod.namespace),
        ("node", &pod.node),
    ];
    match texts.into_iter().find(|(_, text)| text.len() > MAX_TEXT) {
        Some((field, text)) => Err(PodsError::TextTooLong {
            pod: place,
            field,
            octets: text.len(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
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
            let number = pods.at(text.parse().unwrap())?;
            Some(&*pods.get(number)?.name)
        };
        assert_eq!(name("10.0.0.1"), Some("a"));
        assert_eq!(name("fd00::1"), Some("a"));
        assert_eq!(name("10.0.0.2"), Some("b"));
        assert_eq!(name("10.0.0.3"), None);
    }

    #[test]
    fn a_wrong_list_is_refused_with_the_place_and_what_to_do() {
        let long = Pod {
            node: "n".repeat(254),
            ..pod("a", &[])
        };
        let cases = [
            (
                vec![pod("a", &[]), pod("", &["10.0.0.1"])],
                "pods[1].name: got \"\", expected the Pod's name",
            ),
            (
                vec![long],
                "pods[0].node: got 254 octets, expected at most 253",
            ),
            (
                vec![
                    pod("pending", &[]),
                    pod("a", &["10.0.0.1"]),
                    pod("b", &["10.0.0.2", "10.0.0.1"]),
                ],
                "pods[2].addresses[1]: got 10.0.0.1, expected an address that no other Pod has: it is that of pods[1] too; \
                 leave out Pods on the host's network and those that have ended",
            ),
        ];
        for (list, message) in cases {
            assert_eq!(Pods::new(list).unwrap_err().to_string(), message);
        }
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
        assert_eq!(error, PodsError::TooMany);
    }
}
