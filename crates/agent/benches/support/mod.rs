//! What the benchmarks of events share: an exporter, and what its threads cost.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::expect_used,
    clippy::panic,
    reason = "each benchmark uses a part, and one that cannot go on has to stop"
)]

use std::fs;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use agent::{
    Config, Exporter, FormatId, FormatSpec, Notice, PollSummary, ProfileName, Selection, Sockets,
};
use flow_table::{InitialDelta, WhenFull};

pub struct Run {
    pub exporter: Exporter,
    format: FormatId,
    woken: Receiver<()>,
}

impl Run {
    pub fn start(sockets: impl Sockets, events: bool) -> Self {
        let (wake, woken) = channel();
        let config = Config {
            selection: Selection::default(),
            netns: None,
            active_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(600),
            stale_timeout: Duration::from_secs(600),
            max_connections: None,
            when_full: WhenFull::RejectNew,
            initial_delta: InitialDelta::Zero,
            poll_retry_timeout: Duration::from_secs(5),
            events,
            event_buffer: 8 << 20,
            seconds_end_monotonic: false,
            state_file: None,
            names: Default::default(),
        };
        let wake = move || {
            let _ = wake.send(());
        };
        let mut exporter =
            Exporter::start_on(sockets, config, Box::new(wake)).expect("the exporter starts");
        let format = exporter
            .add_format(FormatSpec {
                profile: ProfileName::Standard(None),
                domain: 1,
                max_message_size: 65_535,
            })
            .expect("the standard profile compiles");
        Self {
            exporter,
            format,
            woken,
        }
    }

    /// Takes and commits all that is due.
    pub fn export(&mut self) {
        let formats = [self.format];
        while let Some(batch) = self
            .exporter
            .take_batch(&formats, 1024)
            .expect("a batch is encoded")
        {
            self.exporter.commit(batch.id).expect("it is in flight");
        }
    }

    pub fn poll(&self) -> PollSummary {
        self.exporter.poll();
        loop {
            for notice in self.exporter.notices() {
                match notice {
                    Notice::Poll(summary) if summary.asked => return summary,
                    Notice::PollFailed { message, .. } => panic!("{message}"),
                    _ => {}
                }
            }
            self.woken.recv().expect("the kernel thread lives");
        }
    }
}

/// Seconds on a processor of this process's threads of this name.
pub fn on_processor(thread: &str) -> f64 {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc is mounted");
    tasks
        .filter_map(|task| {
            let path = task.ok()?.path();
            let name = fs::read_to_string(path.join("comm")).ok()?;
            let times = fs::read_to_string(path.join("schedstat")).ok()?;
            let nanoseconds: f64 = times.split_whitespace().next()?.parse().ok()?;
            (name.trim() == thread).then_some(nanoseconds / 1e9)
        })
        .sum()
}

/// Resident memory now and at most, in MiB.
pub fn resident() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) / 1024
    };
    (of("VmRSS:"), of("VmHWM:"))
}

pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}
