//! Nothing that the other side sends can panic, grow without bound or break a line of text: random octets, real
//! messages with octets changed, and the corpus of the fuzz targets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

#[path = "hostile/checks.rs"]
mod checks;
mod golden;

use std::path::Path;
use std::sync::Arc;

use golden::{octets, tcp4, tcp6};
use ipfix::{BodyEncoder, Denied, Flow, Format, Profile, Session, Statistics};
use proptest::prelude::*;

/// Templates, options and flows of both families in the standard profile: what a change has much to break in.
fn messages(max: usize) -> Vec<u8> {
    let fields = [
        "sourceIPv4Address",
        "sourceIPv6Address",
        "octetDeltaCount",
        "mark",
        "logPrefix",
        "flowEndMilliseconds",
    ];
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    let format = Arc::new(Format::new(&Profile::standard(Some(&fields)).unwrap(), 1, max).unwrap());
    let mut session = Session::new(Arc::clone(&format));
    let mut octets = session.templates(1);
    octets.extend(session.options(&Statistics::default(), 2));
    let mut encoder = BodyEncoder::new(&format);
    for prefix in ["", "DROP ", "ä\"\\\u{1}"] {
        for flow in [tcp4(), tcp6()] {
            encoder.push(&flow, true);
            encoder.push(
                &Flow {
                    denied: Some(Denied {
                        firewall_event: 3,
                        prefix,
                    }),
                    ..flow
                },
                true,
            );
        }
    }
    for body in encoder.finish() {
        octets.extend(session.header(body.sets.len(), body.records, 3));
        octets.extend_from_slice(&body.sets);
    }
    octets
}

/// Each message after its length, as [`checks::datagram`] takes them.
fn as_datagrams(mut stream: &[u8]) -> Vec<u8> {
    let mut datagrams = Vec::new();
    while stream.len() >= 4 {
        let len = usize::from(u16::from_be_bytes([stream[2], stream[3]])).clamp(4, stream.len());
        datagrams.extend_from_slice(&(len as u16).to_be_bytes());
        datagrams.extend_from_slice(&stream[..len]);
        stream = &stream[len..];
    }
    datagrams
}

fn change(octets: &mut [u8], changes: &[(prop::sample::Index, u8)]) {
    for (at, value) in changes {
        let at = at.index(octets.len());
        octets[at] = *value;
    }
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let value = prop_oneof![
        Just(0_u8),
        Just(1),
        Just(2),
        Just(3),
        Just(0x80),
        Just(0xff),
        any::<u8>()
    ];
    prop::collection::vec((any::<prop::sample::Index>(), value), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_octets_are_survived(data in prop::collection::vec(any::<u8>(), 0..300)) {
        checks::stream(&data);
        checks::datagram(&data);
    }

    #[test]
    fn random_sets_in_a_sound_message_are_survived(
        sets in prop::collection::vec((prop_oneof![Just(2_u16), Just(3), Just(256), Just(257)], prop::collection::vec(prop_oneof![3 => 0..4_u8, 1 => any::<u8>()], 0..60)), 0..8),
    ) {
        let mut body = Vec::new();
        for (id, octets) in &sets {
            body.extend_from_slice(&id.to_be_bytes());
            body.extend_from_slice(&(octets.len() as u16 + 4).to_be_bytes());
            body.extend_from_slice(octets);
        }
        let mut data = vec![7, 0, 10];
        data.extend_from_slice(&(body.len() as u16 + 16).to_be_bytes());
        data.extend_from_slice(&[0; 12]);
        data.extend_from_slice(&body);
        checks::stream(&data);
        checks::datagram(&as_datagrams(&data[1..]));
    }

    #[test]
    fn changed_messages_are_survived(max in 200..600_usize, first: u8, changes in changes(), end: prop::sample::Index) {
        let mut octets = messages(max);
        change(&mut octets, &changes);
        let mut datagrams = as_datagrams(&octets);
        change(&mut datagrams, &changes);
        checks::datagram(&datagrams);
        octets.truncate(end.index(octets.len()) + 1);
        octets.insert(0, first);
        checks::stream(&octets);
    }
}

#[test]
fn the_corpus_of_the_fuzz_targets_is_survived() {
    for (target, check) in [
        ("stream", checks::stream as fn(&[u8])),
        ("datagram", checks::datagram),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fuzz/corpus")
            .join(target);
        let files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(files.len() >= 4, "{target}: {} files", files.len());
        for file in files {
            check(&std::fs::read(file).unwrap());
        }
    }
}

#[test]
fn a_template_of_many_fields_without_octets_makes_no_text() {
    // 31 strings of no octets beside one octet of data: a name each would be most of 1,000 octets from one.
    let mut data = octets("00 000a 00ac 00000000 00000000 00000000  0002 0088 0100 0020");
    for _ in 0..31 {
        data.extend(octets("0052 0000"));
    }
    data.extend(octets(
        "0004 0001  0100 0014 01010101010101010101010101010101",
    ));
    checks::stream(&data);
}
