//! How full the connection table is (IPCTNL_MSG_CT_GET_STATS).

use crate::attribute::Attributes;
use crate::error::Error;
use crate::malformed::{Malformed, Problem};
use crate::message::{Messages, NFGENMSG, flag, kind};
use crate::request::Head;
use crate::socket::ConntrackSocket;

/// The table's occupancy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Entries of this network namespace.
    pub entries: u32,
    /// The most that the kernel holds, all namespaces together; `None` from kernels before 4.18.
    pub max: Option<u32>,
}

impl Counts {
    /// Reads the payload of the answer: `struct nfgenmsg`, then 1 CTA_STATS_GLOBAL_ENTRIES, 2 CTA_STATS_GLOBAL_MAX_ENTRIES.
    ///
    /// # Errors
    /// Where the message breaks, or that it holds no count.
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let attributes = message.get(NFGENMSG..).unwrap_or_default();
        let (mut entries, mut max) = (None, None);
        let mut list = Attributes::new(attributes);
        while let Some(attribute) = list.next().map_err(|fault| fault.shifted(NFGENMSG))? {
            let number = || attribute.be32().map_err(|fault| fault.shifted(NFGENMSG));
            match attribute.kind {
                1 => entries = Some(number()?),
                2 => max = Some(number()?),
                _ => {}
            }
        }
        match entries {
            Some(entries) => Ok(Self { entries, max }),
            None => Err(Malformed::new(message.len(), Problem::Missing).within(1, 0)),
        }
    }
}

impl ConntrackSocket {
    /// How many entries this namespace has, and how many the kernel would hold.
    ///
    /// # Errors
    /// [`Error::NoConntrack`] while nf_conntrack_netlink is not loaded, [`Error::Permission`] without CAP_NET_ADMIN.
    pub fn counts(&mut self) -> Result<Counts, Error> {
        const OPERATION: &str = "read the connection table's counts";
        self.settle(OPERATION)?;
        let sequence = self.next_sequence(1);
        self.request.clear();
        let head = Head {
            kind: kind::CT_STATS,
            flags: flag::REQUEST,
            sequence,
            family: 0,
            resource: 0,
        };
        self.request.message(head, |_| {});
        self.channel.send(OPERATION, self.request.octets())?;
        loop {
            let length = self
                .channel
                .receive(&mut self.buffer)
                .map_err(|reason| self.channel.not_received(OPERATION, reason))?;
            let mut messages = Messages::new(self.buffer.get(..length).unwrap_or(&self.buffer));
            let malformed = |malformed| Error::Reply {
                operation: OPERATION,
                malformed,
            };
            while let Some(message) = messages.next().map_err(malformed)? {
                if message.sequence != sequence {
                    continue;
                }
                match message.kind {
                    kind::CT_STATS => return Counts::decode(message.payload).map_err(malformed),
                    kind::ERROR => {
                        let errno = message.errno();
                        // nfnetlink's answer for a subsystem that is not there.
                        return Err(if errno == rustix::io::Errno::INVAL.raw_os_error() {
                            Error::NoConntrack {
                                operation: OPERATION,
                            }
                        } else {
                            Error::from_errno(OPERATION, errno)
                        });
                    }
                    _ => {}
                }
            }
        }
    }
}
