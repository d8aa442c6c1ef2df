//! Network namespaces by path, name or process: which one is meant, and entering it.
//!
//! A thread that entered a namespace stays there: sockets it opens and settings it reads are that namespace's. Use a
//! thread made for it, which ends there; never one that returns to a pool.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::Error;

/// A network namespace, as people name it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Netns {
    /// A file that stands for it: `/proc/PID/ns/net`, or a bind mount of one.
    Path(PathBuf),
    /// A name of `ip netns`, which is a file under `/var/run/netns`.
    Name(String),
    /// The namespace of a process.
    Pid(u32),
}

/// What tells namespaces apart: the same name can come to mean another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NetnsIdentity {
    device: u64,
    inode: u64,
}

impl NetnsIdentity {
    /// The calling thread's namespace.
    ///
    /// # Errors
    /// [`Error::Netns`] where `/proc` is not mounted.
    pub fn of_this_thread() -> Result<Self, Error> {
        Self::of(Path::new("/proc/thread-self/ns/net"))
    }

    fn of(path: &Path) -> Result<Self, Error> {
        fs::metadata(path)
            .map(Self::from)
            .map_err(|source| opening(path, source))
    }
}

impl From<fs::Metadata> for NetnsIdentity {
    fn from(metadata: fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

impl Netns {
    /// Reads what a person wrote: digits are a process, anything with a slash is a path, the rest a name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Ok(pid) = text.parse() {
            Self::Pid(pid)
        } else if text.contains('/') {
            Self::Path(text.into())
        } else {
            Self::Name(text.into())
        }
    }

    /// The file that stands for it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Path(path) => path.clone(),
            Self::Name(name) => Path::new("/var/run/netns").join(name),
            Self::Pid(pid) => PathBuf::from(format!("/proc/{pid}/ns/net")),
        }
    }

    /// Which namespace the name means now. Sockets keep a namespace alive after its name is gone or means another one, so
    /// whoever reads from one for long compares from time to time.
    ///
    /// # Errors
    /// [`Error::Netns`] when it is not there, [`Error::NetnsPermission`] when it may not be looked at.
    pub fn identity(&self) -> Result<NetnsIdentity, Error> {
        NetnsIdentity::of(&self.path())
    }

    /// Moves the calling thread into the namespace, for the rest of the thread's life. A thread that is there already
    /// needs no privilege.
    ///
    /// # Errors
    /// [`Error::Netns`] when it is not there (it may come), [`Error::NetnsPermission`] without CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<NetnsIdentity, Error> {
        let path = self.path();
        // Of the open file: the name may come to mean another namespace at any time.
        let opened = fs::File::open(&path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|source| opening(&path, source))?;
        let identity = NetnsIdentity::from(metadata);
        if NetnsIdentity::of_this_thread().is_ok_and(|current| current == identity) {
            return Ok(identity);
        }
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).map_err(
            |errno| match errno {
                Errno::PERM => Error::NetnsPermission {
                    path,
                    source: errno.into(),
                },
                // The file is no namespace: `ip netns add` has made it and not mounted it yet.
                _ => Error::Netns {
                    path,
                    source: errno.into(),
                },
            },
        )?;
        Ok(identity)
    }
}

impl fmt::Display for Netns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Pid(pid) => pid.fmt(f),
        }
    }
}

fn opening(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    if source.kind() == io::ErrorKind::PermissionDenied {
        Error::NetnsPermission { path, source }
    } else {
        Error::Netns { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_a_process_a_slash_makes_a_path_and_the_rest_is_a_name() {
        for (text, netns, path) in [
            ("41", Netns::Pid(41), "/proc/41/ns/net"),
            ("blue", Netns::Name("blue".into()), "/var/run/netns/blue"),
            ("/run/x", Netns::Path("/run/x".into()), "/run/x"),
            ("./1", Netns::Path("./1".into()), "./1"),
        ] {
            assert_eq!(Netns::parse(text), netns);
            assert_eq!(netns.path(), Path::new(path));
            assert_eq!(netns.to_string(), text);
        }
    }

    #[test]
    fn a_namespace_that_is_not_there_is_an_error_to_retry() {
        let error = Netns::Name("no-such-namespace".into()).enter().unwrap_err();
        assert_eq!(error.code(), "ERR_NETNS");
        assert!(
            error
                .to_string()
                .contains("/var/run/netns/no-such-namespace")
        );
    }

    #[test]
    fn a_file_that_is_no_namespace_is_an_error() {
        let error = Netns::Path("/proc/self/status".into()).enter().unwrap_err();
        assert_eq!(error.code(), "ERR_NETNS");
    }
}
