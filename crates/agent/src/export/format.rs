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
    /// The standard elements and others behind them.
    StandardWith(Extras),
    /// What Antrea's flow aggregator reads.
    Antrea,
}

/// What the standard profile's records end with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// What connections are called.
    pub names: bool,
    /// The node that saw them.
    pub node: bool,
    /// Its cluster.
    pub cluster: bool,
}

impl Extras {
    fn of(self, profile: Profile) -> Profile {
        let profile = if self.names {
            profile.with_names()
        } else {
            profile
        };
        let profile = if self.node {
            profile.with_node()
        } else {
            profile
        };
        if self.cluster {
            profile.with_cluster()
        } else {
            profile
        }
    }
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
            ProfileName::StandardWith(extras) => {
                let profile = Profile::standard(None);
                extras.of(profile.map_err(|error| Error::Format(error.to_string()))?)
            }
            ProfileName::Antrea => Profile::antrea(),
        };
        Format::new(&profile, self.domain, self.max_message_size)
            .map_err(|error| Error::Format(error.to_string()))
    }
}

/// A format that was added to an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatId(pub u32);
