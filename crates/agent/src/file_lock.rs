//! Locks on files that somebody else has opened (flock(2)).

use std::os::fd::RawFd;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::session_socket::system;
use crate::{Error, os};

/// Locks the file behind `fd` for as long as it is open, or until [`unlock_file`]. False: somebody else, another process
/// or another opening of it in this one, has locked it. True also on a file system without locks.
///
/// # Errors
/// [`Error::System`] when it is no open descriptor.
pub fn lock_file(fd: RawFd) -> Result<bool, Error> {
    flock(fd, FlockOperation::NonBlockingLockExclusive)
}

/// Gives the lock back while the file stays open.
///
/// # Errors
/// [`Error::System`] when it is no open descriptor.
pub fn unlock_file(fd: RawFd) -> Result<(), Error> {
    flock(fd, FlockOperation::Unlock).map(drop)
}

/// A lock belongs to the opening of the file, not to the descriptor: a duplicate can ask for it and be closed.
fn flock(fd: RawFd, operation: FlockOperation) -> Result<bool, Error> {
    let copy = os::duplicate(fd).map_err(|errno| system("duplicate the file", errno))?;
    match rustix::fs::flock(&copy, operation) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(true),
        Err(errno) => Err(system("lock the file", errno)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn one_opening_of_a_file_has_the_lock_until_it_gives_it_back_or_ends() {
        let path = std::env::temp_dir().join(format!("lock-{}", std::process::id()));
        let [first, second, third] = [(); 3].map(|()| File::create(&path).unwrap());
        assert!(lock_file(first.as_raw_fd()).unwrap());
        assert!(lock_file(first.as_raw_fd()).unwrap(), "it has it already");
        assert!(!lock_file(second.as_raw_fd()).unwrap());
        unlock_file(first.as_raw_fd()).unwrap();
        assert!(lock_file(second.as_raw_fd()).unwrap());
        assert!(!lock_file(third.as_raw_fd()).unwrap());
        drop(second);
        assert!(lock_file(third.as_raw_fd()).unwrap());
        std::fs::remove_file(path).unwrap();
        assert_eq!(lock_file(-1).unwrap_err().code(), "ERR_SYSTEM");
    }
}
