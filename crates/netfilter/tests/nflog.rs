//! NFLOG groups of a running kernel.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use netfilter::nflog::{LoggedPacket, NflogOptions, NflogReceived, NflogSocket};
use netfilter::testing::{in_tracked_namespace, nft};

const RULES: &str = "table inet deny {
    chain out { type filter hook output priority 10;
        udp dport 9999 meta mark set 0x2a log prefix \"udp denied\" group 5 drop
        tcp dport 9998 log prefix \"tcp denied\" group 5 reject with tcp reset
    }
    chain in { type filter hook input priority 10;
        udp dport 9997 log prefix \"in\" group 6 drop
    }
}";

fn drain(socket: &mut NflogSocket, mut each: impl FnMut(LoggedPacket<'_>)) -> u64 {
    let mut overruns = 0;
    loop {
        match socket.recv(Some(Duration::from_millis(500))).unwrap() {
            NflogReceived::Packets(packets) => packets.for_each(&mut each),
            NflogReceived::Overrun => overruns += 1,
            NflogReceived::TimedOut => return overruns,
        }
    }
}

#[test]
fn denied_packets_come_with_rule_mark_hook_interfaces_and_headers() {
    in_tracked_namespace(|| {
        nft(RULES);
        let mut output = NflogSocket::open(NflogOptions::new(5)).unwrap();
        let mut input = NflogSocket::open(NflogOptions::new(6)).unwrap();
        for (near, far) in [("127.0.0.1:0", "127.0.0.1:"), ("[::1]:0", "[::1]:")] {
            let socket = UdpSocket::bind(near).unwrap();
            // A dropped packet is the sender's error.
            socket.send_to(&[0; 100], format!("{far}9999")).unwrap_err();
            socket.send_to(&[0; 100], format!("{far}9997")).unwrap();
            let listener: SocketAddr = format!("{far}9998").parse().unwrap();
            assert!(TcpStream::connect_timeout(&listener, Duration::from_secs(1)).is_err());
        }
        let mut seen = Vec::new();
        drain(&mut output, |packet| {
            let header = packet.header.unwrap();
            assert_eq!(
                (packet.hook, packet.input_interface, packet.output_interface),
                (3, None, Some(1))
            );
            assert_eq!(packet.group, 5);
            let port = header.tuple.destination_port;
            seen.push((
                packet.prefix.to_owned(),
                packet.hw_protocol,
                packet.mark,
                header.tuple.protocol,
                port,
                header.octets,
                header.tcp_flags,
            ));
        });
        let udp = |hw, octets| ("udp denied".to_owned(), hw, 0x2a, 17, 9999, octets, None);
        let tcp = |hw, octets| ("tcp denied".to_owned(), hw, 0, 6, 9998, octets, Some(2));
        assert_eq!(
            seen,
            [
                udp(0x0800, 128),
                tcp(0x0800, 60),
                udp(0x86dd, 148),
                tcp(0x86dd, 80)
            ]
        );
        let mut seen = Vec::new();
        drain(&mut input, |packet| {
            seen.push((
                packet.prefix.to_owned(),
                packet.hook,
                packet.input_interface,
                packet.output_interface,
            ));
        });
        assert_eq!(seen, vec![("in".to_owned(), 1, Some(1), None); 2]);
        let counts = output.counts();
        assert_eq!(
            (
                counts.packets,
                counts.lost,
                counts.overruns,
                counts.malformed
            ),
            (4, 0, 0, 0)
        );
    });
}

#[test]
fn a_group_has_one_reader() {
    in_tracked_namespace(|| {
        let first = NflogSocket::open(NflogOptions::new(7)).unwrap();
        let Err(error) = NflogSocket::open(NflogOptions::new(7)) else {
            panic!("the kernel binds a group once");
        };
        assert_eq!(error.code(), "ERR_NFLOG_GROUP");
        assert!(error.to_string().contains('7'));
        drop(first);
        // A process that another test is just starting may hold the socket open until it has become another program.
        let free = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            NflogSocket::open(NflogOptions::new(7)).is_ok()
        });
        assert!(free);
    });
}

#[test]
fn packets_that_did_not_fit_the_buffer_are_counted_one_by_one() {
    in_tracked_namespace(|| {
        nft(RULES);
        let mut log = NflogSocket::open(NflogOptions {
            receive_buffer: 4096,
            queue_threshold: 1,
            ..NflogOptions::new(5)
        })
        .unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let send = || socket.send_to(&[0; 100], "127.0.0.1:9999").unwrap_err();
        for _ in 0..1000 {
            send();
        }
        let overruns = drain(&mut log, |_| {});
        send();
        drain(&mut log, |_| {});
        let counts = log.counts();
        assert_eq!((counts.overruns, overruns >= 1), (overruns, true));
        assert!(counts.lost > 0);
        assert_eq!(counts.packets + counts.lost, 1001);
    });
}
