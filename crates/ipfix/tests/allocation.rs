//! Encoding and decoding allocate nothing for a record: counted by the allocator itself.
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
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the trait's contract; counting touches only
// a thread-local cell that needs no allocation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` or `realloc` above, that is from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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
