//! The N-API face of conntrack-ipfix: converts between JavaScript and the agent, owns threads' lifetime,
//! wakes JavaScript. It decides nothing.
//!
//! Read [`exporter::NativeExporter`] and [`decoder::NativeDecoder`] first. Every function that JavaScript
//! calls catches panics, so that a fault throws instead of ending Node.

#![allow(
    missing_docs,
    reason = "napi-derive generates public items without docs"
)]
#![allow(unreachable_pub, reason = "napi-derive exports what is pub")]

mod convert;
mod datagram;
mod decoder;
mod dump;
mod errors;
mod exporter;
pub mod file_lock;
mod lookup;
mod names;
mod notice;
mod session;
mod snapshot;
mod socket;
mod wake;

use napi_derive::napi;

/// The version of this addon, which is that of the package.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Throws when no exporter could add this format.
#[napi(catch_unwind)]
pub fn check_format(format: convert::NativeFormat) -> errors::Result<()> {
    convert::format(format)?.check().map_err(errors::agent)
}

/// Ends the process at once with this code. `process.exit` waits for the threads of Node's pool, and those may hang in
/// a call of a disk that does not answer.
#[napi(catch_unwind)]
pub fn end_process(code: i32) {
    agent::end_process(code);
}

/// Makes the network namespace of this process track its connections: a rule that needs conntrack,
/// accounting and timestamps on, loopback up. For a namespace that was made for it: it changes settings.
#[napi(catch_unwind)]
pub fn enable_tracking() -> errors::Result<()> {
    netfilter::tracking::prepare().map_err(errors::netfilter)
}
