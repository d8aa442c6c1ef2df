//! The rule without a kernel: entries made by hand, and the timeouts that the kernel documents as its defaults
//! (Documentation/networking/nf_conntrack-sysctl.rst).

use super::*;
use crate::tuple::Tuple;

const HOUR: u32 = 3600;
const ESTABLISHED: u32 = 5 * 24 * HOUR;

fn defaults() -> Timeouts {
    let some = |seconds: u32| Some(seconds);
    Timeouts {
        tcp: [
            None,
            Some(120),
            Some(60),
            Some(ESTABLISHED),
            Some(120),
            Some(60),
            Some(30),
            Some(120),
            Some(10),
        ],
        tcp_cuts: [300, 300].map(some),
        sctp: [
            None,
            Some(10),
            Some(3),
            Some(4),
            Some(210),
            Some(5),
            Some(6),
            Some(7),
            Some(30),
        ],
        dccp: [
            None,
            Some(240),
            Some(480),
            Some(481),
            Some(43_200),
            Some(64),
            Some(65),
            Some(241),
        ],
        udp: [30, 120].map(some),
        gre: [31, 180].map(some),
        icmp: Some(32),
        icmpv6: Some(33),
        generic: Some(600),
        policies: Policies::default(),
    }
}

fn entry(protocol: u8, state: ProtocolState, status: Status, left: u32) -> Connection<'static> {
    let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let mut connection = Connection::new(
        Tuple::new(a, b, protocol, 1000, 2000),
        Tuple::new(b, a, protocol, 2000, 1000),
    );
    connection.protocol_state = state;
    connection.status = status;
    connection.timeout = Some(left);
    connection
}

const PLAIN: Status = Status::CONFIRMED;

fn since(protocol: u8, state: ProtocolState, status: Status, left: u32) -> Option<u32> {
    defaults().since_last_packet(&entry(protocol, state, status, left))
}

fn tcp(state: u8, left: u32) -> Option<u32> {
    since(6, ProtocolState::Tcp(state), PLAIN, left)
}

#[test]
fn every_state_counts_from_its_own_timeout() {
    let tcp = [
        (1, 120),
        (2, 60),
        (3, ESTABLISHED),
        (4, 120),
        (5, 60),
        (6, 30),
        (7, 120),
        (8, 10),
    ];
    let sctp = [
        (1, 10),
        (2, 3),
        (3, 4),
        (4, 210),
        (5, 5),
        (6, 6),
        (7, 7),
        (8, 30),
    ];
    let dccp = [
        (1, 240),
        (2, 480),
        (3, 481),
        (4, 43_200),
        (5, 64),
        (6, 65),
        (7, 241),
    ];
    let of_tcp = tcp.map(|(state, whole)| (6, ProtocolState::Tcp(state), whole));
    let of_sctp = sctp.map(|(state, whole)| (132, ProtocolState::Sctp(state), whole));
    let of_dccp = dccp.map(|(state, whole)| (33, ProtocolState::Dccp(state), whole));
    for (protocol, state, whole) in of_tcp.into_iter().chain(of_sctp).chain(of_dccp) {
        assert_eq!(since(protocol, state, PLAIN, whole), Some(0), "{state:?}");
        assert_eq!(
            since(protocol, state, PLAIN, whole - 2),
            Some(2),
            "{state:?}"
        );
    }
}

#[test]
fn protocols_without_states_count_by_whether_they_are_assured() {
    for (protocol, status, whole) in [
        (17, PLAIN, 30),
        (17, PLAIN | Status::SEEN_REPLY, 30),
        (17, PLAIN | Status::SEEN_REPLY | Status::ASSURED, 120),
        (136, PLAIN, 30),
        (136, PLAIN | Status::ASSURED, 120),
        (47, PLAIN, 31),
        (47, PLAIN | Status::ASSURED, 180),
        (1, PLAIN | Status::SEEN_REPLY, 32),
        (58, PLAIN, 33),
        (253, PLAIN, 600),
    ] {
        let state = ProtocolState::None;
        assert_eq!(
            since(protocol, state, status, whole - 5),
            Some(5),
            "{protocol}"
        );
    }
}

#[test]
fn a_protocol_of_which_the_kernel_knows_no_ports_is_tracked_like_any_unknown_one() {
    for protocol in [33, 136] {
        let mut entry = entry(protocol, ProtocolState::None, PLAIN, 590);
        entry.original.source_port = 0;
        assert_eq!(defaults().since_last_packet(&entry), Some(10));
    }
}

#[test]
fn a_connection_whose_timeout_may_have_been_cut_is_taken_for_one() {
    assert_eq!(tcp(3, 299), Some(1));
    assert_eq!(tcp(3, 300), Some(0));
    assert_eq!(tcp(3, 301), Some(ESTABLISHED - 301));
    // After a reset that left the state.
    assert_eq!(tcp(3, 10), Some(0));
    assert_eq!(tcp(3, 8), Some(2));
    assert_eq!(tcp(3, 11), Some(289));
    // Only what is longer is cut, and only an established one is left by a reset.
    assert_eq!(tcp(4, 118), Some(2));
    assert_eq!(tcp(4, 8), Some(112));
    let longer = Timeouts {
        tcp_cuts: [Some(100), Some(50)],
        ..defaults()
    };
    let state = ProtocolState::Tcp(4);
    let of = |left| longer.since_last_packet(&entry(6, state, PLAIN, left));
    assert_eq!([of(45), of(60), of(110)], [Some(5), Some(40), Some(10)]);
}

#[test]
fn what_is_open_is_not_guessed() {
    // More than the state's.
    assert_eq!(tcp(7, 121), None);
    assert_eq!(since(17, ProtocolState::None, PLAIN, 31), None);
    // Unknown states, and one without a setting.
    for state in [0, 9, 10, 255] {
        assert_eq!(tcp(state, 1), None);
    }
    assert_eq!(since(6, ProtocolState::None, PLAIN, 1), None);
    assert_eq!(since(132, ProtocolState::Sctp(9), PLAIN, 1), None);
    let status = [
        Status::FIXED_TIMEOUT,
        Status::OFFLOAD,
        Status::HW_OFFLOAD,
        Status::NAT_CLASH,
    ];
    for status in status {
        assert_eq!(
            since(17, ProtocolState::None, PLAIN | status, 20),
            None,
            "{status:?}"
        );
        assert_eq!(
            since(6, ProtocolState::Tcp(7), PLAIN | status, 20),
            None,
            "{status:?}"
        );
    }
    assert_eq!(
        since(47, ProtocolState::None, PLAIN | Status::EXPECTED, 20),
        None
    );

    let mut entry = entry(17, ProtocolState::None, PLAIN, 20);
    assert_eq!(defaults().since_last_packet(&entry), Some(10));
    assert_eq!(Timeouts::default().since_last_packet(&entry), None);
    entry.helper = Some("sip");
    assert_eq!(defaults().since_last_packet(&entry), None);
    entry.helper = None;
    entry.timeout = None;
    assert_eq!(defaults().since_last_packet(&entry), None);
}
