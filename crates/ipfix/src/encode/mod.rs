//! The way out: a flow enters a [`BodyEncoder`], message bodies leave it, a [`Session`] stamps their headers.
//!
//! Read [`Format`] and [`BodyEncoder`] first.

pub(crate) mod body;
pub(crate) mod format;
pub(crate) mod octets;
pub(crate) mod options;
pub(crate) mod session;
pub(crate) mod step;
mod value;
