//! Sets of names as JavaScript gives them: as text, because ten thousand objects cross the border in several times as long.

use std::sync::Arc;

use agent::{NameSet, NamesError, Networks, PathKey, Pods, PolicyRules, Services};
use napi::Either;
use napi_derive::napi;

use crate::convert::invalid;
use crate::errors::{self, Result};

/// What is wrong with a list of names.
#[napi(object)]
pub struct NativeWrong {
    /// From the list to the wrong value.
    pub keys: Vec<Either<u32, String>>,
    /// What stands there, where that is not what the keys lead to.
    pub got: Option<String>,
    pub expected: String,
    /// Where the last key is wrong: what it may be.
    pub choices: Vec<String>,
}

/// One set, checked: good for any number of exporters.
#[napi]
pub struct NativeNames {
    set: std::result::Result<NameSet, NamesError>,
}

#[napi]
impl NativeNames {
    /// `text` is JSON of a list; that of networks may be CSV. What is wrong with it, `wrong` tells.
    #[napi(
        constructor,
        catch_unwind,
        ts_args_type = "kind: 'pods' | 'services' | 'policyRules' | 'networks', text: string, format: 'json' | 'csv'"
    )]
    pub fn new(kind: String, text: String, format: String) -> Result<Self> {
        let set = match (&*kind, &*format) {
            ("pods", "json") => Pods::from_json(&text).map(Arc::new).map(NameSet::Pods),
            ("services", "json") => Services::from_json(&text)
                .map(Arc::new)
                .map(NameSet::Services),
            ("policyRules", "json") => PolicyRules::from_json(&text)
                .map(Arc::new)
                .map(NameSet::PolicyRules),
            ("networks", "json") => Networks::from_json(&text)
                .map(Arc::new)
                .map(NameSet::Networks),
            ("networks", "csv") => Networks::from_csv(&text)
                .map(Arc::new)
                .map(NameSet::Networks),
            _ => return Err(invalid("names", &kind, "another kind or format")),
        };
        Ok(Self { set })
    }

    /// Null: nothing, and the set can be set.
    #[napi(getter, catch_unwind)]
    pub fn wrong(&self) -> Option<NativeWrong> {
        self.set.as_ref().err().map(|error| NativeWrong {
            keys: error.path().iter().map(key).collect(),
            got: error.got().map(str::to_owned),
            expected: error.expected().to_owned(),
            choices: error.choices().iter().map(ToString::to_string).collect(),
        })
    }

    pub(crate) fn set(&self) -> Result<NameSet> {
        let set = self.set.clone();
        set.map_err(|cause| errors::agent(cause.into()))
    }
}

fn key(key: &PathKey) -> Either<u32, String> {
    match key {
        PathKey::Index(place) => Either::A(u32::try_from(*place).unwrap_or(u32::MAX)),
        PathKey::Key(key) => Either::B(key.clone()),
        PathKey::Line(line) => Either::B(format!("line {line}")),
    }
}
