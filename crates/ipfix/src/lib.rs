//! IPFIX (RFC 7011): an exporter's encoders and a bounded decoder. No sockets, no clock, no flow state.
//!
//! On the way out data enters as a [`Flow`] pushed into a [`BodyEncoder`], leaves as [`Body`] values, and a
//! [`Session`] makes each message's header, the template messages and the options records. A [`Profile`] says which
//! elements a record has; a [`Format`] is a profile compiled. Read [`Flow`] and [`Format`] first.
//!
//! On the way in octets enter a [`DecoderSession`] and leave through a [`Sink`], of which [`JsonLines`] is one. Read
//! [`DecoderSession`] and [`Record`] first.

mod decode;
mod encode;
mod error;
mod flow;
mod json;
mod names;

pub mod element;
pub mod message;
mod profile;
pub mod registry;
pub mod template;

pub use decode::limits::{DecodeStats, Limits};
pub use decode::record::{Fields, Record};
pub use decode::sequence::SequenceCheck;
pub use decode::session::{DecoderSession, Sink};
pub use decode::template::{Column, ReceivedTemplate};
pub use decode::value::Value;
pub use encode::body::{Body, BodyEncoder, Pushed};
pub use encode::format::Format;
pub use encode::options::Statistics;
pub use encode::session::Session;
pub use error::{DecodeError, FormatError, ProfileError};
pub use flow::{Counters, Denied, Flow};
pub use json::{JsonLines, JsonObject, LargeNumbers};
pub use names::{NameTexts, Names, PolicyNames};
pub use profile::Profile;
