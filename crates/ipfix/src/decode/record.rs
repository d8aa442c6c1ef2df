//! A data record as it lies in its message, and the fields of it.

use crate::decode::template::{Column, ReceivedTemplate};
use crate::decode::value::Value;
use crate::message::MessageHeader;
use crate::template::VARIABLE;

/// A data record, borrowed from its message.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The header of its message.
    pub header: &'a MessageHeader,
    /// The template it follows.
    pub template: &'a ReceivedTemplate,
    /// Exactly its octets.
    pub(crate) octets: &'a [u8],
}

impl<'a> Record<'a> {
    /// Its fields in the template's order, each of at least one octet; an options template's scope comes first.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            columns: self.template.columns.iter(),
            rest: self.octets,
        }
    }
}

/// Iterator over the fields of a record.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    columns: std::slice::Iter<'a, Column>,
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a Column, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let column = self.columns.next()?;
        // The record was measured before it was handed out: the octets are there.
        let (octets, rest) = split_field(column.specifier.length, self.rest)?;
        self.rest = rest;
        Some((column, column.reading.value(octets)))
    }
}

/// A field's octets and what follows; `None` when it is cut.
#[inline]
fn split_field(length: u16, octets: &[u8]) -> Option<(&[u8], &[u8])> {
    if length != VARIABLE {
        return octets.split_at_checked(length.into());
    }
    // RFC 7011, section 7: one octet, or 255 and two octets. A short length in the long form is legal too.
    let (length, rest) = match octets {
        [255, l0, l1, rest @ ..] => (usize::from(u16::from_be_bytes([*l0, *l1])), rest),
        [255, ..] | [] => return None,
        [length, rest @ ..] => (usize::from(*length), rest),
    };
    rest.split_at_checked(length)
}

impl ReceivedTemplate {
    /// The octets of the next record and what follows it. `None` when it is cut: the caller has seen to it that at
    /// least [`ReceivedTemplate::least_len`] octets are there, so only a variable length can be wrong.
    #[inline]
    pub(crate) fn split_record<'a>(&self, octets: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        if let Some(len) = self.fixed_len {
            return octets.split_at_checked(len);
        }
        let mut rest = octets;
        for column in &*self.columns {
            (_, rest) = split_field(column.specifier.length, rest)?;
        }
        octets.split_at_checked(octets.len() - rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_length_is_read_in_both_forms() {
        assert_eq!(
            split_field(VARIABLE, &[2, 7, 8, 9]),
            Some((&[7, 8][..], &[9][..]))
        );
        assert_eq!(
            split_field(VARIABLE, &[255, 0, 2, 7, 8, 9]),
            Some((&[7, 8][..], &[9][..]))
        );
        assert_eq!(split_field(VARIABLE, &[0]), Some((&[][..], &[][..])));
        for cut in [&[][..], &[2, 7], &[255], &[255, 0], &[255, 0, 2, 7]] {
            assert_eq!(split_field(VARIABLE, cut), None, "{cut:?}");
        }
    }
}
