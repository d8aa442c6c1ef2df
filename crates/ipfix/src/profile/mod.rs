//! Profiles: which elements a data record has, by what its connection has.
//!
//! A [`Profile`] is made from the user's choice and compiled by [`crate::Format::new`].

mod antrea;
pub(crate) mod field;
pub(crate) mod shape;
mod standard;

use crate::error::ProfileError;
use field::Field;
use shape::{Family, Shape};

/// The choice of elements for a format.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(crate) kind: ProfileKind,
}

#[derive(Clone, Debug)]
pub(crate) enum ProfileKind {
    Standard {
        fields: Option<Vec<Field>>,
        more: More,
    },
    Antrea,
}

/// What the standard profile's records end with when it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct More {
    names: bool,
    node: bool,
    cluster: bool,
}

/// The fields of one template and the shapes of connections that use it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) fields: Vec<Field>,
}

impl Profile {
    /// The standard profile. `fields` selects elements by registry name and gives their order; each template takes
    /// those that say something of its connections (no ports for ICMP, post-NAT elements only where translated).
    ///
    /// # Errors
    /// A name that is not one of [`Profile::field_names`], given twice, or a selection that leaves nothing of some
    /// connection's record.
    pub fn standard(fields: Option<&[String]>) -> Result<Self, ProfileError> {
        let fields = fields.map(select).transpose()?;
        Ok(Self {
            kind: ProfileKind::Standard {
                fields,
                more: More::default(),
            },
        })
    }

    /// Adds the names of both ends (elements of Antrea's registry) to every template of the standard profile; empty
    /// strings where a flow has none. No effect on a selection of fields or on the antrea profile.
    #[must_use]
    pub fn with_names(self) -> Self {
        self.with(|more| more.names = true)
    }

    /// Adds the node that saw the connection (`observationDomainName`), under the same terms.
    #[must_use]
    pub fn with_node(self) -> Self {
        self.with(|more| more.node = true)
    }

    /// Adds that node's cluster (`clusterId`), under the same terms.
    #[must_use]
    pub fn with_cluster(self) -> Self {
        self.with(|more| more.cluster = true)
    }

    fn with(mut self, add: impl FnOnce(&mut More)) -> Self {
        if let ProfileKind::Standard { more, .. } = &mut self.kind {
            add(more);
        }
        self
    }

    /// The antrea profile: 43 elements, one template a family, one set a message, no options records.
    pub fn antrea() -> Self {
        Self {
            kind: ProfileKind::Antrea,
        }
    }

    /// The names that a selection can have, in alphabetical order.
    pub fn field_names() -> Vec<&'static str> {
        let mut names: Vec<_> = selectable().map(Field::name).collect();
        names.sort_unstable();
        names
    }

    /// The same names, each with the kinds of connections whose records take it, in the words of [`Profile::kinds`].
    pub fn field_kinds() -> Vec<(&'static str, Vec<String>)> {
        let kinds_of = |field: Field| {
            let shapes = Shape::ALL.into_iter();
            let fitting = shapes.filter(|shape| standard::applies(field, *shape));
            fitting.map(Shape::title).collect()
        };
        let mut kinds: Vec<_> = selectable()
            .map(|field| (field.name(), kinds_of(field)))
            .collect();
        kinds.sort_unstable();
        kinds
    }

    /// The kinds of connections that differ in their elements, such as `IPv4, ICMP, translated`.
    pub fn kinds() -> Vec<String> {
        Shape::ALL.into_iter().map(Shape::title).collect()
    }

    /// The templates to make, in the order of their ids.
    pub(crate) fn layouts(&self) -> Vec<Layout> {
        let mut layouts: Vec<Layout> = Vec::new();
        for shape in Shape::ALL {
            let fields = match &self.kind {
                ProfileKind::Standard { fields: None, more } => standard::fields(shape, *more),
                ProfileKind::Standard {
                    fields: Some(fields),
                    ..
                } => fields
                    .iter()
                    .copied()
                    .filter(|field| standard::applies(*field, shape))
                    .collect(),
                ProfileKind::Antrea => antrea::fields(shape.family),
            };
            match layouts.iter_mut().find(|layout| layout.fields == fields) {
                Some(layout) => layout.shapes.push(shape),
                None => layouts.push(Layout {
                    shapes: vec![shape],
                    fields,
                }),
            }
        }
        layouts
    }
}

fn selectable() -> impl Iterator<Item = Field> {
    Field::ALL
        .iter()
        .copied()
        .filter(|field| !field.is_antrea_only())
}

fn select(names: &[String]) -> Result<Vec<Field>, ProfileError> {
    let mut fields = Vec::with_capacity(names.len());
    for name in names {
        let field = selectable()
            .find(|field| field.name() == name)
            .ok_or_else(|| ProfileError::UnknownField {
                name: name.clone(),
                near: near(name),
            })?;
        if fields.contains(&field) {
            return Err(ProfileError::RepeatedField { name: name.clone() });
        }
        fields.push(field);
    }
    for shape in Shape::ALL {
        if !fields.iter().any(|field| standard::applies(*field, shape)) {
            return Err(ProfileError::EmptyTemplate {
                shape: shape.title(),
                example: match shape.family {
                    Family::V4 => "sourceIPv4Address",
                    Family::V6 => "sourceIPv6Address",
                },
            });
        }
    }
    Ok(fields)
}

/// Up to three names close to a wrong one: a few edits away without regard to case, or containing it.
fn near(wrong: &str) -> Vec<&'static str> {
    // A name of this length is no slip of the finger; the bound also bounds the work.
    if wrong.is_empty() || wrong.len() > 64 {
        return Vec::new();
    }
    let wrong = wrong.to_lowercase();
    let mut scored: Vec<(usize, &'static str)> = Profile::field_names()
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = edits(&wrong, &lower);
            let contains = wrong.len() >= 4 && lower.contains(&wrong);
            (distance <= 1 + wrong.len() / 4 || contains).then_some((distance, name))
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein distance in characters.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (cell, r) in row.iter_mut().skip(1).zip(&right) {
            let changed = diagonal + usize::from(l != *r);
            diagonal = *cell;
            *cell = changed.min(before + 1).min(diagonal + 1);
            before = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_wrong_field_name_lists_near_ones() {
        let error = Profile::standard(Some(&names(&["octetDeltaCuont"]))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown field \"octetDeltaCuont\": did you mean octetDeltaCount?"
        );
        let error = Profile::standard(Some(&names(&["packetdeltacount"]))).unwrap_err();
        assert!(error.to_string().contains("packetDeltaCount"), "{error}");
        let error = Profile::standard(Some(&names(&["tcpControlBits"]))).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("unknown field \"tcpControlBits\""),
            "{error}"
        );
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("", ""), 0);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("flaw", "lawn"), 2);
    }

    #[test]
    fn a_field_given_twice_is_refused() {
        let error = Profile::standard(Some(&names(&["mark", "mark"]))).unwrap_err();
        assert_eq!(
            error,
            ProfileError::RepeatedField {
                name: "mark".into()
            }
        );
    }

    #[test]
    fn a_selection_that_leaves_a_template_empty_is_refused() {
        let error = Profile::standard(Some(&names(&["sourceIPv4Address"]))).unwrap_err();
        assert!(
            matches!(error, ProfileError::EmptyTemplate { .. }),
            "{error}"
        );
        assert!(Profile::standard(Some(&[])).is_err());
        assert!(
            Profile::standard(Some(&names(&["sourceIPv4Address", "sourceIPv6Address"]))).is_ok()
        );
    }

    #[test]
    fn templates_with_the_same_fields_are_one() {
        let profile = Profile::standard(Some(&names(&["mark"]))).unwrap();
        assert_eq!(profile.layouts().len(), 1);
        assert_eq!(Profile::standard(None).unwrap().layouts().len(), 12);
        assert_eq!(Profile::antrea().layouts().len(), 2);
    }
}
