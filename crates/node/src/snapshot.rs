//! `stats()` as a plain object.

use napi_derive::napi;

use crate::convert::{self, NativeLoss, count, size};

/// A snapshot.
#[napi(object)]
pub struct NativeStats {
    pub connections: f64,
    pub idle: f64,
    pub ended: f64,
    pub queued: f64,
    pub in_flight: f64,
    pub table_bytes: f64,
    pub max_connections: f64,
    pub kernel_entries: f64,
    pub kernel_max: f64,
    pub polls: f64,
    pub poll_failures: f64,
    pub incomplete_dumps: f64,
    pub malformed_messages: f64,
    pub event_overruns: f64,
    pub refused_connections: f64,
    pub refused_total: f64,
    /// Refused connections that are not even remembered.
    pub unremembered_connections: f64,
    pub evicted_total: f64,
    pub forgotten_total: f64,
    pub records_committed: f64,
    /// Distinct combinations of names held.
    pub names: f64,
    /// Connections that have no names for lack of room.
    pub unnamed_total: f64,
    /// Numbers in labels that no policy rule had.
    pub unknown_rules_total: f64,
    pub losses: Vec<NativeLoss>,
}

pub fn stats(stats: &agent::Stats) -> NativeStats {
    let table = &stats.table;
    NativeStats {
        connections: size(table.connections),
        idle: size(table.idle),
        ended: size(table.ended),
        queued: size(table.queued),
        in_flight: size(table.in_flight),
        table_bytes: size(table.bytes),
        max_connections: size(stats.max_connections),
        kernel_entries: f64::from(stats.kernel.entries),
        kernel_max: f64::from(stats.kernel.max),
        polls: count(stats.kernel.polls),
        poll_failures: count(stats.kernel.poll_failures),
        incomplete_dumps: count(stats.kernel.incomplete_dumps),
        malformed_messages: count(stats.kernel.malformed_messages + table.malformed),
        event_overruns: count(stats.kernel.event_overruns),
        refused_connections: size(table.refused),
        refused_total: count(table.refused_total),
        unremembered_connections: count(table.unremembered.records),
        evicted_total: count(table.evicted_total),
        forgotten_total: count(table.forgotten_total),
        records_committed: count(stats.records_committed),
        names: size(stats.names.held),
        unnamed_total: count(stats.names.unnamed_total),
        unknown_rules_total: count(stats.names.unknown_rules_total),
        losses: convert::losses(&table.losses),
    }
}
