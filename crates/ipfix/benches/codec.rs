//! What a record costs: encoding in both profiles, decoding, JSON text. `cargo bench -p ipfix`; each figure is for the
//! number of records that the benchmark's throughput states.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ipfix::{
    BodyEncoder, Counters, DecoderSession, Flow, Format, JsonLines, NameTexts, Names, PolicyNames,
    Profile, Pushed, Record, Session, Sink,
};

fn flow() -> Flow<'static> {
    let ip = |last| std::net::IpAddr::from([10, 1, 2, last]);
    Flow {
        source: ip(1),
        destination: ip(2),
        source_port: 40_000,
        destination_port: 443,
        protocol: 6,
        translated: false,
        reply_source: ip(2),
        reply_destination: ip(1),
        reply_source_port: 443,
        reply_destination_port: 40_000,
        start_ns: 1_767_323_045_678_000_000,
        end_ns: 1_767_323_049_001_000_000,
        reason: 3,
        totals: [
            Counters {
                packets: 1_024,
                octets: 1_500_000,
            },
            Counters {
                packets: 800,
                octets: 64_000,
            },
        ],
        deltas: [
            Counters {
                packets: 10,
                octets: 15_000,
            },
            Counters {
                packets: 8,
                octets: 640,
            },
        ],
        zone: 65_520,
        reply_zone: 65_520,
        mark: 0x10,
        id: 0x1234_5678,
        tcp_state: 3,
        names: None,
        service: false,
        node: "",
        cluster: "",
        denied: None,
    }
}

/// The strings of a connection between Pods, with both policies: a record of 270 octets.
fn names() -> Names {
    let policy = |name: &str, rule: &str| PolicyNames {
        name: name.into(),
        namespace: "shop".into(),
        policy_type: 2,
        rule_name: rule.into(),
        rule_action: 1,
    };
    Names::new(NameTexts {
        source_pod_name: "checkout-7d9f8b6c4-x2x7q".into(),
        source_pod_namespace: "shop".into(),
        source_node_name: "worker-17".into(),
        destination_pod_name: "payments-5c8d7f9b6-pl4mz".into(),
        destination_pod_namespace: "shop".into(),
        destination_node_name: "worker-04".into(),
        destination_service_port_name: "shop/payments:https".into(),
        ingress_policy: policy("allow-checkout", "web"),
        egress_policy: policy("allow-payments", "api"),
        flow_type: 2,
        ..NameTexts::default()
    })
}

/// Messages of 64 KiB filled to the end, then handed over, as an export does.
fn encode(c: &mut Criterion) {
    const RECORDS: usize = 10_000;
    let names = names();
    let plain = flow();
    let named = Flow {
        names: Some(&names),
        ..flow()
    };
    let v6 = |last| std::net::IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
    let plain6 = Flow {
        source: v6(1),
        destination: v6(2),
        reply_source: v6(2),
        reply_destination: v6(1),
        ..flow()
    };
    let standard = Profile::standard(None).expect("no field was selected");
    let mut group = c.benchmark_group("encode");
    group.throughput(Throughput::Elements(RECORDS as u64));
    for (name, profile, flow) in [
        ("standard IPv4", &standard, &plain),
        ("standard IPv6", &standard, &plain6),
        ("antrea, no names", &Profile::antrea(), &plain),
        ("antrea, names", &Profile::antrea(), &named),
    ] {
        let format = Arc::new(Format::new(profile, 1, 65_535).expect("the largest size"));
        let mut encoder = BodyEncoder::new(&format);
        group.bench_function(name, |b| {
            b.iter(|| {
                for _ in 0..RECORDS {
                    assert_eq!(encoder.push(black_box(flow), true), Pushed::Added);
                }
                encoder.finish()
            });
        });
    }
    group.finish();
}

/// Reads every field and keeps nothing.
struct Fields;

impl Sink for Fields {
    fn record(&mut self, record: &Record<'_>) {
        for field in record.fields() {
            black_box(field);
        }
    }
}

fn decode(c: &mut Criterion) {
    let names = names();
    let mut group = c.benchmark_group("decode");
    for (name, profile) in [
        (
            "standard",
            Profile::standard(None).expect("no field was selected"),
        ),
        ("antrea", Profile::antrea()),
    ] {
        let format = Arc::new(Format::new(&profile, 1, 65_535).expect("the largest size"));
        let mut encoder = BodyEncoder::new(&format);
        while encoder.push(
            &Flow {
                names: Some(&names),
                ..flow()
            },
            false,
        ) == Pushed::Added
        {}
        let body = encoder.finish().remove(0);
        let mut message = Session::new(Arc::clone(&format))
            .header(body.sets.len(), body.records, 0)
            .to_vec();
        message.extend_from_slice(&body.sets);
        let mut session = DecoderSession::default();
        session
            .stream(&Session::new(format).templates(1), &mut Fields)
            .expect("templates");
        group.throughput(Throughput::Elements(body.records.into()));
        group.bench_function(format!("{name}, fields"), |b| {
            b.iter(|| session.stream(black_box(&message), &mut Fields));
        });
        let mut lines = JsonLines::new(false);
        group.bench_function(format!("{name}, JSON"), |b| {
            b.iter(|| {
                lines.clear();
                session.stream(black_box(&message), &mut lines)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, encode, decode);
criterion_main!(benches);
