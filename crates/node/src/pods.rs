//! Pods as JavaScript gives them: as JSON text, because ten thousand objects cross the border in several times as long.

use agent::Pods;

use crate::errors::{self, Result, error};

/// The set of an array of objects as [`agent::Pod`] reads them.
pub fn pods(json: &str) -> Result<Pods> {
    let list = serde_json::from_str(json).map_err(|cause| {
        error(
            "ERR_OPTION",
            format!("pods: expected JSON of a list of Pods: {cause}"),
        )
    })?;
    Pods::new(list).map_err(|cause| errors::agent(cause.into()))
}
