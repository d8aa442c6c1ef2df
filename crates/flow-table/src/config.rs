//! How a table behaves, fixed when it is made.

use crate::observation::Now;

/// What happens to a new connection when the table is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// It is refused.
    RejectNew,
    /// The idle connection that has been quiet the longest goes, and the new one comes in; if there is none, the new one is
    /// refused, and connections that rest for the idle timeout leave with their next record (reason 5) until there is room.
    EvictIdle,
}

/// The first delta of a connection that is older than the agent and that no state file knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialDelta {
    /// Nothing: only what moves from now on.
    Zero,
    /// All that the kernel counted.
    Total,
}

/// How a table behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// A record at least this often while counters move. Not zero.
    pub active_timeout_ms: u64,
    /// A record when counters rest for this long. Not zero.
    pub idle_timeout_ms: u64,
    /// An end that nobody exports for this long is lost.
    pub stale_timeout_ms: u64,
    /// Hard cap on connections held, ended ones that wait for their record included.
    pub max_connections: usize,
    /// What happens at the cap.
    pub when_full: WhenFull,
    /// What an older connection starts from.
    pub initial_delta: InitialDelta,
    /// When the agent started: a connection that began before is an older one. At zero, as by default, none is.
    pub agent_start: Now,
    /// Each record of a connection ends, in whole seconds, at least one after the record before it, even if that is after
    /// now: Antrea's aggregator discards the rest.
    pub seconds_end_monotonic: bool,
    /// NEW and DESTROY events are fed in (`created`, `destroyed`): a live connection acts on a deadline only after it has
    /// been refreshed, and destroyed incarnations are remembered while an older dump may still speak of them.
    pub events: bool,
    /// Dumps are filtered by mark or status, so that a connection which is missing may live on outside the selection: it is
    /// handed out by `refresh_due` and ends only when the lookup finds nothing.
    pub confirm_absent: bool,
}

impl Default for Config {
    /// 60 s active, 15 s idle, 5 min stale, a million connections, polls only.
    fn default() -> Self {
        Self {
            active_timeout_ms: 60_000,
            idle_timeout_ms: 15_000,
            stale_timeout_ms: 300_000,
            max_connections: 1_000_000,
            when_full: WhenFull::RejectNew,
            initial_delta: InitialDelta::Zero,
            agent_start: Now {
                monotonic_ms: 0,
                wall_ns: 0,
            },
            seconds_end_monotonic: false,
            events: false,
            confirm_absent: false,
        }
    }
}
