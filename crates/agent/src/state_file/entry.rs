//! One entry of the state file: 120 octets, of which IPv4 addresses take the IPv4-mapped form.

use std::net::{IpAddr, Ipv6Addr};

use flow_table::{Counters, StateEntry, Tuple};

/// Flags and protocol, two addresses, two ports and the zone, id, start, twice four counters, end of the last record.
pub(super) const ENTRY_LEN: usize = 2 + 2 * 16 + 3 * 2 + 4 + 8 + 8 * 8 + 4;

const V6: u8 = 1;
const KERNEL_START: u8 = 2;
const RECORDED: u8 = 4;
const DONE: u8 = 8;

pub(super) fn encode(entry: &StateEntry) -> Vec<u8> {
    let tuple = &entry.original;
    let mut octets = Vec::with_capacity(ENTRY_LEN);
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    octets.push(
        flag(tuple.source.is_ipv6(), V6)
            | flag(entry.kernel_start, KERNEL_START)
            | flag(entry.recorded, RECORDED)
            | flag(entry.done, DONE),
    );
    octets.push(tuple.protocol);
    for address in [tuple.source, tuple.destination] {
        octets.extend(match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        });
    }
    for number in [tuple.source_port, tuple.destination_port, entry.zone] {
        octets.extend(number.to_be_bytes());
    }
    octets.extend(entry.id.to_be_bytes());
    octets.extend(entry.start_ns.to_be_bytes());
    for counters in entry.exported.into_iter().chain(entry.zeroed) {
        octets.extend(counters.packets.to_be_bytes());
        octets.extend(counters.octets.to_be_bytes());
    }
    octets.extend(entry.record_end_s.to_be_bytes());
    octets
}

pub(super) fn decode(octets: &[u8; ENTRY_LEN]) -> Option<StateEntry> {
    let mut at = Reader(octets);
    let [flags, protocol] = at.take()?;
    let mut address = || {
        let address = Ipv6Addr::from(at.take::<16>()?);
        if flags & V6 != 0 {
            Some(IpAddr::V6(address))
        } else {
            address.to_ipv4_mapped().map(IpAddr::V4)
        }
    };
    let (source, destination) = (address()?, address()?);
    let (source_port, destination_port, zone) = (at.u16()?, at.u16()?, at.u16()?);
    Some(StateEntry {
        original: Tuple {
            source,
            destination,
            protocol,
            source_port,
            destination_port,
        },
        zone,
        id: at.u32()?,
        start_ns: at.u64()?,
        kernel_start: flags & KERNEL_START != 0,
        exported: [
            Counters {
                packets: at.u64()?,
                octets: at.u64()?,
            },
            Counters {
                packets: at.u64()?,
                octets: at.u64()?,
            },
        ],
        zeroed: [
            Counters {
                packets: at.u64()?,
                octets: at.u64()?,
            },
            Counters {
                packets: at.u64()?,
                octets: at.u64()?,
            },
        ],
        record_end_s: at.u32()?,
        recorded: flags & RECORDED != 0,
        done: flags & DONE != 0,
    })
}

/// Takes big-endian values off the front.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}
