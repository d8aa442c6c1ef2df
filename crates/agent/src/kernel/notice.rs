//! What the kernel thread tells its owner.

use std::collections::VecDeque;

/// One thing that happened on the kernel thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A poll ended.
    Poll(PollSummary),
    /// A poll could not be made; the next one may succeed.
    PollFailed {
        /// A code such as `ERR_NO_CONNTRACK`.
        code: &'static str,
        /// What failed and what to do about it.
        message: String,
        /// The owner asked for this poll.
        asked: bool,
    },
    /// Records became due at another time than a poll: events or lookups told of them.
    Due,
    /// The state file was written, or could not be, or there is none: the exporter may be closed.
    Saved,
    /// Something that falsifies or limits the export, said when it begins.
    Warning {
        /// A code such as `ACCOUNTING_OFF`.
        code: &'static str,
        /// What it means and how to mend it.
        message: String,
    },
    /// The kernel thread has ended and will do nothing more.
    Fatal {
        /// A code such as `ERR_INTERNAL`.
        code: &'static str,
        /// What happened.
        message: String,
    },
}

/// What one poll saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PollSummary {
    /// IPv4 connections met in the selection.
    pub ipv4: u64,
    /// IPv6 connections met in the selection.
    pub ipv6: u64,
    /// Entries of this namespace's conntrack table, selected or not.
    pub kernel_entries: u32,
    /// `nf_conntrack_max`, or 0 where the kernel does not say.
    pub kernel_max: u32,
    /// Connections that entered the flow table.
    pub added: u64,
    /// Connections that ended.
    pub ended: u64,
    /// From the first request to the last slice of work.
    pub duration_ms: f64,
    /// False when the kernel did not give the whole table: then nothing was ended by absence.
    pub complete: bool,
    /// The owner asked for it; false for one that the kernel thread made by itself, with events: some were lost, a dump
    /// was incomplete, something had failed, or a dump was cheaper than looking up all that was due.
    pub asked: bool,
}

/// A bounded queue of notices: when its reader is away, the oldest polls that nobody asked for are dropped, because the
/// newest say how things are now. Whoever asked for something is answered.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    queue: VecDeque<Notice>,
}

const MAX_NOTICES: usize = 256;

impl Notice {
    /// Nobody waits for it, and a newer one says more.
    fn is_outdated_by_newer(&self) -> bool {
        match self {
            Self::Poll(summary) => !summary.asked,
            Self::PollFailed { asked, .. } => !asked,
            _ => false,
        }
    }
}

impl Notices {
    pub(crate) fn push(&mut self, notice: Notice) {
        if matches!(notice, Notice::Due | Notice::Saved) && self.queue.contains(&notice) {
            return;
        }
        if self.queue.len() >= MAX_NOTICES {
            let outdated = self.queue.iter().position(Notice::is_outdated_by_newer);
            self.queue.remove(outdated.unwrap_or(0));
        }
        self.queue.push_back(notice);
    }

    pub(crate) fn drain(&mut self) -> Vec<Notice> {
        self.queue.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_reader_finds_the_newest_notices() {
        let mut notices = Notices::default();
        for entries in 0..300 {
            notices.push(Notice::Poll(PollSummary {
                kernel_entries: entries,
                ..PollSummary::default()
            }));
        }
        let drained = notices.drain();
        assert_eq!(drained.len(), 256);
        let Some(Notice::Poll(last)) = drained.last() else {
            panic!("the last notice is a poll")
        };
        assert_eq!(last.kernel_entries, 299);
        assert!(notices.drain().is_empty());
    }

    #[test]
    fn whoever_asked_is_answered_however_long_nobody_listens() {
        let asked = |asked| {
            Notice::Poll(PollSummary {
                asked,
                ..PollSummary::default()
            })
        };
        let failed = |asked| Notice::PollFailed {
            code: "ERR_NETLINK",
            message: String::new(),
            asked,
        };
        let kept = [Notice::Due, asked(true), failed(true), Notice::Saved];
        let mut notices = Notices::default();
        for notice in kept.clone() {
            notices.push(notice);
        }
        for _ in 0..300 {
            notices.push(asked(false));
            notices.push(failed(false));
            notices.push(Notice::Due);
        }
        let drained = notices.drain();
        assert_eq!(drained.len(), 256);
        assert_eq!(drained[..4], kept);
        assert!(!drained[4..].iter().any(|notice| kept.contains(notice)));
    }
}
