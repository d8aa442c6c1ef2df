//! Message and set headers (RFC 7011, sections 3.1 and 3.3.2): a parsed representation, `parse` and `emit`.

/// Octets of a message header.
pub const HEADER_LEN: usize = 16;
/// Octets of a set header.
pub const SET_HEADER_LEN: usize = 4;
/// The version number of IPFIX.
pub const VERSION: u16 = 10;
/// The longest message, by the width of its length field.
pub const MAX_MESSAGE_LEN: usize = 65_535;
/// Set id of template sets.
pub const TEMPLATE_SET: u16 = 2;
/// Set id of options template sets.
pub const OPTIONS_TEMPLATE_SET: u16 = 3;
/// The first set id that names a template.
pub const FIRST_TEMPLATE: u16 = 256;

/// A message header. The version is not a field: [`MessageHeader::parse`] accepts version 10 alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageHeader {
    /// Octets of the message, this header included.
    pub length: u16,
    /// Seconds since 1970 at which the header left the exporter.
    pub export_time: u32,
    /// Data records sent before this message in its session and domain, modulo 2^32.
    pub sequence: u32,
    /// Observation domain id.
    pub domain: u32,
}

impl MessageHeader {
    /// Reads version and length, then the rest. `Err` holds what stands in the place of the version.
    pub fn parse(octets: &[u8; HEADER_LEN]) -> Result<Self, u16> {
        let [
            v0,
            v1,
            l0,
            l1,
            t0,
            t1,
            t2,
            t3,
            s0,
            s1,
            s2,
            s3,
            d0,
            d1,
            d2,
            d3,
        ] = *octets;
        let version = u16::from_be_bytes([v0, v1]);
        if version != VERSION {
            return Err(version);
        }
        Ok(Self {
            length: u16::from_be_bytes([l0, l1]),
            export_time: u32::from_be_bytes([t0, t1, t2, t3]),
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            domain: u32::from_be_bytes([d0, d1, d2, d3]),
        })
    }

    /// The header's octets.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let mut octets = [0; HEADER_LEN];
        let (version, rest) = octets.split_at_mut(2);
        let (length, rest) = rest.split_at_mut(2);
        let (time, rest) = rest.split_at_mut(4);
        let (sequence, domain) = rest.split_at_mut(4);
        version.copy_from_slice(&VERSION.to_be_bytes());
        length.copy_from_slice(&self.length.to_be_bytes());
        time.copy_from_slice(&self.export_time.to_be_bytes());
        sequence.copy_from_slice(&self.sequence.to_be_bytes());
        domain.copy_from_slice(&self.domain.to_be_bytes());
        octets
    }
}

/// A set header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetHeader {
    /// 2, 3, or the id of the template that the set's records follow.
    pub id: u16,
    /// Octets of the set, this header included.
    pub length: u16,
}

impl SetHeader {
    /// Reads a set header; says nothing about whether its values make sense.
    pub fn parse(octets: [u8; SET_HEADER_LEN]) -> Self {
        let [i0, i1, l0, l1] = octets;
        Self {
            id: u16::from_be_bytes([i0, i1]),
            length: u16::from_be_bytes([l0, l1]),
        }
    }

    /// The header's octets.
    pub fn emit(&self) -> [u8; SET_HEADER_LEN] {
        let [i0, i1] = self.id.to_be_bytes();
        let [l0, l1] = self.length.to_be_bytes();
        [i0, i1, l0, l1]
    }
}

/// A length known to fit: messages are at most 65,535 octets. Saturates rather than wraps if that was ever untrue.
pub(crate) fn length(octets: usize) -> u16 {
    u16::try_from(octets).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7011, section 3.1: version, length, export time, sequence number, observation domain id.
    const HEADER: [u8; 16] = [
        0x00, 0x0a, 0x01, 0x40, 0x5f, 0x5e, 0x10, 0x00, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1,
    ];

    #[test]
    fn a_header_is_written_and_read_as_the_rfc_draws_it() {
        let header = MessageHeader {
            length: 320,
            export_time: 0x5f5e_1000,
            sequence: u32::MAX,
            domain: 1,
        };
        assert_eq!(header.emit(), HEADER);
        assert_eq!(MessageHeader::parse(&HEADER), Ok(header));
    }

    #[test]
    fn another_version_is_refused_and_named() {
        let mut netflow9 = HEADER;
        netflow9[1] = 9;
        assert_eq!(MessageHeader::parse(&netflow9), Err(9));
    }

    #[test]
    fn a_set_header_is_id_then_length() {
        let header = SetHeader {
            id: 256,
            length: 0x1234,
        };
        assert_eq!(header.emit(), [1, 0, 0x12, 0x34]);
        assert_eq!(SetHeader::parse([1, 0, 0x12, 0x34]), header);
    }
}
