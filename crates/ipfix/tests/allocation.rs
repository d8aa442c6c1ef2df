//! Encoding and decoding allocate nothing for a record, and templates take what they are said to take: counted by the
//! allocator itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
#![expect(
    unsafe_code,
    reason = "a global allocator is an unsafe trait; this one hands everything to the system's"
)]

mod golden;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use golden::{tcp4, tcp6, whole};
use ipfix::{
    BodyEncoder, DecoderSession, Flow, Format, JsonLines, NameTexts, Names, Profile, Pushed,
    Session,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Octets that are allocated.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the trait's contract; counting touches only
// a thread-local cell that needs no allocation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.set(HELD.get().wrapping_add(layout.size()));
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: the pointer came from `alloc` or `realloc` above, that is from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.set(HELD.get().wrapping_sub(layout.size()).wrapping_add(size));
        // SAFETY: as for `dealloc`; the caller keeps `realloc`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// One message of a domain: templates of so many fields each, from this id on.
fn templates(domain: u32, first: u16, count: u16, fields: u16) -> Vec<u8> {
    let mut set = vec![];
    for id in first..first + count {
        set.extend_from_slice(&id.to_be_bytes());
        set.extend_from_slice(&fields.to_be_bytes());
        for number in 0..fields {
            set.extend_from_slice(&(0x4000 + number).to_be_bytes());
            set.extend_from_slice(&[0, 1]);
        }
    }
    let mut message = vec![0, 10];
    message.extend_from_slice(&(20 + set.len() as u16).to_be_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&domain.to_be_bytes());
    message.extend_from_slice(&[0, 2]);
    message.extend_from_slice(&(4 + set.len() as u16).to_be_bytes());
    message.extend_from_slice(&set);
    message
}

fn names() -> Names {
    Names::new(NameTexts {
        source_pod_name: "checkout-7d9f8b6c4-x2x7q".into(),
        source_pod_namespace: "shop".into(),
        destination_service_port_name: "shop/payments:https".into(),
        ..NameTexts::default()
    })
}

#[test]
fn the_allocator_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8]))), 1);
}

#[test]
fn encoding_a_record_allocates_nothing() {
    let names = names();
    let flows = [
        Flow {
            names: Some(&names),
            ..tcp4()
        },
        Flow {
            names: Some(&names),
            ..tcp6()
        },
    ];
    for profile in [
        Profile::standard(None).unwrap(),
        Profile::standard(None).unwrap().with_names(),
        Profile::antrea(),
    ] {
        let format = Arc::new(Format::new(&profile, 1, 65_535).unwrap());
        let mut encoder = BodyEncoder::new(&format);
        // The first record of a message allocates the message; in the antrea profile each family has its own.
        for flow in &flows {
            encoder.push(flow, false);
        }
        let count = allocations(|| {
            for _ in 0..100 {
                for flow in &flows {
                    assert_eq!(encoder.push(flow, false), Pushed::Added);
                }
            }
        });
        assert_eq!(count, 0);
    }
}

#[test]
fn decoding_a_record_and_writing_its_text_allocates_nothing() {
    let format =
        Arc::new(Format::new(&Profile::standard(None).unwrap().with_names(), 1, 65_535).unwrap());
    let names = names();
    let mut session = Session::new(Arc::clone(&format));
    let templates = session.templates(1);
    let mut encoder = BodyEncoder::new(&format);
    for _ in 0..300 {
        encoder.push(
            &Flow {
                names: Some(&names),
                ..tcp4()
            },
            false,
        );
    }
    let message = whole(&encoder.finish()[0], 1);
    let mut decoder = DecoderSession::default();
    let mut lines = JsonLines::new(true);
    decoder.stream(&templates, &mut lines).unwrap();
    // The first message makes room in the text.
    decoder.stream(&message, &mut lines).unwrap();
    lines.clear();
    let count = allocations(|| decoder.stream(&message, &mut lines).unwrap());
    assert_eq!(
        lines.text().iter().filter(|octet| **octet == b'\n').count(),
        300
    );
    assert_eq!(count, 0);
}

#[test]
fn templates_take_what_they_are_said_to_take_and_give_it_back() {
    let mut lines = JsonLines::new(true);
    // The registries are read at their first use.
    ipfix::registry::elements();
    for (domains, count, fields) in [(1, 1_024, 1), (1_024, 1, 1), (1, 15, 1_024), (200, 5, 20)] {
        let messages: Vec<_> = (0..domains)
            .map(|domain| templates(domain, 256, count, fields))
            .collect();
        let mut session = DecoderSession::default();
        let before = HELD.get();
        for message in &messages {
            session.stream(message, &mut lines).unwrap();
        }
        let held = HELD.get() - before;
        let said = session.template_octets();
        assert!(
            held <= said && said <= held * 3,
            "{domains} × {count} × {fields}: {held} held, {said} said"
        );
        session.forget_templates();
        assert_eq!(session.template_octets(), 0);
        assert_eq!(HELD.get(), before);
    }
}
