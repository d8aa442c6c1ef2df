//! What networks are called, by their prefixes: the longest that holds an address names it. Data enters as JSON or CSV,
//! whole each time.

pub(crate) mod ranges;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::num::NonZeroU32;

use ahash::RandomState;

use super::json::Node;
use super::place;
use super::pods::MAX_TEXT;
use super::wrong::{NamesError, PathKey};
use ranges::{Prefix, Ranges};

/// Prefixes of all networks together: at most 40 MB of IPv4's, 80 MB of IPv6's, beside the names.
const MAX_PREFIXES: usize = 1_000_000;

/// A whole set of networks, found by the addresses in them.
#[derive(Debug, Default)]
pub struct Networks {
    ranges: Ranges,
    /// Each name once.
    names: Vec<Box<str>>,
}

impl Networks {
    /// A list of objects with `name` and `prefixes` (`10.0.0.0/8`, `fd00::/8`, or an address alone). Bits behind a prefix's
    /// length do not count. A prefix may stand twice only under one name.
    pub fn from_json(json: &str) -> Result<Self, NamesError> {
        let list = Node::whole(LIST, json)?;
        let mut builder = Builder::default();
        for (place, raw) in list.elements("a list of networks")?.into_iter().enumerate() {
            let node = list.at(place, raw);
            let fields = node.fields(&["name", "prefixes"], "an object with name and prefixes")?;
            let expected = "the network's name";
            let name = node.required(&fields, "name", expected)?;
            let name = builder.name(&name.name(MAX_TEXT, expected)?);
            let expected = "a list of prefixes";
            let prefixes = node.required(&fields, "prefixes", expected)?;
            for (at, raw) in prefixes.elements(expected)?.into_iter().enumerate() {
                let node = prefixes.at(at, raw);
                let text = node.text(usize::MAX, PREFIX)?;
                let prefix = text.parse().map_err(|()| node.wrong(PREFIX))?;
                builder.add(prefix, name, [place as u32, at as u32])?;
            }
        }
        builder.build(|[place, at], same: [u32; 2]| {
            let path: [PathKey; 3] = [
                (place as usize).into(),
                "prefixes".into(),
                (at as usize).into(),
            ];
            (path.to_vec(), format!("{LIST}[{}]", same[0]))
        })
    }

    /// A line for each prefix: `PREFIX,NAME`, quoted as in RFC 4180 where need be. Empty lines, those that begin with `#`,
    /// and a first line `prefix,name` say nothing.
    pub fn from_csv(text: &str) -> Result<Self, NamesError> {
        let mut builder = Builder::default();
        let mut first = true;
        for (place, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at = || [PathKey::Line(place + 1)];
            let fields = columns(line);
            let header = std::mem::take(&mut first)
                && fields.as_deref().is_some_and(|fields| {
                    fields
                        .first()
                        .is_some_and(|it| it.eq_ignore_ascii_case("prefix"))
                });
            if header {
                continue;
            }
            let Some([prefix, name]) = fields.as_deref() else {
                return Err(NamesError::text(LIST, at(), line, "PREFIX,NAME"));
            };
            let prefix = prefix
                .parse()
                .map_err(|()| NamesError::text(LIST, at(), prefix, PREFIX))?;
            if name.is_empty() || name.len() > MAX_TEXT {
                let expected = format!("the network's name, of at most {MAX_TEXT} octets");
                return Err(NamesError::text(LIST, at(), name, expected));
            }
            let name = builder.name(name);
            builder.add(prefix, name, [place as u32 + 1, 0])?;
        }
        builder.build(|[line, _], [same, _]| {
            let path = vec![PathKey::Line(line as usize)];
            (path, format!("line {same}"))
        })
    }

    /// The network of the longest prefix that holds this address, by a number that means it in this set.
    pub(crate) fn at(&self, address: IpAddr) -> Option<NonZeroU32> {
        self.ranges.at(address)
    }

    pub(crate) fn get(&self, number: NonZeroU32) -> Option<&str> {
        self.names.get(place(number)).map(|name| &**name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Octets that it holds.
    pub fn bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|name| name.len()).sum();
        self.ranges.bytes() + names + self.names.capacity() * size_of::<Box<str>>()
    }

    /// The name of the network that holds this address.
    pub fn name(&self, address: IpAddr) -> Option<&str> {
        self.get(self.at(address.to_canonical())?)
    }
}

const LIST: &str = "networks";
const PREFIX: &str = "a prefix such as 10.0.0.0/8 or fd00::/8";

/// Collects prefixes. `[u32; 2]` is where each stands.
#[derive(Default)]
struct Builder {
    prefixes: Vec<(Prefix, NonZeroU32, [u32; 2])>,
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, NonZeroU32, RandomState>,
}

impl Builder {
    fn name(&mut self, name: &str) -> NonZeroU32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.names.push(name.into());
        let number = NonZeroU32::MIN.saturating_add(self.names.len() as u32 - 1);
        self.numbers.insert(name.into(), number);
        number
    }

    fn add(&mut self, prefix: Prefix, name: NonZeroU32, at: [u32; 2]) -> Result<(), NamesError> {
        if self.prefixes.len() >= MAX_PREFIXES {
            let got = format!("more than {MAX_PREFIXES} prefixes");
            return Err(NamesError::text(
                LIST,
                [],
                got,
                format!("at most {MAX_PREFIXES} prefixes"),
            ));
        }
        self.prefixes.push((prefix, name, at));
        Ok(())
    }

    /// `place` words where a prefix stands, and where the same one stood before.
    fn build(
        self,
        place: impl Fn([u32; 2], [u32; 2]) -> (Vec<PathKey>, String),
    ) -> Result<Networks, NamesError> {
        let mut seen = HashMap::with_capacity_and_hasher(self.prefixes.len(), RandomState::new());
        for &(prefix, name, at) in &self.prefixes {
            match seen.entry(prefix) {
                Entry::Vacant(entry) => {
                    entry.insert((name, at));
                }
                Entry::Occupied(entry) => {
                    let (other, first) = *entry.get();
                    if other != name {
                        let (path, same) = place(at, first);
                        let expected = format!("a prefix with one name: {same} gives it another");
                        return Err(NamesError::text(LIST, path, prefix, expected));
                    }
                }
            }
        }
        let prefixes = self.prefixes.into_iter();
        Ok(Networks {
            ranges: Ranges::new(prefixes.map(|(prefix, name, _)| (prefix, name))),
            names: self.names,
        })
    }
}

/// The columns of a line; None: a quote has no end, or something follows it.
fn columns(line: &str) -> Option<Vec<String>> {
    let mut columns = Vec::new();
    let mut rest = Some(line);
    while let Some(text) = rest {
        let text = text.trim_start();
        let (column, after) = match text.strip_prefix('"') {
            Some(quoted) => {
                let (column, after) = unquoted(quoted)?;
                (column, after.trim_start())
            }
            None => {
                let (column, _) = text.split_once(',').unwrap_or((text, ""));
                let after = text.get(column.len()..)?;
                (column.trim_end().to_owned(), after)
            }
        };
        columns.push(column);
        rest = match after.strip_prefix(',') {
            Some(next) => Some(next),
            None if after.is_empty() => None,
            None => return None,
        };
    }
    Some(columns)
}

/// What stands before the closing quote, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut column = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        column.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                column.push('"');
                rest = more;
            }
            None => return Some((column, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(networks: &Networks, addresses: &[&str]) -> Vec<String> {
        let name = |text: &&str| networks.name(text.parse().unwrap());
        let names = addresses.iter().map(name);
        names.map(|name| name.unwrap_or("-").to_owned()).collect()
    }

    #[test]
    fn the_longest_prefix_names_an_address() {
        let networks = Networks::from_json(
            r#"[{"name":"ten","prefixes":["10.0.0.0/8","fd00::/8"]},
                {"name":"office","prefixes":["10.1.0.0/16","10.3.0.0/16"]},
                {"name":"printer","prefixes":["10.1.2.3"]},
                {"name":"ten","prefixes":["10.1.2.0/24"]},
                {"name":"six","prefixes":["fd00::/64"]}]"#,
        )
        .unwrap();
        assert_eq!(
            names(
                &networks,
                &[
                    "9.255.255.255",
                    "10.0.0.0",
                    "10.1.0.0",
                    "10.1.2.2",
                    "10.1.2.3",
                    "10.1.2.4",
                    "10.1.3.0",
                    "10.2.0.0",
                    "10.3.255.255",
                    "10.255.255.255",
                    "11.0.0.0",
                    "::ffff:10.1.2.3",
                    "fd00::ffff:ffff:ffff:ffff",
                    "fd00:0:0:1::",
                    "fe00::",
                ]
            ),
            [
                "-", "ten", "office", "ten", "printer", "ten", "office", "ten", "office", "ten",
                "-", "printer", "six", "ten", "-"
            ]
        );
    }

    #[test]
    fn csv_has_a_prefix_and_a_name_a_line() {
        let text = "\u{feff}Prefix,Name\r\n# the lab\r\n\r\n10.2.0.9/16 , lab \r\n\"fd00::/8\",\"the \"\"inside\"\", all of it\"\n0.0.0.0/0,internet";
        let networks = Networks::from_csv(text).unwrap();
        assert_eq!(
            names(
                &networks,
                &["10.2.255.1", "fdff::", "1.1.1.1", "2001:db8::"]
            ),
            ["lab", "the \"inside\", all of it", "internet", "-"]
        );
    }

    #[test]
    fn a_wrong_list_is_refused_with_the_place_and_what_to_do() {
        let json = [
            (
                r#"[{"name":"a","prefixes":["10.0.0.0/33"]}]"#,
                "networks[0].prefixes[0]: got \"10.0.0.0/33\", expected a prefix such as 10.0.0.0/8 or fd00::/8",
            ),
            (
                r#"[{"name":"a","prefixes":[10]}]"#,
                "networks[0].prefixes[0]: got 10, expected a prefix such as 10.0.0.0/8 or fd00::/8",
            ),
            (
                r#"[{"name":"a","prefixes":["10.0.0.0/8"]},{"name":"b","prefixes":["::/0","10.9.0.0/8"]}]"#,
                "networks[1].prefixes[1]: got \"10.0.0.0/8\", expected a prefix with one name: networks[0] gives it another",
            ),
        ];
        for (json, message) in json {
            assert_eq!(Networks::from_json(json).unwrap_err().to_string(), message);
        }
        let csv = [
            (
                "10.0.0.0/8,a\n10.0.0.0/8",
                "networks line 2: got \"10.0.0.0/8\", expected PREFIX,NAME",
            ),
            (
                "10.0.0.0/8,a,b",
                "networks line 1: got \"10.0.0.0/8,a,b\", expected PREFIX,NAME",
            ),
            (
                "10.0.0.0/8,\"a",
                "networks line 1: got \"10.0.0.0/8,\\\"a\", expected PREFIX,NAME",
            ),
            (
                "10.0.0.0/8,\"a\"b",
                "networks line 1: got \"10.0.0.0/8,\\\"a\\\"b\", expected PREFIX,NAME",
            ),
            (
                "10.0.0.0/8,\"\"",
                "networks line 1: got \"\", expected the network's name, of at most 253 octets",
            ),
            (
                "ten,a",
                "networks line 1: got \"ten\", expected a prefix such as 10.0.0.0/8 or fd00::/8",
            ),
            (
                "::/0,a\n\n::/0,b",
                "networks line 3: got \"::/0\", expected a prefix with one name: line 1 gives it another",
            ),
        ];
        for (csv, message) in csv {
            assert_eq!(Networks::from_csv(csv).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn the_prefixes_are_bounded() {
        let line = |number: u32| format!("{},a\n", std::net::Ipv4Addr::from(number));
        let mut text: String = (0..1_000_000).map(line).collect();
        assert!(Networks::from_csv(&text).is_ok());
        text.push_str("fd00::/8,a");
        assert_eq!(
            Networks::from_csv(&text).unwrap_err().to_string(),
            "networks: got \"more than 1000000 prefixes\", expected at most 1000000 prefixes"
        );
    }
}
