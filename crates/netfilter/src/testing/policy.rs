//! Timeout policies of nfnetlink_cttimeout, for which there is no program on most machines.

use crate::channel::{BUFFER, Channel, SocketOptions};
use crate::error::Error;
use crate::message::flag;
use crate::request::{Head, Request};

/// Adds a policy for a protocol of IPv4, with seven seconds as its first timeout (IPCTNL_MSG_TIMEOUT_NEW).
///
/// # Errors
/// What the kernel answers: it may have been built without.
pub fn add_timeout_policy(name: &str, protocol: u8) -> Result<(), Error> {
    const OPERATION: &str = "add a timeout policy";
    const AF_INET: u8 = 2;
    let channel = Channel::open(OPERATION, SocketOptions::default())?;
    let mut request = Request::new();
    let head = Head {
        kind: 8 << 8,
        flags: flag::REQUEST | flag::ACK | flag::CREATE | flag::EXCL,
        sequence: 1,
        family: AF_INET,
        resource: 0,
    };
    // CTA_TIMEOUT_NAME 1, L3PROTO 2, L4PROTO 3, DATA 4 (of UDP: 1 unreplied).
    request.message(head, |policy| {
        policy.string(1, name);
        policy.be16(2, AF_INET.into());
        policy.u8(3, protocol);
        policy.nested(4, |data| data.be32(1, 7));
    });
    channel.send(OPERATION, request.octets())?;
    channel.acknowledged(OPERATION, &mut vec![0; BUFFER], 1, 1)
}
