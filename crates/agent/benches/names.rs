//! What large sets of names cost: 100,000 prefixes in memory, at their change and at a look-up; 20,000 Pods and 5,000
//! Services at their change.
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use agent::{Networks, Pods, Services};
use criterion::{Criterion, criterion_group, criterion_main};

const PREFIXES: u32 = 100_000;

/// Spreads numbers over all of 32 bits (Knuth's multiplicative hash).
fn spread(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_761)
}

/// Lengths of 8 to 32, each prefix with one of 20,000 names.
fn ipv4() -> String {
    let mut text = String::new();
    for number in 0..PREFIXES {
        let (address, length) = (Ipv4Addr::from(spread(number)), 8 + number % 25);
        // Two prefixes that are one have one name.
        let first = spread(number) >> (32 - length);
        let _ = writeln!(
            text,
            "{address}/{length},net-{}",
            first.wrapping_add(length) % 20_000
        );
    }
    text
}

fn ipv6_address(number: u32) -> Ipv6Addr {
    let spread = u128::from(spread(number));
    Ipv6Addr::from(0x2001 << 112 | spread << 80 | spread << 16)
}

fn ipv6() -> String {
    let mut text = String::new();
    for number in 0..PREFIXES {
        let length = 48 + number % 81;
        let _ = writeln!(
            text,
            "{}/{length},net-{}",
            ipv6_address(number),
            number % 20_000
        );
    }
    text
}

/// One of a million addresses.
type AddressOf = fn(u32) -> IpAddr;

fn networks(c: &mut Criterion) {
    let sets: [(&str, String, AddressOf); 2] = [
        ("IPv4", ipv4(), |number| {
            Ipv4Addr::from(spread(number)).into()
        }),
        ("IPv6", ipv6(), |number| ipv6_address(number).into()),
    ];
    for (family, text, address) in sets {
        let networks = Networks::from_csv(&text).unwrap();
        println!(
            "{PREFIXES} prefixes of {family}: {} octets",
            networks.bytes()
        );
        let mut group = c.benchmark_group(format!("{PREFIXES} prefixes of {family}"));
        group.sample_size(10);
        group.bench_function("read", |b| {
            b.iter(|| Networks::from_csv(black_box(&text)).unwrap())
        });
        let mut number = 0_u32;
        group.bench_function("look up", |b| {
            b.iter(|| {
                number = number.wrapping_add(1);
                black_box(networks.name(address(number % 1_000_000)).is_some())
            });
        });
    }
}

fn kubernetes(c: &mut Criterion) {
    let pods = (0..20_000_u32).map(|number| {
        let address = Ipv4Addr::from(0x0a00_0000 + number);
        format!(
            r#"{{"name":"web-7d4b9c6f5d-{number:05}","namespace":"shop-{}","node":"node-{}","addresses":["{address}","fd00::{number:x}"],"uid":"00112233-4455-6677-8899-{number:012x}","startTime":"2026-01-31T12:00:00Z"}}"#,
            number % 200,
            number % 200
        )
    });
    let pods = format!("[{}]", pods.collect::<Vec<_>>().join(","));
    let services = (0..5_000_u32).map(|number| {
        let address = Ipv4Addr::from(0x0a60_0000 + number);
        format!(
            r#"{{"name":"service-{number}","namespace":"shop-{}","portName":"http","addresses":["{address}"],"port":80,"protocol":"TCP"}}"#,
            number % 200
        )
    });
    let services = format!("[{}]", services.collect::<Vec<_>>().join(","));
    let mut group = c.benchmark_group("read");
    group.sample_size(10);
    group.bench_function("20,000 Pods", |b| {
        b.iter(|| Pods::from_json(black_box(&pods)).unwrap())
    });
    group.bench_function("5,000 Services", |b| {
        b.iter(|| Services::from_json(black_box(&services)).unwrap());
    });
}

criterion_group!(benches, networks, kubernetes);
criterion_main!(benches);
