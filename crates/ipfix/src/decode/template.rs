//! Templates that came in, each compiled for reading its records.

use std::collections::HashMap;
use std::fmt::Write as _;

use ahash::RandomState;

use crate::decode::value::Reading;
use crate::element::{Element, ElementId};
use crate::error::DecodeError;
use crate::registry;
use crate::template::{FieldSpecifier, Template, VARIABLE};

/// One field of a template that came in.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its element and length as the template states them.
    pub specifier: FieldSpecifier,
    /// What a registry says of the element; `None`: unknown.
    pub element: Option<&'static Element>,
    pub(crate) reading: Reading,
    /// Where its key lies among those of its template.
    key_start: u32,
    key_len: u16,
}

/// A template that came in.
#[derive(Clone, Debug)]
pub struct ReceivedTemplate {
    pub(crate) template: Template,
    /// The fields that take octets, scope first.
    pub(crate) columns: Box<[Column]>,
    pub(crate) scope_columns: usize,
    /// `,"name":` of each column, ready for the JSON text, one after the other: an allocation for each would cost more
    /// than all the rest.
    keys: Box<[u8]>,
    /// The fewest octets of a record, at least 1.
    pub(crate) least_len: usize,
    /// Octets of every record, where no field is variable.
    pub(crate) fixed_len: Option<usize>,
}

/// paddingOctets: says nothing (RFC 7012, section 5.1.37).
const PADDING: ElementId = ElementId::iana(210);

impl ReceivedTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// [`DecodeError::EmptyRecord`] when a record of it might take no octet.
    pub(crate) fn new(template: Template) -> Result<Self, DecodeError> {
        let least_len = template.least_record_len();
        if least_len == 0 {
            return Err(DecodeError::EmptyRecord { id: template.id });
        }
        let fixed = template.fields.iter().all(|field| field.length != VARIABLE);
        let columns = template.fields.iter().filter(|field| field.length != 0);
        let mut columns = Vec::with_capacity(columns.count());
        let mut keys = String::new();
        let mut seen = Seen::new(&template.fields);
        let mut scope_columns = 0;
        for (index, specifier) in template.fields.iter().enumerate() {
            // An element may stand several times (RFC 7011, section 8): an object's names may not.
            let times = seen.times(index);
            // A record may have any number of fields of no octet: they say nothing, and must cost nothing.
            if specifier.length == 0 {
                continue;
            }
            let element = registry::element(specifier.element);
            let reading = match element {
                Some(element) if element.id == PADDING => Reading::Skip,
                Some(element) => Reading::new(element.data_type, specifier.length),
                None => Reading::Octets,
            };
            let start = keys.len();
            if reading != Reading::Skip {
                write_key(*specifier, element, times, &mut keys);
            }
            columns.push(Column {
                specifier: *specifier,
                element,
                reading,
                // A template is defined by one message: 16,384 fields of at most 60 octets each.
                key_start: u32::try_from(start).unwrap_or(u32::MAX),
                key_len: u16::try_from(keys.len() - start).unwrap_or(0),
            });
            scope_columns += usize::from(index < usize::from(template.scope_fields));
        }
        Ok(Self {
            template,
            columns: columns.into_boxed_slice(),
            scope_columns,
            keys: keys.into_bytes().into_boxed_slice(),
            least_len,
            fixed_len: fixed.then_some(least_len),
        })
    }

    /// `,"name":`, for the JSON text.
    #[inline]
    pub(crate) fn key(&self, column: &Column) -> &[u8] {
        let start = column.key_start as usize;
        self.keys
            .get(start..start + usize::from(column.key_len))
            .unwrap_or_default()
    }

    /// Octets of memory that it takes.
    pub(crate) fn octets(&self) -> usize {
        size_of::<Self>()
            + size_of_val::<[Column]>(&self.columns)
            + size_of_val::<[FieldSpecifier]>(&self.template.fields)
            + self.keys.len()
    }

    /// The template as it was sent.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Its fields that take octets, scope first; a field of length zero says nothing and is left out.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Whether its records describe the exporter rather than a flow.
    pub fn is_options(&self) -> bool {
        self.template.scope_fields != 0
    }
}

/// How many times an element has stood in a template. Few fields are compared, many are looked up.
enum Seen<'a> {
    Few(&'a [FieldSpecifier]),
    Many(&'a [FieldSpecifier], HashMap<ElementId, usize, RandomState>),
}

impl<'a> Seen<'a> {
    const FEW: usize = 24;

    fn new(fields: &'a [FieldSpecifier]) -> Self {
        if fields.len() <= Self::FEW {
            Self::Few(fields)
        } else {
            Self::Many(
                fields,
                HashMap::with_capacity_and_hasher(fields.len(), RandomState::default()),
            )
        }
    }

    /// Of the element of the field at this place, up to there; to be asked in order.
    fn times(&mut self, index: usize) -> usize {
        match self {
            Self::Few(fields) => {
                let upto = fields.get(..=index).unwrap_or_default();
                let same = |field: &&FieldSpecifier| {
                    upto.last()
                        .is_some_and(|last| last.element == field.element)
                };
                upto.iter().filter(same).count()
            }
            Self::Many(fields, seen) => fields.get(index).map_or(0, |field| {
                let times = seen.entry(field.element).or_default();
                *times += 1;
                *times
            }),
        }
    }
}

/// `,"octetDeltaCount":`; `,"56506/999":` for an element that no registry knows; the second and further ones of the
/// same element end in `_2`, `_3`, ….
fn write_key(specifier: FieldSpecifier, element: Option<&Element>, times: usize, out: &mut String) {
    out.push_str(",\"");
    let id = specifier.element;
    // Writing to a String cannot fail.
    let _ = match element {
        Some(element) => out.write_str(element.name),
        None => write!(out, "{}/{}", id.enterprise, id.number),
    };
    if times > 1 {
        let _ = write!(out, "_{times}");
    }
    out.push_str("\":");
}

/// One record of a template set or options template set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TemplateRecord {
    Template(Template),
    /// No fields: the template of that id is withdrawn, or all of the set's kind if the id is the set's
    /// (RFC 7011, section 8.1).
    Withdrawal(u16),
}

/// Reads the next record of a template set (`options` false) or options template set, and what follows it.
/// `None`: only padding is left.
pub(crate) fn parse(
    octets: &[u8],
    options: bool,
    max_fields: usize,
) -> Result<Option<(TemplateRecord, &[u8])>, DecodeError> {
    let [i0, i1, c0, c1, rest @ ..] = octets else {
        return Ok(None);
    };
    let id = u16::from_be_bytes([*i0, *i1]);
    let count = u16::from_be_bytes([*c0, *c1]);
    if id == 0 && octets.iter().all(|octet| *octet == 0) {
        return Ok(None);
    }
    let all = if options {
        crate::message::OPTIONS_TEMPLATE_SET
    } else {
        crate::message::TEMPLATE_SET
    };
    if id < crate::message::FIRST_TEMPLATE && !(id == all && count == 0) {
        return Err(DecodeError::TemplateId { id });
    }
    if count == 0 {
        return Ok(Some((TemplateRecord::Withdrawal(id), rest)));
    }
    if usize::from(count) > max_fields {
        return Err(DecodeError::Limit {
            what: "fields in a template",
            limit: max_fields,
        });
    }
    let short = || DecodeError::TemplateLength { id, fields: count };
    let (scope_fields, mut rest) = match (options, rest) {
        (false, _) => (0, rest),
        (true, [s0, s1, rest @ ..]) => (u16::from_be_bytes([*s0, *s1]), rest),
        (true, _) => return Err(short()),
    };
    if options && (scope_fields == 0 || scope_fields > count) {
        return Err(DecodeError::ScopeCount {
            id,
            scope: scope_fields,
            fields: count,
        });
    }
    // Four octets a field at least: a count beyond what the set holds reserves nothing.
    if rest.len() < usize::from(count) * 4 {
        return Err(short());
    }
    let mut fields = Vec::with_capacity(count.into());
    for _ in 0..count {
        let (field, after) = specifier(rest).ok_or_else(short)?;
        fields.push(field);
        rest = after;
    }
    Ok(Some((
        TemplateRecord::Template(Template {
            id,
            scope_fields,
            fields,
        }),
        rest,
    )))
}

fn specifier(octets: &[u8]) -> Option<(FieldSpecifier, &[u8])> {
    let [n0, n1, l0, l1, rest @ ..] = octets else {
        return None;
    };
    let number = u16::from_be_bytes([*n0, *n1]);
    let length = u16::from_be_bytes([*l0, *l1]);
    let (enterprise, rest) = match (number & 0x8000, rest) {
        (0, _) => (0, rest),
        (_, [e0, e1, e2, e3, rest @ ..]) => (u32::from_be_bytes([*e0, *e1, *e2, *e3]), rest),
        _ => return None,
    };
    let element = ElementId {
        enterprise,
        number: number & 0x7fff,
    };
    Some((FieldSpecifier { element, length }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7011, appendix A.2.2, figure T: a template with a variable and an enterprise-specific element, by hand.
    const RECORD: [u8; 20] = [
        1, 0, 0, 3, // id 256, three fields
        0, 8, 0, 4, // sourceIPv4Address, 4 octets
        0x80, 3, 0xff, 0xff, 0, 0, 0x53, 0x7d, // 21373/3, variable
        0, 1, 0, 4, // octetDeltaCount at 4 octets
    ];

    #[test]
    fn a_template_record_is_read_field_by_field() {
        let (record, rest) = parse(&RECORD, false, 10).unwrap().unwrap();
        let field = |element, length| FieldSpecifier { element, length };
        let fields = vec![
            field(ElementId::iana(8), 4),
            field(ElementId::netfilter(3), VARIABLE),
            field(ElementId::iana(1), 4),
        ];
        assert_eq!(
            record,
            TemplateRecord::Template(Template {
                id: 256,
                scope_fields: 0,
                fields
            })
        );
        assert!(rest.is_empty());
    }

    #[test]
    fn a_template_record_cut_anywhere_is_an_error() {
        for len in 4..RECORD.len() {
            assert_eq!(
                parse(&RECORD[..len], false, 10),
                Err(DecodeError::TemplateLength { id: 256, fields: 3 }),
                "{len}"
            );
        }
    }

    #[test]
    fn padding_ends_a_template_set() {
        assert_eq!(parse(&[0, 0, 0], false, 10), Ok(None));
        assert_eq!(parse(&[0, 0, 0, 0, 0], false, 10), Ok(None));
        assert_eq!(parse(&[], true, 10), Ok(None));
    }

    #[test]
    fn a_scope_of_no_field_or_too_many_is_an_error() {
        let options = |scope| [1, 0, 0, 1, 0, scope, 0, 144, 0, 4];
        assert!(parse(&options(1), true, 10).is_ok());
        assert_eq!(
            parse(&options(0), true, 10),
            Err(DecodeError::ScopeCount {
                id: 256,
                scope: 0,
                fields: 1
            })
        );
        assert_eq!(
            parse(&options(2), true, 10),
            Err(DecodeError::ScopeCount {
                id: 256,
                scope: 2,
                fields: 1
            })
        );
    }

    #[test]
    fn a_reserved_id_is_an_error_but_for_withdrawing_all() {
        assert_eq!(
            parse(&[0, 2, 0, 0], false, 10).unwrap().unwrap().0,
            TemplateRecord::Withdrawal(2)
        );
        assert_eq!(
            parse(&[0, 3, 0, 0], true, 10).unwrap().unwrap().0,
            TemplateRecord::Withdrawal(3)
        );
        assert_eq!(
            parse(&[0, 3, 0, 0], false, 10),
            Err(DecodeError::TemplateId { id: 3 })
        );
        assert_eq!(
            parse(&[0, 255, 0, 1, 0, 8, 0, 4], false, 10),
            Err(DecodeError::TemplateId { id: 255 })
        );
    }

    #[test]
    fn an_element_that_stands_twice_has_two_names() {
        let field = FieldSpecifier {
            element: ElementId::iana(323),
            length: 8,
        };
        let unknown = FieldSpecifier {
            element: ElementId::antrea(999),
            length: 2,
        };
        let received = ReceivedTemplate::new(Template {
            id: 256,
            scope_fields: 0,
            fields: vec![field, field, unknown],
        })
        .unwrap();
        let keys: Vec<_> = received
            .columns
            .iter()
            .map(|column| std::str::from_utf8(received.key(column)).unwrap())
            .collect();
        assert_eq!(
            keys,
            [
                ",\"observationTimeMilliseconds\":",
                ",\"observationTimeMilliseconds_2\":",
                ",\"56506/999\":"
            ]
        );
    }

    #[test]
    fn a_template_of_empty_records_is_refused() {
        let field = FieldSpecifier {
            element: ElementId::iana(82),
            length: 0,
        };
        let template = Template {
            id: 300,
            scope_fields: 0,
            fields: vec![field],
        };
        assert_eq!(
            ReceivedTemplate::new(template).unwrap_err(),
            DecodeError::EmptyRecord { id: 300 }
        );
    }
}
