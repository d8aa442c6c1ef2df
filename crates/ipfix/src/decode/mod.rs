//! The way in: octets of a stream, a datagram or a file enter a [`DecoderSession`], each data record leaves through a
//! [`Sink`] as a [`Record`] that borrows from them.
//!
//! Everything that the other side decides is bounded by [`Limits`]; nothing it sends can panic.

pub(crate) mod record;
pub(crate) mod sequence;
pub(crate) mod session;
pub(crate) mod template;
pub(crate) mod value;
