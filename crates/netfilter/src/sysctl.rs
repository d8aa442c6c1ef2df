//! Kernel settings under `/proc/sys/net`, as the calling thread's network namespace has them.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::error::Error;

fn path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys/net").join(name)
}

/// Reads a number, e.g. `netfilter/nf_conntrack_acct`.
///
/// # Errors
/// [`Error::Sysctl`]: no such setting (its module is not loaded), or not a number.
pub fn read(name: &str) -> Result<u64, Error> {
    let path = path(name);
    let text = fs::read_to_string(&path);
    text.and_then(|text| text.trim().parse().map_err(io::Error::other))
        .map_err(|source| Error::Sysctl { path, source })
}

/// Writes a number. Takes effect for connections created afterwards.
///
/// # Errors
/// [`Error::Sysctl`]: not permitted, no such setting, or refused by the kernel.
pub fn write(name: &str, value: u64) -> Result<(), Error> {
    let path = path(name);
    fs::write(&path, value.to_string()).map_err(|source| Error::Sysctl { path, source })
}

/// When the kernel makes events (nf_conntrack_events).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventMode {
    /// 0: never.
    Off,
    /// 1: for every connection.
    Always,
    /// 2: for connections created while somebody listens.
    Autodetect,
}

/// The settings that decide what an export can say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// nf_conntrack_acct: new connections are counted.
    pub accounting: bool,
    /// nf_conntrack_timestamp: new connections carry their start.
    pub timestamps: bool,
    /// nf_conntrack_events; `None` on a kernel built without events.
    pub events: Option<EventMode>,
    /// nf_conntrack_max: the most entries, all namespaces together.
    pub max: u64,
    /// nf_conntrack_buckets: the hash table's size.
    pub buckets: u64,
    /// nf_conntrack_count: entries of this namespace.
    pub count: u64,
}

impl Settings {
    /// Reads them on the calling thread.
    ///
    /// # Errors
    /// [`Error::NoConntrack`] while conntrack is not loaded, else [`Error::Sysctl`].
    pub fn read() -> Result<Self, Error> {
        let setting = |name: &str| read(&format!("netfilter/nf_conntrack_{name}"));
        if !path("netfilter/nf_conntrack_max").exists() {
            return Err(Error::NoConntrack {
                operation: "read the connection tracking settings",
            });
        }
        Ok(Self {
            accounting: setting("acct")? != 0,
            timestamps: setting("timestamp").is_ok_and(|value| value != 0),
            events: setting("events").ok().map(|mode| match mode {
                0 => EventMode::Off,
                1 => EventMode::Always,
                _ => EventMode::Autodetect,
            }),
            max: setting("max")?,
            buckets: setting("buckets")?,
            count: setting("count")?,
        })
    }
}
