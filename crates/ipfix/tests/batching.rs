//! How flows fill messages: the record that crosses the maximum moves on, what fits no message is told apart, nothing
//! is lost, and no record allocates.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod golden;

use std::sync::Arc;

use golden::{tcp4, tcp6, whole};
use ipfix::{BodyEncoder, Counters, Denied, Flow, Format, FormatError, Profile, Pushed, Session};

fn format(max: usize) -> Arc<Format> {
    Arc::new(Format::new(&Profile::standard(None).unwrap(), 1, max).unwrap())
}

// An IPv4 record is 110 octets, so that this holds four: 16 + 4 + 4 * 110.
const FOUR: usize = 460;

#[test]
fn the_record_that_overflows_begins_the_next_message() {
    let mut encoder = BodyEncoder::new(&format(FOUR));
    for _ in 0..9 {
        assert_eq!(encoder.push(&tcp4(), true), Pushed::Added);
    }
    let bodies = encoder.finish();
    let shape: Vec<_> = bodies
        .iter()
        .map(|body| (16 + body.sets.len(), body.records))
        .collect();
    assert_eq!(shape, [(FOUR, 4), (FOUR, 4), (130, 1)]);
    // All records are the same, and so are the sets they make.
    assert_eq!(bodies[0].sets, bodies[1].sets);
    assert_eq!(bodies[2].sets[4..], bodies[0].sets[4..114]);
    assert!(encoder.finish().is_empty());
}

#[test]
fn where_no_message_may_be_started_the_open_one_is_left_as_it_was() {
    let mut encoder = BodyEncoder::new(&format(FOUR));
    for _ in 0..4 {
        assert_eq!(encoder.push(&tcp4(), false), Pushed::Added);
    }
    assert_eq!(encoder.push(&tcp4(), false), Pushed::Full);
    // One of another template would have begun a set: that is taken back too.
    assert_eq!(encoder.push(&tcp6(), false), Pushed::Full);
    let full = encoder.finish();
    for _ in 0..4 {
        encoder.push(&tcp4(), false);
    }
    assert_eq!(full, encoder.finish());
}

#[test]
fn a_full_message_takes_a_shorter_record_after_a_longer_was_refused() {
    let mut encoder = BodyEncoder::new(&format(FOUR));
    for _ in 0..3 {
        assert_eq!(encoder.push(&tcp4(), false), Pushed::Added);
    }
    assert_eq!(encoder.push(&tcp6(), false), Pushed::Full);
    assert_eq!(encoder.push(&tcp4(), false), Pushed::Added);
    assert_eq!(encoder.finish()[0].sets.len() + 16, FOUR);
}

#[test]
fn a_record_that_fits_no_message_is_too_large_and_the_rest_goes_on() {
    let prefix = "p".repeat(400);
    let large = Flow {
        denied: Some(Denied {
            firewall_event: 3,
            prefix: &prefix,
        }),
        ..tcp4()
    };
    let mut encoder = BodyEncoder::new(&format(FOUR));
    assert_eq!(encoder.push(&large, true), Pushed::TooLarge);
    assert_eq!(encoder.push(&tcp4(), true), Pushed::Added);
    assert_eq!(encoder.push(&large, true), Pushed::TooLarge);
    assert_eq!(encoder.push(&large, false), Pushed::TooLarge);
    assert_eq!(encoder.push(&tcp4(), true), Pushed::Added);
    let bodies = encoder.finish();
    assert_eq!(bodies.len(), 1);
    assert_eq!(
        (bodies[0].records, bodies[0].sets.len() + 16),
        (2, 16 + 4 + 220)
    );
    assert_eq!(bodies[0].sets[..4], [1, 0, 0, 224]);
}

#[test]
fn a_message_can_be_filled_to_its_last_octet() {
    // 65,535 - 16 - 4 - 111 - 3 octets of prefix.
    let prefix = "p".repeat(65_401);
    let denied = |prefix| Flow {
        denied: Some(Denied {
            firewall_event: 3,
            prefix,
        }),
        ..tcp4()
    };
    let mut encoder = BodyEncoder::new(&format(65_535));
    assert_eq!(encoder.push(&denied(&prefix), false), Pushed::Added);
    let body = encoder.finish().remove(0);
    assert_eq!(body.sets.len(), 65_535 - 16);
    assert_eq!(whole(&body, 1)[2..4], [0xff, 0xff]);
    let longer = prefix.clone() + "p";
    assert_eq!(encoder.push(&denied(&longer), true), Pushed::TooLarge);
}

#[test]
fn a_body_sums_the_deltas_of_its_records() {
    let flow = Flow {
        deltas: [
            Counters {
                packets: u64::MAX,
                octets: 5,
            },
            Counters {
                packets: 2,
                octets: 7,
            },
        ],
        ..tcp4()
    };
    let mut encoder = BodyEncoder::new(&format(FOUR));
    encoder.push(&tcp4(), false);
    encoder.push(&tcp6(), false);
    let body = encoder.finish().remove(0);
    assert_eq!(
        (body.records, body.packets, body.total_octets),
        (2, 10, 2 * 813)
    );
    encoder.push(&flow, false);
    let body = encoder.finish().remove(0);
    assert_eq!((body.packets, body.total_octets), (u64::MAX, 12));
}

#[test]
fn a_maximum_that_a_template_or_record_does_not_fit_is_refused() {
    let profile = Profile::standard(None).unwrap();
    // The longest: 24 fields and 6 enterprise numbers of IPv6, translated: template 4 + 96 + 24, record 134 + 36.
    assert!(Format::new(&profile, 1, 190).is_ok());
    let error = Format::new(&profile, 1, 189).unwrap_err();
    assert_eq!(
        error,
        FormatError::MessageSize {
            size: 189,
            least: 190
        }
    );
    assert!(Format::new(&profile, 1, 65_536).is_err());
    assert!(Format::new(&Profile::antrea(), 1, 320).is_ok());
    assert!(Format::new(&Profile::antrea(), 1, 319).is_err());
}

#[test]
fn the_length_in_the_header_is_the_octets_that_are_sent() {
    let format = format(512);
    let mut session = Session::new(Arc::clone(&format));
    let mut encoder = BodyEncoder::new(&format);
    for flow in [tcp4(), tcp6(), tcp6(), tcp6()] {
        encoder.push(&flow, true);
    }
    for body in encoder.finish() {
        let header = session.header(body.sets.len(), body.records, 1);
        assert_eq!(
            usize::from(u16::from_be_bytes([header[2], header[3]])),
            header.len() + body.sets.len()
        );
    }
}
