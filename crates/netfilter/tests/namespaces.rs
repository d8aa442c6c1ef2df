//! Entering network namespaces, and what is said where that, or anything, is not allowed.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use netfilter::netns::{Netns, NetnsIdentity};
use netfilter::nflog::{NflogOptions, NflogSocket};
use netfilter::testing::{Entry, Maker, address, dump, in_namespace, numbered, udp_exchange};
use netfilter::{ConntrackSocket, EventOptions, EventSocket, Filter, Query, sysctl, tracking};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

fn count() -> u32 {
    ConntrackSocket::open().unwrap().counts().unwrap().entries
}

/// Two namespaces: the test's own with one entry, and another with two, held by a process; `body` gets that process.
fn with_another(body: impl FnOnce(u32) + Send + 'static) {
    Maker::open()
        .unwrap()
        .create([Entry::new(numbered(1))])
        .unwrap();
    let mut holder = Command::new("unshare")
        .args(["-n", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = holder.id();
    let own = NetnsIdentity::of_this_thread().unwrap();
    while Netns::Pid(pid).identity().unwrap() == own {
        thread::yield_now();
    }
    thread::spawn(move || {
        let identity = Netns::Pid(pid).enter().unwrap();
        assert_eq!(NetnsIdentity::of_this_thread().unwrap(), identity);
        Maker::open()
            .unwrap()
            .create([1, 2].map(|number| Entry::new(numbered(number))))
            .unwrap();
        sysctl::write("netfilter/nf_conntrack_acct", 1).unwrap();
    })
    .join()
    .unwrap();
    thread::spawn(move || body(pid)).join().unwrap();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(Netns::Pid(pid).identity().unwrap_err().code(), "ERR_NETNS");
}

#[test]
fn a_thread_enters_by_process_or_path_and_reads_tables_and_settings_there() {
    in_namespace(|| {
        sysctl::write("netfilter/nf_conntrack_acct", 0).unwrap();
        with_another(|pid| {
            for netns in [
                Netns::Pid(pid),
                Netns::Path(format!("/proc/{pid}/ns/net").into()),
            ] {
                let there = thread::spawn(move || {
                    netns.enter().unwrap();
                    (
                        count(),
                        sysctl::read("netfilter/nf_conntrack_acct").unwrap(),
                    )
                });
                assert_eq!(there.join().unwrap(), (2, 1));
                assert_eq!(
                    (
                        count(),
                        sysctl::read("netfilter/nf_conntrack_acct").unwrap()
                    ),
                    (1, 0)
                );
            }
        });
    });
}

#[test]
fn a_namespace_that_was_prepared_tracks_counts_and_dates_its_connections() {
    in_namespace(|| {
        tracking::prepare().unwrap();
        udp_exchange(
            address("127.0.0.1:6001"),
            address("127.0.0.1:6002"),
            100,
            None,
        );
        let (entries, _) = dump(&Filter::default(), |it| {
            (it.original_counters.unwrap().octets, it.start.is_some())
        });
        assert_eq!(entries, [(128, true)]);
    });
}

#[test]
fn a_socket_stays_in_the_namespace_where_it_was_opened() {
    in_namespace(|| {
        with_another(|pid| {
            let (send, receive) = mpsc::channel();
            thread::spawn(move || {
                Netns::Pid(pid).enter().unwrap();
                send.send(ConntrackSocket::open().unwrap()).unwrap();
            });
            assert_eq!(receive.recv().unwrap().counts().unwrap().entries, 2);
        });
    });
}

#[test]
fn the_namespace_one_is_in_is_entered_without_any_privilege() {
    let here = Netns::Path("/proc/thread-self/ns/net".into());
    thread::spawn(move || {
        without_capabilities();
        assert_eq!(
            here.enter().unwrap(),
            NetnsIdentity::of_this_thread().unwrap()
        );
    })
    .join()
    .unwrap();
}

fn without_capabilities() {
    let mut sets: CapabilitySets = capabilities(None).unwrap();
    sets.effective = CapabilitySet::empty();
    set_capabilities(None, sets).unwrap();
}

#[test]
fn without_cap_net_admin_every_request_says_what_is_missing() {
    in_namespace(|| {
        without_capabilities();
        let mut socket = ConntrackSocket::open().unwrap();
        let dumped = socket
            .dump(&Filter::default())
            .unwrap()
            .next_buffer()
            .map(|_| ());
        let query = Query {
            tuple: numbered(1),
            zone: 0,
        };
        for (what, result) in [
            ("dump", dumped),
            ("counts", socket.counts().map(|_| ())),
            ("lookup", socket.lookup(&[query], |_, _| {})),
            (
                "events",
                EventSocket::open(EventOptions::default()).map(|_| ()),
            ),
            ("nflog", NflogSocket::open(NflogOptions::new(1)).map(|_| ())),
            ("enable", tracking::enable()),
            ("loopback", tracking::loopback_up()),
        ] {
            let Err(error) = result else {
                panic!("{what} is allowed");
            };
            assert_eq!(error.code(), "ERR_PERMISSION", "{error}");
            assert!(error.to_string().contains("CAP_NET_ADMIN"), "{error}");
        }
    });
}

#[test]
fn entering_without_cap_sys_admin_names_it_and_nsenter() {
    in_namespace(|| {
        with_another(|pid| {
            // Held open before, because without capabilities /proc/PID/ns is closed too.
            let file = std::fs::File::open(format!("/proc/{pid}/ns/net")).unwrap();
            use std::os::fd::AsRawFd;
            let path = format!("/proc/thread-self/fd/{}", file.as_raw_fd());
            without_capabilities();
            let error = Netns::Path(path.into()).enter().unwrap_err();
            assert_eq!(error.code(), "ERR_PERMISSION");
            for word in ["CAP_SYS_ADMIN", "nsenter"] {
                assert!(error.to_string().contains(word), "{error}");
            }
        });
    });
}
