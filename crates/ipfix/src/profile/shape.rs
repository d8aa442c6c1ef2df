//! The shapes of connections that templates differ by.

use std::net::IpAddr;

use crate::flow::Flow;

/// Address family of both tuples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    V4,
    V6,
}

/// What the connection is beside its family and protocol. A denied one is never shown as translated: it went nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Plain,
    Translated,
    Denied,
}

/// What picks a record's template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) family: Family,
    pub(crate) icmp: bool,
    pub(crate) kind: Kind,
}

impl Shape {
    /// All shapes, at the place that [`Shape::index`] gives.
    pub(crate) const ALL: [Shape; 12] = {
        use Family::{V4, V6};
        use Kind::{Denied, Plain, Translated};
        const fn shape(family: Family, icmp: bool, kind: Kind) -> Shape {
            Shape { family, icmp, kind }
        }
        [
            shape(V4, false, Plain),
            shape(V4, false, Translated),
            shape(V4, false, Denied),
            shape(V4, true, Plain),
            shape(V4, true, Translated),
            shape(V4, true, Denied),
            shape(V6, false, Plain),
            shape(V6, false, Translated),
            shape(V6, false, Denied),
            shape(V6, true, Plain),
            shape(V6, true, Translated),
            shape(V6, true, Denied),
        ]
    };

    /// The shape of one flow.
    #[inline]
    pub(crate) fn of(flow: &Flow<'_>) -> Self {
        let family = match flow.source {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        };
        let kind = if flow.denied.is_some() {
            Kind::Denied
        } else if flow.translated {
            Kind::Translated
        } else {
            Kind::Plain
        };
        Self {
            family,
            icmp: flow.is_icmp(),
            kind,
        }
    }

    /// Place in [`Shape::ALL`], and of the first template id's offset in the standard profile.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.family as usize * 6 + usize::from(self.icmp) * 3 + self.kind as usize
    }

    /// For error texts and documentation.
    pub(crate) fn title(self) -> String {
        let family = match self.family {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        };
        let icmp = match (self.family, self.icmp) {
            (_, false) => "",
            (Family::V4, true) => ", ICMP",
            (Family::V6, true) => ", ICMPv6",
        };
        let kind = match self.kind {
            Kind::Plain => "",
            Kind::Translated => ", translated",
            Kind::Denied => ", denied",
        };
        format!("{family}{icmp}{kind}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_stands_at_its_index() {
        for (index, shape) in Shape::ALL.iter().enumerate() {
            assert_eq!(shape.index(), index, "{}", shape.title());
        }
    }
}
