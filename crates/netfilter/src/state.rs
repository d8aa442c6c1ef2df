//! What the kernel says of a connection's condition: status bits and the protocol's state machine.

use std::fmt;

/// Status bits (enum ip_conntrack_status, include/uapi/linux/netfilter/nf_conntrack_common.h).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub u32);

impl Status {
    /// Created because another connection's helper expected it.
    pub const EXPECTED: Self = Self(1);
    /// Packets went both ways.
    pub const SEEN_REPLY: Self = Self(1 << 1);
    /// Not dropped early when the table is full.
    pub const ASSURED: Self = Self(1 << 2);
    /// Its first packet left the host; it is in the table.
    pub const CONFIRMED: Self = Self(1 << 3);
    /// Source NAT rewrites it.
    pub const SRC_NAT: Self = Self(1 << 4);
    /// Destination NAT rewrites it.
    pub const DST_NAT: Self = Self(1 << 5);
    /// TCP sequence numbers are adjusted.
    pub const SEQ_ADJUST: Self = Self(1 << 6);
    /// Source NAT was decided, maybe for none.
    pub const SRC_NAT_DONE: Self = Self(1 << 7);
    /// Destination NAT was decided, maybe for none.
    pub const DST_NAT_DONE: Self = Self(1 << 8);
    /// Being destroyed.
    pub const DYING: Self = Self(1 << 9);
    /// Its timeout is never refreshed.
    pub const FIXED_TIMEOUT: Self = Self(1 << 10);
    /// A template, not a connection.
    pub const TEMPLATE: Self = Self(1 << 11);
    /// Lost a race for a NAT mapping.
    pub const NAT_CLASH: Self = Self(1 << 12);
    /// A helper was attached by rule.
    pub const HELPER: Self = Self(1 << 13);
    /// Forwarded by a flow table: the kernel's counters may stand still, there is no timeout.
    pub const OFFLOAD: Self = Self(1 << 14);
    /// Forwarded by hardware.
    pub const HW_OFFLOAD: Self = Self(1 << 15);

    const NAMES: [&'static str; 16] = [
        "EXPECTED",
        "SEEN_REPLY",
        "ASSURED",
        "CONFIRMED",
        "SRC_NAT",
        "DST_NAT",
        "SEQ_ADJUST",
        "SRC_NAT_DONE",
        "DST_NAT_DONE",
        "DYING",
        "FIXED_TIMEOUT",
        "TEMPLATE",
        "NAT_CLASH",
        "HELPER",
        "OFFLOAD",
        "HW_OFFLOAD",
    ];

    /// Whether every bit of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of the bits set, lowest first; bits without a name are left out.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, name)| name)
    }
}

impl std::ops::BitOr for Status {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({:#x}", self.0)?;
        self.names().try_for_each(|name| write!(f, " {name}"))?;
        f.write_str(")")
    }
}

/// CTA_PROTOINFO: the state of the protocol's machine, by the kernel's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ProtocolState {
    /// The message carries none (UDP, ICMP, offloaded connections).
    #[default]
    None,
    /// enum tcp_conntrack: 1 SYN_SENT, 2 SYN_RECV, 3 ESTABLISHED, 4 FIN_WAIT, 5 CLOSE_WAIT, 6 LAST_ACK, 7 TIME_WAIT,
    /// 8 CLOSE, 9 SYN_SENT2.
    Tcp(u8),
    /// enum sctp_conntrack: 1 CLOSED, 2 COOKIE_WAIT, 3 COOKIE_ECHOED, 4 ESTABLISHED, 5 SHUTDOWN_SENT, 6 SHUTDOWN_RECD,
    /// 7 SHUTDOWN_ACK_SENT, 8 HEARTBEAT_SENT.
    Sctp(u8),
    /// enum ct_dccp_states, sent by older kernels: 1 REQUEST, 2 RESPOND, 3 PARTOPEN, 4 OPEN, 5 CLOSEREQ, 6 CLOSING,
    /// 7 TIMEWAIT.
    Dccp(u8),
}

impl ProtocolState {
    /// The state's name as the kernel's `/proc` and the `conntrack` program print it; `None` for a number without one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        const TCP: [&str; 10] = [
            "NONE",
            "SYN_SENT",
            "SYN_RECV",
            "ESTABLISHED",
            "FIN_WAIT",
            "CLOSE_WAIT",
            "LAST_ACK",
            "TIME_WAIT",
            "CLOSE",
            "SYN_SENT2",
        ];
        const SCTP: [&str; 9] = [
            "NONE",
            "CLOSED",
            "COOKIE_WAIT",
            "COOKIE_ECHOED",
            "ESTABLISHED",
            "SHUTDOWN_SENT",
            "SHUTDOWN_RECD",
            "SHUTDOWN_ACK_SENT",
            "HEARTBEAT_SENT",
        ];
        const DCCP: [&str; 8] = [
            "NONE", "REQUEST", "RESPOND", "PARTOPEN", "OPEN", "CLOSEREQ", "CLOSING", "TIMEWAIT",
        ];
        match self {
            Self::None => None,
            Self::Tcp(state) => TCP.get(usize::from(state)).copied(),
            Self::Sctp(state) => SCTP.get(usize::from(state)).copied(),
            Self::Dccp(state) => DCCP.get(usize::from(state)).copied(),
        }
    }

    /// The kernel's number; 0 for [`ProtocolState::None`].
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Tcp(state) | Self::Sctp(state) | Self::Dccp(state) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_bits_have_their_kernel_names() {
        let names: Vec<_> = Status(0x18e).names().collect();
        assert_eq!(
            names,
            [
                "SEEN_REPLY",
                "ASSURED",
                "CONFIRMED",
                "SRC_NAT_DONE",
                "DST_NAT_DONE"
            ]
        );
        assert!(Status(0x4008).contains(Status::OFFLOAD | Status::CONFIRMED));
        assert!(!Status(0x4000).contains(Status::OFFLOAD | Status::CONFIRMED));
    }

    #[test]
    fn states_have_their_kernel_names() {
        assert_eq!(ProtocolState::Tcp(7).name(), Some("TIME_WAIT"));
        assert_eq!(ProtocolState::Sctp(4).name(), Some("ESTABLISHED"));
        assert_eq!(ProtocolState::Tcp(200).name(), None);
        assert_eq!(ProtocolState::None.name(), None);
    }
}
