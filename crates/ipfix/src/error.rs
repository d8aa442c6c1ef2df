//! Errors: what was wrong with a choice of fields, a format, or a message that came in.

use thiserror::Error;

/// Why a profile cannot be made from what the user chose.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The name is not one of a field that a flow has.
    #[error("unknown field \"{name}\"{}", suggestion(.near))]
    UnknownField {
        /// The name as given.
        name: String,
        /// Names close to it, nearest first; may be empty.
        near: Vec<&'static str>,
    },
    /// The name stands twice in the selection.
    #[error("field \"{name}\" is selected twice")]
    RepeatedField {
        /// The name as given.
        name: String,
    },
    /// A template would have no element.
    #[error(
        "the selected fields leave nothing of a record ({shape}): add {example}, or a field that every record has, such as protocolIdentifier"
    )]
    EmptyTemplate {
        /// What kind of connection has no field.
        shape: String,
        /// A field that would do.
        example: &'static str,
    },
}

fn suggestion(near: &[&str]) -> String {
    match near {
        [] => String::new(),
        _ => format!(": did you mean {}?", near.join(", ")),
    }
}

/// Why a format cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The maximum is beyond what a message's length field can say, or too small for a template or a record.
    #[error("maximum message size {size}: expected {least} to 65535 octets for these elements")]
    MessageSize {
        /// The maximum as given.
        size: usize,
        /// The least that holds every template and the smallest record of each.
        least: usize,
    },
}
