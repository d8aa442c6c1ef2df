//! Turns connection tracking on in a network namespace that tracks nothing yet, without the `nft` program.
//!
//! A namespace tracks connections only while some rule needs it. [`enable`] adds the smallest such rule over nf_tables'
//! netlink interface (include/uapi/linux/netfilter/nf_tables.h), for demonstrations and tests.

use neli::consts::socket::{Msg, NlFamily};
use neli::socket::NlSocket;
use neli::utils::Groups;

use crate::channel::{BUFFER, Channel, SocketOptions};
use crate::error::Error;
use crate::message::{Messages, flag, kind};
use crate::request::{Head, Request};
use crate::sysctl;

const TABLE: &str = "conntrack_ipfix";
const NFPROTO_INET: u8 = 1;
const NF_TABLES: u16 = 10;
const APPEND: u16 = 0x800;

/// Makes the calling thread's network namespace one whose connections can be exported: loopback up, [`enable`], and
/// accounting and timestamps on for what comes from now on.
///
/// # Errors
/// [`Error::Sysctl`] where a setting may not be written or conntrack is not there, [`Error::Permission`] without
/// CAP_NET_ADMIN, [`Error::Netlink`] on a kernel without nf_tables.
pub fn prepare() -> Result<(), Error> {
    // Before the rule: a connection is counted if accounting was on when it began.
    for setting in ["acct", "timestamp"] {
        sysctl::write(&format!("netfilter/nf_conntrack_{setting}"), 1)?;
    }
    enable()?;
    loopback_up()
}

/// Adds the table `inet conntrack_ipfix` with one output chain whose only rule loads `ct state`: from then on every
/// connection that leaves a local socket, loopback included, is tracked in the calling thread's network namespace.
/// Repeating it adds a second such rule, which changes nothing.
///
/// # Errors
/// [`Error::Permission`] without CAP_NET_ADMIN; [`Error::Netlink`] on a kernel without nf_tables.
pub fn enable() -> Result<(), Error> {
    let output = |chain: &mut Request| {
        chain.nested(4, |hook| {
            hook.be32(1, 3); // NF_INET_LOCAL_OUT
            hook.be32(2, 0); // priority
        });
        chain.string(7, "filter");
    };
    add_rule("turn connection tracking on", "output", output, |rule| {
        expression(rule, "ct", |data| {
            data.be32(1, 1); // NFTA_CT_DREG: NFT_REG_1
            data.be32(2, 0); // NFTA_CT_KEY: NFT_CT_STATE
        });
    })
}

/// Makes the kernel keep labels in this network namespace, which it does while some rule sets one: the rule stands in a
/// chain that no packet reaches.
#[cfg(feature = "testing")]
pub(crate) fn enable_labels() -> Result<(), Error> {
    add_rule(
        "turn connection labels on",
        "labels",
        |_| {},
        |rule| {
            expression(rule, "immediate", |data| {
                data.be32(1, 1); // NFTA_IMMEDIATE_DREG: NFT_REG_1
                data.nested(2, |value| value.attribute(1, &[0; 16]));
            });
            expression(rule, "ct", |data| {
                data.be32(2, 13); // NFTA_CT_KEY: NFT_CT_LABELS
                data.be32(4, 1); // NFTA_CT_SREG: NFT_REG_1
            });
        },
    )
}

fn expression(rule: &mut Request, name: &str, data: impl FnOnce(&mut Request)) {
    rule.nested(1, |expression| {
        expression.string(1, name);
        expression.nested(2, data);
    });
}

/// One nf_tables transaction: our table and this chain, if they are not there yet, and one more rule in it.
fn add_rule(
    operation: &'static str,
    name: &str,
    describe_chain: impl FnOnce(&mut Request),
    write_expressions: impl FnOnce(&mut Request),
) -> Result<(), Error> {
    let channel = Channel::open(operation, SocketOptions::default())?;
    let mut request = Request::new();
    let batch = |kind, sequence| Head {
        kind,
        flags: flag::REQUEST,
        sequence,
        family: 0,
        resource: NF_TABLES,
    };
    let change = |message: u16, flags, sequence| Head {
        kind: NF_TABLES << 8 | message,
        flags: flag::REQUEST | flag::ACK | flag::CREATE | flags,
        sequence,
        family: NFPROTO_INET,
        resource: 0,
    };
    // NFNL_MSG_BATCH_BEGIN, NEWTABLE, NEWCHAIN, NEWRULE, NFNL_MSG_BATCH_END.
    request.message(batch(0x10, 1), |_| {});
    request.message(change(0, 0, 2), |table| table.string(1, TABLE));
    request.message(change(3, 0, 3), |chain| {
        chain.string(1, TABLE);
        chain.string(3, name);
        describe_chain(chain);
    });
    request.message(change(6, APPEND, 4), |rule| {
        rule.string(1, TABLE);
        rule.string(2, name);
        rule.nested(4, write_expressions);
    });
    request.message(batch(0x11, 5), |_| {});
    channel.send(operation, request.octets())?;
    channel.acknowledged(operation, &mut vec![0; BUFFER], 2, 3)
}

/// Brings the loopback interface of the calling thread's network namespace up (RTM_NEWLINK on interface 1 with IFF_UP).
///
/// # Errors
/// [`Error::Permission`] without CAP_NET_ADMIN.
pub fn loopback_up() -> Result<(), Error> {
    const OPERATION: &str = "bring the loopback interface up";
    const RTM_NEWLINK: u16 = 16;
    const IFF_UP: u32 = 1;
    let failed = |source| Error::from_io(OPERATION, source);
    let socket = NlSocket::connect(NlFamily::Route, None, Groups::empty()).map_err(failed)?;
    // struct ifinfomsg: family u8, padding u8, type u16, index i32, flags u32, change u32.
    let mut ifinfomsg = Vec::with_capacity(16);
    ifinfomsg.extend([0; 4]);
    for field in [1u32, IFF_UP, IFF_UP] {
        ifinfomsg.extend(field.to_ne_bytes());
    }
    let mut request = Request::new();
    request.raw_message(
        RTM_NEWLINK,
        flag::REQUEST | flag::ACK,
        1,
        &ifinfomsg,
        |_| {},
    );
    socket
        .send(request.octets(), Msg::empty())
        .map_err(failed)?;
    let mut buffer = vec![0; 8192];
    let (length, _) = socket
        .recv(buffer.as_mut_slice(), Msg::empty())
        .map_err(failed)?;
    let mut messages = Messages::new(buffer.get(..length).unwrap_or_default());
    while let Ok(Some(message)) = messages.next() {
        if message.kind == kind::ERROR {
            return match message.errno() {
                0 => Ok(()),
                errno => Err(Error::from_errno(OPERATION, errno)),
            };
        }
    }
    Err(Error::from_errno(
        OPERATION,
        rustix::io::Errno::IO.raw_os_error(),
    ))
}
