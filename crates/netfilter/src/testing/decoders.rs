//! What each decoder promises for any octets whatever, one function a decoder: the bodies of the fuzz targets, which
//! `tests/corpus.rs` also runs over the golden messages.

use crate::connection::Connection;
use crate::dump::{DumpState, Entries};
use crate::events::{EventCounts, Events};
use crate::filter::Filter;
use crate::malformed::Malformed;
use crate::nflog::{LoggedPacket, LoggedPackets, NflogCounts};
use crate::stats::Counts;

/// A fault lies inside the message, and has words.
fn fault_is_inside(fault: Malformed, octets: &[u8]) {
    assert!(fault.offset as usize <= octets.len(), "{fault}");
    assert!(fault.to_string().contains("offset"));
}

/// [`Connection::decode`]: a fault inside the message, or a connection whose texts are inside it.
pub fn connection(octets: &[u8]) {
    match Connection::decode(octets) {
        Err(fault) => fault_is_inside(fault, octets),
        Ok(connection) => {
            let _ = connection.master();
            assert!(Filter::default().matches(&connection));
            assert!(
                connection
                    .helper
                    .is_none_or(|name| name.len() < octets.len())
            );
        }
    }
}

/// [`LoggedPacket::decode`], and the headers inside.
pub fn nflog(octets: &[u8]) {
    match LoggedPacket::decode(octets) {
        Err(fault) => fault_is_inside(fault, octets),
        Ok(packet) => assert!(packet.prefix.len() < octets.len()),
    }
}

/// [`Counts::decode`].
pub fn counts(octets: &[u8]) {
    if let Err(fault) = Counts::decode(octets) {
        fault_is_inside(fault, octets);
    }
}

/// A whole datagram, as a dump, an event socket and an NFLOG socket read it: each ends, and accounts for every message.
pub fn datagram(octets: &[u8]) {
    let most = octets.len() as u64 / 16 + 1;
    // The sequence number of captured dumps.
    let mut dump = DumpState::new(1, Filter::default());
    let entries = Entries::new(octets, &mut dump).count() as u64;
    let outcome = dump.outcome();
    assert_eq!(outcome.entries, entries);
    assert!(entries + outcome.malformed <= most);
    assert_eq!(outcome.malformed == 0, outcome.first_malformed.is_none());
    assert!(!outcome.complete || outcome.malformed == 0);

    let mut counts = EventCounts::default();
    let events = Events::new(octets, &mut counts).count() as u64;
    assert_eq!(events, counts.events);
    assert!(events + counts.malformed <= most);

    let mut counts = NflogCounts::default();
    let packets = LoggedPackets::new(octets, &mut counts).count() as u64;
    assert_eq!(packets, counts.packets);
    assert!(packets + counts.malformed <= most);
}
