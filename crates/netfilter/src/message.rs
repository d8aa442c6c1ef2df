//! Netlink's own framing: the messages of one datagram (`struct nlmsghdr`) and nfnetlink's header (`struct nfgenmsg`).

use crate::attribute::aligned;
use crate::malformed::{Malformed, Problem};

/// Octets of `struct nlmsghdr`: length u32, type u16, flags u16, sequence u32, port u32, all in host order.
pub(crate) const HEADER: usize = 16;
/// Octets of `struct nfgenmsg`: family u8, version u8, resource id be16.
pub(crate) const NFGENMSG: usize = 4;

/// Message types (include/uapi/linux/netlink.h, nfnetlink_conntrack.h).
pub(crate) mod kind {
    pub(crate) const ERROR: u16 = 2;
    pub(crate) const DONE: u16 = 3;
    pub(crate) const OVERRUN: u16 = 4;
    const CTNETLINK: u16 = 1 << 8;
    /// IPCTNL_MSG_CT_NEW: an entry, a NEW or an UPDATE event.
    pub(crate) const CT_NEW: u16 = CTNETLINK;
    pub(crate) const CT_GET: u16 = CTNETLINK | 1;
    /// IPCTNL_MSG_CT_DELETE: a DESTROY event, or the request to delete.
    pub(crate) const CT_DELETE: u16 = CTNETLINK | 2;
    pub(crate) const CT_STATS: u16 = CTNETLINK | 5;
}

/// Header flags.
pub(crate) mod flag {
    pub(crate) const REQUEST: u16 = 1;
    pub(crate) const ACK: u16 = 4;
    /// The kernel says that what it dumped changed under it in a way that may have lost entries.
    pub(crate) const DUMP_INTR: u16 = 0x10;
    pub(crate) const EXCL: u16 = 0x200;
    pub(crate) const DUMP: u16 = 0x300;
    pub(crate) const CREATE: u16 = 0x400;
}

/// One netlink message; `payload` is what follows its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    pub(crate) payload: &'a [u8],
}

impl Message<'_> {
    /// The errno that an ERROR or DONE message carries: 0 for an acknowledgement, else positive. A missing number counts
    /// as EIO.
    pub(crate) fn errno(&self) -> i32 {
        match self.payload.first_chunk::<4>() {
            Some(octets) => i32::from_ne_bytes(*octets).saturating_neg(),
            None => rustix::io::Errno::IO.raw_os_error(),
        }
    }
}

/// The messages of one datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    #[inline]
    pub(crate) fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }

    /// The next message. After a broken header the rest of the datagram is unreadable: the walk is over.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<Message<'a>>, Malformed> {
        let Some((header, _)) = self.rest.split_first_chunk::<HEADER>() else {
            return if self.rest.is_empty() {
                Ok(None)
            } else {
                let available = self.rest.len() as u32;
                self.rest = &[];
                Err(Malformed::new(0, Problem::Truncated { available }))
            };
        };
        let [l0, l1, l2, l3, t0, t1, f0, f1, s0, s1, s2, s3, _, _, _, _] = *header;
        let claimed = u32::from_ne_bytes([l0, l1, l2, l3]);
        let length = claimed as usize;
        let Some(payload) = self.rest.get(HEADER..length) else {
            let available = self.rest.len() as u32;
            self.rest = &[];
            return Err(Malformed::new(0, Problem::Length { claimed, available }));
        };
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Ok(Some(Message {
            kind: u16::from_ne_bytes([t0, t1]),
            flags: u16::from_ne_bytes([f0, f1]),
            sequence: u32::from_ne_bytes([s0, s1, s2, s3]),
            payload,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: u32, kind: u16) -> Vec<u8> {
        let mut octets = length.to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend([0; 10]);
        octets
    }

    #[test]
    fn a_datagram_gives_its_messages_and_an_errno_is_positive() {
        let mut datagram = header(20, kind::ERROR);
        datagram.extend((-17i32).to_ne_bytes());
        datagram.extend(header(16, kind::DONE));
        let mut messages = Messages::new(&datagram);
        assert_eq!(messages.next().unwrap().unwrap().errno(), 17);
        assert_eq!(messages.next().unwrap().unwrap().kind, kind::DONE);
        assert!(messages.next().unwrap().is_none());
    }

    #[test]
    fn a_length_below_the_header_or_past_the_end_ends_the_datagram() {
        for length in [0, 15, 17, u32::MAX] {
            let datagram = header(length, kind::DONE);
            let mut messages = Messages::new(&datagram);
            assert!(messages.next().is_err());
            assert!(messages.next().unwrap().is_none());
        }
    }
}
