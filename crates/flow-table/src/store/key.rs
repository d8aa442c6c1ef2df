//! What a connection is found by: the original tuple and its zone, packed by family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ahash::RandomState;

use crate::observation::Tuple;

/// Address octets of one family.
pub(crate) trait Address: Copy + Eq + Default {
    fn from_ip(address: IpAddr) -> Option<Self>;
    fn to_ip(self) -> IpAddr;
}

impl Address for [u8; 4] {
    fn from_ip(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => Some(address.octets()),
            IpAddr::V6(_) => None,
        }
    }

    fn to_ip(self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(self))
    }
}

impl Address for [u8; 16] {
    fn from_ip(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(address.octets()),
        }
    }

    fn to_ip(self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from(self))
    }
}

/// A tuple and a zone: 16 octets for IPv4, 40 for IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct FamilyKey<A> {
    source: A,
    destination: A,
    source_port: u16,
    destination_port: u16,
    pub(crate) zone: u16,
    protocol: u8,
}

type Key4 = FamilyKey<[u8; 4]>;
type Key6 = FamilyKey<[u8; 16]>;

impl<A: Address> FamilyKey<A> {
    pub(crate) fn new(tuple: &Tuple, zone: u16) -> Option<Self> {
        Some(Self {
            source: A::from_ip(tuple.source)?,
            destination: A::from_ip(tuple.destination)?,
            source_port: tuple.source_port,
            destination_port: tuple.destination_port,
            zone,
            protocol: tuple.protocol,
        })
    }

    pub(crate) fn tuple(&self) -> Tuple {
        Tuple {
            source: self.source.to_ip(),
            destination: self.destination.to_ip(),
            protocol: self.protocol,
            source_port: self.source_port,
            destination_port: self.destination_port,
        }
    }

    fn rest(&self) -> u64 {
        u64::from(self.source_port)
            | u64::from(self.destination_port) << 16
            | u64::from(self.zone) << 32
            | u64::from(self.protocol) << 48
    }
}

/// Either family's key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionKey {
    V4(Key4),
    V6(Key6),
}

impl From<Key4> for ConnectionKey {
    fn from(key: Key4) -> Self {
        Self::V4(key)
    }
}

impl From<Key6> for ConnectionKey {
    fn from(key: Key6) -> Self {
        Self::V6(key)
    }
}

impl ConnectionKey {
    /// None: the addresses are of two families.
    #[inline]
    pub(crate) fn new(tuple: &Tuple, zone: u16) -> Option<Self> {
        match tuple.source {
            IpAddr::V4(_) => FamilyKey::new(tuple, zone).map(ConnectionKey::V4),
            IpAddr::V6(_) => FamilyKey::new(tuple, zone).map(ConnectionKey::V6),
        }
    }

    pub(crate) fn tuple(&self) -> Tuple {
        match self {
            ConnectionKey::V4(key) => key.tuple(),
            ConnectionKey::V6(key) => key.tuple(),
        }
    }

    pub(crate) fn zone(&self) -> u16 {
        match self {
            ConnectionKey::V4(key) => key.zone,
            ConnectionKey::V6(key) => key.zone,
        }
    }

    /// IANA protocol number.
    pub(crate) fn protocol(&self) -> u8 {
        match self {
            ConnectionKey::V4(key) => key.protocol,
            ConnectionKey::V6(key) => key.protocol,
        }
    }

    /// Seeded: strangers choose the tuples.
    #[inline]
    pub(crate) fn hash(&self, seed: &RandomState) -> u64 {
        match self {
            ConnectionKey::V4(key) => {
                let ends = u64::from(u32::from_ne_bytes(key.source)) << 32
                    | u64::from(u32::from_ne_bytes(key.destination));
                seed.hash_one(u128::from(ends) << 64 | u128::from(key.rest()))
            }
            ConnectionKey::V6(key) => seed.hash_one((
                u128::from_ne_bytes(key.source),
                u128::from_ne_bytes(key.destination),
                key.rest(),
            )),
        }
    }
}
