//! A vector that never moves what it holds and gives memory back in steps.
//!
//! Chunks are 33 to 66 MiB of address space, of which only touched pages are resident: that is above every
//! threshold at which an allocator keeps freed memory for itself, so each chunk is a mapping of its own that goes back to
//! the system when it goes.

use super::pages;

/// Bytes given back in one step: some 500 pages, well under a millisecond.
const STEP: usize = 2 << 20;

pub(crate) struct Chunked<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
    /// Elements from here on have not been touched since they were last given back.
    high: usize,
}

impl<T> Chunked<T> {
    /// Elements of a chunk, as a shift: the smallest power of two that fills 33 MiB.
    const SHIFT: u32 = ((33usize << 20) / size_of::<T>())
        .next_power_of_two()
        .trailing_zeros();
    const CHUNK: usize = 1 << Self::SHIFT;

    pub(crate) fn new() -> Self {
        Self {
            chunks: Vec::new(),
            len: 0,
            high: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.chunks
            .get(at >> Self::SHIFT)?
            .get(at & (Self::CHUNK - 1))
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.chunks
            .get_mut(at >> Self::SHIFT)?
            .get_mut(at & (Self::CHUNK - 1))
    }

    pub(crate) fn push(&mut self, value: T) {
        let at = self.len >> Self::SHIFT;
        if at == self.chunks.len() {
            let mut chunk = Vec::with_capacity(Self::CHUNK);
            pages::ask_for_huge(&mut chunk);
            self.chunks.push(chunk);
        }
        if let Some(chunk) = self.chunks.get_mut(at) {
            chunk.push(value);
            self.len += 1;
            self.high = self.high.max(self.len);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.len.checked_sub(1)?;
        let value = self.chunks.get_mut(last >> Self::SHIFT)?.pop();
        self.len = last;
        value
    }

    /// Drops the elements from `len` on; their memory goes back with `give_back`.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        let first = len >> Self::SHIFT;
        for (at, chunk) in self.chunks.iter_mut().enumerate().skip(first) {
            chunk.truncate(if at == first {
                len & (Self::CHUNK - 1)
            } else {
                0
            });
        }
        self.len = len;
    }

    /// One step of giving back memory that was used above `keep` elements; true: there is more to give.
    pub(crate) fn give_back(&mut self, keep: usize) -> bool {
        let keep = keep.max(self.len);
        let step = (STEP / size_of::<T>()).max(1);
        if self.high <= keep + step {
            return false;
        }
        let first = (self.high - 1) & !(Self::CHUNK - 1);
        self.high = (self.high - step).max(keep).max(first);
        if self.high == first {
            self.chunks.truncate(first >> Self::SHIFT);
        } else if let Some(chunk) = self.chunks.get_mut(first >> Self::SHIFT) {
            pages::give_back(chunk, self.high - first..usize::MAX);
        }
        self.high > keep + step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::pages::tests::resident;

    #[test]
    fn shrinking_in_steps_keeps_what_is_left_and_growing_again_works() {
        let mut numbers: Chunked<[u64; 64]> = Chunked::new();
        let count = 3 * Chunked::<[u64; 64]>::CHUNK / 2;
        for n in 0..count {
            numbers.push([n as u64; 64]);
        }
        numbers.truncate(1000);
        let mut steps = 0;
        while numbers.give_back(1000) {
            steps += 1;
        }
        assert!(steps > 16, "{steps} steps for 48 MiB");
        assert_eq!(numbers.chunks.len(), 1);
        assert!(resident(&numbers.chunks[0]) < 1000 * 512 + 3 * STEP);
        for n in 1000..20_000 {
            numbers.push([n; 64]);
        }
        assert_eq!(numbers.len(), 20_000);
        assert!((0..20_000).all(|n| numbers.get(n).is_some_and(|value| value[0] == n as u64)));
        assert_eq!(numbers.pop().map(|value| value[63]), Some(19_999));
        assert_eq!(numbers.get(19_999), None);
    }
}
