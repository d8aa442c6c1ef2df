//! Messages as the kernel sends them, undecoded: for golden files, and for measuring what decoding adds.

use std::time::Duration;

use crate::channel::{BUFFER, Channel, SocketOptions};
use crate::connection::Connection;
use crate::dump::{DumpOutcome, DumpState, Entries};
use crate::events::EventSocket;
use crate::filter::Filter;
use crate::listener::{Heard, Listener};
use crate::message::{Messages, flag, kind};
use crate::nflog::NflogSocket;
use crate::request::{Head, Request};
use crate::socket::ConntrackSocket;

/// One whole dump through the decoder, each entry as `map` makes it, and what the dump came to.
pub fn dump<T>(
    filter: &Filter,
    mut map: impl FnMut(&Connection<'_>) -> T,
) -> (Vec<T>, DumpOutcome) {
    let mut socket = ConntrackSocket::open().expect("a conntrack socket opens");
    let mut dump = socket.dump(filter).expect("a request leaves");
    let mut found = Vec::new();
    while let Some(entries) = dump.next_buffer().expect("the kernel answers") {
        found.extend(entries.map(|entry| map(&entry)));
    }
    (found, dump.finish())
}

/// A netlink message without its header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawMessage {
    /// The header's type.
    pub kind: u16,
    /// The header's flags.
    pub flags: u16,
    /// What follows the header.
    pub payload: Vec<u8>,
}

/// The datagram in which a dump would bring these messages, each without its header.
#[must_use]
pub fn datagram<'a>(messages: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    const MULTI: u16 = 2;
    let mut request = Request::new();
    for message in messages {
        request.raw_message(kind::CT_NEW, MULTI, 1, message, |_| {});
    }
    request.octets().to_vec()
}

/// Reads a datagram as a dump reads it, without a socket.
pub fn decode(datagram: &[u8], each: impl FnMut(Connection<'_>)) -> DumpOutcome {
    let mut state = DumpState::new(1, Filter::default());
    Entries::new(datagram, &mut state).for_each(each);
    state.outcome()
}

/// Sends one request in the calling thread's namespace and hands each datagram of the answer to `each`, until it says
/// that it was the last.
fn ask(request_kind: u16, flags: u16, mut each: impl FnMut(&[u8]) -> bool) {
    let operation = "capture messages";
    let channel =
        Channel::open(operation, SocketOptions::default()).expect("a conntrack socket opens");
    let mut request = Request::new();
    let head = Head {
        kind: request_kind,
        flags: flag::REQUEST | flags,
        sequence: 1,
        family: 0,
        resource: 0,
    };
    request.message(head, |_| {});
    channel
        .send(operation, request.octets())
        .expect("a request leaves");
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = channel.receive(&mut buffer).expect("the kernel answers");
        if each(buffer.get(..length).expect("a whole datagram")) {
            return;
        }
    }
}

/// Hands each message of a datagram to `each`; true after the end of a dump.
fn messages(datagram: &[u8], mut each: impl FnMut(u16, u16, &[u8])) -> bool {
    let mut messages = Messages::new(datagram);
    while let Some(message) = messages.next().expect("a whole message") {
        match message.kind {
            kind::DONE => return true,
            kind::ERROR => panic!("the kernel refuses: errno {}", message.errno()),
            _ => each(message.kind, message.flags, message.payload),
        }
    }
    false
}

fn receive(mut each: impl FnMut(u16, u16, &[u8])) {
    ask(kind::CT_GET, flag::DUMP, |datagram| {
        messages(datagram, &mut each)
    });
}

/// Dumps every entry: the datagrams as they come, headers included.
#[must_use]
pub fn raw_datagrams() -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    ask(kind::CT_GET, flag::DUMP, |datagram| {
        datagrams.push(datagram.to_vec());
        messages(datagram, |_, _, _| {})
    });
    datagrams
}

/// The answer to a request for counts, undecoded.
#[must_use]
pub fn raw_counts() -> RawMessage {
    let mut found = None;
    ask(kind::CT_STATS, 0, |datagram| {
        messages(datagram, |kind, flags, payload| {
            found = Some(RawMessage {
                kind,
                flags,
                payload: payload.to_vec(),
            });
        });
        true
    });
    found.expect("the kernel counts")
}

/// Dumps every entry without looking into any: the messages and their octets. What a dump costs at least.
#[must_use]
pub fn count_only() -> (u64, u64) {
    let (mut messages, mut octets) = (0, 0);
    receive(|_, _, payload| {
        messages += 1;
        octets += payload.len() as u64;
    });
    (messages, octets)
}

/// Dumps every entry, undecoded.
#[must_use]
pub fn raw_dump() -> Vec<RawMessage> {
    let mut messages = Vec::new();
    receive(|kind, flags, payload| {
        messages.push(RawMessage {
            kind,
            flags,
            payload: payload.to_vec(),
        });
    });
    messages
}

/// The events that wait in a socket, undecoded.
pub fn raw_events(socket: &mut EventSocket) -> Vec<RawMessage> {
    waiting(&mut socket.listener)
}

/// The logged packets that wait in a socket, undecoded.
pub fn raw_packets(socket: &mut NflogSocket) -> Vec<RawMessage> {
    waiting(&mut socket.listener)
}

fn waiting(listener: &mut Listener) -> Vec<RawMessage> {
    let mut found = Vec::new();
    while let Heard::Datagram(length) = listener
        .hear(Some(Duration::from_millis(300)))
        .expect("the socket is read")
    {
        let mut messages = Messages::new(listener.datagram(length));
        while let Some(message) = messages.next().expect("a whole message") {
            found.push(RawMessage {
                kind: message.kind,
                flags: message.flags,
                payload: message.payload.to_vec(),
            });
        }
    }
    found
}
