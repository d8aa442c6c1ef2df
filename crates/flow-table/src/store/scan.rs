//! A pass over all slots, in slices.

/// How far a pass over all slots has come.
///
/// It goes from the highest slot down, because that is how connections move when memory is given back: one that moves is
/// ahead of the pass still, or is met twice. So every connection that is there from the first slice to the last is met,
/// nothing has to stand still, and a pass may be given up anywhere.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Scan {
    /// Slots from here on were looked at; None: none was.
    below: Option<u32>,
}

impl Scan {
    /// The next slot of a table whose slots end there; None: all were met.
    #[inline]
    pub(crate) fn next(&mut self, end: u32) -> Option<u32> {
        // The table may have shrunk since.
        let below = self.below.map_or(end, |below| below.min(end));
        let next = below.checked_sub(1);
        self.below = Some(next.unwrap_or(0));
        next
    }

    /// All slots were met.
    pub(crate) fn is_over(&self) -> bool {
        self.below == Some(0)
    }
}
