//! A few hundred buckets: a share of the index that is placed anew as a whole.

/// Entries in a bucket.
pub(super) const WIDTH: usize = 10;

#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    tags: [u16; WIDTH],
    /// Bit n: entry n is there.
    pub(super) used: u16,
    /// Entries of this bucket or one before it that lie behind it.
    pub(super) passed: u16,
    pub(super) slots: [u32; WIDTH],
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

    fn put(&mut self, tag: u16, slot: u32) -> bool {
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
}

#[derive(Default)]
pub(super) struct Segment {
    pub(super) buckets: Vec<Bucket>,
    pub(super) len: usize,
}

impl Segment {
    /// Tags spread evenly over any number of buckets, in their order.
    #[inline]
    pub(super) fn home(&self, tag: u16) -> usize {
        (usize::from(tag) * self.buckets.len()) >> 16
    }

    /// Places of buckets, each once, from a tag's home on.
    #[inline]
    fn path(&self, tag: u16) -> impl Iterator<Item = usize> + use<> {
        let home = self.home(tag);
        (home..self.buckets.len()).chain(0..home)
    }

    /// Four fifths: a bucket in five passes something on.
    pub(super) fn full(&self) -> bool {
        self.len >= self.buckets.len() * WIDTH / 5 * 4
    }

    pub(super) fn put(&mut self, tag: u16, slot: u32) {
        for at in self.path(tag) {
            let Some(bucket) = self.buckets.get_mut(at) else {
                return;
            };
            if bucket.put(tag, slot) {
                self.len += 1;
                return;
            }
            bucket.passed = bucket.passed.saturating_add(1);
        }
    }

    /// The bucket and the entry in it that hold this slot.
    pub(super) fn place(&self, tag: u16, slot: u32) -> Option<(usize, usize)> {
        for at in self.path(tag) {
            let bucket = self.buckets.get(at)?;
            let mut matches = bucket.matches(tag);
            while matches != 0 {
                let entry = matches.trailing_zeros();
                if bucket.slot(entry) == slot {
                    return Some((at, entry as usize));
                }
                matches &= matches - 1;
            }
            if bucket.passed == 0 {
                return None;
            }
        }
        None
    }

    pub(super) fn remove(&mut self, tag: u16, slot: u32) -> bool {
        let Some((found, entry)) = self.place(tag, slot) else {
            return false;
        };
        for at in self.path(tag).take_while(|at| *at != found) {
            if let Some(bucket) = self.buckets.get_mut(at)
                && bucket.passed != u16::MAX
            {
                bucket.passed -= 1;
            }
        }
        if let Some(bucket) = self.buckets.get_mut(found) {
            bucket.used &= !(1 << entry);
        }
        self.len -= 1;
        true
    }

    /// Places everything anew in this many buckets.
    pub(super) fn resize(&mut self, buckets: usize) {
        let former = std::mem::replace(&mut self.buckets, vec![Bucket::default(); buckets]);
        self.len = 0;
        for bucket in former {
            for (n, (tag, slot)) in bucket.tags.iter().zip(bucket.slots).enumerate() {
                if bucket.used & 1 << n != 0 {
                    self.put(*tag, slot);
                }
            }
        }
    }
}
