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
        let modules = fs::read_to_string("/proc/modules").unwrap_or_default();
        let mut policies = Self::default();
        for source in &SOURCES {
            let asked = may_be_asked(&modules, source.module);
            if asked && source.read(&mut policies.protocols).is_err() {
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

/// Whether asking loads nothing, by the text of /proc/modules: the module is loaded, or netfilter is built in, which does
/// not name the module that everything here depends on. Without modules there is no such file.
fn may_be_asked(modules: &str, module: &str) -> bool {
    let loaded = |name: &str| {
        let mut names = modules.lines().filter_map(|line| line.split(' ').next());
        names.any(|it| it == name)
    };
    loaded(module) || !loaded("nf_conntrack")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_namespace;

    #[test]
    fn a_module_that_is_not_loaded_is_not_asked_for() {
        let modules = "nf_tables 376832 3 nft_ct,nft_chain_nat, Live 0x0000000000000000\n\
            nf_conntrack 229376 2 nft_ct,nf_nat, Live 0x0000000000000000\n";
        assert!(!may_be_asked(modules, "nft_ct"), "named as a user only");
        assert!(!may_be_asked(modules, "nfnetlink_cttimeout"));
        let modules = format!("nft_ct 24576 1 - Live 0x0000000000000000\n{modules}");
        assert!(may_be_asked(&modules, "nft_ct"));
        assert!(!may_be_asked(&modules, "nfnetlink_cttimeout"));
        // Netfilter is built in, or everything is.
        assert!(may_be_asked("ext4 1069056 1 - Live 0x0\n", "nft_ct"));
        assert!(may_be_asked("", "nft_ct"));
    }

    #[test]
    fn a_kernel_without_a_kind_of_policies_has_none_of_it() {
        in_namespace(|| {
            let [nft, _] = SOURCES;
            // No subsystem of nfnetlink has this number.
            let absent = Source {
                subsystem: 99,
                ..nft
            };
            let mut protocols = Vec::new();
            absent.read(&mut protocols).unwrap();
            assert!(protocols.is_empty());
        });
    }
}
