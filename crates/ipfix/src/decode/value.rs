//! A field's octets as a value of its element's type.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::element::DataType;
use crate::template::VARIABLE;

/// A value, borrowed from the message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// An unsigned integer of any size.
    Unsigned(u64),
    /// A signed integer of any size.
    Signed(i64),
    /// float32.
    Float32(f32),
    /// float64.
    Float64(f64),
    /// 1 is true, 2 is false; `None` for any other octet (RFC 7011, section 6.1.5).
    Boolean(Option<bool>),
    /// A MAC address.
    Mac([u8; 6]),
    /// An address of either family.
    Address(IpAddr),
    /// dateTimeSeconds and dateTimeMilliseconds: milliseconds since 1970.
    Milliseconds(u64),
    /// dateTimeMicroseconds: microseconds since 1970.
    Microseconds(u64),
    /// dateTimeNanoseconds: nanoseconds since 1970.
    Nanoseconds(u64),
    /// Octets that should be UTF-8. In a field of fixed length the zeros at the end are left out.
    Text(&'a [u8]),
    /// octetArray, an unknown element, or a known one at a length that its type does not have.
    Octets(&'a [u8]),
    /// Structured data (RFC 6313), paddingOctets (element 210), or a field of no octets: passed over.
    Skipped,
}

/// How to read a field, decided once when its template comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    Unsigned,
    Signed,
    Float32,
    Float64,
    Boolean,
    Mac,
    V4,
    V6,
    Seconds,
    Milliseconds,
    NtpMicroseconds,
    NtpNanoseconds,
    Text,
    PaddedText,
    Octets,
    Skip,
}

impl Reading {
    /// The reading of a type at a length of the template. Integers are read at every size up to eight octets, smaller
    /// ones by reduced-size encoding (RFC 7011, section 6.2), larger ones because exporters exist that send them.
    pub(crate) fn new(data_type: DataType, length: u16) -> Self {
        use DataType as T;
        match (data_type, length) {
            (_, 0) | (T::BasicList | T::SubTemplateList | T::SubTemplateMultiList, _) => Self::Skip,
            (T::Unsigned8 | T::Unsigned16 | T::Unsigned32 | T::Unsigned64, 1..=8) => Self::Unsigned,
            (T::Signed8 | T::Signed16 | T::Signed32 | T::Signed64, 1..=8) => Self::Signed,
            (T::Float32 | T::Float64, 4) => Self::Float32,
            (T::Float64, 8) => Self::Float64,
            (T::Boolean, 1) => Self::Boolean,
            (T::MacAddress, 6) => Self::Mac,
            (T::Ipv4Address, 4) => Self::V4,
            (T::Ipv6Address, 16) => Self::V6,
            (T::DateTimeSeconds, 4) => Self::Seconds,
            (T::DateTimeMilliseconds, 8) => Self::Milliseconds,
            (T::DateTimeMicroseconds, 8) => Self::NtpMicroseconds,
            (T::DateTimeNanoseconds, 8) => Self::NtpNanoseconds,
            (T::String, VARIABLE) => Self::Text,
            (T::String, _) => Self::PaddedText,
            _ => Self::Octets,
        }
    }

    pub(crate) fn value(self, octets: &[u8]) -> Value<'_> {
        match self {
            Self::Unsigned => Value::Unsigned(unsigned(octets)),
            Self::Signed => Value::Signed(signed(octets)),
            Self::Boolean => Value::Boolean(match octets {
                [1] => Some(true),
                [2] => Some(false),
                _ => None,
            }),
            Self::Seconds => Value::Milliseconds(unsigned(octets).saturating_mul(1000)),
            Self::Milliseconds => Value::Milliseconds(unsigned(octets)),
            // RFC 7011, section 6.1.9: the lowest 11 bits of the fraction must be ignored.
            Self::NtpMicroseconds => Value::Microseconds(ntp(unsigned(octets) & !0x7ff, 1_000_000)),
            Self::NtpNanoseconds => Value::Nanoseconds(ntp(unsigned(octets), 1_000_000_000)),
            Self::Text => Value::Text(octets),
            Self::PaddedText => {
                let end = octets
                    .iter()
                    .rposition(|octet| *octet != 0)
                    .map_or(0, |last| last + 1);
                Value::Text(octets.get(..end).unwrap_or_default())
            }
            Self::Skip => Value::Skipped,
            // The lengths are those that `new` asked for; were one not, the octets are still the truth.
            Self::Float32 => octets.try_into().map_or(Value::Octets(octets), |o| {
                Value::Float32(f32::from_be_bytes(o))
            }),
            Self::Float64 => octets.try_into().map_or(Value::Octets(octets), |o| {
                Value::Float64(f64::from_be_bytes(o))
            }),
            Self::Mac => octets.try_into().map_or(Value::Octets(octets), Value::Mac),
            Self::V4 => <[u8; 4]>::try_from(octets).map_or(Value::Octets(octets), |o| {
                Value::Address(IpAddr::V4(Ipv4Addr::from(o)))
            }),
            Self::V6 => <[u8; 16]>::try_from(octets).map_or(Value::Octets(octets), |o| {
                Value::Address(IpAddr::V6(Ipv6Addr::from(o)))
            }),
            Self::Octets => Value::Octets(octets),
        }
    }
}

/// Big-endian, at most eight octets.
#[inline]
fn unsigned(octets: &[u8]) -> u64 {
    match <[u8; 8]>::try_from(octets) {
        Ok(all) => u64::from_be_bytes(all),
        Err(_) => octets
            .iter()
            .fold(0, |value, octet| value << 8 | u64::from(*octet)),
    }
}

/// Big-endian two's complement, at most eight octets.
fn signed(octets: &[u8]) -> i64 {
    let unused = 64_u32.saturating_sub(8 * u32::try_from(octets.len()).unwrap_or(8));
    unsigned(octets)
        .wrapping_shl(unused)
        .cast_signed()
        .wrapping_shr(unused)
}

/// An NTP timestamp (RFC 7011, sections 6.1.9 and 6.1.10: seconds since 1900 and a 32-bit fraction) in units of which a
/// second has `units`, at most 10⁹, since 1970. Seconds whose top bit is clear are of the era that begins on 7 February
/// 2036 (RFC 4330, section 3).
///
/// The fraction is rounded to the next unit: exporters cut theirs off, so that a fraction cut off once more would say one
/// unit less than they meant.
fn ntp(timestamp: u64, units: u64) -> u64 {
    const FROM_1900_TO_1970: u64 = 2_208_988_800;
    let seconds = timestamp >> 32;
    let fraction = timestamp & 0xffff_ffff;
    let seconds = if seconds & 0x8000_0000 == 0 {
        seconds + (1 << 32)
    } else {
        seconds
    };
    seconds.saturating_sub(FROM_1900_TO_1970) * units + ((fraction * units + (1 << 31)) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_reduced_size_keep_their_value_and_sign() {
        assert_eq!(
            Reading::new(DataType::Unsigned64, 3).value(&[1, 0, 2]),
            Value::Unsigned(0x01_00_02)
        );
        assert_eq!(
            Reading::new(DataType::Signed32, 2).value(&[0xff, 0xfe]),
            Value::Signed(-2)
        );
        assert_eq!(
            Reading::new(DataType::Signed64, 8).value(&[0x80, 0, 0, 0, 0, 0, 0, 0]),
            Value::Signed(i64::MIN)
        );
        assert_eq!(
            Reading::new(DataType::Signed8, 1).value(&[0x7f]),
            Value::Signed(127)
        );
    }

    #[test]
    fn ntp_timestamps_are_read_in_both_eras() {
        // RFC 5905, figure 4: 1 January 1970 is second 2,208,988,800; 7 February 2036, 06:28:16 begins era 1.
        assert_eq!(ntp(2_208_988_800 << 32, 1000), 0);
        assert_eq!(ntp((2_208_988_800 << 32) | 0x8000_0000, 1000), 500);
        assert_eq!(ntp(0, 1000), 2_085_978_496_000);
        // The greatest of both eras fit in nanoseconds.
        assert_eq!(
            ntp(0x7fff_ffff << 32, 1_000_000_000),
            4_233_462_143 * 1_000_000_000
        );
        assert_eq!(ntp(u64::MAX, 1_000_000_000), 2_085_978_496 * 1_000_000_000);
    }

    #[test]
    fn a_fraction_that_was_cut_off_says_the_time_that_was_meant() {
        let second = 1_767_323_045_u64;
        let cut_off = |unit: u64, units: u64| {
            (((second + 2_208_988_800) << 32) | ((unit << 32) / units)).to_be_bytes()
        };
        for microsecond in (0..1_000_000).step_by(7) {
            assert_eq!(
                Reading::NtpMicroseconds.value(&cut_off(microsecond, 1_000_000)),
                Value::Microseconds(second * 1_000_000 + microsecond)
            );
        }
        for nanosecond in (0..1_000_000_000).step_by(7_001) {
            assert_eq!(
                Reading::NtpNanoseconds.value(&cut_off(nanosecond, 1_000_000_000)),
                Value::Nanoseconds(second * 1_000_000_000 + nanosecond)
            );
        }
    }

    #[test]
    fn eleven_bits_of_a_fraction_of_microseconds_are_ignored() {
        let low = [0x83, 0xaa, 0x7e, 0x80, 0, 0, 0x07, 0xff];
        assert_eq!(Reading::NtpMicroseconds.value(&low), Value::Microseconds(0));
        // 2047 / 2^32 s is 476.6 ns.
        assert_eq!(Reading::NtpNanoseconds.value(&low), Value::Nanoseconds(477));
    }

    #[test]
    fn a_length_that_the_type_does_not_have_leaves_octets() {
        for (data_type, length) in [
            (DataType::Ipv4Address, 3),
            (DataType::Ipv6Address, 4),
            (DataType::DateTimeMilliseconds, 4),
            (DataType::MacAddress, 8),
            (DataType::Unsigned64, 9),
            (DataType::Unsigned32, VARIABLE),
            (DataType::Boolean, 4),
        ] {
            assert_eq!(
                Reading::new(data_type, length),
                Reading::Octets,
                "{data_type:?} {length}"
            );
        }
    }

    #[test]
    fn zeros_pad_a_string_of_fixed_length_only() {
        assert_eq!(
            Reading::new(DataType::String, 6).value(b"eth0\0\0"),
            Value::Text(b"eth0")
        );
        assert_eq!(
            Reading::new(DataType::String, VARIABLE).value(b"eth0\0"),
            Value::Text(b"eth0\0")
        );
    }

    #[test]
    fn booleans_are_one_and_two() {
        let boolean = Reading::new(DataType::Boolean, 1);
        assert_eq!(boolean.value(&[1]), Value::Boolean(Some(true)));
        assert_eq!(boolean.value(&[2]), Value::Boolean(Some(false)));
        assert_eq!(boolean.value(&[0]), Value::Boolean(None));
    }
}
