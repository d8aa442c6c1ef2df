//! The templates of one observation domain, and what they take.
//!
//! Everything here costs what the template record that asked for it is long, however much is held: a record of four
//! octets that went over all templates would let one message keep the decoder for a long time.

use std::collections::HashMap;
use std::ops::{AddAssign, SubAssign};

use ahash::RandomState;

use crate::decode::sequence::SequenceCheck;
use crate::decode::template::ReceivedTemplate;
use crate::message::FIRST_TEMPLATE;

/// Templates, their fields, and the octets of memory that both take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) templates: usize,
    pub(super) fields: usize,
    pub(super) octets: usize,
}

impl Held {
    /// A slot of a table that is three quarters empty at most, with its control octet.
    const SLOT: usize = 4 * (size_of::<(u16, Box<ReceivedTemplate>)>() + 1);

    pub(super) fn of(template: &ReceivedTemplate) -> Self {
        Self {
            templates: 1,
            fields: template.template.fields.len(),
            octets: template.octets() + Self::SLOT,
        }
    }
}

impl AddAssign for Held {
    fn add_assign(&mut self, more: Self) {
        self.templates += more.templates;
        self.fields += more.fields;
        self.octets += more.octets;
    }
}

impl SubAssign for Held {
    fn sub_assign(&mut self, less: Self) {
        self.templates = self.templates.saturating_sub(less.templates);
        self.fields = self.fields.saturating_sub(less.fields);
        self.octets = self.octets.saturating_sub(less.octets);
    }
}

type Templates = HashMap<u16, Box<ReceivedTemplate>, RandomState>;

/// Templates and options templates apart, so that withdrawing all of a kind touches only that kind; an id stands in one
/// of them at most.
#[derive(Debug, Default)]
pub(super) struct Domain {
    flows: Templates,
    options: Templates,
    pub(super) sequence: SequenceCheck,
}

impl Domain {
    /// Octets of a domain without templates.
    pub(super) const OCTETS: usize = 4 * (size_of::<(u32, Self)>() + 1);

    #[inline]
    pub(super) fn template(&self, id: u16) -> Option<&ReceivedTemplate> {
        let template = self.flows.get(&id).or_else(|| self.options.get(&id))?;
        Some(template)
    }

    /// Takes a template in; what the former one of its id held.
    pub(super) fn put(&mut self, template: ReceivedTemplate) -> Held {
        let id = template.template.id;
        let mut gone = self.forget(id);
        let kind = if template.is_options() {
            &mut self.options
        } else {
            &mut self.flows
        };
        if let Some(former) = kind.insert(id, Box::new(template)) {
            gone += Held::of(&former);
        }
        gone
    }

    /// Forgets one template, or all of the kind when the id is that kind's set id (RFC 7011, section 8.1); what they
    /// held. One that is not known is no fault.
    pub(super) fn withdraw(&mut self, id: u16, options: bool) -> Held {
        if id >= FIRST_TEMPLATE {
            return self.forget(id);
        }
        let kind = if options {
            &mut self.options
        } else {
            &mut self.flows
        };
        let mut gone = Held::default();
        for template in std::mem::take(kind).values() {
            gone += Held::of(template);
        }
        gone
    }

    fn forget(&mut self, id: u16) -> Held {
        for kind in [&mut self.flows, &mut self.options] {
            if let Some(template) = kind.remove(&id) {
                // Halved at least, so that what is moved was paid for by the removals before.
                if kind.len() < kind.capacity() / 4 {
                    kind.shrink_to(kind.len() * 2);
                }
                return Held::of(&template);
            }
        }
        Held::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementId;
    use crate::template::{FieldSpecifier, Template};

    fn template(id: u16, scope_fields: u16) -> ReceivedTemplate {
        let field = FieldSpecifier {
            element: ElementId::iana(4),
            length: 1,
        };
        ReceivedTemplate::new(Template {
            id,
            scope_fields,
            fields: vec![field; 3],
        })
        .unwrap()
    }

    #[test]
    fn what_goes_is_what_came() {
        let mut domain = Domain::default();
        let mut held = Held::default();
        for id in 256..1_256 {
            let template = template(id, id % 2);
            held += Held::of(&template);
            assert_eq!(domain.put(template), Held::default());
        }
        assert_eq!((held.templates, held.fields), (1_000, 3_000));
        // One that becomes an options template.
        let again = template(256, 1);
        held += Held::of(&again);
        held -= domain.put(again);
        assert!(domain.template(256).unwrap().is_options());
        held -= domain.withdraw(257, true);
        held -= domain.withdraw(300, false);
        held -= domain.withdraw(300, false);
        assert_eq!(held.templates, 998);
        assert!(domain.template(300).is_none());
        held -= domain.withdraw(3, true);
        assert_eq!(held.templates, 498);
        held -= domain.withdraw(2, false);
        assert_eq!(held, Held::default());
    }

    #[test]
    fn tables_shrink_with_what_they_hold() {
        let mut domain = Domain::default();
        for id in 256..4_352 {
            domain.put(template(id, 0));
        }
        for id in 266..4_352 {
            domain.withdraw(id, false);
        }
        assert!(domain.flows.capacity() < 100);
        assert_eq!(domain.flows.len(), 10);
        domain.withdraw(2, false);
        assert_eq!(domain.flows.capacity(), 0);
    }
}
