//! Connections that must be looked at in the kernel before the table acts on them.

use crate::observation::{Observation, Tuple};

/// One lookup to make. Give it back with its answer through `refreshed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshKey {
    /// What to ask for.
    pub original: Tuple,
    /// Zone of the original direction.
    pub zone: u16,
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    /// Order of the request among polls and lookups.
    pub(crate) request: u32,
}

/// What the lookup found.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The entry is there.
    Present(&'a Observation),
    /// The entry is there and no longer matches the selection: one record with reason 4, then it is forgotten.
    LeftSelection(&'a Observation),
    /// No such entry.
    Absent,
    /// The lookup failed: nothing is known, the connection is asked for again.
    Failed,
    /// The lookup of this connection alone failed, and may for ever: its deadline acts on what was known before.
    Unreadable,
}
