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

/// What is wrong with a message that came in. Over a stream it ends the session: what follows cannot be trusted to
/// begin where a message does. A bad datagram is left out alone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The message does not begin with version 10.
    #[error("version {found}, expected 10: not an IPFIX message")]
    Version {
        /// What stands in the version's place; 9 is NetFlow version 9.
        found: u16,
    },
    /// The message says that it is shorter than its header.
    #[error("message length {length}, expected at least 16")]
    MessageLength {
        /// The length field.
        length: u16,
    },
    /// A datagram is not exactly one message.
    #[error("datagram of {octets} octets for a message of length {length}")]
    DatagramLength {
        /// Octets of the datagram.
        octets: usize,
        /// The length field.
        length: u16,
    },
    /// The stream or file ended inside a message.
    #[error("ended {octets} octets into a message")]
    Truncated {
        /// Octets of the incomplete message.
        octets: usize,
    },
    /// A set is shorter than its header or longer than what is left of its message.
    #[error("set {id} of length {length} where {left} octets are left of the message")]
    SetLength {
        /// The set id.
        id: u16,
        /// The length field.
        length: u16,
        /// Octets left, the set's header included.
        left: usize,
    },
    /// One to three octets follow the last set.
    #[error("{octets} octets after the last set")]
    TrailingOctets {
        /// How many.
        octets: usize,
    },
    /// A template's id is below 256.
    #[error("template id {id}, expected 256 or above")]
    TemplateId {
        /// The id.
        id: u16,
    },
    /// A template record is cut by the end of its set.
    #[error("template {id} of {fields} fields does not fit its set")]
    TemplateLength {
        /// The template's id.
        id: u16,
        /// How many fields it says it has.
        fields: u16,
    },
    /// An options template's scope has no field, or more than the template.
    #[error("options template {id} with {scope} scope fields of {fields} fields")]
    ScopeCount {
        /// The template's id.
        id: u16,
        /// How many scope fields it says it has.
        scope: u16,
        /// How many fields it says it has.
        fields: u16,
    },
    /// A record of the template could have no octet, so that a set would hold any number of them.
    #[error("template {id}: its records may be empty")]
    EmptyRecord {
        /// The template's id.
        id: u16,
    },
    /// A bound on what one session may make the decoder remember.
    #[error("more than {limit} {what} in a session")]
    Limit {
        /// `templates`, `template fields`, `fields in a template` or `observation domains`.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// A variable-length value is cut by the end of its set.
    #[error("record of template {template} does not fit its set")]
    RecordLength {
        /// The template's id.
        template: u16,
    },
}
