//! For tests and benchmarks: a private network namespace, and conntrack entries made to order in it.
//!
//! [`in_namespace`] runs a test's body where nothing else is; [`Maker`] makes, changes and deletes entries; [`nft`] loads
//! rules. Compiled with the feature `testing` only. What fails here panics, with what is missing on the machine.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a test's preparation that fails has to end the test, with its reason"
)]

mod capture;
pub mod decoders;
mod entry;
mod namespace;
mod packet;
mod policy;
mod tuples;

pub use capture::{
    RawMessage, count_only, datagram, decode, dump, raw_counts, raw_datagrams, raw_dump,
    raw_events, raw_packets,
};
pub use entry::{Entry, Maker, Zone};
pub use namespace::{
    in_namespace, in_tracked_namespace, in_user_namespace, nft, on_namespace_thread, run, track,
};
pub use packet::{icmp_echo, send_ip, tcp_exchange, udp_exchange};
pub use policy::add_timeout_policy;
pub use tuples::{address, numbered, tuple};
