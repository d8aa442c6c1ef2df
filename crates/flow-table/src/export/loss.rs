//! What was not exported, by reason: nothing is lost unsaid.

/// Why something was not exported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loss {
    /// Ended, and nobody took its record for the stale timeout.
    Stale,
    /// No room in the table; its growth while it stays refused counts here too.
    Refused,
    /// Traffic of a connection between its eviction for lack of room and its return.
    Evicted,
    /// Unexported when the grace period of the stop was over.
    LeftAtStop,
    /// The record does not fit a message.
    TooLarge,
}

impl Loss {
    /// Every reason, in the order of [`Losses`].
    pub const ALL: [Loss; 5] = [
        Loss::Stale,
        Loss::Refused,
        Loss::Evicted,
        Loss::LeftAtStop,
        Loss::TooLarge,
    ];

    /// The reason as metrics name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Loss::Stale => "stale",
            Loss::Refused => "refused",
            Loss::Evicted => "evicted",
            Loss::LeftAtStop => "left_at_stop",
            Loss::TooLarge => "too_large",
        }
    }
}

/// How much was lost. Packets and octets are both directions together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Records that were or would have been made.
    pub records: u64,
    /// Packets.
    pub packets: u64,
    /// Octets.
    pub octets: u64,
}

impl Lost {
    pub(crate) fn add(&mut self, other: Lost) {
        self.records = self.records.saturating_add(other.records);
        self.packets = self.packets.saturating_add(other.packets);
        self.octets = self.octets.saturating_add(other.octets);
    }
}

/// Losses since the table was made, by reason.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Losses {
    by_reason: [Lost; 5],
}

impl Losses {
    /// What was lost for this reason.
    #[must_use]
    pub fn get(&self, reason: Loss) -> Lost {
        self.by_reason
            .get(reason as usize)
            .copied()
            .unwrap_or_default()
    }

    /// Every reason with what was lost for it, zeroes included.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, Lost)> + '_ {
        Loss::ALL
            .into_iter()
            .map(|reason| (reason, self.get(reason)))
    }

    pub(crate) fn count(&mut self, reason: Loss, lost: Lost) {
        if let Some(sum) = self.by_reason.get_mut(reason as usize) {
            sum.add(lost);
        }
    }
}
