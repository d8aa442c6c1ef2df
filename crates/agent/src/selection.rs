//! Which of the kernel's connections are exported.
//!
//! A [`Selection`] is parsed once from the options. What the kernel can filter goes into its dump request;
//! everything is checked again on each entry, because older kernels ignore the zone filter.

use std::net::IpAddr;
use std::str::FromStr;

use netfilter::{Connection, Family, Filter, Masked};

/// The connections an exporter is asked for. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// None: both families.
    pub family: Option<Family>,
    /// Empty: every zone. Zones match by [`netfilter::zone_id`], as the kernel's filter does.
    pub zones: Vec<u16>,
    /// IANA protocol numbers. None: every protocol. Never an empty list: see [`Selection::check`].
    pub protocols: Option<Vec<u8>>,
    /// `(mark & mask) == value`.
    pub mark: Option<Masked>,
    /// Networks whose connections are left out: either end of the original tuple inside.
    pub exclude: Vec<Network>,
}

/// A wrong selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// The protocol list has no element.
    #[error(
        "the list of protocols is empty and would export nothing: leave it out to export every protocol"
    )]
    NoProtocols,
    /// Text that is not an address with a prefix length.
    #[error("'{0}' is not a network: expected ADDRESS/LENGTH, such as 10.0.0.0/8 or fd00::/8")]
    Network(String),
    /// More zones than there are scopes.
    #[error(
        "{0} zones are selected, at most {MAX_ZONES} can be: leave the zones out to export all"
    )]
    TooManyZones(usize),
}

/// Each zone is a scope of the flow table, which numbers them in an octet.
const MAX_ZONES: usize = 200;

impl Selection {
    /// Refuses what cannot be meant.
    pub fn check(&self) -> Result<(), SelectionError> {
        if self.protocols.as_ref().is_some_and(Vec::is_empty) {
            return Err(SelectionError::NoProtocols);
        }
        if self.zones.len() > MAX_ZONES {
            return Err(SelectionError::TooManyZones(self.zones.len()));
        }
        Ok(())
    }

    /// The one family among these, however often it is named; None where there are both, or none: all are selected then.
    pub fn family_of(families: &[Family]) -> Option<Family> {
        let first = families.first().copied();
        first.filter(|first| families.iter().all(|family| family == first))
    }

    /// The same selection with each zone once: a zone is a scope, which is dumped and counted by itself.
    pub(crate) fn without_repeats(mut self) -> Self {
        self.zones.sort_unstable();
        self.zones.dedup();
        self
    }

    /// The kernel's part of this selection, for one zone or for all.
    pub fn filter(&self, zone: Option<u16>) -> Filter {
        Filter {
            family: self.family,
            zone,
            mark: self.mark,
            ..Filter::default()
        }
    }

    /// Whether a mark is selected. It can change while a connection lives.
    pub fn marks(&self, mark: u32) -> bool {
        self.mark.is_none_or(|wanted| wanted.matches(mark))
    }

    /// The place among the selected zones of the zone of a connection with these on its sides; 0 when all zones are
    /// selected, None when its is not.
    pub(crate) fn scope(&self, zone: u16, reply_zone: u16) -> Option<usize> {
        if self.zones.is_empty() {
            return Some(0);
        }
        let zone = netfilter::zone_id(zone, reply_zone);
        self.zones.iter().position(|&selected| selected == zone)
    }

    /// Whether the family, the protocol and the addresses of `connection` are selected. They never change while it
    /// lives, so the answer given at its first sight stays right.
    pub fn admits(&self, connection: &Connection<'_>) -> bool {
        if self
            .family
            .is_some_and(|family| family != connection.family)
        {
            return false;
        }
        let tuple = &connection.original;
        if let Some(protocols) = &self.protocols
            && !protocols.contains(&tuple.protocol)
        {
            return false;
        }
        !self
            .exclude
            .iter()
            .any(|network| network.contains(tuple.source) || network.contains(tuple.destination))
    }
}

/// An address prefix, IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    /// Whether `address` is of the same family and shares the prefix. A length of 0 holds the whole family.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differing = u32::from(network) ^ u32::from(address);
                differing.leading_zeros() >= u32::from(self.length)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differing = u128::from(network) ^ u128::from(address);
                differing.leading_zeros() >= u32::from(self.length)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let wrong = || SelectionError::Network(text.to_owned());
        let (address, length) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let length: u8 = length.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if length > longest {
            return Err(wrong());
        }
        Ok(Self { address, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        let ten = network("10.0.0.0/8");
        assert!(ten.contains(address("10.0.0.0")));
        assert!(ten.contains(address("10.255.255.255")));
        assert!(!ten.contains(address("11.0.0.0")));
        assert!(!ten.contains(address("9.255.255.255")));
        assert!(network("0.0.0.0/0").contains(address("255.1.2.3")));
        assert!(network("192.0.2.1/32").contains(address("192.0.2.1")));
        assert!(!network("192.0.2.1/32").contains(address("192.0.2.0")));
        let ula = network("fd00::/8");
        assert!(ula.contains(address("fdff::1")));
        assert!(!ula.contains(address("fe80::1")));
    }

    #[test]
    fn a_network_of_one_family_holds_nothing_of_the_other() {
        assert!(!network("0.0.0.0/0").contains(address("::1")));
        assert!(!network("::/0").contains(address("127.0.0.1")));
    }

    #[test]
    fn a_wrong_network_is_named() {
        for text in [
            "10.0.0.0",
            "10.0.0.0/33",
            "fd00::/129",
            "host/8",
            "10.0.0.0/",
            "/8",
        ] {
            assert_eq!(
                text.parse::<Network>(),
                Err(SelectionError::Network(text.to_owned()))
            );
        }
    }

    #[test]
    fn a_family_that_is_named_twice_is_the_only_one() {
        let (v4, v6) = (Family::Ipv4, Family::Ipv6);
        assert_eq!(Selection::family_of(&[v4]), Some(v4));
        assert_eq!(Selection::family_of(&[v4, v4]), Some(v4));
        assert_eq!(Selection::family_of(&[v6, v6, v6]), Some(v6));
        assert_eq!(Selection::family_of(&[v4, v6, v4]), None);
        assert_eq!(Selection::family_of(&[]), None);
    }

    #[test]
    fn an_empty_protocol_list_is_refused() {
        let selection = Selection {
            protocols: Some(Vec::new()),
            ..Selection::default()
        };
        assert_eq!(selection.check(), Err(SelectionError::NoProtocols));
    }
}
