//! Where and why a netlink message could not be read: the value that takes the place of a panic.
//!
//! Made by the attribute walker, carried outwards by the decoders, which add the attribute they were in.

use std::fmt;

/// What is wrong with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// A header's length field is smaller than the header or larger than what is left.
    Length {
        /// The length that the header claims.
        claimed: u32,
        /// The octets that were left, header included.
        available: u32,
    },
    /// Fewer octets are left than a header takes.
    Truncated {
        /// The octets that were left.
        available: u32,
    },
    /// An attribute of fixed size has another size.
    Size {
        /// The size that the kernel's header defines.
        expected: u16,
        /// The size found.
        found: u16,
    },
    /// A mandatory attribute is missing.
    Missing,
    /// A name that is not UTF-8.
    NotUtf8,
    /// The family is neither IPv4 (2) nor IPv6 (10).
    Family(u8),
}

/// A message that could not be read. `offset` counts octets from the message's first octet after the netlink header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed {
    path: [u16; Self::DEPTH],
    depth: u8,
    /// Octets from the start of the message's payload (its nfgenmsg) to the attribute that breaks it.
    pub offset: u32,
    /// What is wrong there.
    pub problem: Problem,
}

impl Malformed {
    const DEPTH: usize = 4;

    #[cold]
    pub(crate) fn new(offset: usize, problem: Problem) -> Self {
        Self {
            path: [0; Self::DEPTH],
            depth: 0,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            problem,
        }
    }

    /// The same fault seen from the attribute (or message) around it, whose payload starts at `offset` there.
    #[cold]
    pub(crate) fn within(mut self, attribute: u16, offset: usize) -> Self {
        self.path.rotate_right(1);
        if let Some(first) = self.path.first_mut() {
            *first = attribute;
        }
        self.depth = (self.depth + 1).min(Self::DEPTH as u8);
        self.shifted(offset)
    }

    /// The same fault with `offset` more octets before it.
    #[cold]
    pub(crate) fn shifted(mut self, offset: usize) -> Self {
        self.offset = self
            .offset
            .saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
        self
    }

    /// The attribute types from the outermost to the one that breaks; empty when the message's own frame does.
    #[must_use]
    pub fn path(&self) -> &[u16] {
        self.path.get(..usize::from(self.depth)).unwrap_or_default()
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("attribute ")?;
        for (index, attribute) in self.path().iter().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            write!(f, "{attribute}")?;
        }
        if self.depth == 0 {
            f.write_str("list")?;
        }
        write!(f, " at offset {}: ", self.offset)?;
        match self.problem {
            Problem::Length { claimed, available } => {
                write!(f, "claims {claimed} octets where {available} are left")
            }
            Problem::Truncated { available } => {
                write!(f, "{available} octets are left, too few for a header")
            }
            Problem::Size { expected, found } => {
                write!(f, "expected {expected} octets, found {found}")
            }
            Problem::Missing => f.write_str("a mandatory attribute is missing"),
            Problem::NotUtf8 => f.write_str("a name is not UTF-8"),
            Problem::Family(family) => write!(f, "unknown address family {family}"),
        }
    }
}

impl std::error::Error for Malformed {}
