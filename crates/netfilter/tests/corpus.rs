//! The fuzz targets' bodies (`netfilter::testing::decoders`) over their corpora and what is near them: every message whole,
//! cut at every octet, and with every octet changed.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::fs;
use std::path::{Path, PathBuf};

use netfilter::testing::decoders;
use netfilter::{Connection, Problem};

/// The golden messages of one kind. What fuzzing finds is kept beside them.
fn corpus(kind: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(kind);
    let entries = fs::read_dir(&directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no corpus for {kind}");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn survives(decoder: fn(&[u8]), kind: &str) {
    for message in corpus(kind) {
        decoder(&message);
        for length in 0..message.len() {
            decoder(&message[..length]);
        }
        let mut changed = message.clone();
        for position in 0..message.len() {
            for value in [
                0,
                1,
                3,
                0x7f,
                0xff,
                message[position] ^ 0x80,
                message[position].wrapping_add(1),
            ] {
                changed[position] = value;
                decoder(&changed);
            }
            changed[position] = message[position];
        }
    }
}

#[test]
fn connections_are_decoded_or_refused() {
    survives(decoders::connection, "connection");
}

#[test]
fn logged_packets_are_decoded_or_refused() {
    survives(decoders::nflog, "nflog");
}

#[test]
fn counts_are_decoded_or_refused() {
    survives(decoders::counts, "counts");
}

#[test]
fn datagrams_are_read_to_their_end() {
    survives(decoders::datagram, "datagram");
}

/// An attribute behind the message that no kernel of today sends.
fn with_attribute(message: &[u8], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut octets = message.to_vec();
    octets.extend((4 + payload.len() as u16).to_ne_bytes());
    octets.extend(kind.to_ne_bytes());
    octets.extend(payload);
    octets
}

#[test]
fn an_unknown_attribute_changes_nothing() {
    for message in corpus("connection") {
        let octets = with_attribute(&message, 0x3ffe, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Connection::decode(&octets), Connection::decode(&message));
    }
}

#[test]
fn a_number_of_the_wrong_size_is_refused_with_its_path() {
    let message = corpus("connection").swap_remove(0);
    let offset = message.len() as u32 + 4;
    for payload in [&[][..], &[1], &[1, 2, 3], &[1, 2, 3, 4, 5], &[0; 8]] {
        let octets = with_attribute(&message, 8, payload);
        let fault = Connection::decode(&octets).unwrap_err();
        assert_eq!(fault.path(), [8]);
        assert_eq!(fault.offset, offset);
        let found = payload.len() as u16;
        assert_eq!(fault.problem, Problem::Size { expected: 4, found });
    }
}

#[test]
fn a_fault_deep_inside_is_named_from_the_outside_in() {
    let message = corpus("connection").swap_remove(0);
    // CTA_TUPLE_REPLY (2) / CTA_TUPLE_IP (1) / CTA_IP_V4_SRC (1) of three octets instead of four.
    let mut inner = vec![7, 0, 1, 0, 10, 0, 0, 0];
    inner.splice(0..0, [12, 0, 1, 0]);
    let fault = Connection::decode(&with_attribute(&message, 2, &inner)).unwrap_err();
    assert_eq!(fault.path(), [2, 1, 1]);
    assert_eq!(fault.offset, message.len() as u32 + 12);
    assert!(
        fault.to_string().starts_with("attribute 2/1/1 at offset"),
        "{fault}"
    );
}

#[test]
fn a_message_without_both_tuples_is_refused() {
    for family in [2, 10] {
        let fault = Connection::decode(&[family, 0, 0, 0]).unwrap_err();
        assert_eq!((fault.path(), fault.problem), (&[1][..], Problem::Missing));
    }
    let fault = Connection::decode(&[7, 0, 0, 0]).unwrap_err();
    assert_eq!(fault.problem, Problem::Family(7));
}
