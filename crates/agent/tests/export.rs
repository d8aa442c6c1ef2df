//! Whole exports on real conntrack, each in a network namespace of its own. What is expected comes from the program
//! `conntrack`, or by hand.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::net::IpAddr;
use std::time::Duration;

use agent::{OwnSession, Selection};
use flow_table::Loss;
use netfilter::testing::{
    Entry, Maker, Zone, address, in_tracked_namespace, numbered, tcp_exchange, tuple, udp_exchange,
};

use support::{Run, config, datagram, deltas, ends, kernel_totals, key, number, sums, totals};

/// TCP and UDP, IPv4 and IPv6, each with its own number of octets.
fn traffic() {
    tcp_exchange(address("127.0.0.1:5001"), 5000, 700);
    tcp_exchange(address("[::1]:5002"), 300, 90_000);
    datagram(6001, Some(1000));
    udp_exchange(address("[::1]:6003"), address("[::1]:6004"), 1, None);
}

#[test]
fn a_flows_packets_and_octets_are_the_kernels_both_ways() {
    in_tracked_namespace(|| {
        traffic();
        let kernel = kernel_totals();
        assert_eq!(kernel.len(), 4, "{kernel:?}");
        let mut run = Run::start(config());
        let summary = run.poll();
        assert_eq!(
            (summary.ipv4, summary.ipv6, summary.kernel_entries),
            (2, 2, 4)
        );
        assert_eq!((summary.added, summary.complete), (4, true));

        // The TCP connections are in TIME_WAIT: ended. The UDP ones live until the kernel forgets them.
        let mut records = run.export();
        assert_eq!(records.len(), 2);
        Maker::open().unwrap().flush().unwrap();
        run.poll();
        records.extend(run.export());

        assert_eq!(sums(&records), kernel);
        for record in &records {
            assert_eq!(totals(record), kernel[&key(record)]);
        }
        let ends = ends(&records);
        assert_eq!(ends.len(), 4);
        assert!(ends.values().all(|&count| count == 1), "{ends:?}");
        run.poll();
        assert!(run.export().is_empty(), "nothing is exported twice");
        let stats = run.exporter.stats();
        assert_eq!(
            (
                stats.table.connections,
                stats.table.queued,
                stats.records_committed
            ),
            (0, 0, 4)
        );
    });
}

#[test]
fn a_batch_that_failed_is_exported_once_more() {
    in_tracked_namespace(|| {
        traffic();
        let kernel = kernel_totals();
        let mut run = Run::start(config());
        run.poll();
        Maker::open().unwrap().flush().unwrap();
        run.poll();
        let failed = run.take();
        assert!(
            run.take().is_empty(),
            "what is in flight is in no other batch"
        );
        for (id, _) in failed {
            run.exporter.rollback(id).unwrap();
            assert_eq!(run.exporter.commit(id).unwrap_err().code(), "ERR_USAGE");
        }
        let records = run.export();
        assert_eq!(records.len(), 4);
        assert_eq!(sums(&records), kernel);
        assert!(run.export().is_empty());
    });
}

#[test]
fn the_agents_own_sessions_are_left_out() {
    in_tracked_namespace(|| {
        let listen = address("127.0.0.1:5001");
        let client = tcp_exchange(listen, 10, 10);
        let stranger = tcp_exchange(listen, 10, 10);
        let mut run = Run::start(config());
        let own = OwnSession {
            protocol: 6,
            local: client,
            remote: listen,
        };
        run.exporter.add_own(&own).unwrap();
        assert_eq!(run.poll().added, 1);
        run.exporter.remove_own(&own);
        run.poll();
        let records = run.export();
        assert_eq!(records.len(), 1);
        assert_eq!(key(&records[0]).source, (stranger.ip(), stranger.port()));

        // One that a poll had already met.
        let late = tcp_exchange(listen, 10, 10);
        run.poll();
        run.exporter
            .add_own(&OwnSession {
                protocol: 6,
                local: late,
                remote: listen,
            })
            .unwrap();
        assert!(run.export().is_empty());
        run.poll();
        assert!(run.export().is_empty());
    });
}

#[test]
fn each_zones_connections_are_exported_once_however_they_are_dumped() {
    in_tracked_namespace(|| {
        let mut maker = Maker::open().unwrap();
        let entry = |port: u16, zone| Entry {
            zone,
            ..Entry::new(tuple(&format!("192.0.2.1:{port}"), "198.51.100.1:53", 17))
        };
        maker
            .create([
                entry(1, Zone::None),
                entry(2, Zone::Shared(5)),
                entry(3, Zone::Original(6)),
                entry(4, Zone::Reply(6)),
                entry(5, Zone::Shared(7)),
            ])
            .unwrap();
        let selection = Selection {
            zones: vec![5, 6, 5],
            ..Selection::default()
        };
        let mut run = Run::start(agent::Config {
            selection,
            ..config()
        });
        let summary = run.poll();
        assert_eq!(
            (summary.added, summary.ipv4, summary.kernel_entries),
            (3, 3, 5)
        );
        // Three of five are selected now: one dump for both zones is the cheaper way.
        let summary = run.poll();
        assert_eq!((summary.added, summary.ended, summary.ipv4), (0, 0, 3));
        maker.flush().unwrap();
        assert_eq!(run.poll().ended, 3);
        let mut zones: Vec<_> = run
            .export()
            .iter()
            .map(|record| {
                (
                    number(record, "sourceTransportPort"),
                    number(record, "ingressVRFID"),
                    number(record, "egressVRFID"),
                )
            })
            .collect();
        zones.sort_unstable();
        assert_eq!(zones, [(2, 5, 5), (3, 6, 0), (4, 0, 6)]);
    });
}

#[test]
fn protocols_and_networks_that_are_not_selected_stay_out() {
    in_tracked_namespace(|| {
        traffic();
        let selection = Selection {
            protocols: Some(vec![17]),
            exclude: vec!["::/0".parse().unwrap()],
            ..Selection::default()
        };
        let mut run = Run::start(agent::Config {
            selection,
            ..config()
        });
        let summary = run.poll();
        assert_eq!((summary.added, summary.ipv4, summary.ipv6), (1, 1, 0));
        Maker::open().unwrap().flush().unwrap();
        run.poll();
        let records = run.export();
        assert_eq!(records.len(), 1);
        let loopback: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(key(&records[0]).source, (loopback, 6001));
    });
}

#[test]
fn without_a_collector_ended_connections_leave_and_are_counted() {
    in_tracked_namespace(|| {
        traffic();
        let kernel = kernel_totals();
        let mut run = Run::start(agent::Config {
            stale_timeout: Duration::from_millis(300),
            ..config()
        });
        assert_eq!(run.poll().added, 4);
        Maker::open().unwrap().flush().unwrap();
        run.poll();
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while run.exporter.stats().table.connections > 0 {
            assert!(
                std::time::Instant::now() < deadline,
                "{:#?}",
                run.exporter.stats()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let table = run.exporter.stats().table;
        assert_eq!((table.queued, table.ended, table.idle), (0, 0, 0));
        let lost = table.losses.get(Loss::Stale);
        let expected: u64 = kernel.values().map(|sums| sums[0] + sums[2]).sum();
        assert_eq!((lost.records, lost.packets), (4, expected));
        assert!(run.export().is_empty());
    });
}

#[test]
fn a_connection_whose_mark_leaves_the_selection_has_not_ended() {
    in_tracked_namespace(|| {
        let mut maker = Maker::open().unwrap();
        let marked = |mark| Entry {
            mark,
            ..Entry::new(tuple("192.0.2.1:1000", "198.51.100.1:53", 17))
        };
        let other = Entry {
            mark: 0x10,
            ..Entry::new(tuple("192.0.2.1:1001", "198.51.100.1:53", 17))
        };
        maker.create([marked(0x13), other.clone()]).unwrap();
        let selection = Selection {
            mark: Some(netfilter::Masked {
                value: 0x10,
                mask: 0x10,
            }),
            ..Selection::default()
        };
        let mut run = Run::start(agent::Config {
            selection,
            ..config()
        });
        assert_eq!(run.poll().added, 2);
        maker.update([marked(0x3)]).unwrap();
        maker.delete([other]).unwrap();
        run.poll();
        let mut reasons: Vec<_> = run
            .export()
            .iter()
            .map(|record| {
                (
                    number(record, "sourceTransportPort"),
                    number(record, "flowEndReason"),
                )
            })
            .collect();
        reasons.sort_unstable();
        // 4: forced end, it lives on outside the selection. 3: end of flow detected.
        assert_eq!(reasons, [(1000, 4), (1001, 3)]);
        run.poll();
        assert!(run.export().is_empty());
        assert_eq!(run.exporter.stats().table.connections, 0);
    });
}

#[test]
fn the_next_run_goes_on_where_the_former_ended() {
    in_tracked_namespace(|| {
        let folder = std::env::temp_dir().join(format!("ctipfix-runs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let with_file = || agent::Config {
            state_file: Some(folder.join("state")),
            initial_delta: flow_table::InitialDelta::Zero,
            ..config()
        };
        let exchange = || datagram(6001, Some(1000));
        // The first run finds it there: by default its first delta is zero.
        exchange();
        let mut first = Run::start(with_file());
        first.poll();
        exchange();
        first.poll();
        first.exporter.begin_stop();
        let mut records = first.export();
        first.exporter.save();
        first.wait(|notice| *notice == agent::Notice::Saved);
        drop(first);
        // Between the runs, and in the second. A datagram of 100 octets has 128 with its headers.
        exchange();
        let mut second = Run::start(with_file());
        second.poll();
        exchange();
        second.poll();
        Maker::open().unwrap().flush().unwrap();
        second.poll();
        records.extend(second.export());
        let last = records.last().unwrap();
        assert_eq!(totals(last), [4, 512, 4, 4112]);
        let sum = records.iter().map(deltas).fold([0; 4], |sum, delta| {
            [0, 1, 2, 3].map(|at| sum[at] + delta[at])
        });
        assert_eq!(
            sum,
            [3, 384, 3, 3084],
            "all but what came before the first run"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

#[test]
fn closing_ends_a_poll_under_way() {
    in_tracked_namespace(|| {
        let entries = (0..40_000_u32).map(|number| Entry::new(numbered(number)));
        Maker::open().unwrap().create(entries).unwrap();
        let mut run = Run::start(config());
        run.exporter.poll();
        run.exporter.close();
        run.exporter.close();
        // A closed exporter polls no more, and what it had seen is still its owner's to export.
        let seen = run.exporter.stats().table.connections;
        run.exporter.poll();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(run.exporter.stats().table.connections, seen);
    });
}
