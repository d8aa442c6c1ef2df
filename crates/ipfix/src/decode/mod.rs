//! The way in: octets of a stream, a datagram or a file enter a [`crate::DecoderSession`], each data record leaves through a
//! [`crate::Sink`] as a [`crate::Record`] that borrows from them.
//!
//! Everything that the other side decides is bounded by [`crate::Limits`]; nothing it sends can panic.

mod domain;
mod framing;
pub(crate) mod limits;
pub(crate) mod record;
pub(crate) mod sequence;
pub(crate) mod session;
pub(crate) mod template;
pub(crate) mod value;
