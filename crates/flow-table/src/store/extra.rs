//! What next to no connection has: counters that somebody zeroed, a start that was told before the kernel's was known.

use super::{Store, flag, plus};
use crate::observation::Counters;

#[derive(Clone, Copy, Default)]
pub(super) struct Extra {
    pub(super) slot: u32,
    /// How far the counters had come when somebody zeroed them.
    zeroed: [Counters; 2],
    /// The start that records told before the kernel's was known; 0: none did.
    told_start_ns: u64,
}

impl Store {
    /// Somebody has zeroed its counters in the kernel.
    pub(crate) fn zero(&mut self, slot: u32) {
        if let Some(connection) = self.slots.get_mut(slot) {
            let so_far = connection.zero();
            self.add_zeroed(slot, &so_far);
        }
    }

    /// Its counters had come this far, and further, when somebody zeroed them.
    pub(crate) fn add_zeroed(&mut self, slot: u32, so_far: &[Counters; 2]) {
        let mut extra = self.take_extra(slot).unwrap_or_default();
        extra.zeroed = plus(&extra.zeroed, so_far);
        self.put_extra(slot, extra);
    }

    /// Its records go on to tell this start.
    pub(crate) fn keep_told_start(&mut self, slot: u32, told_start_ns: u64) {
        let mut extra = self.take_extra(slot).unwrap_or_default();
        if extra.told_start_ns == 0 {
            extra.told_start_ns = told_start_ns;
        }
        self.put_extra(slot, extra);
    }

    /// How far its counters had come when somebody zeroed them; zero: nobody has.
    pub(crate) fn zeroed(&self, slot: u32) -> [Counters; 2] {
        self.extra(slot)
            .map_or_else(Default::default, |extra| extra.zeroed)
    }

    /// The start that records told before the kernel's was known.
    pub(crate) fn told_start(&self, slot: u32) -> Option<u64> {
        let told = self.extra(slot).map(|extra| extra.told_start_ns);
        told.filter(|told| *told != 0)
    }

    fn extra(&self, slot: u32) -> Option<&Extra> {
        let any = self.get(slot).is_some_and(|it| it.has(flag::EXTRA));
        let hash = any.then(|| self.seed.hash_one(slot))?;
        self.extras.iter(hash).find(|extra| extra.slot == slot)
    }

    pub(super) fn put_extra(&mut self, slot: u32, extra: Extra) {
        if let Some(connection) = self.slots.get_mut(slot) {
            connection.set(flag::EXTRA);
            let seed = &self.seed;
            let extra = Extra { slot, ..extra };
            self.extras.insert(seed.hash_one(slot), extra, |extra| {
                seed.hash_one(extra.slot)
            });
        }
    }

    pub(super) fn take_extra(&mut self, slot: u32) -> Option<Extra> {
        let any = self.get(slot).is_some_and(|it| it.has(flag::EXTRA));
        let hash = any.then(|| self.seed.hash_one(slot))?;
        self.extras.remove(hash, |extra| extra.slot == slot)
    }
}
