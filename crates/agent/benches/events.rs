//! What events cost: processor time for each TCP connection, from its NEW to its end, with the UPDATEs that matter, and
//! beside a flood of UPDATEs that do not.
//!
//! `cargo bench -p agent --bench events` makes real connections on loopback in a network namespace of its own, a thousand a
//! second, and takes turns. The first kind, without UPDATEs, is what the others are measured against.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on has to stop"
)]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agent::{Netlink, Sockets};
use netfilter::sysctl::Settings;
use netfilter::testing::{Entry, Maker, in_tracked_namespace, numbered};
use netfilter::{
    ConntrackSocket, Error, EventGroups, EventOptions, EventSocket, SocketOptions, Updates,
};

use support::{Run, median, on_processor};

const RATE: u32 = 1_000;
const CONNECTIONS: u32 = 3_000;
/// UPDATEs of no interest for each connection.
const FLOOD: u32 = 10;
const ROUNDS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    NewAndDestroy,
    Whole,
    Flooded,
}

/// Listens to NEW and DESTROY alone.
struct WithoutUpdates;

impl Sockets for WithoutUpdates {
    type Requests = ConntrackSocket;
    type Events = EventSocket;

    fn open_requests(&self, options: SocketOptions) -> Result<ConntrackSocket, Error> {
        Netlink.open_requests(options)
    }

    fn open_events(&self, options: EventOptions) -> Result<EventSocket, Error> {
        let groups = EventGroups {
            updates: Updates::None,
            ..options.groups
        };
        Netlink.open_events(EventOptions { groups, ..options })
    }

    fn settings(&self) -> Result<Settings, Error> {
        Netlink.settings()
    }
}

fn main() {
    in_tracked_namespace(|| {
        let kinds = [Kind::NewAndDestroy, Kind::Whole, Kind::Flooded];
        let mut costs = kinds.map(|_| Vec::new());
        // A port of its own for each round: the client's stay taken for a minute.
        let mut port = 5000;
        for _ in 0..ROUNDS {
            for (kind, costs) in kinds.iter().zip(&mut costs) {
                port += 1;
                costs.push(measured(*kind, port));
            }
        }
        let alone = median(costs[0].clone());
        for (kind, costs) in kinds.iter().zip(costs) {
            let cost = median(costs);
            println!(
                "{kind:?}: {cost:.1} us a connection, {:+.0} % (median of {ROUNDS})",
                (cost / alone - 1.0) * 100.0
            );
        }
    });
}

/// Microseconds of the exporter's two threads for each connection.
fn measured(kind: Kind, port: u16) -> f64 {
    let mut maker = Maker::open().expect("netlink opens");
    maker
        .create((0..1000).map(|number| Entry::new(numbered(number))))
        .expect("entries are made");
    let run = match kind {
        Kind::NewAndDestroy => Run::start(WithoutUpdates, true),
        _ => Run::start(Netlink, true),
    };
    run.poll();
    let before = ["conntrack-event", "conntrack"].map(on_processor);
    let begun = Instant::now();
    let over = AtomicBool::new(false);
    let updates = AtomicU64::new(0);
    std::thread::scope(|scope| {
        if kind == Kind::Flooded {
            scope.spawn(|| {
                for number in 1.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let changed = Entry {
                        mark: number,
                        ..Entry::new(numbered(number % 1000))
                    };
                    maker.update([changed]).expect("an entry is changed");
                    updates.store(number.into(), Ordering::Relaxed);
                    until(begun, number, RATE * FLOOD);
                }
            });
        }
        connections(begun, SocketAddr::from(([127, 0, 0, 1], port)));
        over.store(true, Ordering::Relaxed);
    });
    let took = begun.elapsed();
    // What was heard last is merged.
    std::thread::sleep(Duration::from_millis(50));
    let after = ["conntrack-event", "conntrack"].map(on_processor);
    let cost = |at: usize| (after[at] - before[at]) * 1e6 / f64::from(CONNECTIONS);
    let stats = run.exporter.stats();
    println!(
        "{kind:?}: {:.0} connections a second; event thread {:.1} us each, kernel thread {:.1} us each; {} UPDATEs of no \
         interest, {} overruns, {} flows",
        f64::from(CONNECTIONS) / took.as_secs_f64(),
        cost(0),
        cost(1),
        updates.load(Ordering::Relaxed),
        stats.kernel.event_overruns,
        stats.table.added_total,
    );
    drop(run);
    Maker::open()
        .and_then(|mut maker| maker.flush())
        .expect("entries are deleted");
    cost(0) + cost(1)
}

/// Connections that carry 100 octets each way and are closed.
fn connections(begun: Instant, server: SocketAddr) {
    let listener = TcpListener::bind(server).expect("a port is free");
    for number in 1..=CONNECTIONS {
        let mut client = TcpStream::connect(server).expect("the listener accepts");
        let (mut accepted, _) = listener.accept().expect("a connection comes");
        client.write_all(&[0; 100]).expect("octets leave");
        accepted.read_exact(&mut [0; 100]).expect("octets arrive");
        accepted.write_all(&[0; 100]).expect("octets leave");
        client.read_exact(&mut [0; 100]).expect("octets arrive");
        drop(client);
        let _ = accepted.read(&mut [0; 1]);
        until(begun, number, RATE);
    }
}

/// Waits for the moment of the `number`th of so many a second.
fn until(begun: Instant, number: u32, rate: u32) {
    let due = Duration::from_secs_f64(f64::from(number) / f64::from(rate));
    let early = due.saturating_sub(begun.elapsed());
    if early > Duration::from_micros(200) {
        std::thread::sleep(early);
    }
}
