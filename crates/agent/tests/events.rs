//! Exports that follow conntrack events, on real conntrack. A poll is made at the start and after overruns only.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use netfilter::testing::{
    Entry, Maker, address, in_tracked_namespace, numbered, tcp_exchange, udp_exchange,
};

use support::{Run, config, datagram, ends, kernel_totals, key, number, sums, totals, with_events};

#[test]
fn a_flow_shorter_than_a_poll_interval_is_exported_once_with_its_last_counters() {
    in_tracked_namespace(|| {
        let mut run = Run::start(with_events());
        run.poll();
        datagram(6001, Some(1000));
        let kernel = kernel_totals();
        assert_eq!(kernel.len(), 1);
        Maker::open().unwrap().flush().unwrap();
        let records = run.export_until(|records, _| !records.is_empty());
        assert_eq!(sums(&records), kernel);
        assert_eq!(totals(&records[0]), [1, 128, 1, 1028]);
        assert_eq!(number(&records[0], "flowEndReason"), 3);
        run.poll();
        assert!(run.export().is_empty());
        assert_eq!(run.exporter.stats().table.connections, 0);
    });
}

#[test]
fn a_close_ends_the_connection_while_the_kernel_still_keeps_it() {
    in_tracked_namespace(|| {
        let mut run = Run::start(with_events());
        run.poll();
        tcp_exchange(address("127.0.0.1:5001"), 100, 1000);
        // No timeout acts within this test, and TIME_WAIT outlives it.
        let records = run.export_until(|records, _| !records.is_empty());
        assert_eq!(number(&records[0], "flowEndReason"), 3);
        assert_eq!(sums(&records), kernel_totals());
    });
}

#[test]
fn counters_are_looked_up_before_a_deadline_acts() {
    in_tracked_namespace(|| {
        let mut run = Run::start(agent::Config {
            active_timeout: Duration::from_millis(500),
            ..with_events()
        });
        run.poll();
        let server = UdpSocket::bind("127.0.0.1:6002").unwrap();
        let client = UdpSocket::bind("127.0.0.1:6001").unwrap();
        for _ in 0..3 {
            client
                .send_to(&[0; 100], address("127.0.0.1:6002"))
                .unwrap();
            server.recv_from(&mut [0; 100]).unwrap();
        }
        // No event told of the second and the third datagram.
        let records = run.export_until(|records, _| !records.is_empty());
        assert_eq!(totals(&records[0]), [3, 384, 0, 0]);
        assert_eq!(number(&records[0], "flowEndReason"), 2);
    });
}

#[test]
fn polls_and_events_tell_the_same_of_the_same_traffic() {
    in_tracked_namespace(|| {
        let mut by_poll = Run::start(config());
        let mut by_events = Run::start(with_events());
        by_poll.poll();
        by_events.poll();
        for round in 0..5_u16 {
            tcp_exchange(
                SocketAddr::from(([127, 0, 0, 1], 5000 + round)),
                100,
                1000 * usize::from(round),
            );
            tcp_exchange(address(&format!("[::1]:{}", 5000 + round)), 1, 1);
            let client = address(&format!("127.0.0.1:{}", 6000 + round));
            udp_exchange(client, address("127.0.0.1:7000"), 10, Some(20));
            by_poll.poll();
        }
        let kernel = kernel_totals();
        assert_eq!(kernel.len(), 15);
        Maker::open().unwrap().flush().unwrap();
        by_poll.poll();
        let polled = by_poll.export();
        let heard = by_events.export_until(|records, _| ends(records).len() == 15);
        for (name, records) in [("poll", &polled), ("events", &heard)] {
            assert_eq!(sums(records), kernel, "{name}");
            assert!(
                ends(records).values().all(|&count| count == 1),
                "{name}: {:?}",
                ends(records)
            );
        }
    });
}

#[test]
fn after_a_storm_that_overran_the_buffer_the_table_is_right_and_empty() {
    in_tracked_namespace(|| {
        const CONNECTIONS: u32 = 50_000;
        let mut run = Run::start(agent::Config {
            event_buffer: 4096,
            ..with_events()
        });
        run.poll();
        let mut maker = Maker::open().unwrap();
        let entries = || (0..CONNECTIONS).map(|number| Entry::new(numbered(number)));
        maker.create(entries()).unwrap();
        maker.flush().unwrap();
        // The overrun leads to a dump by itself; what it ended is exported.
        run.export_until(|_, exporter| {
            let stats = exporter.stats();
            stats.kernel.event_overruns > 0
                && stats.kernel.polls > 1
                && stats.table.connections == stats.table.done
        });
        // What is left are those that a dump ended: they are remembered while a late DESTROY may come, and hold nothing.
        let table = run.exporter.stats().table;
        assert_eq!(
            (table.live, table.idle, table.ended, table.queued),
            (0, 0, 0, 0)
        );
        // A last exchange, with the listener hearing again.
        datagram(6001, Some(1000));
        let kernel = kernel_totals();
        maker.flush().unwrap();
        let last = |record: &serde_json::Value| key(record).source.1 == 6001;
        let records = run.export_until(|records, exporter| {
            let table = exporter.stats().table;
            records.iter().any(last) && table.connections == table.done
        });
        let of_last: Vec<_> = records.into_iter().filter(last).collect();
        assert_eq!(sums(&of_last), kernel);
        assert_eq!(of_last.len(), 1);
    });
}

#[test]
fn with_events_switched_off_it_is_said_and_the_resync_ends_connections() {
    in_tracked_namespace(|| {
        netfilter::sysctl::write("netfilter/nf_conntrack_events", 0).unwrap();
        let mut run = Run::start(with_events());
        datagram(6001, Some(1000));
        run.poll();
        run.warning("EVENTS_OFF");
        let kernel = kernel_totals();
        Maker::open().unwrap().flush().unwrap();
        run.poll();
        let records = run.export();
        assert_eq!(sums(&records), kernel);
        assert_eq!(ends(&records).len(), 1);
    });
}

#[test]
fn connections_older_than_the_listener_are_warned_of_and_ended_by_the_resync() {
    in_tracked_namespace(|| {
        // 2: the kernel sends events for connections that were made while somebody listened.
        netfilter::sysctl::write("netfilter/nf_conntrack_events", 2).unwrap();
        datagram(6001, None);
        let mut run = Run::start(with_events());
        run.poll();
        run.warning("EVENTS_AUTODETECT");
        datagram(6003, None);
        let kernel = kernel_totals();
        Maker::open().unwrap().flush().unwrap();
        // The younger one tells of its end. The older one may too, when another namespace has a listener.
        let younger = |record: &serde_json::Value| key(record).source.1 == 6003;
        let heard = run.export_until(|records, _| records.iter().any(younger));
        run.poll();
        let mut records = heard;
        records.extend(run.export());
        assert_eq!(sums(&records), kernel);
        assert!(ends(&records).values().all(|&count| count == 1));
    });
}

#[test]
fn events_of_a_family_that_is_not_selected_are_left_out() {
    in_tracked_namespace(|| {
        let selection = agent::Selection {
            family: Some(netfilter::Family::Ipv4),
            ..agent::Selection::default()
        };
        let mut run = Run::start(agent::Config {
            selection,
            ..with_events()
        });
        run.poll();
        udp_exchange(address("[::1]:6003"), address("[::1]:6004"), 1, None);
        udp_exchange(
            address("127.0.0.1:6001"),
            address("127.0.0.1:6002"),
            1,
            None,
        );
        Maker::open().unwrap().flush().unwrap();
        run.poll();
        let records = run.export();
        assert_eq!(records.len(), 1, "{records:?}");
        assert_eq!(key(&records[0]).source.1, 6001);
        assert_eq!(run.exporter.stats().table.added_total, 1);
    });
}
