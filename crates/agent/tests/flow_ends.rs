//! A flow ends with its last packet, however long after it the poll comes.
//!
//! Packets are sent between two readings of the clock; the end has to lie there, give or take half a second, which is as
//! much as the kernel tells.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, SystemTime};

use agent::Config;
use netfilter::testing::{address, in_tracked_namespace, nft, tcp_exchange};
use serde_json::Value;
use support::{Run, config, datagram, with_events};

/// Half a second, and the kernel's own ticks.
const SLACK: Duration = Duration::from_millis(530);

/// Longer than what the end may be off by, in both directions.
const LATER: Duration = Duration::from_millis(2500);

struct Between(SystemTime, SystemTime);

fn between(act: impl FnOnce()) -> Between {
    let before = SystemTime::now();
    act();
    Between(before, SystemTime::now())
}

/// `2026-01-02T03:04:05.678Z`, by the days of the Gregorian calendar.
fn time(record: &Value, name: &str) -> SystemTime {
    let text = record[name].as_str().unwrap();
    let number = |at: std::ops::Range<usize>| text[at].parse::<u64>().unwrap();
    let leap = |year: u64| {
        let by = |divisor| year.is_multiple_of(divisor);
        by(4) && (!by(100) || by(400))
    };
    let (year, month) = (number(0..4), number(5..7));
    let mut days = (1970..year)
        .map(|year| 365 + u64::from(leap(year)))
        .sum::<u64>();
    let february = 28 + u64::from(leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    days += months.iter().take(month as usize - 1).sum::<u64>() + number(8..10) - 1;
    let seconds = ((days * 24 + number(11..13)) * 60 + number(14..16)) * 60 + number(17..19);
    SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + number(20..23))
}

fn ends_within(record: &Value, packets: &Between) {
    let end = time(record, "flowEndMilliseconds");
    assert!(
        end + SLACK >= packets.0 && end <= packets.1 + SLACK,
        "{:?} to {:?}: {record:#}",
        packets.0,
        packets.1
    );
    assert!(end >= time(record, "flowStartMilliseconds"));
}

fn of_port(records: &[Value], port: u64) -> &Value {
    let mut found = records
        .iter()
        .filter(|record| record["destinationTransportPort"] == port);
    let record = found.next().unwrap_or_else(|| panic!("{records:#?}"));
    assert!(found.next().is_none());
    record
}

/// Downloads of milliseconds, and datagrams: of a TCP connection the end is seen, of the others it is not yet.
#[test]
fn a_short_flow_ends_when_its_last_packet_came_and_not_at_the_poll() {
    in_tracked_namespace(|| {
        for config in [config(), with_events()] {
            let mut run = Run::start(config);
            run.poll();
            let tcp = between(|| {
                tcp_exchange(address("127.0.0.1:5001"), 5000, 70_000);
            });
            let udp = between(|| datagram(6001, Some(10)));
            std::thread::sleep(LATER);
            run.poll();
            run.exporter.begin_stop();
            let records = run.export_until(|records, _| records.len() == 2);
            ends_within(of_port(&records, 5001), &tcp);
            ends_within(of_port(&records, 7000), &udp);
            netfilter::testing::Maker::open().unwrap().flush().unwrap();
        }
    });
}

#[test]
fn a_flow_older_than_the_agent_ends_with_its_last_packet_too() {
    in_tracked_namespace(|| {
        let udp = between(|| datagram(6001, None));
        std::thread::sleep(LATER);
        let mut run = Run::start(config());
        run.poll();
        run.exporter.begin_stop();
        let records = run.export_until(|records, _| records.len() == 1);
        ends_within(&records[0], &udp);
    });
}

#[test]
fn what_moved_between_two_polls_ended_between_them() {
    in_tracked_namespace(|| {
        let listener = TcpListener::bind("127.0.0.1:5001").unwrap();
        let mut near = TcpStream::connect("127.0.0.1:5001").unwrap();
        let mut far = listener.accept().unwrap().0;
        let mut run = Run::start(Config {
            active_timeout: Duration::ZERO,
            ..config()
        });
        for _ in 0..5 {
            let begun = SystemTime::now();
            run.poll();
            let former = run.export().len();
            assert!(former <= 1);
            let seen = SystemTime::now();
            near.write_all(&[1; 100]).unwrap();
            far.read_exact(&mut [0; 100]).unwrap();
            run.poll();
            let end = SystemTime::now();
            let records = run.export();
            let ended = time(of_port(&records, 5001), "flowEndMilliseconds");
            // Records tell milliseconds.
            let begun = begun - Duration::from_millis(1);
            assert!(
                begun <= ended && ended <= end,
                "{begun:?} {seen:?} {records:#?}"
            );
        }
    });
}

/// Seven seconds where the settings say thirty: counted from those, the last packet would be 23 seconds old.
const POLICY: &str = "table ip policies {
    ct timeout short {
        protocol udp
        l3proto ip
        policy = { unreplied : 7, replied : 9 }
    }
    chain output { type filter hook output priority 0; ct timeout set \"short\"; }
}";

#[test]
fn where_a_policy_leaves_it_open_a_flow_ends_when_it_was_seen() {
    in_tracked_namespace(|| {
        nft(POLICY);
        datagram(6001, None);
        let mut run = Run::start(config());
        let seen = between(|| {
            run.poll();
        });
        run.exporter.begin_stop();
        let records = run.export_until(|records, _| records.len() == 1);
        let end = time(&records[0], "flowEndMilliseconds");
        let begun = seen.0 - Duration::from_millis(1);
        assert!(begun <= end && end <= seen.1, "{records:#?}");
    });
}
