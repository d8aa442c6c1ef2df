//! What a dump makes of every kind of message and failure, without a kernel.

use std::io;

use super::*;
use crate::filter::Masked;
use crate::request::Request;

const SEQUENCE: u32 = 7;
const ENTRY: &[u8] = include_bytes!("../../tests/data/connection/udp-v4.bin");

/// A datagram of messages: type, flags, payload.
fn datagram(messages: &[(u16, u16, &[u8])]) -> Vec<u8> {
    let mut request = Request::new();
    for (kind, flags, payload) in messages {
        request.raw_message(*kind, *flags, SEQUENCE, payload, |_| {});
    }
    request.octets().to_vec()
}

fn read(state: &mut DumpState, datagram: &[u8]) -> usize {
    Entries::new(datagram, state).count()
}

fn state() -> DumpState {
    DumpState::new(SEQUENCE, Filter::default())
}

const DONE: (u16, u16, &[u8]) = (kind::DONE, 2, &[0; 4]);

fn errno(errno: i32) -> [u8; 4] {
    (-errno).to_ne_bytes()
}

#[test]
fn a_dump_that_ends_with_done_is_complete() {
    let mut state = state();
    assert_eq!(
        read(
            &mut state,
            &datagram(&[(0x100, 2, ENTRY), (0x100, 2, ENTRY)])
        ),
        2
    );
    assert!(!state.over());
    assert_eq!(read(&mut state, &datagram(&[DONE])), 0);
    assert!(state.over());
    let outcome = state.outcome();
    assert!(outcome.complete);
    assert_eq!((outcome.entries, outcome.malformed), (2, 0));
}

#[test]
fn a_malformed_entry_spoils_neither_neighbour_and_makes_the_dump_incomplete() {
    let mut broken = ENTRY.to_vec();
    broken[4] = 0xff;
    broken[5] = 0xff;
    let mut state = state();
    let octets = datagram(&[
        (0x100, 2, ENTRY),
        (0x100, 2, &broken),
        (0x100, 2, ENTRY),
        DONE,
    ]);
    assert_eq!(read(&mut state, &octets), 2);
    let outcome = state.outcome();
    assert_eq!((outcome.entries, outcome.malformed), (2, 1));
    assert_eq!(outcome.first_malformed.unwrap().offset, 4);
    assert!(!outcome.complete);
    assert_eq!(outcome.reason, Some(Incomplete::Malformed));
}

#[test]
fn a_broken_frame_loses_the_rest_of_its_datagram_and_says_so() {
    let mut octets = datagram(&[(0x100, 2, ENTRY), (0x100, 2, ENTRY)]);
    let second = octets.len() / 2;
    octets[second..second + 4].copy_from_slice(&3u32.to_ne_bytes());
    let mut state = state();
    assert_eq!(read(&mut state, &octets), 1);
    read(&mut state, &datagram(&[DONE]));
    assert_eq!(state.outcome().reason, Some(Incomplete::Cut));
}

#[test]
fn an_interrupted_dump_is_incomplete_whichever_way_the_kernel_says_it() {
    let mut flagged = state();
    read(
        &mut flagged,
        &datagram(&[(0x100, 2 | flag::DUMP_INTR, ENTRY), DONE]),
    );
    let mut at_the_end = state();
    read(
        &mut at_the_end,
        &datagram(&[(0x100, 2, ENTRY), (kind::DONE, 2, &errno(4))]),
    );
    for mut state in [flagged, at_the_end] {
        assert!(state.over());
        assert!(state.error.is_none());
        assert_eq!(state.outcome().reason, Some(Incomplete::Interrupted));
    }
}

#[test]
fn an_end_that_stands_alone_says_too_that_the_dump_was_interrupted() {
    for (flags, reason) in [
        (2, None),
        (2 | flag::DUMP_INTR, Some(Incomplete::Interrupted)),
    ] {
        let mut state = state();
        assert!(state.end_alone(&datagram(&[(kind::DONE, flags, &[0; 4])])));
        assert!(state.over());
        let outcome = state.outcome();
        assert_eq!(
            (outcome.complete, outcome.reason),
            (reason.is_none(), reason)
        );
    }
}

#[test]
fn only_an_end_of_this_dump_stands_alone() {
    let mut state = state();
    assert!(!state.end_alone(&datagram(&[(0x100, 2, ENTRY), DONE])));
    assert!(!state.end_alone(&[]));
    let mut other = DumpState::new(SEQUENCE + 1, Filter::default());
    assert!(!other.end_alone(&datagram(&[DONE])));
    assert!(!state.over() && !other.over());
}

#[test]
fn an_overrun_leaves_the_dump_going_but_incomplete() {
    let mut state = state();
    state.not_received(NotReceived::Overrun);
    assert!(!state.over());
    read(&mut state, &datagram(&[(0x100, 2, ENTRY), DONE]));
    let outcome = state.outcome();
    assert_eq!(outcome.entries, 1);
    assert_eq!(outcome.reason, Some(Incomplete::Overrun));
}

#[test]
fn a_cut_datagram_is_noticed_by_its_real_length() {
    let mut state = state();
    state.received(70_000, 65_536);
    read(&mut state, &datagram(&[DONE]));
    assert_eq!(state.outcome().reason, Some(Incomplete::Cut));
}

#[test]
fn no_progress_a_cancelled_and_a_failed_receive_end_the_dump() {
    for (reason, incomplete) in [
        (NotReceived::NoProgress, Incomplete::NoProgress),
        (NotReceived::Cancelled, Incomplete::Cancelled),
        (
            NotReceived::Failed(io::Error::from_raw_os_error(9)),
            Incomplete::Failed,
        ),
    ] {
        let mut state = state();
        state.not_received(reason);
        assert!(state.over() && !state.ended);
        assert_eq!(state.error.is_some(), incomplete == Incomplete::Failed);
        assert_eq!(state.outcome().reason, Some(incomplete));
    }
}

#[test]
fn a_refusal_is_an_error_and_its_meaning_depends_on_the_request() {
    let refused = |errno_number: i32, filter| {
        let mut state = DumpState::new(SEQUENCE, filter);
        read(
            &mut state,
            &datagram(&[(kind::ERROR, 0, &errno(errno_number))]),
        );
        assert_eq!(state.outcome().reason, Some(Incomplete::Failed));
        state.error.take().unwrap().code()
    };
    let filtered = Filter {
        mark: Some(Masked { value: 1, mask: 1 }),
        ..Filter::default()
    };
    assert_eq!(refused(1, filtered), "ERR_PERMISSION");
    assert_eq!(refused(22, Filter::default()), "ERR_NO_CONNTRACK");
    assert_eq!(refused(22, filtered), "ERR_NETLINK");
}

#[test]
fn answers_to_other_requests_are_passed_over() {
    let mut state = DumpState::new(SEQUENCE + 1, Filter::default());
    assert_eq!(read(&mut state, &datagram(&[(0x100, 2, ENTRY), DONE])), 0);
    assert!(!state.over());
}

#[test]
fn entries_that_the_kernel_did_not_filter_are_filtered_here() {
    let filter = Filter {
        zone: Some(9),
        ..Filter::default()
    };
    let mut state = DumpState::new(SEQUENCE, filter);
    assert_eq!(read(&mut state, &datagram(&[(0x100, 2, ENTRY), DONE])), 0);
    let outcome = state.outcome();
    assert_eq!((outcome.entries, outcome.unwanted), (0, 1));
    assert!(outcome.complete);
}

#[test]
fn a_dump_left_early_is_incomplete() {
    let mut state = state();
    read(&mut state, &datagram(&[(0x100, 2, ENTRY)]));
    assert_eq!(state.outcome().reason, Some(Incomplete::Abandoned));
}

#[test]
fn a_datagram_that_just_fits_is_whole() {
    let mut state = state();
    state.received(65_536, 65_536);
    read(&mut state, &datagram(&[DONE]));
    let outcome = state.outcome();
    assert!(outcome.complete);
    assert_eq!(outcome.octets, 65_536);
}
