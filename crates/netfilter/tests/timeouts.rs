//! When the last packet came, told from what is left of real entries' timeouts.
//!
//! A packet is sent between two readings of the clock, and the table read between two others. What is told has to fit both,
//! however long the machine takes for each step.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use netfilter::testing::{
    Entry, Maker, add_timeout_policy, address, dump, icmp_echo, in_tracked_namespace, nft, send_ip,
    tcp_exchange, tuple, udp_exchange,
};
use netfilter::{Filter, ProtocolState, Status, Timeouts, Tuple, sysctl};

/// The kernel counts in ticks of its own, of at most a hundredth of a second.
const TICKS: Duration = Duration::from_millis(30);

/// A connection, and when its last packet was sent.
struct Sent {
    what: &'static str,
    is_it: Box<dyn Fn(&Tuple) -> bool>,
    between: (Instant, Instant),
}

fn sent(what: &'static str, is_it: impl Fn(&Tuple) -> bool + 'static, send: impl FnOnce()) -> Sent {
    let before = Instant::now();
    send();
    Sent {
        what,
        is_it: Box::new(is_it),
        between: (before, Instant::now()),
    }
}

/// What the table tells of one connection: the state, and how long ago its last packet came; checked against the clock.
fn told(timeouts: &Timeouts, sent: &Sent) -> Option<(ProtocolState, Status, u32)> {
    let before = Instant::now();
    let (found, outcome) = dump(&Filter::default(), |it| {
        let since = timeouts.since_last_packet(it);
        (sent.is_it)(&it.original).then_some((it.protocol_state, it.status, since))
    });
    let after = Instant::now();
    assert!(outcome.complete);
    let found: Vec<_> = found.into_iter().flatten().collect();
    assert_eq!(found.len(), 1, "{}", sent.what);
    let (state, status, since) = found[0];
    let since = since?;
    // It came at most `since` and more than `since` less one second before the reading.
    let latest = Duration::from_secs(since.into());
    let earliest = Duration::from_secs(since.saturating_sub(1).into());
    let shortest = before - sent.between.1;
    let longest = after - sent.between.0;
    assert!(
        shortest <= latest + TICKS && earliest <= longest + TICKS,
        "{} ({state:?}): {since} s, and really {shortest:?} to {longest:?}",
        sent.what
    );
    Some((state, status, since))
}

fn port(port: u16) -> impl Fn(&Tuple) -> bool {
    move |tuple| tuple.destination_port == port
}

fn protocol(protocol: u8) -> impl Fn(&Tuple) -> bool {
    move |tuple| tuple.protocol == protocol
}

fn pair(listen: SocketAddr) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(listen).unwrap();
    let near = TcpStream::connect(listen).unwrap();
    (near, listener.accept().unwrap().0)
}

#[test]
fn the_last_packet_of_every_kind_of_connection_is_told_to_a_second() {
    in_tracked_namespace(|| {
        let loopback: [IpAddr; 2] = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        // An established one with everything acknowledged, and one that half closes.
        let (mut near, mut far) = pair(address("127.0.0.1:5003"));
        let established = sent("established", port(5003), || {
            near.write_all(&[1; 100]).unwrap();
            far.read_exact(&mut [0; 100]).unwrap();
            far.write_all(&[1; 100]).unwrap();
            near.read_exact(&mut [0; 100]).unwrap();
            // The last acknowledgement, which TCP may delay.
            while !acknowledged(&far) {
                std::thread::yield_now();
            }
        });
        let (half, _other) = pair(address("[::1]:5004"));
        let half_closed = sent("half closed", port(5004), || {
            half.shutdown(std::net::Shutdown::Write).unwrap();
            while !acknowledged(&half) {
                std::thread::yield_now();
            }
        });
        let reset = sent("reset", port(5005), || {
            let (near, far) = pair(address("127.0.0.1:5005"));
            // Unread octets make the close a reset.
            (&far).write_all(&[1]).unwrap();
            near.peek(&mut [0]).unwrap();
            drop(near);
            let _ = (&far).read(&mut [0]);
        });
        let udp = (address("127.0.0.1:6001"), address("127.0.0.1:6002"));
        let mut all = vec![
            established,
            half_closed,
            reset,
            sent("closed", port(5001), || {
                tcp_exchange(address("127.0.0.1:5001"), 5000, 700);
            }),
            sent("unanswered", port(5002), || {
                udp_exchange(address("[::1]:6000"), address("[::1]:5002"), 10, None);
            }),
            sent("answered", port(6002), || {
                udp_exchange(udp.0, udp.1, 10, Some(10))
            }),
            sent("echo", protocol(1), || icmp_echo(loopback[0], 7)),
            sent("echo of IPv6", protocol(58), || icmp_echo(loopback[1], 7)),
            sent("unknown protocol", protocol(253), || {
                send_ip(loopback[0], 253, &[1, 2, 3, 4]);
            }),
        ];
        // A stream counts as one when packets go both ways after two seconds.
        let server = UdpSocket::bind("127.0.0.1:6003").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let timeouts = Timeouts::read();
        loop {
            let stream = sent("stream", port(6003), || {
                client.send_to(&[1], "127.0.0.1:6003").unwrap();
                let (_, from) = server.recv_from(&mut [0]).unwrap();
                server.send_to(&[1], from).unwrap();
                client.recv_from(&mut [0]).unwrap();
            });
            let (_, status, _) = told(&timeouts, &stream).unwrap();
            if status.contains(Status::ASSURED) {
                all.push(stream);
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let mut states = Vec::new();
        for sent in &all {
            loop {
                let (state, _, since) = told(&timeouts, sent).unwrap();
                if since >= 3 {
                    states.push((sent.what, state));
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        let of = |what| states.iter().find(|it| it.0 == what).unwrap().1;
        assert_eq!(of("established"), ProtocolState::Tcp(3));
        // The other end has not closed: CLOSE_WAIT.
        assert_eq!(of("half closed"), ProtocolState::Tcp(5));
        assert_eq!(of("closed"), ProtocolState::Tcp(7));
        assert_eq!(of("reset"), ProtocolState::Tcp(8));
    });
}

/// Whether a socket's queue of octets without acknowledgement is empty, by `ss`-like means: /proc/net/tcp.
fn acknowledged(socket: &TcpStream) -> bool {
    let port = socket.local_addr().unwrap().port();
    let peer = socket.peer_addr().unwrap().port();
    let file = if socket.local_addr().unwrap().is_ipv4() {
        "tcp"
    } else {
        "tcp6"
    };
    let table = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let ends = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let mut end = || {
            words
                .next()
                .and_then(|word| word.rsplit(':').next().map(str::to_owned))
        };
        (end(), end()) == (Some(format!("{port:04X}")), Some(format!("{peer:04X}")))
    };
    let line = table.lines().find(ends).unwrap();
    line.split_whitespace()
        .nth(4)
        .unwrap()
        .starts_with("00000000")
}

/// Conntrack counts what this drops.
const CUT: &str = "table inet cut {
    chain input { type filter hook input priority 10; tcp dport 5001 drop; }
}";

#[test]
fn an_established_connection_with_data_on_the_way_is_told_too() {
    in_tracked_namespace(|| {
        let (mut near, mut far) = pair(address("127.0.0.1:5001"));
        near.write_all(&[1; 10]).unwrap();
        far.read_exact(&mut [0; 10]).unwrap();
        // From here on nothing arrives: what is sent again and again stays unacknowledged.
        nft(CUT);
        let mut last = Instant::now();
        near.write_all(&[1; 10]).unwrap();
        let timeouts = Timeouts::read();
        let mut packets = 0;
        for _ in 0..3 {
            loop {
                let before = Instant::now();
                let (found, _) = dump(&Filter::default(), |it| {
                    assert!(it.timeout.unwrap() <= 300, "the timeout is cut");
                    (
                        it.original_counters.unwrap().packets,
                        timeouts.since_last_packet(it),
                    )
                });
                let (count, since) = found[0];
                let after = Instant::now();
                if count != packets {
                    // One was sent between the last look and this one.
                    packets = count;
                    let longest = after - last;
                    let since = u64::from(since.unwrap());
                    assert!(Duration::from_secs(since.saturating_sub(1)) <= longest + TICKS);
                    last = before;
                    break;
                }
                last = before;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
}

#[test]
fn a_changed_setting_counts_for_what_comes_after_it() {
    in_tracked_namespace(|| {
        sysctl::write("netfilter/nf_conntrack_udp_timeout", 77).unwrap();
        let timeouts = Timeouts::read();
        let it = sent("unanswered", port(5002), || {
            udp_exchange(address("[::1]:6000"), address("[::1]:5002"), 10, None);
        });
        assert!(told(&timeouts, &it).is_some());
    });
}

/// UDP over IPv4 to port 5002 gets seven seconds.
const POLICY: &str = "table ip policies {
    ct timeout short {
        protocol udp
        l3proto ip
        policy = { unreplied : 7, replied : 9 }
    }
    chain output { type filter hook output priority 0; udp dport 5002 ct timeout set \"short\"; }
}";

fn since_of_udp_and_tcp() -> (Option<u32>, Option<u32>) {
    let timeouts = Timeouts::read();
    let (found, _) = dump(&Filter::default(), |it| {
        (it.original.protocol, timeouts.since_last_packet(it))
    });
    let of = |protocol| found.iter().find(|it| it.0 == protocol).unwrap().1;
    (of(17), of(6))
}

#[test]
fn where_a_rule_gives_timeouts_nothing_is_told_of_its_protocol() {
    in_tracked_namespace(|| {
        udp_exchange(
            address("127.0.0.1:6000"),
            address("127.0.0.1:5002"),
            10,
            None,
        );
        tcp_exchange(address("127.0.0.1:5001"), 50, 70);
        let (udp, tcp) = since_of_udp_and_tcp();
        assert!(udp.is_some() && tcp.is_some());
        nft(POLICY);
        let (udp, tcp) = since_of_udp_and_tcp();
        assert!(udp.is_none() && tcp.is_some());
        nft("delete table ip policies");
        assert!(since_of_udp_and_tcp().0.is_some());
    });
}

/// The same by nfnetlink_cttimeout, which the target CT uses.
#[test]
fn where_an_old_kind_of_policy_is_there_nothing_is_told_of_its_protocol() {
    in_tracked_namespace(|| {
        udp_exchange(
            address("127.0.0.1:6000"),
            address("127.0.0.1:5002"),
            10,
            None,
        );
        tcp_exchange(address("127.0.0.1:5001"), 50, 70);
        add_timeout_policy("short", 17).unwrap();
        let (udp, tcp) = since_of_udp_and_tcp();
        assert!(udp.is_none() && tcp.is_some());
    });
}

#[test]
fn an_entry_with_a_longer_timeout_than_its_state_has_is_left_open() {
    in_tracked_namespace(|| {
        let entry = Entry::new(tuple("10.0.0.1:1", "10.0.0.2:2", 17));
        Maker::open().unwrap().create([entry]).unwrap();
        let timeouts = Timeouts::read();
        let (found, _) = dump(&Filter::default(), |it| timeouts.since_last_packet(it));
        assert_eq!(found, [None]);
    });
}
