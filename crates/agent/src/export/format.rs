//! What a collector's records look like, before it is compiled.

use ipfix::{Format, Profile};

use crate::Error;

/// How records are encoded for a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatSpec {
    /// Which elements.
    pub profile: ProfileName,
    /// Observation domain of the flow records.
    pub domain: u32,
    /// The most octets of a message, header included.
    pub max_message_size: usize,
}

/// A profile by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileName {
    /// The standard elements, or those of them that are named, in that order.
    Standard(Option<Vec<String>>),
    /// The standard elements and the names of both ends.
    StandardNamed,
    /// What Antrea's flow aggregator reads.
    Antrea,
}

impl FormatSpec {
    /// Whether there can be such a format: without an exporter, before anything is opened.
    ///
    /// # Errors
    /// Fields that no profile has, or a message size that a template or a record does not fit.
    pub fn check(&self) -> Result<(), Error> {
        self.compile().map(drop)
    }

    pub(crate) fn compile(&self) -> Result<Format, Error> {
        let profile = match &self.profile {
            ProfileName::Standard(fields) => Profile::standard(fields.as_deref())
                .map_err(|error| Error::Format(error.to_string()))?,
            ProfileName::StandardNamed => Profile::standard(None)
                .map_err(|error| Error::Format(error.to_string()))?
                .with_names(),
            ProfileName::Antrea => Profile::antrea(),
        };
        Format::new(&profile, self.domain, self.max_message_size)
            .map_err(|error| Error::Format(error.to_string()))
    }
}

/// A format that was added to an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatId(pub u32);
