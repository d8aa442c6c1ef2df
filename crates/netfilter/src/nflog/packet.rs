//! One logged packet: the message's attributes, and the packet's own headers, read with etherparse.

use etherparse::{LaxNetSlice, LaxSlicedPacket};

use crate::attribute::{Attribute, Attributes};
use crate::malformed::{Malformed, Problem};
use crate::message::NFGENMSG;
use crate::tuple::{ICMP, ICMPV6, TCP, Tuple};

/// What the headers of a logged packet say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketHeader {
    /// Addresses, protocol and ports, packed as conntrack's tuples are. Ports are 0 where the packet is a later fragment
    /// or the copied octets end before them.
    pub tuple: Tuple,
    /// TCP's flags (FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128).
    pub tcp_flags: Option<u8>,
    /// The packet's octets with its IP header, by that header.
    pub octets: u32,
}

/// A packet that a rule logged. Borrowed from the receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedPacket<'a> {
    /// The group it was logged to.
    pub group: u16,
    /// NFULA_PREFIX: the rule's text, up to its first octet that is not UTF-8.
    pub prefix: &'a str,
    /// Ethernet type (0x0800, 0x86dd, …).
    pub hw_protocol: u16,
    /// Netfilter hook: 0 prerouting, 1 input, 2 forward, 3 output, 4 postrouting.
    pub hook: u8,
    /// The packet's mark; 0 when absent.
    pub mark: u32,
    /// Arrival in ns since 1970; absent for packets of this host.
    pub timestamp: Option<u64>,
    /// Index of the interface it came in by.
    pub input_interface: Option<u32>,
    /// Index of the interface it was to leave by.
    pub output_interface: Option<u32>,
    /// The packet's number in its group.
    pub sequence: Option<u32>,
    /// Its headers; `None` for what is not IP, or cut before the end of the IP header.
    pub header: Option<PacketHeader>,
}

impl<'a> LoggedPacket<'a> {
    /// Reads the payload of an NFULNL_MSG_PACKET: `struct nfgenmsg`, then attributes
    /// (include/uapi/linux/netfilter/nfnetlink_log.h).
    ///
    /// # Errors
    /// The path and offset of the first attribute that cannot be read. Headers that cannot be read are no error.
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let Some(([_, _, group0, group1], attributes)) = message.split_first_chunk::<NFGENMSG>()
        else {
            let available = message.len() as u32;
            return Err(Malformed::new(0, Problem::Truncated { available }));
        };
        let mut packet = Self {
            group: u16::from_be_bytes([*group0, *group1]),
            prefix: "",
            hw_protocol: 0,
            hook: 0,
            mark: 0,
            timestamp: None,
            input_interface: None,
            output_interface: None,
            sequence: None,
            header: None,
        };
        let mut list = Attributes::new(attributes);
        while let Some(attribute) = list.next().map_err(|fault| fault.shifted(NFGENMSG))? {
            packet
                .take(&attribute)
                .map_err(|fault| fault.shifted(NFGENMSG))?;
        }
        Ok(packet)
    }

    fn take(&mut self, attribute: &Attribute<'a>) -> Result<(), Malformed> {
        match attribute.kind {
            1 => {
                let [protocol0, protocol1, hook, _] = attribute.array::<4>()?;
                self.hw_protocol = u16::from_be_bytes([protocol0, protocol1]);
                self.hook = hook;
            }
            2 => self.mark = attribute.be32()?,
            3 => {
                // Seconds and microseconds, be64 each.
                let time = u128::from_be_bytes(attribute.array()?);
                let (seconds, microseconds) = ((time >> 64) as u64, time as u64);
                self.timestamp = Some(
                    seconds
                        .saturating_mul(1_000_000_000)
                        .saturating_add(microseconds.saturating_mul(1000)),
                );
            }
            4 => self.input_interface = Some(attribute.be32()?),
            5 => self.output_interface = Some(attribute.be32()?),
            9 => self.header = PacketHeader::read(attribute.payload),
            10 => self.prefix = attribute.text(),
            12 => self.sequence = Some(attribute.be32()?),
            _ => {}
        }
        Ok(())
    }
}

impl PacketHeader {
    /// Reads an IPv4 or IPv6 packet of which only the first octets may be there.
    fn read(octets: &[u8]) -> Option<Self> {
        let packet = LaxSlicedPacket::from_ip(octets).ok()?;
        let (source, destination, payload, length, later_fragment) = match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                (
                    header.source_addr().into(),
                    header.destination_addr().into(),
                    ip.payload(),
                    u32::from(header.total_len()),
                    header.fragments_offset().value() != 0,
                )
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let payload = ip.payload();
                (
                    header.source_addr().into(),
                    header.destination_addr().into(),
                    payload,
                    u32::from(header.payload_length()) + 40,
                    payload.fragmented && packet.transport.is_none(),
                )
            }
            LaxNetSlice::Arp(_) => return None,
        };
        let protocol = payload.ip_number.0;
        let (source_port, destination_port) = if later_fragment {
            (0, 0)
        } else {
            demultiplexing(protocol, payload.payload)
        };
        Some(Self {
            tuple: Tuple::new(source, destination, protocol, source_port, destination_port),
            // Octet 13 of TCP's header holds the eight flags.
            tcp_flags: match protocol {
                TCP if !later_fragment => payload.payload.get(13).copied(),
                _ => None,
            },
            octets: length,
        })
    }
}

/// Ports, or ICMP's identifier and type << 8 | code, from the first octets of a transport header.
fn demultiplexing(protocol: u8, transport: &[u8]) -> (u16, u16) {
    const PORTS: [u8; 5] = [6, 17, 33, 132, 136]; // TCP, UDP, DCCP, SCTP, UDP-Lite
    let Some([a, b, c, d]) = transport.first_chunk::<4>() else {
        return (0, 0);
    };
    if PORTS.contains(&protocol) {
        return (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
    }
    // Echo, timestamp and information requests and replies carry an identifier behind the checksum.
    let identified: &[u8] = match protocol {
        ICMP => &[0, 8, 13, 14, 15, 16, 17, 18],
        ICMPV6 => &[128, 129],
        _ => return (0, 0),
    };
    let identifier = match transport.first_chunk::<6>() {
        Some([_, _, _, _, id0, id1]) if identified.contains(a) => u16::from_be_bytes([*id0, *id1]),
        _ => 0,
    };
    (identifier, u16::from_be_bytes([*a, *b]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 791 header (total length 60, protocol 6, 192.0.2.1 to 198.51.100.2), RFC 9293 header (ports 40000, 22; SYN).
    const SYN: [u8; 40] = [
        0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2, //
        0x9c, 0x40, 0, 22, 0, 0, 0, 1, 0, 0, 0, 0, 0xa0, 0x02, 0xff, 0xff, 0, 0, 0, 0,
    ];

    #[test]
    fn a_tcp_packet_cut_behind_its_headers_is_read() {
        // The data offset of 10 words claims options that the copy does not have.
        let header = PacketHeader::read(&SYN).unwrap();
        assert_eq!(
            header.tuple,
            Tuple::new(
                [192, 0, 2, 1].into(),
                [198, 51, 100, 2].into(),
                6,
                40000,
                22
            )
        );
        assert_eq!(header.octets, 60);
        assert_eq!(header.tcp_flags, Some(2));
        assert_eq!(PacketHeader::read(&SYN[..32]).unwrap().tcp_flags, None);
    }

    #[test]
    fn a_later_fragment_has_no_ports_and_a_cut_header_is_none() {
        let mut fragment = SYN;
        fragment[7] = 8;
        let header = PacketHeader::read(&fragment).unwrap();
        assert_eq!(
            (header.tuple.source_port, header.tuple.destination_port),
            (0, 0)
        );
        assert_eq!(PacketHeader::read(&SYN[..19]), None);
        assert_eq!(PacketHeader::read(&[]), None);
    }

    #[test]
    fn an_icmp_echo_is_packed_as_conntrack_packs_it() {
        let echo = [8, 0, 0, 0, 0x12, 0x34, 0, 1];
        assert_eq!(demultiplexing(ICMP, &echo), (0x1234, 0x0800));
        // Destination unreachable, port: code 3, no identifier.
        assert_eq!(demultiplexing(ICMP, &[3, 3, 0, 0, 9, 9, 0, 0]), (0, 0x0303));
        assert_eq!(demultiplexing(ICMPV6, &[129, 0, 0, 0, 0, 7]), (7, 0x8100));
    }
}
