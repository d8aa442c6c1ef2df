//! What an octet costs, whatever is made of it. `cargo test -p ipfix --release --test cost -- --nocapture` prints the
//! figures; the test itself compares shapes of messages with each other, in the processor time of its own thread.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use ipfix::{DecoderSession, JsonLines, Limits, registry};
use rustix::time::{ClockId, clock_gettime};

/// Octets of all sets of a message.
const MOST: usize = 65_519;

fn message(sequence: u32, sets: &[u8]) -> Vec<u8> {
    let mut octets = vec![0, 10];
    octets.extend_from_slice(&(16 + sets.len() as u16).to_be_bytes());
    octets.extend_from_slice(&1_767_323_056_u32.to_be_bytes());
    octets.extend_from_slice(&sequence.to_be_bytes());
    octets.extend_from_slice(&1_u32.to_be_bytes());
    octets.extend_from_slice(sets);
    octets
}

fn set(id: u16, body: &[u8]) -> Vec<u8> {
    let mut octets = id.to_be_bytes().to_vec();
    octets.extend_from_slice(&(4 + body.len() as u16).to_be_bytes());
    octets.extend_from_slice(body);
    octets
}

fn template(id: u16, fields: impl ExactSizeIterator<Item = (u32, u16, u16)>) -> Vec<u8> {
    let mut octets = id.to_be_bytes().to_vec();
    octets.extend_from_slice(&(fields.len() as u16).to_be_bytes());
    for (enterprise, number, length) in fields {
        let bit = if enterprise == 0 { 0 } else { 0x8000 };
        octets.extend_from_slice(&(number | bit).to_be_bytes());
        octets.extend_from_slice(&length.to_be_bytes());
        if enterprise != 0 {
            octets.extend_from_slice(&enterprise.to_be_bytes());
        }
    }
    octets
}

/// As many of these as a set holds.
fn many(mut each: impl FnMut(u16) -> Vec<u8>) -> Vec<u8> {
    let mut octets = Vec::new();
    for number in 0.. {
        let next = each(number);
        if octets.len() + next.len() > MOST - 4 {
            return octets;
        }
        octets.extend_from_slice(&next);
    }
    octets
}

struct Shape {
    name: &'static str,
    before: Vec<Vec<u8>>,
    message: Vec<u8>,
}

fn data(name: &'static str, fields: &[(u32, u16, u16)]) -> Shape {
    Shape {
        name,
        before: vec![message(0, &set(2, &template(256, fields.iter().copied())))],
        message: message(0, &set(256, &[6; MOST - 4])),
    }
}

/// So many templates that one look at each of them for every four octets would be seen.
fn templates_of_one_field() -> Vec<Vec<u8>> {
    (0..8_u16)
        .map(|group| {
            let body = many(|number| {
                if number < 4_096 {
                    template(256 + group * 4_096 + number, [(0, 4, 1)].into_iter())
                } else {
                    vec![0; MOST]
                }
            });
            message(0, &set(2, &body))
        })
        .collect()
}

fn shapes() -> Vec<Shape> {
    let mut empty = vec![(0, 82, 0); 1_023];
    empty.push((0, 4, 1));
    let mut longest: Vec<_> = registry::elements()
        .into_iter()
        .filter(|element| format!("{:?}", element.data_type).starts_with("Unsigned"))
        .collect();
    longest.sort_by_key(|element| std::cmp::Reverse(element.name.len()));
    let longest: Vec<_> = longest[..200]
        .iter()
        .map(|element| (element.id.enterprise, element.id.number, 1))
        .collect();
    let withdraw = |id: u16| [id.to_be_bytes(), [0, 0]].concat();
    vec![
        data("records of one octet", &[(0, 4, 1)]),
        data("records of one octet among 1,023 empty fields", &empty),
        data("values of one octet with the longest names", &longest),
        data("one element 1,024 times", &[(0, 4, 1); 1_024]),
        Shape {
            message: message(0, &set(256, &[0; MOST - 4])),
            ..data("empty texts of variable length", &[(0, 82, 65_535); 1_024])
        },
        data("octets", &[(0, 95, 65_000)]),
        Shape {
            name: "withdrawals beside 32,768 templates",
            before: templates_of_one_field(),
            message: message(0, &set(2, &many(|number| withdraw(40_000 + number)))),
        },
        Shape {
            name: "withdrawals of all options templates beside 32,768 templates",
            before: templates_of_one_field(),
            message: message(0, &set(3, &many(|_| withdraw(3)))),
        },
        Shape {
            name: "templates of one field",
            before: Vec::new(),
            message: message(
                0,
                &set(
                    2,
                    &many(|number| template(256 + number, [(0, 4, 1)].into_iter())),
                ),
            ),
        },
        Shape {
            name: "a template of one field that changes each time",
            before: Vec::new(),
            message: message(
                0,
                &set(
                    2,
                    &many(|number| template(256, [(0, 4, 1 + number % 2)].into_iter())),
                ),
            ),
        },
        Shape {
            name: "a template of 1,024 fields that changes each time",
            before: Vec::new(),
            message: message(
                0,
                &set(
                    2,
                    &many(|number| {
                        template(
                            256,
                            (0..1_024).map(|field| (0, 0x4000 + field, 1 + number % 2)),
                        )
                    }),
                ),
            ),
        },
        Shape {
            name: "empty data sets",
            before: Vec::new(),
            message: message(0, &many(|_| set(256, &[]))),
        },
    ]
}

fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds an octet: the least of several tries, each with a session of its own.
fn cost(
    Shape {
        before, message, ..
    }: &Shape,
) -> f64 {
    let limits = Limits {
        templates: 40_000,
        fields: 1_000_000,
        ..Limits::default()
    };
    let mut least = u64::MAX;
    let mut lines = JsonLines::new(true);
    for _ in 0..5 {
        let mut session = DecoderSession::new(limits);
        for message in before {
            session.stream(message, &mut lines).unwrap();
        }
        let start = processor_ns();
        session.stream(message, &mut lines).unwrap();
        least = least.min(processor_ns() - start);
        lines.clear();
    }
    least as f64 / message.len() as f64
}

#[test]
fn no_shape_of_a_message_makes_an_octet_dear() {
    let costs: Vec<_> = shapes()
        .iter()
        .map(|shape| (shape.name, cost(shape)))
        .collect();
    for (name, cost) in &costs {
        println!("{cost:8.1} ns an octet: {name}");
    }
    // A record for each octet is dear, and what it writes is paid for. What grows with more than the octets is hundreds
    // of times as dear.
    let (_, record) = costs[0];
    for (name, cost) in costs {
        assert!(cost < record * 20.0, "{name}: {cost} against {record}");
    }
}
