//! An exporter of another network namespace, which vanishes and comes back as another one.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use agent::Notice;
use netfilter::netns::{Netns, NetnsIdentity};
use netfilter::testing::{in_namespace, run};

use support::{Run, config, number, with_events};

/// A process in a namespace of its own, ended with this value.
struct Inhabitant(Child);

impl Inhabitant {
    fn new() -> Self {
        let child = Command::new("unshare")
            .args(["-n", "sleep", "60"])
            .spawn()
            .unwrap();
        let inhabitant = Self(child);
        let end = Instant::now() + Duration::from_secs(10);
        let here = NetnsIdentity::of_this_thread().unwrap();
        while Netns::Path(inhabitant.namespace()).identity().unwrap() == here {
            assert!(Instant::now() < end, "unshare does not enter a namespace");
            std::thread::sleep(Duration::from_millis(5));
        }
        inhabitant
    }

    fn namespace(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.0.id()).into()
    }

    /// Makes a connection there, with the program `conntrack`.
    fn connect(&self, port: u16) {
        let net = format!("--net={}", self.namespace().display());
        let port = port.to_string();
        let entry = [
            "-s",
            "192.0.2.1",
            "-d",
            "198.51.100.1",
            "--sport",
            &port,
            "--dport",
            "53",
        ];
        let arguments = [
            &[&net, "conntrack", "-I", "-p", "udp", "-t", "600"][..],
            &entry,
        ]
        .concat();
        run("nsenter", &arguments);
    }
}

impl Drop for Inhabitant {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn point(link: &Path, target: &Path) {
    let _ = std::fs::remove_file(link);
    symlink(target, link).unwrap();
}

#[test]
fn a_namespace_that_vanishes_is_an_error_with_a_retry() {
    in_namespace(|| {
        let link = std::env::temp_dir().join(format!("ctipfix-netns-{}", std::process::id()));
        let first = Inhabitant::new();
        first.connect(1);
        point(&link, &first.namespace());
        let netns = Some(Netns::Path(link.clone()));
        let mut run = Run::start(agent::Config { netns, ..config() });
        assert_eq!(run.poll().ipv4, 1);

        drop(first);
        let (code, message) = run.poll_fails();
        assert_eq!(code, "ERR_NETNS");
        assert!(message.contains(link.to_str().unwrap()), "{message}");
        assert_eq!(
            run.exporter.stats().table.live,
            1,
            "nothing ends because its kernel cannot be asked"
        );

        let second = Inhabitant::new();
        second.connect(2);
        second.connect(3);
        point(&link, &second.namespace());
        let summary = run.poll();
        assert_eq!((summary.ipv4, summary.added, summary.ended), (2, 2, 1));
        let records = run.export();
        assert_eq!(records.len(), 1);
        assert_eq!(number(&records[0], "sourceTransportPort"), 1);
        std::fs::remove_file(&link).unwrap();
    });
}

#[test]
fn a_namespace_that_is_not_there_yet_is_waited_for() {
    in_namespace(|| {
        let link = std::env::temp_dir().join(format!("ctipfix-netns-late-{}", std::process::id()));
        let netns = Some(Netns::Path(link.clone()));
        let mut run = Run::start(agent::Config { netns, ..config() });
        assert_eq!(run.poll_fails().0, "ERR_NETNS");
        let inhabitant = Inhabitant::new();
        inhabitant.connect(1);
        point(&link, &inhabitant.namespace());
        assert_eq!(run.poll().ipv4, 1);
        std::fs::remove_file(&link).unwrap();
    });
}

#[test]
fn with_events_a_namespace_that_comes_late_is_entered_without_being_asked() {
    in_namespace(|| {
        let link =
            std::env::temp_dir().join(format!("ctipfix-netns-events-{}", std::process::id()));
        let netns = Some(Netns::Path(link.clone()));
        let mut run = Run::start(agent::Config {
            netns,
            ..with_events()
        });
        assert_eq!(run.poll_fails().0, "ERR_NETNS");
        // Two seconds later by itself, and again in vain.
        assert_eq!(run.poll_end(false).unwrap_err().0, "ERR_NETNS");
        let inhabitant = Inhabitant::new();
        inhabitant.connect(1);
        point(&link, &inhabitant.namespace());
        let healed = run.poll_end(false).unwrap();
        assert_eq!((healed.ipv4, healed.complete), (1, true));
        // Its events are heard from now on.
        inhabitant.connect(2);
        run.export_until(|_, exporter| exporter.stats().table.live == 2);
        let kernel = run.exporter.stats().kernel;
        assert_eq!((kernel.polls, kernel.poll_failures), (1, 2));
        std::fs::remove_file(&link).unwrap();
    });
}

#[test]
fn with_events_a_namespace_that_vanishes_is_let_go_and_its_successor_heard() {
    in_namespace(|| {
        let link = std::env::temp_dir().join(format!("ctipfix-netns-heard-{}", std::process::id()));
        let first = Inhabitant::new();
        point(&link, &first.namespace());
        let netns = Some(Netns::Path(link.clone()));
        let mut run = Run::start(agent::Config {
            netns,
            ..with_events()
        });
        run.poll();
        first.connect(1);
        run.export_until(|_, exporter| exporter.stats().table.live == 1);
        drop(first);
        assert_eq!(run.poll_fails().0, "ERR_NETNS");
        assert_eq!(run.exporter.stats().kernel.event_overruns, 1);

        let second = Inhabitant::new();
        point(&link, &second.namespace());
        assert_eq!(run.poll_end(false).unwrap().ended, 1);
        second.connect(2);
        run.export_until(|_, exporter| exporter.stats().table.live == 1);
        let stats = run.exporter.stats();
        assert_eq!((stats.table.added_total, stats.kernel.polls), (2, 2));
        std::fs::remove_file(&link).unwrap();
    });
}

#[test]
fn a_namespace_that_was_replaced_is_warned_of_again_and_the_same_one_is_not() {
    in_namespace(|| {
        let link = std::env::temp_dir().join(format!("ctipfix-netns-warn-{}", std::process::id()));
        let first = Inhabitant::new();
        first.connect(1);
        point(&link, &first.namespace());
        let netns = Some(Netns::Path(link.clone()));
        let mut run = Run::start(agent::Config { netns, ..config() });
        // A new namespace neither counts nor stamps.
        run.poll();
        run.warning("ACCOUNTING_OFF");
        run.warning("TIMESTAMPS_OFF");
        run.poll();
        let warned = |notice: &Notice| matches!(notice, Notice::Warning { .. });
        assert!(!run.rest().iter().any(warned));

        let second = Inhabitant::new();
        second.connect(2);
        point(&link, &second.namespace());
        run.poll();
        run.warning("ACCOUNTING_OFF");
        run.warning("TIMESTAMPS_OFF");
        std::fs::remove_file(&link).unwrap();
    });
}
