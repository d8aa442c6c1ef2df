//! Whole dumps of a running kernel's table, and dumps that are left, cancelled or refused.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use netfilter::testing::{
    Entry, Maker, dump, in_namespace, in_tracked_namespace, numbered, raw_dump,
};
use netfilter::{ConntrackSocket, Counts, Filter, Incomplete, SocketOptions};

fn make(count: u32) {
    let entries = (0..count).map(|number| Entry::new(numbered(number)));
    Maker::open().unwrap().create(entries).unwrap();
}

#[test]
fn a_dump_of_a_quiet_table_brings_every_entry_once() {
    in_namespace(|| {
        make(20_000);
        let (sources, outcome) = dump(&Filter::default(), |entry| entry.original.source);
        assert!(outcome.complete);
        assert_eq!(
            (outcome.entries, outcome.malformed, outcome.unwanted),
            (20_000, 0, 0)
        );
        assert!(outcome.octets > 20_000 * 100);
        assert_eq!(sources.iter().collect::<BTreeSet<_>>().len(), 20_000);
    });
}

#[test]
fn an_empty_table_is_a_complete_dump_of_nothing() {
    in_namespace(|| {
        let (entries, outcome) = dump(&Filter::default(), |_| ());
        assert!(entries.is_empty() && outcome.complete);
        assert_eq!(outcome.reason, None);
    });
}

#[test]
fn the_next_request_works_after_a_dump_that_was_left_in_the_middle() {
    in_namespace(|| {
        make(5_000);
        let mut socket = ConntrackSocket::open().unwrap();
        let mut dump = socket.dump(&Filter::default()).unwrap();
        assert!(dump.next_buffer().unwrap().unwrap().next().is_some());
        let outcome = dump.finish();
        assert_eq!(
            (outcome.complete, outcome.reason),
            (false, Some(Incomplete::Abandoned))
        );
        assert_eq!(socket.counts().unwrap().entries, 5_000);

        drop(socket.dump(&Filter::default()).unwrap());
        let mut dump = socket.dump(&Filter::default()).unwrap();
        let mut count = 0;
        while let Some(entries) = dump.next_buffer().unwrap() {
            count += entries.count();
        }
        assert_eq!((count, dump.finish().complete), (5_000, true));
    });
}

#[test]
fn entries_that_are_not_taken_count_all_the_same() {
    in_namespace(|| {
        make(1_000);
        let mut socket = ConntrackSocket::open().unwrap();
        let mut dump = socket.dump(&Filter::default()).unwrap();
        while let Some(entries) = dump.next_buffer().unwrap() {
            drop(entries);
        }
        let outcome = dump.finish();
        assert_eq!((outcome.entries, outcome.complete), (1_000, true));
    });
}

#[test]
fn a_cancelled_dump_ends_incomplete_at_the_next_buffer() {
    in_namespace(|| {
        make(5_000);
        let cancel = Arc::new(AtomicBool::new(false));
        let mut socket = ConntrackSocket::open_with(SocketOptions {
            cancel: Some(cancel.clone()),
            ..SocketOptions::default()
        })
        .unwrap();
        let mut dump = socket.dump(&Filter::default()).unwrap();
        assert!(dump.next_buffer().unwrap().is_some());
        cancel.store(true, Ordering::Relaxed);
        assert!(dump.next_buffer().unwrap().is_none());
        let outcome = dump.finish();
        assert_eq!(
            (outcome.complete, outcome.reason),
            (false, Some(Incomplete::Cancelled))
        );
        assert_eq!(socket.counts().unwrap_err().code(), "ERR_CANCELLED");
        cancel.store(false, Ordering::Relaxed);
        assert_eq!(socket.counts().unwrap().entries, 5_000);
    });
}

#[test]
fn counts_are_those_of_this_namespace_and_of_all() {
    in_namespace(|| {
        make(3);
        let Counts { entries, max } = ConntrackSocket::open().unwrap().counts().unwrap();
        assert_eq!(entries, 3);
        assert_eq!(
            max.map(u64::from),
            Some(netfilter::sysctl::read("netfilter/nf_conntrack_max").unwrap())
        );
        assert_eq!(raw_dump().len(), 3);
    });
}

#[test]
fn settings_are_read_as_they_were_written() {
    in_tracked_namespace(|| {
        use netfilter::sysctl::{EventMode, Settings, write};
        let settings = Settings::read().unwrap();
        assert!(settings.accounting && settings.timestamps);
        assert_eq!(settings.events, Some(EventMode::Always));
        make(2);
        for (number, mode) in [(0, EventMode::Off), (2, EventMode::Autodetect)] {
            write("netfilter/nf_conntrack_events", number).unwrap();
            write("netfilter/nf_conntrack_acct", 0).unwrap();
            let settings = Settings::read().unwrap();
            assert_eq!(
                (settings.events, settings.accounting, settings.count),
                (Some(mode), false, 2)
            );
            assert!(settings.max > 0 && settings.buckets > 0);
        }
        assert_eq!(
            write("netfilter/no_such_setting", 1).unwrap_err().code(),
            "ERR_SYSCTL"
        );
    });
}
