//! Which protocols have timeout policies: rules give them to connections, and no entry tells whether it has one.
//!
//! There are two kinds: objects of nf_tables (`ct timeout`) and those of nfnetlink_cttimeout (`nfct timeout`, used by the
//! target CT). Asking the kernel for one would load its module; where that is not loaded there is none.

use std::fs;

use crate::attribute::Attributes;
use crate::channel::{BUFFER, Channel, SocketOptions};
use crate::error::Error;
use crate::message::{Messages, NFGENMSG, flag, kind};
use crate::request::{Head, Request};

const OPERATION: &str = "ask for timeout policies";

/// The protocols that policies are for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Policies {
    protocols: Vec<u8>,
    /// They could not be read: any may have one.
    unknown: bool,
}

/// How one kind is asked for, and where an answer names its protocol.
struct Source {
    module: &'static str,
    subsystem: u16,
    get: u16,
    answer: u16,
    /// NFTA_OBJ_TYPE and what is asked for.
    object: Option<(u16, u32)>,
    /// The attributes around the protocol's, outermost first, and its own.
    path: &'static [u16],
}

const SOURCES: [Source; 2] = [
    // NFT_MSG_GETOBJ, NFT_MSG_NEWOBJ; NFT_OBJECT_CT_TIMEOUT; NFTA_OBJ_DATA, NFTA_CT_TIMEOUT_L4PROTO.
    Source {
        module: "nft_ct",
        subsystem: 10,
        get: 19,
        answer: 18,
        object: Some((3, 7)),
        path: &[4, 2],
    },
    // IPCTNL_MSG_TIMEOUT_GET, IPCTNL_MSG_TIMEOUT_NEW; CTA_TIMEOUT_L4PROTO.
    Source {
        module: "nfnetlink_cttimeout",
        subsystem: 8,
        get: 1,
        answer: 0,
        object: None,
        path: &[3],
    },
];

impl Policies {
    /// Those of the calling thread's namespace.
    pub(super) fn read() -> Self {
        // Without this file the kernel has no modules; where it does not name the module that everything here depends on,
        // netfilter is built in. Then asking loads nothing.
        let modules = fs::read_to_string("/proc/modules").unwrap_or_default();
        let loaded = |name: &str| {
            modules
                .lines()
                .any(|line| line.split(' ').next() == Some(name))
        };
        let built_in = !loaded("nf_conntrack");
        let mut policies = Self::default();
        for source in &SOURCES {
            if (built_in || loaded(source.module)) && source.read(&mut policies.protocols).is_err()
            {
                policies.unknown = true;
            }
        }
        policies
    }

    #[inline]
    pub(super) fn hold_for(&self, protocol: u8) -> bool {
        self.unknown || self.protocols.contains(&protocol)
    }
}

impl Source {
    fn read(&self, protocols: &mut Vec<u8>) -> Result<(), Error> {
        let channel = Channel::open(OPERATION, SocketOptions::default())?;
        let mut request = Request::new();
        let head = Head {
            kind: self.subsystem << 8 | self.get,
            flags: flag::REQUEST | flag::DUMP,
            sequence: 1,
            family: 0,
            resource: 0,
        };
        request.message(head, |request| {
            if let Some((attribute, kind)) = self.object {
                request.be32(attribute, kind);
            }
        });
        channel.send(OPERATION, request.octets())?;
        let malformed = |malformed| Error::Reply {
            operation: OPERATION,
            malformed,
        };
        let mut buffer = vec![0; BUFFER];
        loop {
            let length = channel
                .receive(&mut buffer)
                .map_err(|reason| channel.not_received(OPERATION, reason))?;
            let mut messages = Messages::new(buffer.get(..length).unwrap_or(&buffer));
            while let Some(message) = messages.next().map_err(malformed)? {
                let not_there = rustix::io::Errno::INVAL.raw_os_error();
                match message.kind {
                    kind::DONE => return Ok(()),
                    // nfnetlink's answer for a subsystem that is not there.
                    kind::ERROR if message.errno() == not_there => return Ok(()),
                    kind::ERROR => return Err(Error::from_errno(OPERATION, message.errno())),
                    other if other == self.subsystem << 8 | self.answer => {
                        let attributes = message.payload.get(NFGENMSG..).unwrap_or_default();
                        protocols.extend(protocol(attributes, self.path));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The octet at this path.
fn protocol(attributes: &[u8], path: &[u16]) -> Option<u8> {
    let (first, rest) = path.split_first()?;
    let mut list = Attributes::new(attributes);
    while let Ok(Some(attribute)) = list.next() {
        if attribute.kind == *first {
            return match rest {
                [] => attribute.u8().ok(),
                rest => protocol(attribute.payload, rest),
            };
        }
    }
    None
}
