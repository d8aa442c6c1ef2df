//! Locks on open files (flock(2)), which Node does not have.

use napi_derive::napi;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::errors::Result;
use crate::socket::{ioctl, system};

/// Locks the file behind Node's descriptor for as long as it is open, or until `unlockFile`. False: somebody else,
/// another process or another opening of it here, has locked it. True also on a file system without locks.
#[napi(catch_unwind)]
pub fn lock_file(fd: i32) -> Result<bool> {
    flock(fd, FlockOperation::NonBlockingLockExclusive)
}

/// Gives the lock back while the descriptor stays open.
#[napi(catch_unwind)]
pub fn unlock_file(fd: i32) -> Result<()> {
    flock(fd, FlockOperation::Unlock).map(drop)
}

/// A lock belongs to the opening of the file, not to the descriptor: a duplicate can ask for it and be closed.
fn flock(fd: i32, operation: FlockOperation) -> Result<bool> {
    let copy = ioctl::duplicate(fd).map_err(|errno| system("duplicate the file", errno))?;
    match rustix::fs::flock(&copy, operation) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(true),
        Err(errno) => Err(system("lock the file", errno)),
    }
}
