//! What is wrong with a list of names: where, what stands there, and what is expected.

use std::fmt;

/// A list that cannot be meant. [`NamesError::path`] leads to the value, from the list that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamesError {
    list: &'static str,
    path: Vec<PathKey>,
    got: Got,
    expected: String,
    choices: &'static [&'static str],
}

/// What stands at a wrong place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// The value as JSON wrote it.
    Json(String),
    /// The value in another spelling, or words about it.
    Text(String),
}

/// One step into a list or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKey {
    /// The place in a list, from 0.
    Index(usize),
    /// The key in an object.
    Key(String),
    /// The line of a text, from 1.
    Line(usize),
}

impl From<usize> for PathKey {
    fn from(place: usize) -> Self {
        Self::Index(place)
    }
}

impl From<&str> for PathKey {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

/// Characters of a value that an error repeats.
const SHOWN: usize = 120;

impl NamesError {
    pub(crate) fn new(
        list: &'static str,
        path: impl IntoIterator<Item = PathKey>,
        got: Got,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            list,
            path: path.into_iter().collect(),
            got,
            expected: expected.into(),
            choices: &[],
        }
    }

    /// The same, where the last key of the path ought to have been one of these.
    pub(crate) fn instead_of(self, choices: &'static [&'static str]) -> Self {
        Self { choices, ..self }
    }

    /// What the last key of the path may be called; empty: that is not what is wrong.
    pub fn choices(&self) -> &[&'static str] {
        self.choices
    }

    /// Something that stands there in other words than the list's.
    pub(crate) fn text(
        list: &'static str,
        path: impl IntoIterator<Item = PathKey>,
        got: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Self::new(list, path, Got::Text(got.to_string()), expected)
    }

    /// From the list to the wrong value; empty: the list itself.
    pub fn path(&self) -> &[PathKey] {
        &self.path
    }

    /// The same as text: `[3].addresses[0]`.
    pub fn path_text(&self) -> String {
        let text = |key: &PathKey| match key {
            PathKey::Index(place) => format!("[{place}]"),
            PathKey::Key(key) => format!(".{key}"),
            PathKey::Line(line) => format!(" line {line}"),
        };
        self.path.iter().map(text).collect()
    }

    /// What stands there in other words than the list's; None: what the path leads to.
    pub fn got(&self) -> Option<&str> {
        match &self.got {
            Got::Json(_) => None,
            Got::Text(text) => Some(text),
        }
    }

    /// What ought to stand there.
    pub fn expected(&self) -> &str {
        &self.expected
    }
}

/// `pods[3].addresses[0]: got "10.0.0", expected an IPv4 or IPv6 address`
impl fmt::Display for NamesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let got = match &self.got {
            Got::Json(json) => json.clone(),
            Got::Text(text) => serde_json::Value::from(&**text).to_string(),
        };
        let shown = got.char_indices().nth(SHOWN);
        let (got, more) = match shown.and_then(|(end, _)| got.get(..end)) {
            Some(cut) => (cut, "..."),
            None => (&*got, ""),
        };
        let (list, path, expected) = (self.list, self.path_text(), &self.expected);
        write!(f, "{list}{path}: got {got}{more}, expected {expected}")
    }
}

impl std::error::Error for NamesError {}
