//! What can go wrong between this process and the kernel, each with a stable code and what to do about it.
//!
//! Read [`Error`] first. It is made where a system call or a netlink reply fails, and leaves through every fallible
//! function of this crate.

use std::io;
use std::path::PathBuf;

use crate::malformed::Malformed;

const CAPABILITY_HINT: &str = "needs CAP_NET_ADMIN in the user namespace that owns this network namespace: run as root, \
in a namespace of your own (`unshare -Urn`), with AmbientCapabilities=CAP_NET_ADMIN in a systemd unit, or with \
`setpriv --ambient-caps +net_admin --inh-caps +net_admin`";

/// Why a request to the kernel failed. `operation` completes the sentence "cannot …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel answered EPERM or EACCES to a netlink request or a group membership.
    #[error("cannot {operation}: not permitted: {}", CAPABILITY_HINT)]
    Permission {
        /// What was attempted.
        operation: &'static str,
    },
    /// This kernel has no conntrack netlink interface (yet): the module is not loaded or not built.
    #[error(
        "cannot {operation}: this kernel offers no conntrack netlink interface (module nf_conntrack_netlink; try `modprobe nf_conntrack_netlink`)"
    )]
    NoConntrack {
        /// What was attempted.
        operation: &'static str,
    },
    /// The kernel refused a netlink request for another reason.
    #[error("cannot {operation}: {meaning}")]
    Netlink {
        /// What was attempted.
        operation: &'static str,
        /// The positive errno.
        errno: i32,
        /// The errno's meaning, as the C library words it.
        meaning: io::Error,
    },
    /// The socket's receive buffer was full and the kernel dropped messages (ENOBUFS).
    #[error(
        "cannot {operation}: the receive buffer overran and the kernel dropped messages (ENOBUFS)"
    )]
    Overrun {
        /// What was attempted.
        operation: &'static str,
    },
    /// The kernel sent nothing for the whole receive timeout although it owed an answer.
    #[error("cannot {operation}: no progress for {milliseconds} ms")]
    NoProgress {
        /// What was attempted.
        operation: &'static str,
        /// The configured timeout.
        milliseconds: u64,
    },
    /// The cancel flag of [`crate::SocketOptions`] was set.
    #[error("cannot {operation}: cancelled")]
    Cancelled {
        /// What was attempted.
        operation: &'static str,
    },
    /// A reply that stands alone (counts, an acknowledgement) could not be read.
    #[error("cannot {operation}: the kernel's answer is malformed: {malformed}")]
    Reply {
        /// What was attempted.
        operation: &'static str,
        /// Where the answer breaks.
        malformed: Malformed,
    },
    /// The network namespace does not exist (any more).
    #[error("network namespace {path}: {source}", path = path.display())]
    Netns {
        /// The file that stands for the namespace.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The network namespace exists but this process may not enter it.
    #[error(
        "cannot enter network namespace {path}: {source}: entering another namespace needs CAP_SYS_ADMIN besides CAP_NET_ADMIN; start this program through `nsenter --net={path}` instead, or as root", path = path.display()
    )]
    NetnsPermission {
        /// The file that stands for the namespace.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A kernel setting under `/proc/sys/net` could not be read or written.
    #[error("kernel setting {path}: {source}", path = path.display())]
    Sysctl {
        /// The setting's file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process (or socket) already reads this NFLOG group.
    #[error("cannot read NFLOG group {group}: another program is bound to it")]
    NflogGroupTaken {
        /// The group's number.
        group: u16,
    },
}

impl Error {
    /// A stable name for programs; the text is for people.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Permission { .. } | Self::NetnsPermission { .. } => "ERR_PERMISSION",
            Self::NoConntrack { .. } => "ERR_NO_CONNTRACK",
            Self::Netlink { .. } => "ERR_NETLINK",
            Self::Overrun { .. } => "ERR_OVERRUN",
            Self::NoProgress { .. } => "ERR_NO_PROGRESS",
            Self::Cancelled { .. } => "ERR_CANCELLED",
            Self::Reply { .. } => "ERR_MALFORMED",
            Self::Netns { .. } => "ERR_NETNS",
            Self::Sysctl { .. } => "ERR_SYSCTL",
            Self::NflogGroupTaken { .. } => "ERR_NFLOG_GROUP",
        }
    }

    /// The error for a positive errno in a netlink reply.
    pub(crate) fn from_errno(operation: &'static str, errno: i32) -> Self {
        use rustix::io::Errno;
        // Compared as numbers: a number out of a message need not be one of the system's.
        let is = |known: &[Errno]| known.iter().any(|known| known.raw_os_error() == errno);
        if is(&[Errno::PERM, Errno::ACCESS]) {
            Self::Permission { operation }
        } else if is(&[Errno::PROTONOSUPPORT, Errno::AFNOSUPPORT]) {
            Self::NoConntrack { operation }
        } else if is(&[Errno::NOBUFS]) {
            Self::Overrun { operation }
        } else {
            Self::Netlink {
                operation,
                errno,
                meaning: io::Error::from_raw_os_error(errno),
            }
        }
    }

    /// The error of a failed system call.
    pub(crate) fn from_io(operation: &'static str, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(errno) => Self::from_errno(operation, errno),
            None => Self::Netlink {
                operation,
                errno: 0,
                meaning: source,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_permission_names_the_capability_and_the_ways_to_get_it() {
        let error = Error::from_errno("dump the connection table", 1);
        assert_eq!(error.code(), "ERR_PERMISSION");
        let text = error.to_string();
        for word in [
            "dump the connection table",
            "CAP_NET_ADMIN",
            "unshare -Urn",
            "AmbientCapabilities",
            "setpriv",
        ] {
            assert!(text.contains(word), "{text}");
        }
        assert!(!text.contains("setcap"));
    }

    #[test]
    fn an_errno_is_reported_with_its_meaning() {
        let error = Error::from_errno("create entries", 17);
        assert_eq!(error.code(), "ERR_NETLINK");
        assert!(error.to_string().contains("File exists"), "{error}");
    }
}
