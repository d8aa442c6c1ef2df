//! The way out: a flow enters a [`crate::BodyEncoder`], message bodies leave it, a [`crate::Session`] stamps their headers.
//!
//! Read [`crate::Format`] and [`crate::BodyEncoder`] first.

pub(crate) mod body;
mod compile;
pub(crate) mod format;
mod lane;
pub(crate) mod octets;
pub(crate) mod options;
pub(crate) mod session;
pub(crate) mod step;
mod value;
