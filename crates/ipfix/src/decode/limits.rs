//! What a session may make the decoder remember, and what it has counted.

/// Bounds on what a session may make the decoder remember. A message is at most 65,535 octets by its own length field,
/// and no value is longer than its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Templates and options templates of all domains. Default 1,024.
    pub templates: usize,
    /// Fields of one template. Default 1,024.
    pub fields_per_template: usize,
    /// Fields of all templates together. Default 32,768.
    pub fields: usize,
    /// Observation domains. Default 1,024.
    pub domains: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            templates: 1024,
            fields_per_template: 1024,
            fields: 32_768,
            domains: 1024,
        }
    }
}

/// What a session has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeStats {
    /// Messages read to their end.
    pub messages: u64,
    /// Messages given up at a fault. A stream has one at most.
    pub bad_messages: u64,
    /// Data records handed out, options records included.
    pub records: u64,
    /// Data sets passed over because their template is not known.
    pub unknown_template_sets: u64,
    /// Sets passed over because their id (0, 1, 4 to 255) has no meaning yet.
    pub reserved_sets: u64,
    /// Templates that replaced a different one of the same id without a withdrawal.
    pub redefined_templates: u64,
    /// Times that a domain's sequence number jumped ahead.
    pub sequence_gaps: u64,
    /// Data records that these jumps stand for.
    pub missing_records: u64,
}
