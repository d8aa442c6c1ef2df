//! What is exported adds up to what nftables counted, whatever happens to the entries meanwhile: the kernel's own second
//! opinion.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use netfilter::testing::{Entry, Maker, in_tracked_namespace, nft, run as program, tuple};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::Value;

use support::pace::Point;
use support::world::{RealConntrack, World};
use support::{Run, config, deltas, number, with_events};

/// Counts what the host sends, which over the loopback interface is every packet once.
fn count() {
    nft("table inet judge {
        counter sent {}
        chain out {
            type filter hook output priority 300;
            ct state new,established counter name sent
        }
    }");
}

/// Packets and octets.
fn counted() -> [u64; 2] {
    let text = program("nft", &["list", "counter", "inet", "judge", "sent"]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name).unwrap();
        words[at + 1].parse().unwrap()
    };
    [after("packets"), after("bytes")]
}

fn exported(records: &[Value]) -> [u64; 2] {
    records.iter().map(deltas).fold([0; 2], |sum, delta| {
        [sum[0] + delta[0] + delta[2], sum[1] + delta[1] + delta[3]]
    })
}

/// Two sockets, and how far they have come.
struct Talk {
    client: UdpSocket,
    server: UdpSocket,
    sent: usize,
}

impl Talk {
    fn new(port: u16) -> Self {
        let bind = |port| UdpSocket::bind(("127.0.0.1", port)).unwrap();
        let (client, server) = (bind(port), bind(port + 1));
        client.connect(server.local_addr().unwrap()).unwrap();
        server.connect(client.local_addr().unwrap()).unwrap();
        Self {
            client,
            server,
            sent: 0,
        }
    }

    /// One datagram each way, of changing lengths. Which end speaks first is the original direction's.
    fn exchange(&mut self) {
        self.sent += 1;
        let octets = [0; 900];
        let (one, other) = match self.sent % 3 {
            0 => (&self.server, &self.client),
            _ => (&self.client, &self.server),
        };
        one.send(&octets[..self.sent % 400]).unwrap();
        other.recv(&mut [0; 1000]).unwrap();
        other.send(&octets[..self.sent % 900]).unwrap();
        one.recv(&mut [0; 1000]).unwrap();
    }
}

fn both_ways(port: u16) -> [Entry; 2] {
    let (one, other) = (
        format!("127.0.0.1:{port}"),
        format!("127.0.0.1:{}", port + 1),
    );
    [
        Entry::new(tuple(&one, &other, 17)),
        Entry::new(tuple(&other, &one, 17)),
    ]
}

/// The kernel gives a new entry of the same tuple the id of the one before it, if it gets that one's memory.
#[test]
fn of_entries_that_are_deleted_and_made_again_nothing_is_lost_or_told_twice() {
    in_tracked_namespace(|| {
        count();
        let mut run = Run::start(agent::Config {
            active_timeout: Duration::from_millis(100),
            idle_timeout: Duration::from_millis(50),
            ..with_events()
        });
        run.poll();
        let mut maker = Maker::open().unwrap();
        let mut talks: Vec<Talk> = (0..8).map(|number| Talk::new(6000 + 2 * number)).collect();
        let mut records = Vec::new();
        for round in 0..1500 {
            let talk = round % 7;
            talks[talk].exchange();
            if round % 5 == 0 {
                let port = 6000 + 2 * (talk as u16);
                for entry in both_ways(port) {
                    let _ = maker.delete([entry]);
                }
                talks[talk].exchange();
            }
            if round % 17 == 0 {
                run.exporter.poll();
            }
            if round % 97 == 0 {
                maker.flush().unwrap();
            }
            if round % 3 == 0 {
                records.extend(run.export());
            }
        }
        maker.flush().unwrap();
        run.settled();
        run.poll();
        records.extend(run.export_until(|_, exporter| {
            let table = exporter.stats().table;
            table.live + table.idle + table.ended == 0
        }));
        assert_eq!(run.exporter.stats().kernel.event_overruns, 0);
        assert_eq!(exported(&records), counted());
    });
}

/// The same in the middle of dumps, which then show some of the old entries and some of the new ones.
#[test]
fn of_entries_that_are_replaced_while_a_dump_runs_nothing_is_lost_or_told_twice() {
    in_tracked_namespace(|| {
        count();
        let mut world = RealConntrack::here();
        let (mut run, pace) = world.run(with_events());
        run.poll();
        // Several receive buffers.
        let others = || {
            (1..=1500_u16)
                .map(|port| Entry::new(tuple(&format!("192.0.2.1:{port}"), "198.51.100.1:53", 17)))
        };
        world.create(others());
        let mut talks: Vec<Talk> = (0..100)
            .map(|number| Talk::new(6000 + 2 * number))
            .collect();
        let mut records = Vec::new();
        for round in 0..12 {
            talks.iter_mut().for_each(Talk::exchange);
            pace.hold_after(Point::DumpBuffer, round % 6);
            run.exporter.poll();
            pace.held(Point::DumpBuffer);
            for (number, talk) in (0_u16..).zip(&mut talks) {
                for entry in both_ways(6000 + 2 * number) {
                    let _ = Maker::open().unwrap().delete([entry]);
                }
                if round % 2 == 0 || number % 2 == 0 {
                    talk.exchange();
                }
            }
            if round % 4 == 3 {
                world.flush();
                world.create(others());
            }
            pace.release(Point::DumpBuffer);
            run.poll_end(true).unwrap();
            records.extend(run.export());
        }
        world.flush();
        run.settled();
        run.poll();
        records.extend(run.export_until(|_, exporter| {
            let table = exporter.stats().table;
            table.live + table.idle + table.ended == 0
        }));
        assert_eq!(run.exporter.stats().kernel.event_overruns, 0);
        assert_eq!(exported(&records), counted());
    });
}

/// One TCP connection from this port of 127.0.0.1 to a server that closes first, or whose client resets it.
fn call(from: u16, server: &TcpListener, octets: usize, reset: bool) {
    let mut client = loop {
        let client = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        set_socket_reuseaddr(&client, true).unwrap();
        bind(&client, &SocketAddr::from(([127, 0, 0, 1], from))).unwrap();
        match connect(&client, &server.local_addr().unwrap()) {
            Ok(()) => break TcpStream::from(client),
            // The former connection's last segment is still on its way.
            Err(errno) => assert_eq!(errno, Errno::ADDRNOTAVAIL),
        }
    };
    let (mut accepted, _) = server.accept().unwrap();
    client.write_all(&vec![0; octets]).unwrap();
    accepted.read_exact(&mut vec![0; octets]).unwrap();
    if reset {
        set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        assert!(accepted.read(&mut [0]).is_err(), "a reset");
        return;
    }
    drop(accepted);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

/// What `conntrack -E` hears of the ends of TCP connections.
struct Ends {
    program: Child,
    file: PathBuf,
}

impl Ends {
    fn listen(maker: &mut Maker) -> Self {
        let file = std::env::temp_dir().join(format!("ctipfix-ends-{}", std::process::id()));
        let program = Command::new("conntrack")
            .args(["-E", "-e", "DESTROY", "-o", "extended", "-b", "8000000"])
            .stdout(File::create(&file).unwrap())
            .spawn()
            .unwrap();
        let ends = Self { program, file };
        ends.have_heard(maker, "192.0.2.1");
        ends
    }

    /// Waits until it has heard all that has ended by now, of which one that is made and ended here is the last.
    fn have_heard(&self, maker: &mut Maker, last: &str) -> String {
        let last_tuple = tuple(&format!("{last}:1"), "198.51.100.1:53", 17);
        for _ in 0..2000 {
            maker.create([Entry::new(last_tuple)]).unwrap();
            maker.delete([Entry::new(last_tuple)]).unwrap();
            let heard = std::fs::read_to_string(&self.file).unwrap();
            if heard.contains(last) {
                return heard;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("conntrack hears nothing");
    }

    /// How many connections, and their packets and octets.
    fn told(&self, maker: &mut Maker) -> (usize, [u64; 2]) {
        let heard = self.have_heard(maker, "192.0.2.2");
        let lines: Vec<&str> = heard.lines().filter(|line| line.contains("tcp")).collect();
        let sum = |name: &str| {
            let words = lines.iter().flat_map(|line| line.split_whitespace());
            words
                .filter_map(|word| word.strip_prefix(name)?.parse::<u64>().ok())
                .sum()
        };
        (lines.len(), [sum("packets="), sum("bytes=")])
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

/// A SYN on the ports of a connection that is over has the kernel drop that one's entry at once and make another. What it
/// does not count is a segment that it takes for none of the connection's, such as the answer to a SYN that came too early:
/// here its own count is the judge.
#[test]
fn of_tcp_connections_on_the_ports_of_former_ones_nothing_is_lost_or_told_twice() {
    in_tracked_namespace(|| {
        let mut maker = Maker::open().unwrap();
        let kernel = Ends::listen(&mut maker);
        let mut run = Run::start(with_events());
        run.poll();
        let server = TcpListener::bind("127.0.0.1:5001").unwrap();
        let mut records = Vec::new();
        for round in 0..600_u16 {
            let size = usize::from(round) * 37 % 5000;
            call(6000 + round % 5, &server, size, round % 3 == 1);
            match round % 40 {
                7 => run.exporter.poll(),
                19 => run.settled(),
                33 => drop(run.poll()),
                _ => {}
            }
            records.extend(run.export());
        }
        // The last segments of the last connections.
        run.poll();
        records.extend(run.export_until(|_, exporter| exporter.stats().table.live == 0));
        maker.flush().unwrap();
        let (ended, counted) = kernel.told(&mut maker);
        assert!(ended >= 600);
        run.settled();
        run.poll();
        records.extend(run.export());
        assert_eq!(run.exporter.stats().kernel.event_overruns, 0);
        records.retain(|record| number(record, "protocolIdentifier") == 6);
        assert_eq!(exported(&records), counted);
        assert!(records.len() >= ended);
    });
}

/// Each run goes on from the former one's file, whether the kernel's events are followed or not.
#[test]
fn over_restarts_with_a_state_file_nothing_is_lost_or_told_twice() {
    in_tracked_namespace(|| {
        count();
        let folder = std::env::temp_dir().join(format!("ctipfix-restarts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut talks: Vec<Talk> = Vec::new();
        let mut records = Vec::new();
        for round in 0..12 {
            let mut run = Run::start(agent::Config {
                state_file: Some(folder.join("state")),
                initial_delta: flow_table::InitialDelta::Zero,
                events: round % 3 == 1,
                ..config()
            });
            run.poll();
            talks.iter_mut().step_by(2).for_each(Talk::exchange);
            talks.push(Talk::new(6000 + 2 * round));
            talks.iter_mut().for_each(Talk::exchange);
            run.poll();
            talks.iter_mut().step_by(3).for_each(Talk::exchange);
            run.poll();
            if round % 4 == 2 {
                Maker::open().unwrap().flush().unwrap();
                run.poll();
            }
            run.exporter.begin_stop();
            if round % 4 == 2 {
                // Nobody takes the ends before the process does.
                records.extend(run.export_until(|_, exporter| exporter.stats().table.ended == 0));
            } else if round % 4 != 1 {
                run.settled();
                records.extend(run.export());
            } else {
                for (id, _) in run.take() {
                    run.exporter.rollback(id).unwrap();
                }
            }
            run.exporter.save();
            run.wait(|notice| *notice == agent::Notice::Saved);
            drop(run);
            // Between the runs.
            talks.push(Talk::new(7000 + 2 * round));
            talks.iter_mut().rev().step_by(2).for_each(Talk::exchange);
        }
        let mut run = Run::start(agent::Config {
            state_file: Some(folder.join("state")),
            initial_delta: flow_table::InitialDelta::Zero,
            ..config()
        });
        run.poll();
        Maker::open().unwrap().flush().unwrap();
        run.poll();
        records.extend(run.export());
        assert_eq!(exported(&records), counted());
        std::fs::remove_dir_all(&folder).unwrap();
    });
}
