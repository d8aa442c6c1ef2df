//! The Services that are known, by address, protocol and port. Data enters as a list of [`Service`]s, whole each time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::num::NonZeroU32;

use ahash::RandomState;

use super::json::Node;
use super::place;
use super::pods::MAX_TEXT;
use super::wrong::{NamesError, PathKey};

/// One port of a Service, as its owner tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// At least one octet.
    pub name: String,
    /// Empty where Services have none.
    pub namespace: String,
    /// The port's name; empty: it has none.
    pub port_name: String,
    /// What clients connect to: addresses of the cluster, of load balancers, of nodes for node ports.
    pub addresses: Vec<IpAddr>,
    /// The port that clients connect to.
    pub port: u16,
    /// 6 TCP, 17 UDP or 132 SCTP.
    pub protocol: u8,
}

/// Addresses of all Services together.
const MAX_ADDRESSES: usize = 1_000_000;

/// A whole set of Services, found by what clients connect to.
#[derive(Debug, Default)]
pub struct Services {
    by_destination: HashMap<(IpAddr, u16, u8), u32, RandomState>,
    /// `namespace/name:port`, as Kubernetes writes it: without the colon where the port has no name.
    names: Vec<Box<str>>,
}

impl Services {
    /// Takes the list over. Two that have an address, port and protocol in common have to have the same names.
    pub fn new(list: Vec<Service>) -> Result<Self, NamesError> {
        let addresses = list.iter().map(|service| service.addresses.len()).sum();
        if addresses > MAX_ADDRESSES {
            let got = format!("more than {MAX_ADDRESSES} addresses");
            let expected = format!("at most {MAX_ADDRESSES} addresses of all ports together");
            return Err(NamesError::text(LIST, [], got, expected));
        }
        let mut by_destination = HashMap::with_capacity_and_hasher(addresses, RandomState::new());
        let (mut names, mut places): (Vec<Box<str>>, Vec<u32>) = Default::default();
        for (place, service) in list.into_iter().enumerate() {
            if service.addresses.is_empty() {
                continue;
            }
            let index = names.len() as u32;
            let name = text(&service);
            for (at, address) in service.addresses.iter().enumerate() {
                let address = address.to_canonical();
                let key = (address, service.port, service.protocol);
                let other = match by_destination.entry(key) {
                    Entry::Vacant(entry) => {
                        entry.insert(index);
                        continue;
                    }
                    Entry::Occupied(entry) => *entry.get(),
                };
                let known = names.get(other as usize).map_or(&*name, |known| &**known);
                if known != name {
                    let other = places.get(other as usize).copied().unwrap_or_default();
                    let path: [PathKey; 3] = [place.into(), "addresses".into(), at.into()];
                    let expected = format!(
                        "an address that no other Service has with this port and protocol: it is that of {LIST}[{other}] too"
                    );
                    return Err(NamesError::text(LIST, path, address, expected));
                }
            }
            names.push(name.into());
            places.push(place as u32);
        }
        Ok(Self {
            by_destination,
            names,
        })
    }

    /// A list of objects with `name`, `namespace`, `portName`, `addresses`, `port` and `protocol` (`TCP`, `UDP` or `SCTP`);
    /// `namespace` and `portName` may be missing.
    pub fn from_json(json: &str) -> Result<Self, NamesError> {
        let list = Node::whole(LIST, json)?;
        let elements = list.elements("a list of Services")?;
        let services = elements.iter().enumerate();
        let services: Result<_, _> = services
            .map(|(place, raw)| service(&list.at(place, raw)))
            .collect();
        Self::new(services?)
    }

    /// The Service that clients of this address, port and protocol connect to, by a number that means it in this set.
    pub(crate) fn at(&self, address: IpAddr, port: u16, protocol: u8) -> Option<NonZeroU32> {
        let index = self.by_destination.get(&(address, port, protocol))?;
        NonZeroU32::new(index + 1)
    }

    pub(crate) fn get(&self, number: NonZeroU32) -> Option<&str> {
        self.names.get(place(number)).map(|name| &**name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

fn text(service: &Service) -> String {
    let Service {
        name,
        namespace,
        port_name,
        ..
    } = service;
    let of = if namespace.is_empty() { "" } else { "/" };
    let colon = if port_name.is_empty() { "" } else { ":" };
    format!("{namespace}{of}{name}{colon}{port_name}")
}

const LIST: &str = "services";

const KEYS: [&str; 6] = [
    "name",
    "namespace",
    "portName",
    "addresses",
    "port",
    "protocol",
];

fn service(node: &Node<'_, '_>) -> Result<Service, NamesError> {
    let fields = node.fields(&KEYS, "an object with name, addresses, port and protocol")?;
    let optional = |key, expected| match node.key(&fields, key) {
        Some(text) => text.text(MAX_TEXT, expected).map(String::from),
        None => Ok(String::new()),
    };
    let expected = "the Service's name";
    let name = node.required(&fields, "name", expected)?;
    let name = name.name(MAX_TEXT, expected)?;
    let namespace = optional("namespace", "the Service's namespace, which may be empty")?;
    let port_name = optional("portName", "the port's name, which may be empty")?;
    let addresses = node.addresses(&fields)?;
    let expected = "a port from 1 to 65535";
    let port = node.required(&fields, "port", expected)?;
    let number: u16 = port.number(expected)?;
    if number == 0 {
        return Err(port.wrong(expected));
    }
    let protocol = node.required(&fields, "protocol", "one of TCP, UDP, SCTP")?;
    Ok(Service {
        name: name.into(),
        namespace,
        port_name,
        addresses,
        port: number,
        protocol: protocol.choice(&[("TCP", 6), ("UDP", 17), ("SCTP", 132)])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"[
        {"name":"web","namespace":"shop","portName":"http","addresses":["10.96.0.10","fd00:96::a"],"port":80,"protocol":"TCP"},
        {"name":"dns","namespace":"kube-system","addresses":["10.96.0.10"],"port":80,"protocol":"udp"},
        {"name":"web","namespace":"shop","portName":"http","addresses":["::ffff:10.96.0.10","192.0.2.1"],"port":80,"protocol":"TCP"},
        {"name":"db","addresses":["10.96.0.11"],"port":5432,"protocol":"SCTP","portName":"sql"}
    ]"#;

    #[test]
    fn address_port_and_protocol_together_find_a_service() {
        let services = Services::from_json(LIST).unwrap();
        let name = |address: &str, port, protocol| {
            let number = services.at(address.parse().unwrap(), port, protocol)?;
            services.get(number)
        };
        assert_eq!(name("10.96.0.10", 80, 6), Some("shop/web:http"));
        assert_eq!(name("fd00:96::a", 80, 6), Some("shop/web:http"));
        assert_eq!(name("192.0.2.1", 80, 6), Some("shop/web:http"));
        assert_eq!(name("10.96.0.10", 80, 17), Some("kube-system/dns"));
        assert_eq!(name("10.96.0.11", 5432, 132), Some("db:sql"));
        assert_eq!(name("10.96.0.10", 81, 6), None);
        assert_eq!(name("10.96.0.10", 80, 132), None);
        assert_eq!(name("10.96.0.12", 80, 6), None);
    }

    #[test]
    fn a_wrong_list_is_refused_with_the_place_and_what_to_do() {
        let of = |more: &str| format!(r#"[{{"name":"a","addresses":["10.96.0.1"],{more}}}]"#);
        let cases = [
            ("{}".into(), "services: got {}, expected a list of Services"),
            (
                of(r#""port":0,"protocol":"TCP""#),
                "services[0].port: got 0, expected a port from 1 to 65535",
            ),
            (
                of(r#""port":65536,"protocol":"TCP""#),
                "services[0].port: got 65536, expected a port from 1 to 65535",
            ),
            (
                of(r#""port":1.5,"protocol":"TCP""#),
                "services[0].port: got 1.5, expected a port from 1 to 65535",
            ),
            (
                of(r#""port":1,"protocol":6"#),
                "services[0].protocol: got 6, expected one of TCP, UDP, SCTP",
            ),
            (
                of(r#""port":1"#),
                "services[0].protocol: got nothing, expected one of TCP, UDP, SCTP",
            ),
            (
                r#"[{"name":"a","addresses":["::1"],"port":1,"protocol":"TCP"},
                    {"name":"b","addresses":["10.0.0.1","0::1"],"port":1,"protocol":"TCP"}]"#
                    .into(),
                "services[1].addresses[1]: got \"::1\", expected an address that no other Service has with this port and \
                 protocol: it is that of services[0] too",
            ),
        ];
        for (json, message) in cases {
            assert_eq!(Services::from_json(&json).unwrap_err().to_string(), message);
        }
    }
}
