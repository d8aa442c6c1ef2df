//! With events, polls that nobody asked for put right what was lost: an overrun, a socket that failed. Each says so.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::net::UdpSocket;
use std::time::Duration;

use agent::{Exporter, Notice, Sockets};
use netfilter::sysctl::Settings;
use netfilter::testing::{Entry, Maker, in_tracked_namespace, numbered};
use netfilter::{Error, EventOptions, SocketOptions};

use support::broken_socket::ExporterSocket;
use support::pace::Point;
use support::scripted::{ScriptedEvents, ScriptedKernel};
use support::world::World;
use support::{Run, datagram, kernel_totals, key, number, sums, totals, with_events};

in_both_worlds!(a_poll_that_is_asked_for_while_an_unasked_one_runs_is_made_and_told_after_it);

fn live(run: &mut Run, wanted: usize) {
    run.export_until(|_, exporter| exporter.stats().table.live == wanted);
}

#[test]
fn a_listener_that_dies_is_replaced_and_what_it_missed_is_caught_up_with() {
    in_tracked_namespace(|| {
        let mut run = Run::start(with_events());
        assert_eq!(run.poll().added, 0);
        ExporterSocket::Events.break_it();
        datagram(6001, None);
        run.warning("EVENTS_ENDED");
        let healed = run.poll_end(false).unwrap();
        assert_eq!((healed.added, healed.complete), (1, true));
        // The new one hears: the end is exported at once.
        let kernel = kernel_totals();
        Maker::open().unwrap().flush().unwrap();
        let records = run.export_until(|records, _| !records.is_empty());
        assert_eq!(sums(&records), kernel);
        assert_eq!(totals(&records[0]), [1, 128, 0, 0]);
        assert_eq!(number(&records[0], "flowEndReason"), 3);
        let kernel = run.exporter.stats().kernel;
        assert_eq!(
            (kernel.polls, kernel.poll_failures, kernel.event_overruns),
            (2, 0, 1)
        );
    });
}

#[test]
fn a_dump_that_fails_is_told_and_made_again_without_being_asked() {
    in_tracked_namespace(|| {
        let mut run = Run::start(with_events());
        run.poll();
        datagram(6001, None);
        live(&mut run, 1);
        ExporterSocket::Requests.break_it();
        let (code, message) = run.poll_fails();
        assert_eq!(code, "ERR_NETLINK");
        assert!(
            message.contains("Socket operation on non-socket"),
            "{message}"
        );
        // Until the retry events are heard all the same: the end of the one, the beginning of the other.
        let kernel = kernel_totals();
        Maker::open().unwrap().flush().unwrap();
        datagram(6002, None);
        let records = run.export_until(|records, _| !records.is_empty());
        assert_eq!(sums(&records), kernel);
        assert_eq!(key(&records[0]).source.1, 6001);
        let healed = run.poll_end(false).unwrap();
        assert_eq!(
            (healed.ipv4, healed.added, healed.ended, healed.complete),
            (1, 0, 0, true)
        );
        let kernel = run.exporter.stats().kernel;
        assert_eq!(
            (kernel.polls, kernel.poll_failures, kernel.event_overruns),
            (2, 1, 0)
        );
    });
}

#[test]
fn a_lookup_that_fails_is_told_and_its_deadline_acts_after_the_retry() {
    in_tracked_namespace(|| {
        let mut run = Run::start(agent::Config {
            active_timeout: Duration::from_secs(1),
            ..with_events()
        });
        run.poll();
        let server = UdpSocket::bind("127.0.0.1:7000").unwrap();
        let client = UdpSocket::bind("127.0.0.1:6001").unwrap();
        let send = || {
            client.send_to(&[0; 100], "127.0.0.1:7000").unwrap();
            server.recv_from(&mut [0; 100]).unwrap();
        };
        // Before there is a deadline that could be met in time.
        ExporterSocket::Requests.break_it();
        send();
        live(&mut run, 1);
        // Its active timeout asks for a lookup.
        let (code, message) = run.poll_end(false).unwrap_err();
        assert_eq!(code, "ERR_NETLINK");
        assert!(message.contains("look connections up"), "{message}");
        send();
        assert!(
            run.export().is_empty(),
            "nothing is exported unasked of the kernel"
        );
        assert!(run.poll_end(false).unwrap().complete);
        let records = run.export_until(|records, _| !records.is_empty());
        assert_eq!(totals(&records[0]), [2, 256, 0, 0]);
        assert_eq!(number(&records[0], "flowEndReason"), 2);
    });
}

#[test]
fn each_poll_that_was_asked_for_is_told_once_as_such_whatever_polls_run_beside() {
    in_tracked_namespace(|| {
        const ASKED: usize = 20;
        let mut run = Run::start(agent::Config {
            event_buffer: 4096,
            ..with_events()
        });
        let mut maker = Maker::open().unwrap();
        // More events than the small buffer holds: a resync that nobody asks for.
        let mut storm = || {
            let entries = (0..500).map(|number| Entry::new(numbered(number)));
            maker.create(entries).unwrap();
            maker.flush().unwrap();
        };
        for _ in 0..ASKED {
            storm();
            run.poll();
        }
        storm();
        run.poll_end(false).unwrap();
        run.exporter.close();
        let rest = run.rest();
        let told = |wanted: bool| {
            let ends = rest.iter().filter(
                |notice| matches!(notice, Notice::Poll(summary) if summary.asked == wanted),
            );
            ends.count()
        };
        assert_eq!(told(true), 0, "{rest:?}");
        let kernel = run.exporter.stats().kernel;
        assert_eq!(kernel.polls, (ASKED + 1 + told(false)) as u64);
        assert!(kernel.event_overruns > 0);
    });
}

fn a_poll_that_is_asked_for_while_an_unasked_one_runs_is_made_and_told_after_it(
    mut world: impl World,
) {
    let (mut run, pace) = world.run(agent::Config {
        event_buffer: 4096,
        ..with_events()
    });
    run.poll();
    // More events than the small buffer holds: a repair that nobody asks for.
    pace.hold(Point::DumpBuffer);
    pace.hold(Point::BeforeReceive);
    world.create((0..500).map(|number| Entry::new(numbered(number))));
    pace.release(Point::BeforeReceive);
    pace.held(Point::DumpBuffer);
    run.exporter.poll();
    run.exporter.poll();
    pace.release(Point::DumpBuffer);
    let first = run.wait(|notice| matches!(notice, Notice::Poll(_)));
    let second = run.wait(|notice| matches!(notice, Notice::Poll(_)));
    let asked = [first, second].map(|notice| match notice {
        Notice::Poll(summary) => summary.asked,
        _ => unreachable!("a poll"),
    });
    assert_eq!(asked, [false, true]);
    run.settled();
    assert_eq!(run.exporter.stats().kernel.polls, 3);
}

/// Sockets that this process may not open.
struct Forbidden;

impl Sockets for Forbidden {
    type Requests = ScriptedKernel;
    type Events = ScriptedEvents;

    fn open_requests(&self, _: SocketOptions) -> Result<ScriptedKernel, Error> {
        Err(Error::Permission {
            operation: "open a socket",
        })
    }

    fn open_events(&self, options: EventOptions) -> Result<ScriptedEvents, Error> {
        ScriptedKernel::default().open_events(options)
    }

    fn settings(&self) -> Result<Settings, Error> {
        ScriptedKernel::default().settings()
    }
}

#[test]
fn without_the_permission_there_is_no_start() {
    let error = Exporter::start_on(Forbidden, with_events(), Box::new(|| {})).map(drop);
    assert_eq!(error.unwrap_err().code(), "ERR_PERMISSION");
}
