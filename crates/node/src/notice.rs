//! What the kernel thread says, as plain objects.

use agent::Notice;
use napi_derive::napi;

use crate::convert::count;

/// What one poll saw.
#[napi(object)]
pub struct NativePollSummary {
    pub ipv4: f64,
    pub ipv6: f64,
    pub kernel_entries: f64,
    pub kernel_max: f64,
    pub added: f64,
    pub ended: f64,
    pub duration_ms: f64,
    pub complete: bool,
}

/// What the kernel thread says. `poll` is there for kind `poll`, `code` and `message` for failures and warnings.
#[napi(object)]
pub struct NativeNotice {
    #[napi(ts_type = "'poll' | 'pollFailed' | 'due' | 'saved' | 'warning' | 'fatal'")]
    pub kind: String,
    pub code: Option<String>,
    pub message: Option<String>,
    pub poll: Option<NativePollSummary>,
    /// Of `poll` and `pollFailed`: it answers a call of `poll()`; otherwise lost events made it necessary.
    pub asked: bool,
}

pub fn notice(notice: Notice) -> NativeNotice {
    let (kind, code, message, asked) = match &notice {
        Notice::Poll(summary) => ("poll", None, None, summary.asked),
        Notice::PollFailed {
            code,
            message,
            asked,
        } => ("pollFailed", Some(code), Some(message), *asked),
        Notice::Due => ("due", None, None, false),
        Notice::Saved => ("saved", None, None, false),
        Notice::Warning { code, message } => ("warning", Some(code), Some(message), false),
        Notice::Fatal { code, message } => ("fatal", Some(code), Some(message), false),
    };
    NativeNotice {
        kind: kind.to_owned(),
        code: code.map(|code| (*code).to_owned()),
        message: message.cloned(),
        poll: match notice {
            Notice::Poll(summary) => Some(poll_summary(&summary)),
            _ => None,
        },
        asked,
    }
}

fn poll_summary(summary: &agent::PollSummary) -> NativePollSummary {
    NativePollSummary {
        ipv4: count(summary.ipv4),
        ipv6: count(summary.ipv6),
        kernel_entries: f64::from(summary.kernel_entries),
        kernel_max: f64::from(summary.kernel_max),
        added: count(summary.added),
        ended: count(summary.ended),
        duration_ms: summary.duration_ms,
        complete: summary.complete,
    }
}
