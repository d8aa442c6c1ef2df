//! Where messages and sets begin and end: every length is checked here.

use crate::error::DecodeError;
use crate::message::{HEADER_LEN, MessageHeader, SET_HEADER_LEN, SetHeader};

/// Moves octets from a chunk until `pending` has `len`, or the chunk is used up; what is left of the chunk.
pub(super) fn fill<'a>(pending: &mut Vec<u8>, len: usize, chunk: &'a [u8]) -> &'a [u8] {
    let missing = len.saturating_sub(pending.len()).min(chunk.len());
    let (taken, rest) = chunk.split_at_checked(missing).unwrap_or((chunk, &[]));
    pending.extend_from_slice(taken);
    rest
}

/// The header at the front, once all of it is there.
pub(super) fn header(octets: &[u8]) -> Result<Option<MessageHeader>, DecodeError> {
    let Some(octets) = octets.first_chunk() else {
        return Ok(None);
    };
    let header = MessageHeader::parse(octets).map_err(|found| DecodeError::Version { found })?;
    if usize::from(header.length) < HEADER_LEN {
        return Err(DecodeError::MessageLength {
            length: header.length,
        });
    }
    Ok(Some(header))
}

/// A set's header, its body, and what follows it.
pub(super) type Split<'a> = (SetHeader, &'a [u8], &'a [u8]);

/// The set at the front: its header, its body, and what follows; `None` at the message's end.
pub(super) fn split_set(octets: &[u8]) -> Result<Option<Split<'_>>, DecodeError> {
    if octets.is_empty() {
        return Ok(None);
    }
    let Some((head, _)) = octets.split_first_chunk::<SET_HEADER_LEN>() else {
        return Err(DecodeError::TrailingOctets {
            octets: octets.len(),
        });
    };
    let set = SetHeader::parse(*head);
    let wrong = || DecodeError::SetLength {
        id: set.id,
        length: set.length,
        left: octets.len(),
    };
    let (whole, rest) = octets
        .split_at_checked(set.length.into())
        .ok_or_else(wrong)?;
    let body = whole.get(SET_HEADER_LEN..).ok_or_else(wrong)?;
    Ok(Some((set, body, rest)))
}
