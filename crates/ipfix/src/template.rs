//! Template and options template records (RFC 7011, section 3.4), as an exporter writes them.
//!
//! Read [`Template`] first. Reading templates that came in is `decode::template`'s work.

use crate::element::ElementId;

/// The length in a field specifier that says "variable" (RFC 7011, section 7).
pub const VARIABLE: u16 = 65_535;

/// An element and the octets its value takes in the records of a template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldSpecifier {
    /// The element.
    pub element: ElementId,
    /// Octets, or [`VARIABLE`].
    pub length: u16,
}

impl FieldSpecifier {
    /// Octets that the specifier takes in a template record.
    pub const fn encoded_len(self) -> usize {
        if self.element.enterprise == 0 { 4 } else { 8 }
    }

    /// The fewest octets that a value takes in a data record.
    pub const fn least_len(self) -> usize {
        if self.length == VARIABLE {
            1
        } else {
            self.length as usize
        }
    }

    fn emit(self, out: &mut Vec<u8>) {
        let enterprise_bit = if self.element.enterprise == 0 {
            0
        } else {
            0x8000
        };
        out.extend_from_slice(&(self.element.number | enterprise_bit).to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
        if self.element.enterprise != 0 {
            out.extend_from_slice(&self.element.enterprise.to_be_bytes());
        }
    }
}

/// A template. With scope fields it is an options template (RFC 7011, section 3.4.2.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// Its id, 256 or above.
    pub id: u16,
    /// How many of the fields, from the first, are scope; 0: not an options template.
    pub scope_fields: u16,
    /// Its fields, scope first.
    pub fields: Vec<FieldSpecifier>,
}

impl Template {
    /// Octets of the template record.
    pub fn encoded_len(&self) -> usize {
        let header = if self.scope_fields == 0 { 4 } else { 6 };
        header
            + self
                .fields
                .iter()
                .map(|field| field.encoded_len())
                .sum::<usize>()
    }

    /// The fewest octets of a data record that follows it.
    pub fn least_record_len(&self) -> usize {
        self.fields.iter().map(|field| field.least_len()).sum()
    }

    /// Appends the template record, without a set header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&crate::message::length(self.fields.len()).to_be_bytes());
        if self.scope_fields != 0 {
            out.extend_from_slice(&self.scope_fields.to_be_bytes());
        }
        for field in &self.fields {
            field.emit(out);
        }
    }
}
