//! The kernel's side: one thread owns the netlink sockets and the network namespace, another reads events.
//!
//! `thread` decides what is done when; `poll`, `events` and `refresh` are the three ways in which connections reach the
//! flow table. Read [`thread::KernelSide`] and [`shared::Shared`] first.

pub(crate) mod admission;
pub(crate) mod events;
pub(crate) mod notice;
pub(crate) mod observation;
pub(crate) mod own_sessions;
pub(crate) mod poll;
pub(crate) mod refresh;
pub(crate) mod shared;
pub(crate) mod thread;
pub(crate) mod wake;
pub(crate) mod warning;
