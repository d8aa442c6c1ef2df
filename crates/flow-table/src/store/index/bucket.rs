//! A cache line of the index.

/// Entries in a bucket.
pub(super) const WIDTH: usize = 10;

#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    tags: [u16; WIDTH],
    /// Bit n: entry n is there.
    pub(super) used: u16,
    /// Entries of this bucket or one before it on their way that lie behind it.
    pub(super) passed: u16,
    slots: [u32; WIDTH],
}

const _: () = assert!(size_of::<Bucket>() == 64);

impl Bucket {
    /// The entries with this tag, a bit each. No branch depends on what is read: a wrong guess would end the overlap of
    /// several lookups' cache misses.
    #[inline]
    pub(super) fn matches(&self, tag: u16) -> u16 {
        let mut matches = 0;
        for (n, other) in self.tags.iter().enumerate() {
            matches |= u16::from(*other == tag) << n;
        }
        matches & self.used
    }

    #[inline]
    pub(super) fn slot(&self, entry: u32) -> u32 {
        self.slots.get(entry as usize).copied().unwrap_or(u32::MAX)
    }

    /// False: it is full.
    pub(super) fn put(&mut self, tag: u16, slot: u32) -> bool {
        let entry = self.used.trailing_ones() as usize;
        match (self.tags.get_mut(entry), self.slots.get_mut(entry)) {
            (Some(to), Some(at)) => {
                (*to, *at) = (tag, slot);
                self.used |= 1 << entry;
                true
            }
            _ => false,
        }
    }

    /// Which entry has this tag and slot.
    pub(super) fn find(&self, tag: u16, slot: u32) -> Option<u32> {
        let mut matches = self.matches(tag);
        while matches != 0 {
            let entry = matches.trailing_zeros();
            if self.slot(entry) == slot {
                return Some(entry);
            }
            matches &= matches - 1;
        }
        None
    }

    pub(super) fn replace(&mut self, entry: u32, slot: u32) {
        if let Some(to) = self.slots.get_mut(entry as usize) {
            *to = slot;
        }
    }

    pub(super) fn clear(&mut self, entry: u32) {
        self.used &= !(1 << entry);
    }

    /// Tags and slots of the entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u16, u32)> {
        let both = self.tags.iter().copied().zip(self.slots);
        both.enumerate()
            .filter(|(n, _)| self.used & 1 << n != 0)
            .map(|(_, entry)| entry)
    }
}
