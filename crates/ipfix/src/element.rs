//! What an information element is: its identity on the wire, its abstract data type, and its name.
//!
//! Data enters as the pair (enterprise number, element number) of a template; `registry` turns it into an [`Element`].
//! Read [`ElementId`] and [`DataType`] first.

use std::fmt;

/// Private enterprise number of Antrea, whose registry `registry/antrea.csv` holds.
pub const ANTREA: u32 = 56506;
/// Private enterprise number of the netfilter project, under which mark, conntrack id and log prefix go.
pub const NETFILTER: u32 = 21373;
/// Private enterprise number that marks the reverse direction of an IANA element (RFC 5103, section 6.1).
pub const REVERSE: u32 = 29305;

/// Identity of an information element (RFC 7011, section 3.2). Enterprise 0 stands for IANA's own registry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementId {
    /// Private enterprise number; 0: IANA.
    pub enterprise: u32,
    /// Element number, 15 bits (the enterprise bit is not part of it).
    pub number: u16,
}

impl ElementId {
    /// An element of IANA's registry.
    pub const fn iana(number: u16) -> Self {
        Self {
            enterprise: 0,
            number,
        }
    }

    /// The reverse direction of an element of IANA's registry (RFC 5103).
    pub const fn reverse(number: u16) -> Self {
        Self {
            enterprise: REVERSE,
            number,
        }
    }

    /// An element of Antrea's registry.
    pub const fn antrea(number: u16) -> Self {
        Self {
            enterprise: ANTREA,
            number,
        }
    }

    /// An element of the netfilter project's registry.
    pub const fn netfilter(number: u16) -> Self {
        Self {
            enterprise: NETFILTER,
            number,
        }
    }
}

/// `86` for an element of IANA, `29305/86` for one of an enterprise.
impl fmt::Display for ElementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.enterprise {
            0 => write!(f, "{}", self.number),
            enterprise => write!(f, "{enterprise}/{}", self.number),
        }
    }
}

impl fmt::Debug for ElementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Abstract data types (RFC 7012, section 3.1); the discriminants are those of IANA's registry of data types, which
/// type information records carry (RFC 5610, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum DataType {
    /// Uninterpreted octets.
    OctetArray = 0,
    /// One octet.
    Unsigned8 = 1,
    /// Two octets, or fewer by reduced-size encoding.
    Unsigned16 = 2,
    /// Four octets, or fewer.
    Unsigned32 = 3,
    /// Eight octets, or fewer.
    Unsigned64 = 4,
    /// One octet, two's complement.
    Signed8 = 5,
    /// Two octets, or fewer.
    Signed16 = 6,
    /// Four octets, or fewer.
    Signed32 = 7,
    /// Eight octets, or fewer.
    Signed64 = 8,
    /// IEEE binary32.
    Float32 = 9,
    /// IEEE binary64, or binary32 by reduced-size encoding.
    Float64 = 10,
    /// 1 true, 2 false.
    Boolean = 11,
    /// Six octets.
    MacAddress = 12,
    /// UTF-8.
    String = 13,
    /// Seconds since 1970, four octets.
    DateTimeSeconds = 14,
    /// Milliseconds since 1970, eight octets.
    DateTimeMilliseconds = 15,
    /// NTP timestamp, eight octets, microsecond precision.
    DateTimeMicroseconds = 16,
    /// NTP timestamp, eight octets.
    DateTimeNanoseconds = 17,
    /// Four octets.
    Ipv4Address = 18,
    /// Sixteen octets.
    Ipv6Address = 19,
    /// Structured data (RFC 6313); skipped here.
    BasicList = 20,
    /// Structured data (RFC 6313); skipped here.
    SubTemplateList = 21,
    /// Structured data (RFC 6313); skipped here.
    SubTemplateMultiList = 22,
}

impl DataType {
    /// The type of that name in the registry files; `None` for a name that is not a type.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "octetArray" => Self::OctetArray,
            "unsigned8" => Self::Unsigned8,
            "unsigned16" => Self::Unsigned16,
            "unsigned32" => Self::Unsigned32,
            "unsigned64" => Self::Unsigned64,
            "signed8" => Self::Signed8,
            "signed16" => Self::Signed16,
            "signed32" => Self::Signed32,
            "signed64" => Self::Signed64,
            "float32" => Self::Float32,
            "float64" => Self::Float64,
            "boolean" => Self::Boolean,
            "macAddress" => Self::MacAddress,
            "string" => Self::String,
            "dateTimeSeconds" => Self::DateTimeSeconds,
            "dateTimeMilliseconds" => Self::DateTimeMilliseconds,
            "dateTimeMicroseconds" => Self::DateTimeMicroseconds,
            "dateTimeNanoseconds" => Self::DateTimeNanoseconds,
            "ipv4Address" => Self::Ipv4Address,
            "ipv6Address" => Self::Ipv6Address,
            "basicList" => Self::BasicList,
            "subTemplateList" => Self::SubTemplateList,
            "subTemplateMultiList" => Self::SubTemplateMultiList,
            _ => return None,
        })
    }

    /// Octets of a value at full size; `None` where the type has no size of its own.
    pub fn size(self) -> Option<u16> {
        Some(match self {
            Self::Unsigned8 | Self::Signed8 | Self::Boolean => 1,
            Self::Unsigned16 | Self::Signed16 => 2,
            Self::Unsigned32
            | Self::Signed32
            | Self::Float32
            | Self::DateTimeSeconds
            | Self::Ipv4Address => 4,
            Self::MacAddress => 6,
            Self::Unsigned64
            | Self::Signed64
            | Self::Float64
            | Self::DateTimeMilliseconds
            | Self::DateTimeMicroseconds
            | Self::DateTimeNanoseconds => 8,
            Self::Ipv6Address => 16,
            Self::OctetArray
            | Self::String
            | Self::BasicList
            | Self::SubTemplateList
            | Self::SubTemplateMultiList => {
                return None;
            }
        })
    }

    /// Whether a value of this type may take `length` octets in a template: full size, or the reduced sizes that
    /// RFC 7011, section 6.2, allows (integers any smaller size, float64 as float32, nothing else).
    pub fn allows(self, length: u16) -> bool {
        match self {
            Self::Unsigned8
            | Self::Unsigned16
            | Self::Unsigned32
            | Self::Unsigned64
            | Self::Signed8
            | Self::Signed16
            | Self::Signed32
            | Self::Signed64 => length >= 1 && Some(length) <= self.size(),
            Self::Float64 => length == 8 || length == 4,
            _ => self.size().is_none_or(|size| size == length),
        }
    }
}

/// One entry of a registry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// Its identity on the wire.
    pub id: ElementId,
    /// Its name; for a reverse element already the reverse name (`reverseOctetDeltaCount`).
    pub name: &'static str,
    /// Its abstract data type.
    pub data_type: DataType,
}
