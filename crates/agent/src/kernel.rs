//! The kernel's side: one thread owns the netlink sockets and the network namespace, another reads events.
//!
//! `thread` decides what is done when; `poll`, `follow_events` and `refresh` are the three ways in which connections reach
//! the flow table; `sockets` is what they ask. Read [`side::KernelSide`] and [`shared::Shared`] first.

pub(crate) mod event_queue;
pub(crate) mod event_reader;
pub(crate) mod first_sight;
pub(crate) mod follow_events;
pub(crate) mod last_packet;
pub(crate) mod notice;
pub(crate) mod observation;
pub(crate) mod own_sessions;
pub(crate) mod poll;
pub(crate) mod refresh;
pub(crate) mod shared;
pub(crate) mod side;
pub(crate) mod sockets;
pub(crate) mod thread;
pub(crate) mod wake;
pub(crate) mod warning;
