//! Lists of names come as JSON, large ones at each change: read in place, value by value, so that what is wrong is told with
//! its path. Read [`Node`] first.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::wrong::{Got, NamesError, PathKey};

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a, 'p> {
    raw: &'a str,
    path: Path<'p>,
}

#[derive(Clone, Copy)]
enum Path<'p> {
    List(&'static str),
    Index(&'p Path<'p>, usize),
    Key(&'p Path<'p>, &'p str),
}

/// The keys of an object and their values.
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Node<'a, 'a> {
    /// The whole of `json`, which is called `list` in errors.
    pub(crate) fn whole(list: &'static str, json: &'a str) -> Result<Self, NamesError> {
        match serde_json::from_str::<&RawValue>(json) {
            Ok(raw) => Ok(Self {
                raw: raw.get(),
                path: Path::List(list),
            }),
            Err(error) => Err(NamesError::text(list, [], error, "JSON")),
        }
    }
}

impl<'a, 'p> Node<'a, 'p> {
    /// The error of this value.
    pub(crate) fn wrong(&self, expected: impl Into<String>) -> NamesError {
        let (mut keys, mut path) = (Vec::new(), &self.path);
        let list = loop {
            match path {
                Path::List(list) => break list,
                Path::Index(parent, place) => {
                    keys.push(PathKey::from(*place));
                    path = parent;
                }
                Path::Key(parent, key) => {
                    keys.push(PathKey::from(*key));
                    path = parent;
                }
            }
        };
        keys.reverse();
        NamesError::new(list, keys, Got::Json(self.raw.to_owned()), expected)
    }

    /// The values of a list.
    pub(crate) fn elements(&self, expected: &str) -> Result<Vec<&'a RawValue>, NamesError> {
        serde_json::from_str(self.raw).map_err(|_| self.wrong(expected))
    }

    /// One of them.
    pub(crate) fn at<'n>(&'n self, place: usize, raw: &'a RawValue) -> Node<'a, 'n> {
        Node {
            raw: raw.get(),
            path: Path::Index(&self.path, place),
        }
    }

    /// The fields of an object that has no others than `keys`.
    pub(crate) fn fields(
        &self,
        keys: &'static [&'static str],
        expected: &str,
    ) -> Result<Fields<'a>, NamesError> {
        let fields: Fields<'a> =
            serde_json::from_str(self.raw).map_err(|_| self.wrong(expected))?;
        for (key, raw) in &fields.0 {
            if !keys.contains(&&**key) {
                let node = Node {
                    raw: raw.get(),
                    path: Path::Key(&self.path, key),
                };
                return Err(node.wrong("no option of this name").instead_of(keys));
            }
        }
        Ok(fields)
    }

    /// The value of a key; None: it has none, or null.
    pub(crate) fn key<'n>(&'n self, fields: &Fields<'a>, key: &'n str) -> Option<Node<'a, 'n>> {
        let (_, raw) = fields.0.iter().find(|(name, _)| name == key)?;
        (raw.get() != "null").then_some(Node {
            raw: raw.get(),
            path: Path::Key(&self.path, key),
        })
    }

    /// The addresses of the key `addresses`, which has to be there.
    pub(crate) fn addresses<T: FromIterator<IpAddr>>(
        &self,
        fields: &Fields<'a>,
    ) -> Result<T, NamesError> {
        let expected = "a list of addresses";
        let list = self.required(fields, "addresses", expected)?;
        let elements = list.elements(expected)?;
        let addresses = elements.iter().enumerate();
        addresses
            .map(|(place, raw)| list.at(place, raw).address())
            .collect()
    }

    /// The value of a key that has to be there.
    pub(crate) fn required<'n>(
        &'n self,
        fields: &Fields<'a>,
        key: &'n str,
        expected: &str,
    ) -> Result<Node<'a, 'n>, NamesError> {
        let node = self.key(fields, key);
        node.ok_or_else(|| {
            let missing = Node {
                raw: "nothing",
                path: Path::Key(&self.path, key),
            };
            missing.wrong(expected)
        })
    }

    /// A text of at most `longest` octets.
    pub(crate) fn text(&self, longest: usize, expected: &str) -> Result<Cow<'a, str>, NamesError> {
        if !self.raw.starts_with('"') {
            return Err(self.wrong(expected));
        }
        // Half of a surrogate pair is all that a string can have wrong by now.
        let Text(text) =
            serde_json::from_str(self.raw).map_err(|_| self.wrong("whole characters"))?;
        if text.len() > longest {
            return Err(self.wrong(format!("at most {longest} octets")));
        }
        Ok(text)
    }

    /// A text that is not empty.
    pub(crate) fn name(&self, longest: usize, expected: &str) -> Result<Cow<'a, str>, NamesError> {
        let text = self.text(longest, expected)?;
        if text.is_empty() {
            return Err(self.wrong(expected));
        }
        Ok(text)
    }

    /// A whole number.
    pub(crate) fn number<T: TryFrom<u64>>(&self, expected: &str) -> Result<T, NamesError> {
        let number: Option<u64> = serde_json::from_str(self.raw).ok();
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| self.wrong(expected))
    }

    /// An address. An IPv4-mapped one is IPv4, as it is to conntrack.
    pub(crate) fn address(&self) -> Result<IpAddr, NamesError> {
        let expected = "an IPv4 or IPv6 address";
        let text = self.text(usize::MAX, expected)?;
        match text.parse::<IpAddr>() {
            Ok(address) => Ok(address.to_canonical()),
            Err(_) => Err(self.wrong(expected)),
        }
    }

    /// One of these words.
    pub(crate) fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, NamesError> {
        let expected = || {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            format!("one of {}", words.join(", "))
        };
        let text = self
            .text(usize::MAX, "")
            .map_err(|_| self.wrong(expected()))?;
        let found = words
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(&text));
        match found {
            Some((_, value)) => Ok(*value),
            None => Err(self.wrong(expected())),
        }
    }
}

/// Borrowed where nothing in it is escaped.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Text(key), raw)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    fields.push((key, raw));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}
