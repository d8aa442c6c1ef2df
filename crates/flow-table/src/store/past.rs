//! What is remembered of one incarnation.

use super::identity::Identity;
use crate::export::Loss;
use crate::observation::Counters;

/// Why it has no slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// There was no room.
    Refused,
    /// Others needed its room.
    Evicted,
    /// It lives outside the selection.
    Left,
    /// A complete dump missed it, and its end is exported.
    Missing,
    /// The former run knew it.
    Restored,
    /// A DESTROY ended it while a dump runs that was begun before.
    Destroyed,
}

impl Why {
    /// As what its traffic counts while the kernel keeps it.
    pub(crate) fn loss(self) -> Option<Loss> {
        match self {
            Why::Refused => Some(Loss::Refused),
            Why::Evicted => Some(Loss::Evicted),
            Why::Left | Why::Missing | Why::Restored | Why::Destroyed => None,
        }
    }
}

/// What is remembered of one incarnation.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    /// In the kernel's counting: what records hold or losses count. Wraps as that of a connection.
    pub(crate) exported: [Counters; 2],
    /// How far its counters had come when somebody zeroed them.
    pub(crate) zeroed: Option<Box<[Counters; 2]>>,
    /// The kernel's start, or the first sighting.
    pub(crate) start_ns: u64,
    pub(crate) id: u32,
    /// Requests with a lower number were made before the last observation of it.
    pub(crate) stamp: u32,
    /// End of the last record, in seconds since 1970; 0: none.
    pub(crate) record_end_s: u32,
    pub(crate) scope: u8,
    pub(crate) why: Why,
    /// `start_ns` is the kernel's.
    pub(crate) kernel_start: bool,
    /// A record of it was made.
    pub(crate) recorded: bool,
    /// Its end was exported.
    pub(crate) done: bool,
}

impl Past {
    pub(crate) fn identity(&self) -> Identity {
        Identity::new(self.id, self.kernel_start.then_some(self.start_ns))
    }
}
