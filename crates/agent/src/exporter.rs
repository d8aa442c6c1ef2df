//! The handle that its owner holds: one flow table, one kernel thread, and the batches in flight.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use flow_table::{FlowTable, InitialDelta, WhenFull};
use ipfix::Format;
use netfilter::netns::Netns;

use crate::export::format::{FormatId, FormatSpec};
use crate::export::{BatchId, EncodedBatch, Export};
use crate::kernel::notice::Notice;
use crate::kernel::own_sessions::OwnSession;
use crate::kernel::shared::{KernelStats, Shared};
use crate::kernel::side::KernelSide;
use crate::kernel::sockets::{Netlink, Sockets};
use crate::kernel::thread as kernel_thread;
use crate::names::{NameSet, NamesConfig, NamesStats, Naming};
use crate::selection::Selection;
use crate::{Error, now};

/// How an exporter reads and keeps connections.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which connections.
    pub selection: Selection,
    /// Whose connections. None: those of the calling thread's namespace.
    pub netns: Option<Netns>,
    /// A record for each flow that lives this long, again and again.
    pub active_timeout: Duration,
    /// A record when a flow has been quiet for this long.
    pub idle_timeout: Duration,
    /// Ended connections that nobody took for this long are lost.
    pub stale_timeout: Duration,
    /// None: twice the kernel's maximum, at least 65,536, at most 1,000,000.
    pub max_connections: Option<usize>,
    /// What a full table does with a new connection.
    pub when_full: WhenFull,
    /// What the first record of a connection older than the exporter counts.
    pub initial_delta: InitialDelta,
    /// A dump that makes no progress for this long is incomplete.
    pub poll_retry_timeout: Duration,
    /// Listen to conntrack events beside polling.
    pub events: bool,
    /// Octets of the event socket's receive buffer.
    pub event_buffer: usize,
    /// Records end at least a second after the former one of their connection, as Antrea's aggregator wants.
    pub seconds_end_monotonic: bool,
    /// Where to keep how much of each connection was exported.
    pub state_file: Option<PathBuf>,
    /// What connections are called by.
    pub names: NamesConfig,
}

/// A snapshot of what an exporter holds and has done.
#[derive(Clone, Debug)]
pub struct Stats {
    /// The flow table's part.
    pub table: flow_table::Stats,
    /// The bound on connections.
    pub max_connections: usize,
    /// The kernel thread's part.
    pub kernel: KernelStats,
    /// Records that were committed.
    pub records_committed: u64,
    /// The names' part.
    pub names: NamesStats,
}

/// One exporter. Dropping it stops the kernel thread and joins it.
pub struct Exporter {
    shared: Arc<Shared>,
    export: Export,
    max_connections: usize,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts the kernel thread. `wake` is called when there are notices, from whichever thread left the first one, once
    /// until [`Exporter::notices`] has been called. Fails with `ERR_PERMISSION` where netlink may not be used; a
    /// module or a namespace that is not there yet is retried at each poll.
    pub fn start(config: Config, wake: Box<dyn Fn() + Send + Sync>) -> Result<Self, Error> {
        Self::start_on(Netlink, config, wake)
    }

    /// [`Exporter::start`] on other sockets than the kernel's.
    pub fn start_on(
        sockets: impl Sockets,
        config: Config,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Result<Self, Error> {
        config.selection.check()?;
        let selection = config.selection.without_repeats();
        let max_connections = config
            .max_connections
            .unwrap_or_else(default_max_connections);
        let table = FlowTable::new(flow_table::Config {
            active_timeout_ms: milliseconds(config.active_timeout),
            idle_timeout_ms: milliseconds(config.idle_timeout),
            stale_timeout_ms: milliseconds(config.stale_timeout),
            max_connections,
            when_full: config.when_full,
            initial_delta: config.initial_delta,
            agent_start: now(),
            seconds_end_monotonic: config.seconds_end_monotonic,
            events: config.events,
            confirm_absent: selection.mark.is_some(),
        });
        let shared = Shared::new(table, Naming::new(&config.names), wake).map_err(|errno| {
            Error::System {
                operation: "make an eventfd",
                source: errno.into(),
            }
        })?;
        let shared = Arc::new(shared);
        let side = KernelSide {
            sockets,
            selection,
            netns: config.netns,
            retry_timeout: config.poll_retry_timeout,
            state_file: config.state_file,
            event_buffer: config.events.then_some(config.event_buffer),
        };
        let (ready, answer) = sync_channel(1);
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("conntrack".to_owned())
            .spawn(move || kernel_thread::run(&for_thread, side, &ready))
            .map_err(|source| Error::System {
                operation: "start the kernel thread",
                source,
            })?;
        match answer.recv() {
            Ok(Ok(())) => Ok(Self {
                shared,
                export: Export::default(),
                max_connections,
                thread: Some(thread),
            }),
            Ok(Err(error)) => {
                let _ = thread.join();
                Err(error)
            }
            Err(_) => Err(Error::Closed),
        }
    }

    /// Asks for a poll. Its end is a notice. Asking while one runs asks for one more, not for two.
    pub fn poll(&self) {
        self.shared.requests.ask_poll();
    }

    /// Asks for the state file to be written now. [`Notice::Saved`] says that it was tried.
    pub fn save(&self) {
        self.shared.requests.ask_save();
    }

    /// What happened since the last call.
    pub fn notices(&self) -> Vec<Notice> {
        self.shared.notices()
    }

    /// Adds a format, or finds the same one.
    pub fn add_format(&mut self, format: FormatSpec) -> Result<FormatId, Error> {
        self.export.add_format(format)
    }

    /// The format of a session that is to be opened.
    pub fn format(&self, id: FormatId) -> Result<Arc<Format>, Error> {
        self.export.format(id).cloned()
    }

    /// Milliseconds from now until a record is due; 0 when one is; None when nothing waits for a time.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let deadline = self.shared.next_deadline()?;
        Some(deadline.saturating_sub(now().monotonic_ms))
    }

    /// Takes what is due: at most `max_records`, at most one message of the largest of `formats`.
    pub fn take_batch(
        &mut self,
        formats: &[FormatId],
        max_records: usize,
    ) -> Result<Option<EncodedBatch>, Error> {
        let batch = {
            let mut table = self.shared.table();
            self.shared.taking();
            let names = self.shared.names();
            self.export
                .take_batch(&mut table, &names, formats, max_records, now())
        };
        if let Some(message) = self.export.take_warning() {
            self.shared.tell(Notice::Warning {
                code: "RECORD_TOO_LARGE",
                message,
            });
        }
        batch
    }

    /// Settles a batch as exported.
    pub fn commit(&mut self, id: BatchId) -> Result<(), Error> {
        self.export.commit(&mut self.shared.table(), id, now())
    }

    /// Settles a batch as not exported: its records are due again.
    pub fn rollback(&mut self, id: BatchId) -> Result<(), Error> {
        self.export.rollback(&mut self.shared.table(), id, now())
    }

    /// Leaves one of the agent's own sessions out, also when a poll has met it already.
    pub fn add_own(&self, session: &OwnSession) -> Result<(), Error> {
        let mut table = self.shared.table();
        if !self.shared.own().add(session) {
            return Err(Error::TooManyOwnSessions);
        }
        table.forget(&session.tuple(), now());
        // What it leaves to slices is the kernel thread's to do.
        self.shared.requests.ring();
        Ok(())
    }

    /// Says that an own session is closed.
    pub fn remove_own(&self, session: &OwnSession) {
        self.shared.own().remove(session);
    }

    /// Replaces all of one kind. Connections that the table holds keep the names that they have; what was unknown of them
    /// and is known now is in their next records.
    pub fn set_names(&self, set: NameSet) {
        let sources = self.shared.names().sources();
        let sources = sources.with(set, now().monotonic_ms);
        let former = self.shared.names().replace(sources);
        drop(former);
        self.shared.requests.ring();
    }

    /// After the final poll: everything with something unexported becomes due.
    pub fn begin_stop(&self) {
        self.shared.table().begin_stop(now());
        // The table looks for them in slices, which are the kernel thread's to do.
        self.shared.requests.ring();
    }

    /// Counts what is still unexported as left at the stop.
    pub fn left_at_stop(&self) {
        self.shared.table().left_at_stop(now());
    }

    /// A snapshot.
    pub fn stats(&self) -> Stats {
        Stats {
            table: self.shared.table().stats(),
            max_connections: self.max_connections,
            kernel: self.shared.kernel(),
            records_committed: self.export.committed(),
            names: self.shared.names().stats(),
        }
    }

    /// Cancels a poll under way and joins the kernel thread. Calling it again does nothing.
    pub fn close(&mut self) {
        self.shared.requests.ask_stop();
        if let Some(thread) = self.thread.take() {
            // The thread catches its own panics, so that this has nothing to report.
            let _ = thread.join();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.close();
    }
}

/// `nf_conntrack_max` is one for all namespaces. Where it cannot be read (no module yet) the ceiling holds:
/// the table takes room only for what it meets.
fn default_max_connections() -> usize {
    const CEILING: usize = 1_000_000;
    let text =
        std::fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_max").unwrap_or_default();
    match text.trim().parse::<usize>() {
        Ok(max) => max.saturating_mul(2).clamp(65_536, CEILING),
        Err(_) => CEILING,
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
