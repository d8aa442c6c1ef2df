//! How long those stay of which nobody says when the kernel drops them.

use crate::polls::before;

/// Whether one that was met by a sweep stays.
pub(crate) enum Keep {
    Yes,
    No,
    /// Nobody will say when the kernel drops it: the oldest go when there are too many.
    WhileThereIsRoom,
}

/// How long those stay of which nobody says when the kernel drops them.
#[derive(Clone, Copy, Default)]
pub(super) struct Aging {
    /// The sweep under way drops them below this stamp.
    too_old: Option<u32>,
    /// The oldest stamp that this sweep met.
    oldest: Option<u32>,
    /// Let go before their time.
    pub(super) forgotten: u64,
}

impl Aging {
    /// Where there are too many, the next sweep drops those of the older half of the time.
    pub(super) fn begin(&mut self, crowded: bool, newest: u32) {
        let oldest = self.oldest.take().filter(|_| crowded);
        self.too_old = oldest.map(|oldest| oldest.wrapping_add(newest.wrapping_sub(oldest) / 2));
    }

    pub(super) fn stays(&mut self, stamp: u32) -> bool {
        if self.too_old.is_some_and(|limit| before(stamp, limit)) {
            self.forgotten += 1;
            return false;
        }
        if self.oldest.is_none_or(|oldest| before(stamp, oldest)) {
            self.oldest = Some(stamp);
        }
        true
    }
}
