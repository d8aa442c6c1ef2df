//! The zero-copy walker over netlink attributes (`struct nlattr`), and the reads of their payloads.
//!
//! Octets of one attribute list enter through [`Attributes::new`]; borrowed payloads leave. No read allocates, and none
//! can go past the list: every length is checked against what is left.

use crate::malformed::{Malformed, Problem};

/// Octets of an attribute's header: length (host order, header included), type (host order).
const HEADER: usize = 4;
/// The type without NLA_F_NESTED (0x8000) and NLA_F_NET_BYTEORDER (0x4000).
const TYPE_MASK: u16 = 0x3fff;

/// NLA_F_NESTED: the payload is a list of attributes.
pub(crate) const NESTED: u16 = 0x8000;

/// Octets that `length` takes in a message: netlink aligns to four.
pub(crate) const fn aligned(length: usize) -> usize {
    (length + 3) & !3
}

/// One attribute: its type, its payload, and where the payload starts in the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) kind: u16,
    pub(crate) payload: &'a [u8],
    pub(crate) offset: usize,
}

/// A list of attributes, walked front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Attributes<'a> {
    #[inline]
    pub(crate) fn new(list: &'a [u8]) -> Self {
        Self {
            rest: list,
            length: list.len(),
        }
    }

    /// The next attribute, `None` after the last. After an error the walk is over.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<Attribute<'a>>, Malformed> {
        let Some(([len0, len1, type0, type1], _)) = self.rest.split_first_chunk::<HEADER>() else {
            return if self.rest.is_empty() {
                Ok(None)
            } else {
                Err(self.fault(Problem::Truncated {
                    available: self.rest.len() as u32,
                }))
            };
        };
        let length = usize::from(u16::from_ne_bytes([*len0, *len1]));
        let Some(payload) = self.rest.get(HEADER..length) else {
            return Err(self.fault(Problem::Length {
                claimed: length as u32,
                available: self.rest.len() as u32,
            }));
        };
        let offset = self.length - self.rest.len() + HEADER;
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Ok(Some(Attribute {
            kind: u16::from_ne_bytes([*type0, *type1]) & TYPE_MASK,
            payload,
            offset,
        }))
    }

    #[cold]
    fn fault(&mut self, problem: Problem) -> Malformed {
        let offset = self.length - self.rest.len();
        self.rest = &[];
        Malformed::new(offset, problem)
    }
}

impl<'a> Attribute<'a> {
    /// The payload as exactly `N` octets.
    #[inline(always)]
    pub(crate) fn array<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        match <[u8; N]>::try_from(self.payload) {
            Ok(octets) => Ok(octets),
            Err(_) => Err(self.wrong_size(N)),
        }
    }

    #[inline(always)]
    pub(crate) fn u8(&self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[octet]| octet)
    }

    #[inline(always)]
    pub(crate) fn be16(&self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline(always)]
    pub(crate) fn be32(&self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline(always)]
    pub(crate) fn be64(&self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// A NUL-terminated name; the terminator may be missing.
    pub(crate) fn name(&self) -> Result<&'a str, Malformed> {
        let octets = self.payload.split(|octet| *octet == 0).next();
        std::str::from_utf8(octets.unwrap_or_default())
            .map_err(|_| Malformed::new(0, Problem::NotUtf8).within(self.kind, self.offset))
    }

    /// A NUL-terminated text, up to its first octet that is not UTF-8.
    pub(crate) fn text(&self) -> &'a str {
        let octets = self.payload.split(|octet| *octet == 0).next();
        let mut chunks = octets.unwrap_or_default().utf8_chunks();
        chunks.next().map_or("", |chunk| chunk.valid())
    }

    /// The attributes inside; a fault among them is reported with this attribute's type through [`Self::around`].
    #[inline(always)]
    pub(crate) fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.payload)
    }

    /// Puts this attribute around a fault found inside it.
    #[cold]
    pub(crate) fn around(&self, fault: Malformed) -> Malformed {
        fault.within(self.kind, self.offset)
    }

    #[cold]
    fn wrong_size(&self, expected: usize) -> Malformed {
        Malformed::new(
            0,
            Problem::Size {
                expected: expected as u16,
                found: u16::try_from(self.payload.len()).unwrap_or(u16::MAX),
            },
        )
        .within(self.kind, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_walked_with_padding_and_without_it_at_the_end() {
        let list = [5u8, 0, 1, 0x80, 7, 0, 0, 0, 6, 0, 2, 0x40, 1, 2];
        let list = if cfg!(target_endian = "little") {
            list
        } else {
            [0, 5, 0x80, 1, 7, 0, 0, 0, 0, 6, 0x40, 2, 1, 2]
        };
        let mut walker = Attributes::new(&list);
        let first = walker.next().unwrap().unwrap();
        assert_eq!((first.kind, first.u8().unwrap(), first.offset), (1, 7, 4));
        let second = walker.next().unwrap().unwrap();
        assert_eq!((second.kind, second.be16().unwrap()), (2, 0x0102));
        assert!(walker.next().unwrap().is_none());
    }

    #[test]
    fn a_length_outside_the_list_is_a_fault_with_its_offset_and_ends_the_walk() {
        for claimed in [0u16, 3, 9, 0xffff] {
            let mut list = vec![4, 0, 1, 0];
            if cfg!(target_endian = "big") {
                list = vec![0, 4, 0, 1];
            }
            list.extend(claimed.to_ne_bytes());
            list.extend([0; 6]);
            let mut walker = Attributes::new(list.get(..12).unwrap());
            assert!(walker.next().unwrap().is_some());
            let fault = walker.next().unwrap_err();
            assert_eq!(fault.offset, 4);
            assert_eq!(
                fault.problem,
                Problem::Length {
                    claimed: claimed.into(),
                    available: 8
                }
            );
            assert!(walker.next().unwrap().is_none());
        }
    }

    #[test]
    fn octets_too_few_for_a_header_are_a_fault() {
        let fault = Attributes::new(&[8, 0, 1]).next().unwrap_err();
        assert_eq!(fault.problem, Problem::Truncated { available: 3 });
    }
}
