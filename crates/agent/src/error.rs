//! What can go wrong for the owner of an exporter.

use crate::{NamesError, SelectionError};

/// Every error says when it happens; [`Error::code`] is what JavaScript sees as `code`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused or could not do what was asked.
    #[error(transparent)]
    Netfilter(#[from] netfilter::Error),
    /// The selection cannot be meant.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// A list of names cannot be meant.
    #[error(transparent)]
    Names(#[from] NamesError),
    /// A profile or a message size that no message can have.
    #[error("{0}")]
    Format(String),
    /// More formats than an exporter keeps encoders for.
    #[error("an exporter has at most {0} different formats")]
    TooManyFormats(usize),
    /// A format that was never added here.
    #[error("format {0} was not added to this exporter")]
    UnknownFormat(u32),
    /// One call names a format twice: its bodies are shared, ask once.
    #[error("format {0} was asked for twice in one batch")]
    FormatTwice(u32),
    /// A batch is settled once.
    #[error("batch {0} is not in flight: it was settled already, or never taken")]
    BatchSettled(u32),
    /// A thread or a descriptor could not be had.
    #[error("{operation}: {source}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// More of the agent's own sessions than it can have.
    #[error("too many own sessions are registered: close some before opening more")]
    TooManyOwnSessions,
    /// The kernel did not give its whole table.
    #[error("the kernel did not give the whole table: connections may be missing, try again")]
    IncompleteDump,
    /// A panic, caught where its thread begins.
    #[error("{0} stopped by an internal error")]
    Internal(&'static str),
    /// The kernel thread has ended.
    #[error("the exporter is closed")]
    Closed,
}

impl Error {
    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Netfilter(error) => error.code(),
            Self::Selection(_) | Self::Names(_) | Self::Format(_) => "ERR_OPTION",
            Self::TooManyFormats(_) | Self::TooManyOwnSessions => "ERR_LIMIT",
            Self::UnknownFormat(_) | Self::FormatTwice(_) | Self::BatchSettled(_) => "ERR_USAGE",
            Self::System { .. } => "ERR_SYSTEM",
            Self::IncompleteDump => "ERR_INCOMPLETE",
            Self::Internal(_) => "ERR_INTERNAL",
            Self::Closed => "ERR_CLOSED",
        }
    }

    /// The system does not let this process read connections: trying again later does not help.
    pub(crate) fn is_permission(&self) -> bool {
        use netfilter::Error::{NetnsPermission, Permission};
        matches!(
            self,
            Self::Netfilter(Permission { .. } | NetnsPermission { .. })
        )
    }
}
