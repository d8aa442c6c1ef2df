//! The program, run by this kernel, beside what the decoder reads of the same messages.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use super::*;
use crate::attribute::Attributes;
use crate::connection::Connection;
use crate::os::attach_filter;
use crate::request::Request;
use crate::state::ProtocolState;

/// Two sockets, one of which has the program attached: the kernel runs it the same way for every kind of socket.
struct Judge {
    near: OwnedFd,
    far: OwnedFd,
}

impl Judge {
    fn of(updates: Updates) -> Self {
        let (family, kind) = (AddressFamily::UNIX, SocketType::DGRAM);
        let (near, far) = socketpair(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        attach_filter(far.as_fd(), &updates.program().unwrap()).unwrap();
        Self { near, far }
    }

    fn keeps(&self, datagram: &[u8]) -> bool {
        send(&self.near, datagram, SendFlags::empty()).unwrap();
        let mut buffer = [0; 4096];
        match recv(&self.far, &mut buffer, RecvFlags::DONTWAIT) {
            Ok((length, _)) => {
                assert_eq!(buffer.get(..length), Some(datagram), "kept whole");
                true
            }
            Err(errno) => {
                assert_eq!(errno, Errno::AGAIN);
                false
            }
        }
    }
}

const FILTERS: [Updates; 2] = [Updates::Closing, Updates::ClosingOrMarked];

fn message(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let mut request = Request::new();
    request.raw_message(kind, flags, 0, payload, |_| {});
    request.octets().to_vec()
}

fn golden(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/connection");
    fs::read(directory.join(name)).unwrap()
}

fn corpus() -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/connection");
    let files = fs::read_dir(directory).unwrap();
    files
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .collect()
}

/// Whether an UPDATE with this payload is wanted, by the decoder; `None` where it cannot be read.
fn wanted(updates: Updates, payload: &[u8]) -> Option<bool> {
    let connection = Connection::decode(payload).ok()?;
    let over = match connection.protocol_state {
        ProtocolState::Tcp(state) => state == 7 || state == 8,
        ProtocolState::Sctp(state) => state == 1,
        ProtocolState::Dccp(_) | ProtocolState::None => false,
    };
    let marked = types(&payload[NFGENMSG..]).contains(&cta::MARK);
    Some(over || updates == Updates::ClosingOrMarked && marked)
}

fn types(list: &[u8]) -> Vec<u16> {
    let mut walk = Attributes::new(list);
    let mut types = Vec::new();
    while let Ok(Some(attribute)) = walk.next() {
        types.push(attribute.kind);
    }
    types
}

/// The kernel writes one CTA_PROTOINFO, with one protocol and one state inside. Where a changed octet makes a second one,
/// the kernel's walk takes the first and the decoder's the last.
fn ambiguous(list: &[u8]) -> bool {
    let inside = |list: &[u8], wanted: Option<u16>| {
        let mut walk = Attributes::new(list);
        let mut found = Vec::new();
        while let Ok(Some(attribute)) = walk.next() {
            if wanted.is_none_or(|wanted| wanted == attribute.kind) {
                found.push(attribute.payload.to_vec());
            }
        }
        found
    };
    let infos = inside(list, Some(cta::PROTOINFO));
    let protocols: Vec<_> = infos.iter().flat_map(|info| inside(info, None)).collect();
    let states = protocols.iter().flat_map(|info| inside(info, Some(1)));
    infos.len() > 1 || protocols.len() > 1 || states.count() > 1
}

#[test]
fn the_kernel_keeps_of_every_update_and_its_neighbours_what_the_decoder_wants() {
    for updates in FILTERS {
        let judge = Judge::of(updates);
        let (mut kept, mut dropped) = (0, 0);
        for original in corpus() {
            for position in 0..original.len() {
                for change in [0, 1, 2, 3, 4, 6, 0x0f, 0x40, 0x80, 0xff] {
                    let mut payload = original.clone();
                    payload[position] ^= change;
                    let Some(wanted) = wanted(updates, &payload) else {
                        continue;
                    };
                    if ambiguous(&payload[NFGENMSG..]) {
                        continue;
                    }
                    let keeps = judge.keeps(&message(kind::CT_NEW, 0, &payload));
                    assert_eq!(keeps, wanted, "{updates:?} of {payload:?}");
                    *if keeps { &mut kept } else { &mut dropped } += 1;
                }
            }
        }
        assert!(kept > 1000 && dropped > 1000, "{kept} {dropped}");
    }
}

#[test]
fn whatever_is_no_update_is_kept() {
    for updates in FILTERS {
        let judge = Judge::of(updates);
        for payload in corpus() {
            for (kind, flags) in [
                (kind::CT_NEW, flag::CREATE | flag::EXCL),
                (kind::CT_NEW, flag::CREATE),
                (kind::CT_NEW, flag::EXCL),
                (kind::CT_DELETE, 0),
                (kind::ERROR, 0),
                (kind::OVERRUN, 0),
                (kind::CT_STATS, 0),
            ] {
                assert!(judge.keeps(&message(kind, flags, &payload)));
            }
        }
        assert!(judge.keeps(&message(kind::DONE, 0, &[0; 4])));
    }
}

/// `payload` with this CTA_PROTOINFO instead of its own.
fn with_state(payload: &[u8], protocol: u16, state: u8) -> Vec<u8> {
    let (head, list) = payload.split_at(NFGENMSG);
    let mut request = Request::new();
    request.raw_message(0, 0, 0, head, |request| {
        let mut list = Attributes::new(list);
        while let Some(attribute) = list.next().unwrap() {
            if !matches!(attribute.kind, cta::PROTOINFO | cta::MARK) {
                request.attribute(attribute.kind, attribute.payload);
            }
        }
        request.nested(cta::PROTOINFO, |info| {
            info.nested(protocol, |info| {
                info.attribute(2, &[7; 4]);
                info.u8(1, state);
            });
        });
    });
    request.octets()[HEADER..].to_vec()
}

#[test]
fn the_states_that_end_a_connection_are_kept_and_no_other() {
    let payload = golden("sctp-v4-established.bin");
    for updates in FILTERS {
        let judge = Judge::of(updates);
        for protocol in 0..5 {
            let kept: Vec<u8> = (0..=u8::MAX)
                .filter(|&state| {
                    let payload = with_state(&payload, protocol, state);
                    judge.keeps(&message(kind::CT_NEW, 0, &payload))
                })
                .collect();
            let expected: &[u8] = match protocol {
                1 => &[7, 8],
                3 => &[1],
                _ => &[],
            };
            assert_eq!(kept, expected, "protocol {protocol}");
        }
    }
}

#[test]
fn where_all_or_none_are_wanted_there_is_nothing_to_run() {
    assert!(Updates::None.program().is_none());
    assert!(Updates::All.program().is_none());
}
