//! What decoding adds to a dump: a table of a million entries in a network namespace of its own, dumped by a loop that
//! only counts messages and by the reader with every field decoded, in turns in one run.
//!
//! `cargo bench -p netfilter --bench dump [-- --entries N]`. Takes root in the first user namespace where the kernel's
//! nf_conntrack_max is below N: it is raised, with the hash table, and both are put back at the end, however that comes.
#![allow(
    clippy::expect_used,
    reason = "a measurement that cannot be made ends the program"
)]

use std::fs;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use netfilter::testing::{self, Entry, Maker, Zone};
use netfilter::{ConntrackSocket, Filter, Tuple};
use rustix::time::{ClockId, clock_gettime};

const MAX: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
const BUCKETS: &str = "/proc/sys/net/netfilter/nf_conntrack_buckets";
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test` may build and start benchmarks too: it does not say `--bench`.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let entries = arguments
        .iter()
        .position(|argument| argument == "--entries")
        .and_then(|position| arguments.get(position + 1))
        .map_or(Some(1_000_000), |text| text.parse().ok());
    let Some(entries) = entries else {
        eprintln!("--entries takes a number");
        return ExitCode::from(2);
    };
    let raised = match Raised::to_hold(entries) {
        Ok(raised) => raised,
        Err(reason) => {
            eprintln!("not measured: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let measured = testing::on_namespace_thread(move || measure(entries));
    drop(raised);
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("not measured: no network namespace can be made here ({error}); run as root");
            ExitCode::FAILURE
        }
    }
}

fn measure(entries: u32) {
    for setting in ["acct", "timestamp"] {
        netfilter::sysctl::write(&format!("netfilter/nf_conntrack_{setting}"), 1)
            .expect("settings of an own namespace can be written");
    }
    let started = Instant::now();
    Maker::open()
        .expect("a conntrack socket opens")
        .create((0..entries).map(entry))
        .expect("the table takes the entries");
    println!(
        "{entries} entries made in {:.1} s",
        started.elapsed().as_secs_f64()
    );

    let memory = peak_memory();
    let mut counted = Vec::new();
    let mut decoded = Vec::new();
    let mut octets = 0;
    for round in 0..=ROUNDS {
        let count = timed(|| octets = receive_only(entries));
        let decode = timed(|| decode_all(entries));
        // The first round warms up.
        if round > 0 {
            println!(
                "receive only {:.3} s, cpu {:.3} s; receive and decode {:.3} s, cpu {:.3} s",
                count.wall.as_secs_f64(),
                count.cpu.as_secs_f64(),
                decode.wall.as_secs_f64(),
                decode.cpu.as_secs_f64()
            );
            counted.push(count);
            decoded.push(decode);
        }
    }
    println!("octets an entry: {:.0}", octets as f64 / f64::from(entries));
    for (what, of) in [
        ("wall", (|time: &Time| time.wall) as fn(&Time) -> Duration),
        ("cpu", |time: &Time| time.cpu),
    ] {
        let (count, decode) = (median(&counted, of), median(&decoded, of));
        println!(
            "median {what}: receive only {:.3} s, receive and decode {:.3} s, ratio {:.3}, {:.0} ns an entry more",
            count.as_secs_f64(),
            decode.as_secs_f64(),
            decode.as_secs_f64() / count.as_secs_f64(),
            (decode.as_secs_f64() - count.as_secs_f64()) * 1e9 / f64::from(entries)
        );
    }
    println!(
        "peak memory grew by {} KiB while dumping",
        peak_memory() - memory
    );
}

/// Zone, mark, counters and timestamps: what every entry of a real table has.
fn entry(number: u32) -> Entry {
    let destination = Ipv4Addr::from(0x0a09_0000 | number >> 16);
    let source = Ipv4Addr::new(10, 8, 0, 1);
    let ports = (
        (number >> 8 & 0xff) as u16 + 1024,
        (number & 0xff) as u16 + 1024,
    );
    Entry {
        zone: Zone::Shared(65_520),
        mark: 3,
        ..Entry::new(Tuple::new(
            source.into(),
            destination.into(),
            17,
            ports.0,
            ports.1,
        ))
    }
}

fn receive_only(entries: u32) -> u64 {
    let (messages, octets) = testing::count_only();
    assert_eq!(messages, u64::from(entries));
    octets
}

fn decode_all(entries: u32) {
    let mut socket = ConntrackSocket::open().expect("a conntrack socket opens");
    let mut dump = socket.dump(&Filter::default()).expect("a request leaves");
    while let Some(entries) = dump.next_buffer().expect("the kernel answers") {
        entries.for_each(|entry| _ = black_box(&entry));
    }
    let outcome = dump.finish();
    assert!(
        outcome.complete && outcome.entries == u64::from(entries),
        "{outcome:?}"
    );
}

struct Time {
    wall: Duration,
    cpu: Duration,
}

fn timed(work: impl FnOnce()) -> Time {
    let (wall, cpu) = (Instant::now(), thread_time());
    work();
    Time {
        wall: wall.elapsed(),
        cpu: thread_time() - cpu,
    }
}

fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime))
        .expect("a thread's time is not negative")
}

fn median(times: &[Time], of: impl Fn(&Time) -> Duration) -> Duration {
    let mut times: Vec<Duration> = times.iter().map(of).collect();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// VmHWM in KiB.
fn peak_memory() -> i64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .expect("VmHWM is a number")
}

/// The kernel's limits, raised for as long as this lives. A child holds their old values and puts them back when its
/// input ends, which also happens when this process is killed.
struct Raised {
    keeper: Option<Child>,
}

impl Raised {
    fn to_hold(entries: u32) -> Result<Self, String> {
        let read = |path| {
            fs::read_to_string(path)
                .map(|text| text.trim().to_owned())
                .map_err(|error| format!("{path}: {error}"))
        };
        let (max, buckets) = (read(MAX)?, read(BUCKETS)?);
        let wanted = u64::from(entries) + u64::from(entries) / 20;
        if max.parse().is_ok_and(|max: u64| max >= wanted) {
            return Ok(Self { keeper: None });
        }
        let script =
            format!("trap '' INT TERM HUP; cat; echo {buckets} > {BUCKETS}; echo {max} > {MAX}");
        let keeper = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of reach of what ends this process together with its group.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("sh: {error}"))?;
        let raised = Self {
            keeper: Some(keeper),
        };
        // Buckets first: writing them may set the maximum as well.
        for (path, value) in [(BUCKETS, u64::from(entries)), (MAX, wanted)] {
            fs::write(path, value.to_string()).map_err(|error| {
                format!(
                    "{entries} entries need {path} at {value} (nf_conntrack_max is {max}), and writing it takes root in the first user namespace: {error}"
                )
            })?;
        }
        Ok(raised)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }
}
