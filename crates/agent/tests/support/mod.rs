//! A whole export in one process: the agent's exporter on one side, the decoder on the other.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "each test file uses a part, and a test that cannot go on has to stop"
)]

pub mod broken_socket;
mod flows;
pub mod pace;
pub mod scripted;
pub mod world;

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agent::{
    BatchId, Config, Exporter, FormatId, FormatSpec, NamesConfig, Netlink, Notice, PollSummary,
    ProfileName, Selection, Sockets,
};
use flow_table::{InitialDelta, WhenFull};
use ipfix::{DecoderSession, JsonLines, Limits, Session};
use netfilter::testing::udp_exchange;
use serde_json::Value;

pub use flows::*;
use pace::{Pace, Paced};

/// Nothing that works takes this long; what does not work ends here.
const PATIENCE: Duration = Duration::from_secs(20);

/// Timeouts long enough to act only where a test asks for shorter ones.
pub fn config() -> Config {
    Config {
        selection: Selection::default(),
        netns: None,
        active_timeout: Duration::from_secs(600),
        idle_timeout: Duration::from_secs(600),
        stale_timeout: Duration::from_secs(600),
        max_connections: None,
        when_full: WhenFull::RejectNew,
        initial_delta: InitialDelta::Total,
        poll_retry_timeout: Duration::from_secs(5),
        events: false,
        event_buffer: 8 << 20,
        seconds_end_monotonic: false,
        state_file: None,
        names: NamesConfig::default(),
    }
}

/// [`config`], following events.
pub fn with_events() -> Config {
    Config {
        events: true,
        ..config()
    }
}

/// An exporter with one session to a decoder.
pub struct Run {
    pub exporter: Exporter,
    pub format: FormatId,
    session: Session,
    decoder: DecoderSession,
    lines: JsonLines,
    woken: Receiver<()>,
    notices: Vec<Notice>,
    pace: Option<Pace>,
}

impl Drop for Run {
    /// Also after a test that failed while it held a thread: the exporter waits for its threads.
    fn drop(&mut self) {
        if let Some(pace) = &self.pace {
            pace.release_all();
        }
    }
}

impl Run {
    pub fn start(config: Config) -> Self {
        Self::start_with(config, ProfileName::Standard(None))
    }

    pub fn start_with(config: Config, profile: ProfileName) -> Self {
        Self::start_whole(Netlink, config, profile)
    }

    /// On sockets whose threads the test paces.
    pub fn start_paced(sockets: impl Sockets, config: Config) -> (Self, Pace) {
        let pace = Pace::default();
        let sockets = Paced(sockets, pace.clone());
        let mut run = Self::start_whole(sockets, config, ProfileName::Standard(None));
        run.pace = Some(pace.clone());
        (run, pace)
    }

    fn start_whole(sockets: impl Sockets, config: Config, profile: ProfileName) -> Self {
        let (wake, woken) = channel();
        let mut exporter = Exporter::start_on(
            sockets,
            config,
            Box::new(move || {
                let _ = wake.send(());
            }),
        )
        .unwrap();
        let spec = FormatSpec {
            profile,
            domain: 1,
            max_message_size: 65_535,
        };
        let format = exporter.add_format(spec).unwrap();
        let mut run = Self {
            session: Session::new(exporter.format(format).unwrap()),
            exporter,
            format,
            decoder: DecoderSession::new(Limits::default()),
            lines: JsonLines::new(false),
            woken,
            notices: Vec::new(),
            pace: None,
        };
        let templates = run.session.templates(0);
        run.decoder.stream(&templates, &mut run.lines).unwrap();
        run
    }

    /// Polls, and waits for the poll's end. Other notices, those of polls that nobody asked for among them, are kept for
    /// [`Run::wait`].
    pub fn poll(&mut self) -> PollSummary {
        self.exporter.poll();
        self.poll_end(true)
            .unwrap_or_else(|(code, message)| panic!("the poll failed: {code}: {message}"))
    }

    /// Polls, and waits for the failure: its code and message.
    pub fn poll_fails(&mut self) -> (&'static str, String) {
        self.exporter.poll();
        self.poll_end(true)
            .expect_err("the poll ought to have failed")
    }

    /// Waits for the end of a poll that was asked for, or of one that was not.
    pub fn poll_end(&mut self, wanted: bool) -> Result<PollSummary, (&'static str, String)> {
        let notice = self.wait(|notice| match notice {
            Notice::Poll(summary) => summary.asked == wanted,
            Notice::PollFailed { asked, .. } => *asked == wanted,
            _ => false,
        });
        match notice {
            Notice::Poll(summary) => Ok(summary),
            Notice::PollFailed { code, message, .. } => Err((code, message)),
            other => unreachable!("not the end of a poll: {other:?}"),
        }
    }

    /// Waits for a warning with this code.
    pub fn warning(&mut self, wanted: &str) {
        self.wait(|notice| matches!(notice, Notice::Warning { code, .. } if *code == wanted));
    }

    /// Waits for a notice, and hands it out once.
    pub fn wait(&mut self, wanted: impl Fn(&Notice) -> bool) -> Notice {
        let end = Instant::now() + PATIENCE;
        loop {
            self.notices.extend(self.exporter.notices());
            if let Some(at) = self.notices.iter().position(&wanted) {
                return self.notices.remove(at);
            }
            let left = end.saturating_duration_since(Instant::now());
            self.woken.recv_timeout(left).expect("the notice comes");
        }
    }

    /// The notices that nobody has waited for.
    pub fn rest(&mut self) -> Vec<Notice> {
        self.notices.extend(self.exporter.notices());
        std::mem::take(&mut self.notices)
    }

    /// Takes all that is due, decoded, without settling it.
    pub fn take(&mut self) -> Vec<(BatchId, Vec<Value>)> {
        let mut taken = Vec::new();
        while let Some(batch) = self.exporter.take_batch(&[self.format], 1024).unwrap() {
            for body in &batch.bodies[0] {
                let header = self.session.header(body.sets.len(), body.records, 0);
                self.decoder.stream(&header, &mut self.lines).unwrap();
                self.decoder.stream(&body.sets, &mut self.lines).unwrap();
            }
            let (text, records) = self.lines.take();
            assert_eq!(
                records, batch.records as u64,
                "a batch holds what its bodies hold"
            );
            taken.push((batch.id, parse(&text)));
        }
        taken
    }

    /// Takes and commits all that is due.
    pub fn export(&mut self) -> Vec<Value> {
        let mut records = Vec::new();
        for (id, batch) in self.take() {
            self.exporter.commit(id).unwrap();
            records.extend(batch);
        }
        records
    }

    /// Waits until the kernel thread has looked at everything that was there when this was called: it has merged, looked up
    /// and polled what it would.
    pub fn settled(&mut self) {
        // The first answer may be that of a round that was under way.
        for _ in 0..2 {
            self.exporter.save();
            self.wait(|notice| *notice == Notice::Saved);
        }
    }

    /// Waits until the table has as many live connections.
    pub fn live(&mut self, wanted: usize) {
        self.export_until(|_, exporter| {
            let table = exporter.stats().table;
            table.live + table.idle == wanted
        });
    }

    /// Exports until `enough`, while something may still come.
    pub fn export_until(
        &mut self,
        mut enough: impl FnMut(&[Value], &Exporter) -> bool,
    ) -> Vec<Value> {
        let end = Instant::now() + PATIENCE;
        let mut records = Vec::new();
        loop {
            records.extend(self.export());
            if enough(&records, &self.exporter) {
                return records;
            }
            assert!(
                Instant::now() < end,
                "it did not come; so far: {records:#?}\n{:#?}",
                self.exporter.stats()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn parse(lines: &[u8]) -> Vec<Value> {
    lines
        .split(|&octet| octet == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// One datagram of 100 octets from this port of 127.0.0.1 to port 7000, and one of `answer` octets back. Each counts 28
/// more with its headers.
pub fn datagram(port: u16, answer: Option<usize>) {
    let end = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    udp_exchange(end(port), end(7000), 100, answer);
}
