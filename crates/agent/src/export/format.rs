//! What a collector's records look like, before it is compiled.

use ipfix::{Format, Profile};

use crate::Error;
use crate::names::Naming;

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
    /// Records of the standard profile end with the node and its cluster where `names` has them to tell.
    pub(crate) fn compile(&self, names: &Naming) -> Result<Format, Error> {
        let mut profile = match &self.profile {
            ProfileName::Standard(fields) => Profile::standard(fields.as_deref())
                .map_err(|error| Error::Format(error.to_string()))?,
            ProfileName::StandardNamed => Profile::standard(None)
                .map_err(|error| Error::Format(error.to_string()))?
                .with_names(),
            ProfileName::Antrea => Profile::antrea(),
        };
        if !names.node().is_empty() {
            profile = profile.with_node();
        }
        if !names.cluster().is_empty() {
            profile = profile.with_cluster();
        }
        Format::new(&profile, self.domain, self.max_message_size)
            .map_err(|error| Error::Format(error.to_string()))
    }
}

/// A format that was added to an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatId(pub u32);
