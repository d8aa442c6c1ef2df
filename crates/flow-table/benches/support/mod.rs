//! A table as large as asked, and the dumps that fill it.
#![allow(dead_code, unreachable_pub, reason = "each benchmark uses its part")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use flow_table::*;

/// Entries in one receive buffer of a dump.
pub const BUFFER: usize = 130;
pub const EPOCH_NS: u64 = 1_780_000_000_000_000_000;

pub fn at(ms: u64) -> Now {
    Now {
        monotonic_ms: ms,
        wall_ns: EPOCH_NS + ms * 1_000_000,
    }
}

pub fn everyone(_: &Observation) -> Option<NamesId> {
    Some(NamesId(1))
}

pub fn config(max_connections: usize) -> Config {
    Config {
        max_connections,
        agent_start: at(0),
        ..Config::default()
    }
}

/// UDP connection number `n`, IPv4 or IPv6, with this many packets.
pub fn flow(n: u32, v6: bool, packets: u64) -> Observation {
    let [_, high, middle, low] = n.to_be_bytes();
    let (source, destination) = if v6 {
        let host = n & 0xffff;
        (
            IpAddr::V6(Ipv6Addr::new(
                0xfd00,
                0,
                0,
                0,
                0,
                0,
                (n >> 16) as u16,
                host as u16,
            )),
            IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, 1)),
        )
    } else {
        (
            IpAddr::V4(Ipv4Addr::new(10, high, middle, low)),
            IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
        )
    };
    let original = Tuple {
        source,
        destination,
        protocol: 17,
        source_port: (n % 50_000) as u16 + 1024,
        destination_port: 53,
    };
    Observation {
        original,
        reply: original.inverse(),
        zone: 7,
        reply_zone: 7,
        id: n.wrapping_mul(0x9e37_79b9),
        start_ns: Some(EPOCH_NS + u64::from(n)),
        stop_ns: None,
        last_packet_ns: None,
        counters: Some([
            Counters {
                packets,
                octets: packets * 100,
            },
            Counters {
                packets,
                octets: packets * 80,
            },
        ]),
        mark: 1,
        status: 0xe,
        protocol_state: 0,
        timeout_s: Some(120),
        labels: [0; 16],
    }
}

pub fn flows(count: u32, v6: bool, packets: u64) -> Vec<Observation> {
    (0..count).map(|n| flow(n, v6, packets)).collect()
}

/// The same in another order, far from that of the slots.
pub fn shuffled<T>(mut flows: Vec<T>) -> Vec<T> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for n in (1..flows.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        flows.swap(n, (state % (n as u64 + 1)) as usize);
    }
    flows
}

pub fn move_all(flows: &mut [Observation]) {
    for counters in flows.iter_mut().filter_map(|flow| flow.counters.as_mut()) {
        counters[0].packets += 1;
        counters[0].octets += 100;
    }
}

/// One dump in buffers of `buffer` entries, and the housekeeping after it.
pub fn poll(table: &mut FlowTable, flows: &[Observation], ms: u64, buffer: usize) {
    let poll = table.begin_poll(Scope(0), at(ms));
    for chunk in flows.chunks(buffer) {
        table.observe(poll, chunk, &mut everyone, at(ms));
    }
    table.end_poll(poll, true, at(ms));
    while table.work(at(ms)) == Progress::More {}
}

/// Processor time of this thread: what else the machine does is not part of it.
pub fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
