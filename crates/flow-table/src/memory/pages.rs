//! What backs large vectors: huge pages, asked of the kernel, and nothing where they are not in use.
//!
//! A dump shows connections in an order that is none for us: nearly each one is in another small page, and looking the page
//! up costs more than reading it, above all where the machine is a virtual one. A huge page of 2 MiB is looked up once
//! for some 14,000 connections. Where the kernel has them only on request (`madvise`, the usual setting) this asks.

use std::ops::Range;

use rustix::mm::{Advice, madvise};

/// Of x86-64, and of arm64 with small pages of 4 KiB. Elsewhere the kernel rounds by itself.
const HUGE: usize = 2 << 20;

/// Asks for huge pages behind a vector's unused capacity, but for its beginning: what stays small shall not take one.
pub(crate) fn ask_for_huge<T>(memory: &mut Vec<T>) {
    let first = HUGE.div_ceil(size_of::<T>().max(1));
    advise(memory, first..usize::MAX, Advice::LinuxHugepage);
}

/// Gives the whole huge pages behind these unused elements back to the system.
pub(crate) fn give_back<T>(memory: &mut Vec<T>, unused: Range<usize>) {
    advise(memory, unused, Advice::LinuxDontNeed);
}

/// Only whole huge pages, and only behind what holds no elements.
fn advise<T>(memory: &mut Vec<T>, elements: Range<usize>, advice: Advice) {
    let spare = memory.len()..memory.capacity();
    let first = elements.start.clamp(spare.start, spare.end) * size_of::<T>();
    let last = elements.end.clamp(spare.start, spare.end) * size_of::<T>();
    let start = memory.as_mut_ptr().cast::<u8>();
    // Where it cannot be aligned that is `usize::MAX`.
    let first = first.saturating_add(start.wrapping_add(first).align_offset(HUGE));
    let octets = last.saturating_sub(first) / HUGE * HUGE;
    if octets == 0 {
        return;
    }
    // A kernel without huge pages refuses to have them, and that is all.
    // SAFETY: `first` and `first + octets` are at most `last`, so that the pages lie wholly within the vector's spare
    // capacity, which holds nothing that anybody may read before it was written anew, also where the kernel's pages are of
    // 16 or 64 KiB: both ends are multiples of theirs. So neither advice changes what is there, whoever the allocator had
    // the memory from: the one is about which pages back it, the other one replaces what they hold.
    #[expect(unsafe_code, reason = "madvise is not safe in general")]
    let _ = unsafe { madvise(start.add(first).cast(), octets, advice) };
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use super::*;

    /// Whether the mapping that holds this address has the flag that asks for huge pages.
    fn asked_for(address: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("/proc is mounted");
        let mut holds = false;
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let first = words.next().unwrap_or_default();
            if let Some((start, end)) = first.split_once('-') {
                let parse = |text| usize::from_str_radix(text, 16).expect("an address");
                holds = (parse(start)..parse(end)).contains(&address);
            } else if holds && first == "VmFlags:" {
                return words.any(|flag| flag == "hg");
            }
        }
        panic!("no mapping holds {address:x}");
    }

    #[test]
    fn huge_pages_are_asked_for_but_not_at_the_beginning() {
        let known = Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        let mut memory: Vec<u8> = Vec::with_capacity(64 << 20);
        ask_for_huge(&mut memory);
        let start = memory.as_ptr() as usize;
        assert!(!asked_for(start));
        assert!(!asked_for(start + HUGE - 1));
        assert_eq!(asked_for(start + 2 * HUGE), known);
        assert_eq!(asked_for(start + (61 << 20)), known);
    }

    /// Resident octets behind a vector's capacity.
    pub(crate) fn resident<T>(memory: &Vec<T>) -> usize {
        let size = rustix::param::page_size();
        let pages = memory.capacity() * size_of::<T>() / size;
        let pages: Vec<usize> = (memory.as_ptr() as usize..)
            .step_by(size)
            .take(pages)
            .collect();
        let pagemap = std::fs::File::open("/proc/self/pagemap").expect("/proc is mounted");
        let present = |page: &usize| {
            let mut entry = [0; 8];
            pagemap
                .read_exact_at(&mut entry, (page / size * 8) as u64)
                .expect("an entry for each page");
            u64::from_ne_bytes(entry) >> 63 == 1
        };
        pages.iter().filter(|page| present(page)).count() * size
    }

    #[test]
    fn what_is_given_back_is_not_resident_and_the_rest_is_as_it_was() {
        let mut memory: Vec<u8> = Vec::with_capacity(64 << 20);
        memory.resize(64 << 20, 7);
        assert_eq!(resident(&memory), 64 << 20);
        memory.truncate(10 << 20);
        give_back(&mut memory, 40 << 20..usize::MAX);
        let left = resident(&memory);
        assert!((40 << 20..44 << 20).contains(&left), "{left}");
        give_back(&mut memory, 0..usize::MAX);
        let left = resident(&memory);
        assert!((10 << 20..16 << 20).contains(&left), "{left}");
        assert!(memory.iter().all(|octet| *octet == 7));
    }

    #[test]
    fn what_has_no_huge_page_of_room_is_left_alone() {
        ask_for_huge(&mut Vec::<u64>::new());
        give_back(&mut Vec::<()>::new(), 0..usize::MAX);
        let mut memory: Vec<u8> = Vec::with_capacity(64 << 20);
        memory.resize(63 << 20, 7);
        // Its last page is the only one with room, and the elements before it are not to be touched.
        give_back(&mut memory, 0..usize::MAX);
        assert!(memory.iter().all(|octet| *octet == 7));
    }
}
