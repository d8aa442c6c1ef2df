//! Events of a running kernel.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]

use std::time::Duration;

use netfilter::testing::{self, Entry, Maker, address, in_tracked_namespace, numbered, tuple};
use netfilter::{
    Connection, ConntrackSocket, Counters, EventGroups, EventKind, EventOptions, EventSocket,
    ProtocolState, Received, Updates,
};

const WAIT: Option<Duration> = Some(Duration::from_millis(500));

fn listen(receive_buffer: usize, groups: EventGroups) -> EventSocket {
    EventSocket::open(EventOptions {
        receive_buffer,
        groups,
    })
    .unwrap()
}

/// Reads until nothing comes for a while; the number of overruns.
fn drain(socket: &mut EventSocket, mut each: impl FnMut(EventKind, &Connection<'_>)) -> u64 {
    let mut overruns = 0;
    loop {
        match socket.recv(WAIT).unwrap() {
            Received::Events(events) => {
                events.for_each(|event| each(event.kind, &event.connection))
            }
            Received::Overrun => overruns += 1,
            Received::TimedOut => return overruns,
        }
    }
}

#[test]
fn a_connection_s_life_is_told_from_new_to_destroy() {
    in_tracked_namespace(|| {
        let mut socket = listen(1 << 20, EventGroups::ALL);
        let connection = tuple("10.0.0.1:1000", "10.0.0.2:80", 6);
        let labels = Some([1; 16]);
        let entry = Entry {
            mark: 5,
            labels,
            ..Entry::new(connection)
        };
        let mut maker = Maker::open().unwrap();
        maker.create([entry.clone()]).unwrap();
        maker
            .update([Entry {
                protocol_state: ProtocolState::Tcp(7),
                ..entry.clone()
            }])
            .unwrap();
        maker.delete([entry]).unwrap();
        let mut told = Vec::new();
        drain(&mut socket, |kind, entry| {
            assert_eq!(entry.original, connection);
            let counted = entry.original_counters.is_some();
            told.push((
                kind,
                entry.protocol_state,
                counted,
                entry.start.is_some(),
                entry.stop.is_some(),
                entry.labels,
            ));
        });
        let (established, closing) = (ProtocolState::Tcp(3), ProtocolState::Tcp(7));
        assert_eq!(told.len(), 3);
        assert_eq!(
            told[0],
            (EventKind::New, established, false, false, false, labels)
        );
        assert_eq!((told[1].0, told[1].1), (EventKind::Update, closing));
        assert_eq!(
            told[2],
            (EventKind::Destroy, closing, true, true, true, None)
        );
        assert_eq!(socket.counts().events, 3);
    });
}

#[test]
fn destroy_carries_the_last_counters() {
    in_tracked_namespace(|| {
        let mut socket = listen(
            1 << 20,
            EventGroups {
                new: false,
                updates: Updates::None,
                destroy: true,
            },
        );
        let (near, far) = ("[::1]:40001", "[::1]:53");
        testing::udp_exchange(address(near), address(far), 100, Some(200));
        testing::udp_exchange(address(near), address(far), 1, None);
        Maker::open().unwrap().flush().unwrap();
        let mut told = Vec::new();
        drain(&mut socket, |kind, entry| {
            assert!(entry.start <= entry.stop);
            told.push((
                kind,
                entry.original,
                entry.original_counters,
                entry.reply_counters,
            ));
        });
        let counters = |packets, octets| Some(Counters { packets, octets });
        let expected = (
            EventKind::Destroy,
            tuple(near, far, 17),
            counters(2, 148 + 49),
            counters(1, 248),
        );
        assert_eq!(told, [expected]);
    });
}

/// A socket that hears all, and one whose filter the kernel applies, on the same connections: TCP on both families from SYN
/// to TIME_WAIT, UDP both ways, marks set, changed and taken away, labels, and SCTP up to CLOSED.
#[test]
fn of_the_updates_the_kernel_sends_those_that_matter_and_everything_else() {
    in_tracked_namespace(|| {
        let listen = |updates| {
            let groups = EventGroups {
                updates,
                ..EventGroups::ALL
            };
            listen(1 << 20, groups)
        };
        let mut all = listen(Updates::All);
        let mut closing = listen(Updates::Closing);
        let mut or_marked = listen(Updates::ClosingOrMarked);

        testing::tcp_exchange(address("127.0.0.1:5001"), 5000, 700);
        testing::tcp_exchange(address("[::1]:5002"), 3, 9000);
        let udp = (address("127.0.0.1:6001"), address("127.0.0.1:6002"));
        testing::udp_exchange(udp.0, udp.1, 100, Some(10));
        let mut maker = Maker::open().unwrap();
        let (sctp, plain) = (
            Entry::new(tuple("10.0.0.1:1000", "10.0.0.2:2905", 132)),
            Entry::new(tuple("10.0.0.1:1000", "10.0.0.2:53", 17)),
        );
        maker.create([sctp.clone(), plain.clone()]).unwrap();
        for mark in [5, 6, 0] {
            maker
                .update([Entry {
                    mark,
                    ..plain.clone()
                }])
                .unwrap();
        }
        let labels = Some([3; 16]);
        maker
            .update([Entry {
                labels,
                ..plain.clone()
            }])
            .unwrap();
        for state in [5, 7, 1] {
            let protocol_state = ProtocolState::Sctp(state);
            maker
                .update([Entry {
                    protocol_state,
                    ..sctp.clone()
                }])
                .unwrap();
        }
        maker.flush().unwrap();

        let over = |state| {
            let over = [
                ProtocolState::Tcp(7),
                ProtocolState::Tcp(8),
                ProtocolState::Sctp(1),
            ];
            over.contains(&state)
        };
        let told = |socket: &mut EventSocket| {
            let mut told = Vec::new();
            let overruns = drain(socket, |kind, it| {
                told.push((kind, it.original, it.protocol_state, it.mark));
            });
            assert_eq!(overruns, 0);
            told
        };
        let everything = told(&mut all);
        let updates = everything.iter().filter(|it| it.0 == EventKind::Update);
        assert!(updates.count() > 12, "{everything:#?}");
        let mut expected = everything.clone();
        expected.retain(|(kind, _, state, _)| *kind != EventKind::Update || over(*state));
        let heard = told(&mut closing);
        assert_eq!(heard, expected);
        let ends = heard.iter().filter(|it| it.0 == EventKind::Update);
        assert_eq!(ends.count(), 3, "two of TCP, one of SCTP: {heard:#?}");

        let heard = told(&mut or_marked);
        let marks = heard
            .iter()
            .filter(|it| it.0 == EventKind::Update && !over(it.2));
        let marks: Vec<u32> = marks.map(|it| it.3).collect();
        // The last three: a change over netlink names the mark, so that the kernel tells it.
        assert_eq!(marks, [5, 6, 0, 0, 0, 0], "{heard:#?}");
    });
}

#[test]
fn nothing_in_time_is_said_at_once_or_after_the_wait() {
    in_tracked_namespace(|| {
        let mut socket = listen(1 << 20, EventGroups::ALL);
        assert!(matches!(
            socket.recv(Some(Duration::ZERO)).unwrap(),
            Received::TimedOut
        ));
        assert!(matches!(
            socket.recv(Some(Duration::from_millis(20))).unwrap(),
            Received::TimedOut
        ));
    });
}

#[test]
fn a_receive_without_end_is_woken_by_an_event() {
    in_tracked_namespace(|| {
        let mut socket = listen(1 << 20, EventGroups::ALL);
        let maker = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            let entry = Entry::new(tuple("10.0.0.1:1", "10.0.0.2:2", 17));
            Maker::open().unwrap().create([entry]).unwrap();
        });
        let Received::Events(mut events) = socket.recv(None).unwrap() else {
            panic!("an event was made");
        };
        assert_eq!(events.next().unwrap().kind, EventKind::New);
        assert!(events.next().is_none());
        maker.join().unwrap();
    });
}

/// Fifty thousand connections made and destroyed while nobody reads.
#[test]
fn a_storm_overruns_a_small_buffer_and_is_counted_and_the_socket_goes_on() {
    in_tracked_namespace(|| {
        let mut socket = listen(64 * 1024, EventGroups::ALL);
        let storm = |from: u32| (from..from + 5_000).map(|number| Entry::new(numbered(number)));
        let mut maker = Maker::open().unwrap();
        for round in 0..10 {
            maker.create(storm(round * 5_000)).unwrap();
            maker.delete(storm(round * 5_000)).unwrap();
        }
        let mut events = 0;
        let overruns = drain(&mut socket, |_, _| events += 1);
        assert!(overruns >= 1);
        assert!(events < 100_000);
        let counts = socket.counts();
        assert_eq!(
            (counts.overruns, counts.events, counts.malformed),
            (overruns, events, 0)
        );

        // After the overrun: a dump tells what is true, and events come again.
        assert_eq!(
            ConntrackSocket::open().unwrap().counts().unwrap().entries,
            0
        );
        maker.create(storm(0).take(1)).unwrap();
        let mut kinds = Vec::new();
        assert_eq!(drain(&mut socket, |kind, _| kinds.push(kind)), 0);
        assert_eq!(kinds, [EventKind::New]);
    });
}

#[test]
fn the_receive_buffer_is_as_large_as_asked_where_that_is_allowed_and_as_large_as_may_be_elsewhere()
{
    in_tracked_namespace(|| {
        let most = netfilter::sysctl::read("core/rmem_max").unwrap() as usize;
        let size = listen(4 * most, EventGroups::ALL).receive_buffer_size();
        // The kernel doubles what it grants. Beyond rmem_max it takes CAP_NET_ADMIN in the first user namespace.
        assert!(size == 8 * most || size == 2 * most, "{size} of {most}");
    });
}
