//! Prefixes as ranges of addresses, each with the number of the longest prefix that holds it: one binary search finds it,
//! and 100,000 prefixes of IPv4 take at most 1.6 MB.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::str::FromStr;

use super::PREFIX;
use crate::names::wrong::NamesError;

/// The addresses that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prefix {
    first: IpAddr,
    length: u8,
}

impl FromStr for Prefix {
    type Err = ();

    /// An address, or one with a length; bits behind it do not count. IPv4-mapped addresses are IPv4, as to conntrack.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let written: IpAddr = address.parse().map_err(|_| ())?;
        let address = written.to_canonical();
        let longest: u8 = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            Some(length) if length.bytes().all(|digit| digit.is_ascii_digit()) => {
                let length: u8 = length.parse().map_err(|_| ())?;
                let mapped = if written.is_ipv6() && address.is_ipv4() {
                    96
                } else {
                    0
                };
                length.checked_sub(mapped).ok_or(())?
            }
            Some(_) => return Err(()),
            None => longest,
        };
        if length > longest {
            return Err(());
        }
        let first = match address {
            IpAddr::V4(address) => {
                IpAddr::from(Ipv4Addr::from(u32::from(address) & !behind(length) as u32))
            }
            IpAddr::V6(address) => {
                let behind = u128::MAX.checked_shr(length.into()).unwrap_or(0);
                IpAddr::from(Ipv6Addr::from(u128::from(address) & !behind))
            }
        };
        Ok(Self { first, length })
    }
}

/// The bits of an IPv4 address behind a prefix of that length.
fn behind(length: u8) -> u64 {
    u64::from(u32::MAX) >> length
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

/// Addresses of both families, each with a number or none.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    v4: Starts<u32>,
    v6: Starts<u128>,
}

impl Ranges {
    /// Of one prefix that stands twice any number holds.
    pub(crate) fn new(prefixes: impl Iterator<Item = (Prefix, NonZeroU32)>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (prefix, number) in prefixes {
            match prefix.first {
                IpAddr::V4(first) => {
                    let first = u32::from(first);
                    v4.push((first, first | behind(prefix.length) as u32, number));
                }
                IpAddr::V6(first) => {
                    let first = u128::from(first);
                    let behind = u128::MAX.checked_shr(prefix.length.into()).unwrap_or(0);
                    v6.push((first, first | behind, number));
                }
            }
        }
        Self {
            v4: Starts::new(v4, |last: u32| last.checked_add(1)),
            v6: Starts::new(v6, |last: u128| last.checked_add(1)),
        }
    }

    /// The number of the longest prefix that holds this address.
    pub(crate) fn at(&self, address: IpAddr) -> Option<NonZeroU32> {
        match address {
            IpAddr::V4(address) => self.v4.at(u32::from(address)),
            IpAddr::V6(address) => self.v6.at(u128::from(address)),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }

    fn is_empty(&self) -> bool {
        self.v4.starts.is_empty() && self.v6.starts.is_empty()
    }
}

/// Networks without names, such as those of Pods.
#[derive(Debug, Default)]
pub struct Prefixes(Ranges);

impl Prefixes {
    /// Of texts such as `10.0.0.0/8`; `list` is what errors call them.
    pub fn new<T: AsRef<str>>(list: &'static str, texts: &[T]) -> Result<Self, NamesError> {
        let prefix = |(place, text): (usize, &T)| {
            let text = text.as_ref();
            let prefix = text
                .parse()
                .map_err(|()| NamesError::text(list, [place.into()], text, PREFIX))?;
            Ok((prefix, NonZeroU32::MIN))
        };
        let prefixes: Result<Vec<_>, _> = texts.iter().enumerate().map(prefix).collect();
        Ok(Self(Ranges::new(prefixes?.into_iter())))
    }

    pub(crate) fn contain(&self, address: IpAddr) -> bool {
        self.0.at(address).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where ranges start, ascending, and the number from there on; before the first there is none.
#[derive(Debug, Default)]
struct Starts<T> {
    starts: Vec<T>,
    numbers: Vec<Option<NonZeroU32>>,
}

impl<T: Copy + Ord> Starts<T> {
    /// Of ranges (first, last) that hold each other or have nothing in common, as prefixes do.
    fn new(mut ranges: Vec<(T, T, NonZeroU32)>, next: impl Fn(T) -> Option<T>) -> Self {
        // Whatever holds others comes before them.
        ranges.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut made = Self {
            starts: Vec::new(),
            numbers: Vec::new(),
        };
        // Those that hold the present address, the longest prefix last.
        let mut open: Vec<(T, NonZeroU32)> = Vec::new();
        for (first, last, number) in ranges {
            made.close(&mut open, Some(first), &next);
            made.push(first, Some(number));
            open.push((last, number));
        }
        made.close(&mut open, None, &next);
        made.starts.shrink_to_fit();
        made.numbers.shrink_to_fit();
        made
    }

    /// Ends what ends before `until`; None: everything.
    fn close(
        &mut self,
        open: &mut Vec<(T, NonZeroU32)>,
        until: Option<T>,
        next: impl Fn(T) -> Option<T>,
    ) {
        while let Some(&(last, _)) = open.last()
            && until.is_none_or(|until| last < until)
        {
            open.pop();
            if let Some(after) = next(last) {
                self.push(after, open.last().map(|&(_, number)| number));
            }
        }
    }

    fn push(&mut self, start: T, number: Option<NonZeroU32>) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.numbers.pop();
        }
        if self.numbers.last().copied().flatten() != number {
            self.starts.push(start);
            self.numbers.push(number);
        }
    }

    fn at(&self, address: T) -> Option<NonZeroU32> {
        let behind = self.starts.partition_point(|&start| start <= address);
        *self.numbers.get(behind.checked_sub(1)?)?
    }

    fn bytes(&self) -> usize {
        self.starts.capacity() * size_of::<T>() + self.numbers.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_prefix_is_read_without_what_stands_behind_its_length() {
        let text = |text: &str| text.parse::<Prefix>().map(|prefix| prefix.to_string());
        assert_eq!(text("10.1.2.3/8"), Ok("10.0.0.0/8".into()));
        assert_eq!(text("10.1.2.3"), Ok("10.1.2.3/32".into()));
        assert_eq!(text("10.1.2.3/0"), Ok("0.0.0.0/0".into()));
        assert_eq!(text("fd12::1/8"), Ok("fd00::/8".into()));
        assert_eq!(text("fd12::1/0"), Ok("::/0".into()));
        assert_eq!(text("::ffff:10.1.2.3/104"), Ok("10.0.0.0/8".into()));
        for wrong in [
            "",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "fd00::/129",
            "::ffff:10.0.0.0/95",
            "a/8",
        ] {
            assert_eq!(text(wrong), Err(()), "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Prefixes and addresses of few different bits, at both ends of the space, so that they meet.
        #[test]
        fn it_finds_what_trying_each_prefix_finds(
            prefixes in prop::collection::vec((any::<bool>(), 0..8_u128, any::<bool>(), 0..=12_u8), 0..40),
            addresses in prop::collection::vec((any::<bool>(), 0..8_u128, any::<bool>(), -2..3_i8), 0..40),
        ) {
            let address = |v4: bool, top: u128, end: bool| {
                let fill = if end { u128::MAX } else { 0 };
                let bits = top << 125 | fill >> 3;
                if v4 { IpAddr::from(((bits >> 96) as u32).to_be_bytes()) } else { IpAddr::from(bits.to_be_bytes()) }
            };
            let list: Vec<(String, Prefix)> = prefixes
                .iter()
                .map(|&(v4, top, end, length)| {
                    let length = match length { 10.. if v4 => 20 + length, 10.. => 116 + length, few => few };
                    let text = format!("{}/{length}", address(v4, top, end));
                    (text.clone(), text.parse().unwrap())
                })
                .collect();
            // One number for each distinct prefix.
            let mut distinct: Vec<Prefix> = list.iter().map(|it| it.1).collect();
            distinct.sort_unstable_by_key(|it| (it.first, it.length));
            distinct.dedup();
            let number = |at: usize| NonZeroU32::new(at as u32 + 1).unwrap();
            let ranges = Ranges::new(distinct.iter().enumerate().map(|(at, &prefix)| (prefix, number(at))));
            for (v4, top, end, near) in addresses {
                let near = i32::from(near);
                let asked = match address(v4, top, end) {
                    IpAddr::V4(it) => IpAddr::from(u32::from(it).wrapping_add_signed(near).to_be_bytes()),
                    IpAddr::V6(it) => IpAddr::from(u128::from(it).wrapping_add_signed(near.into()).to_be_bytes()),
                };
                let holds = |prefix: &Prefix| -> bool {
                    let text = prefix.to_string();
                    text.parse::<crate::Network>().unwrap().contains(asked)
                };
                let longest = distinct
                    .iter()
                    .enumerate()
                    .filter(|(_, prefix)| holds(prefix))
                    .max_by_key(|(_, prefix)| prefix.length)
                    .map(|(at, _)| number(at));
                prop_assert_eq!(ranges.at(asked), longest, "{}", asked);
            }
        }
    }
}
