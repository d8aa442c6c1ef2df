//! The registries of information elements: IANA's, the reverse of IANA's (RFC 5103), netfilter's and Antrea's.
//!
//! Data enters as the CSV files of `registry/`, read once at first use; it leaves through [`element`] and [`named`].
//! The files are part of the program, so a line that cannot be read is left out here and found by a test.

use std::collections::HashMap;
use std::sync::LazyLock;

use ahash::RandomState;

use crate::element::{DataType, Element, ElementId, REVERSE};

const FILES: [&str; 3] = [
    include_str!("../registry/iana.csv"),
    include_str!("../registry/netfilter.csv"),
    include_str!("../registry/antrea.csv"),
];

struct Registry {
    by_id: HashMap<ElementId, Element, RandomState>,
    by_name: HashMap<&'static str, ElementId, RandomState>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry {
        by_id: HashMap::default(),
        by_name: HashMap::default(),
    };
    for line in FILES.iter().flat_map(|file| file.lines().skip(1)) {
        let Some(element) = parse(line) else { continue };
        registry.add(element);
        if element.id.enterprise == 0 && has_reverse(element.id.number) {
            registry.add(reverse(element));
        }
    }
    registry
});

impl Registry {
    fn add(&mut self, element: Element) {
        self.by_id.insert(element.id, element);
        self.by_name.entry(element.name).or_insert(element.id);
    }
}

/// One line `id,name,type[,…]`; the last column is the enterprise number in the enterprises' files, where IANA's has
/// five columns and ends with units.
fn parse(line: &'static str) -> Option<Element> {
    let mut columns = line.split(',');
    let number = columns.next()?.parse().ok()?;
    let name = columns.next()?;
    let data_type = DataType::from_name(columns.next()?)?;
    let enterprise = match (columns.next(), columns.next()) {
        (Some(enterprise), None) => enterprise.parse().ok()?,
        _ => 0,
    };
    Some(Element {
        id: ElementId { enterprise, number },
        name,
        data_type,
    })
}

/// Elements without a reverse (RFC 5103, section 6.1): identifiers of the exporter's own things, of padding, of
/// structure, and the direction itself.
fn has_reverse(number: u16) -> bool {
    !matches!(
        number,
        40..=42 | 130 | 131 | 137 | 138 | 141..=145 | 148 | 149 | 163..=168 | 173 | 210..=217 | 239 | 291..=293
    )
}

fn reverse(element: Element) -> Element {
    let mut name = String::with_capacity(element.name.len() + 7);
    name.push_str("reverse");
    let mut rest = element.name.chars();
    name.extend(rest.next().into_iter().flat_map(char::to_uppercase));
    name.push_str(rest.as_str());
    // Once for the life of the process, a few hundred short names.
    let name = Box::leak(name.into_boxed_str());
    Element {
        id: ElementId {
            enterprise: REVERSE,
            number: element.id.number,
        },
        name,
        ..element
    }
}

/// The element of that identity, if a registry knows it.
pub fn element(id: ElementId) -> Option<&'static Element> {
    REGISTRY.by_id.get(&id)
}

/// The element of that name. Two registries agree on no name but by accident; then IANA's wins.
pub fn named(name: &str) -> Option<Element> {
    element(*REGISTRY.by_name.get(name)?).copied()
}

/// All elements, by enterprise and number.
pub fn elements() -> Vec<Element> {
    let mut all: Vec<_> = REGISTRY.by_id.values().copied().collect();
    all.sort_by_key(|element| element.id);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_registry_files_is_an_element() {
        for line in FILES.iter().flat_map(|file| file.lines().skip(1)) {
            assert!(parse(line).is_some(), "{line}");
        }
    }

    #[test]
    fn elements_are_found_by_identity_and_by_name() {
        let octets = element(ElementId::iana(1)).unwrap();
        assert_eq!(
            (octets.name, octets.data_type),
            ("octetDeltaCount", DataType::Unsigned64)
        );
        let back = element(ElementId::reverse(1)).unwrap();
        assert_eq!(
            (back.name, back.data_type),
            ("reverseOctetDeltaCount", DataType::Unsigned64)
        );
        assert_eq!(
            named("mark").unwrap().id,
            ElementId {
                enterprise: 21373,
                number: 4
            }
        );
        assert_eq!(
            named("conntrackId").unwrap().id,
            ElementId {
                enterprise: 21373,
                number: 6
            }
        );
        assert_eq!(
            named("logPrefix").unwrap().id,
            ElementId {
                enterprise: 21373,
                number: 3
            }
        );
        assert_eq!(
            named("sourcePodName").unwrap().id,
            ElementId {
                enterprise: 56506,
                number: 101
            }
        );
        assert_eq!(element(ElementId::iana(65)), None);
    }

    #[test]
    fn what_has_no_direction_has_no_reverse() {
        // RFC 5103, section 6.1.
        for number in [130, 148, 149, 210, 239] {
            assert_eq!(element(ElementId::reverse(number)), None, "{number}");
        }
    }

    #[test]
    fn the_fewer_octets_of_a_reduced_size_are_allowed_for_numbers_only() {
        assert!(DataType::Unsigned64.allows(3));
        assert!(!DataType::Unsigned32.allows(8));
        assert!(!DataType::Unsigned8.allows(0));
        assert!(DataType::Float64.allows(4) && !DataType::Float64.allows(5));
        assert!(!DataType::Ipv4Address.allows(3));
        assert!(!DataType::DateTimeMilliseconds.allows(4));
        assert!(DataType::String.allows(0));
    }
}
