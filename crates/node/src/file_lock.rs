//! Locks on the files that Node has open.

use napi_derive::napi;

use crate::errors::{self, Result};

/// Locks the file behind Node's descriptor for as long as it is open, or until `unlockFile`. False: somebody else has
/// locked it.
#[napi(catch_unwind)]
pub fn lock_file(fd: i32) -> Result<bool> {
    agent::lock_file(fd).map_err(errors::agent)
}

/// Gives the lock back while the descriptor stays open.
#[napi(catch_unwind)]
pub fn unlock_file(fd: i32) -> Result<()> {
    agent::unlock_file(fd).map_err(errors::agent)
}
