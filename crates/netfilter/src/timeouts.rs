//! When an entry's last packet came: the kernel does not say, but it sets an entry's timeout anew at each packet, and tells
//! what is left of it.
//!
//! [`Timeouts::read`] reads what a state's timeout is in this network namespace; [`Timeouts::since_last_packet`] compares
//! an entry with it. The rules are those of the protocols' trackers, net/netfilter/nf_conntrack_proto_*.c.

mod policies;
#[cfg(test)]
mod tests;

use crate::connection::Connection;
use crate::state::{ProtocolState, Status};
use crate::sysctl;
use crate::timeouts::policies::Policies;
use crate::tuple::{ICMP, ICMPV6, TCP};

const UDP: u8 = 17;
const GRE: u8 = 47;
const UDP_LITE: u8 = 136;

/// The timeouts of one network namespace in seconds, as they were when they were read. The default knows none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeouts {
    /// By enum tcp_conntrack; SYN_SENT2 has no setting.
    tcp: [Option<u32>; 9],
    /// What a state's timeout is cut to after too many retransmissions or a closed window, and while data are unacknowledged
    /// or no answer was seen.
    tcp_cuts: [Option<u32>; 2],
    /// By enum sctp_conntrack.
    sctp: [Option<u32>; 9],
    /// By enum ct_dccp_states.
    dccp: [Option<u32>; 8],
    /// Not assured, assured.
    udp: [Option<u32>; 2],
    gre: [Option<u32>; 2],
    icmp: Option<u32>,
    icmpv6: Option<u32>,
    /// Of every protocol without a tracker of its own.
    generic: Option<u32>,
    policies: Policies,
}

impl Timeouts {
    /// Reads the calling thread's namespace: about thirty files and two requests. What cannot be read is unknown.
    #[must_use]
    pub fn read() -> Self {
        let setting = |name: &str| {
            let seconds = sysctl::read(&format!("netfilter/nf_conntrack_{name}")).ok();
            seconds.and_then(|seconds| u32::try_from(seconds).ok())
        };
        let state = |protocol: &str, state: &str| match state {
            "" => None,
            state => setting(&format!("{protocol}_timeout_{state}")),
        };
        Self {
            tcp: [
                "",
                "syn_sent",
                "syn_recv",
                "established",
                "fin_wait",
                "close_wait",
                "last_ack",
                "time_wait",
                "close",
            ]
            .map(|name| state("tcp", name)),
            tcp_cuts: ["max_retrans", "unacknowledged"].map(|name| state("tcp", name)),
            sctp: [
                "",
                "closed",
                "cookie_wait",
                "cookie_echoed",
                "established",
                "shutdown_sent",
                "shutdown_recd",
                "shutdown_ack_sent",
                "heartbeat_sent",
            ]
            .map(|name| state("sctp", name)),
            dccp: [
                "", "request", "respond", "partopen", "open", "closereq", "closing", "timewait",
            ]
            .map(|name| state("dccp", name)),
            udp: ["udp_timeout", "udp_timeout_stream"].map(setting),
            gre: ["gre_timeout", "gre_timeout_stream"].map(setting),
            icmp: setting("icmp_timeout"),
            icmpv6: setting("icmpv6_timeout"),
            generic: setting("generic_timeout"),
            policies: Policies::read(),
        }
    }

    /// How many seconds ago the entry's last packet came: at most these, and less than one fewer. Counted back from the
    /// moment at which the kernel described the entry.
    ///
    /// `None` where that is open: the entry carries no timeout (it is offloaded), a fixed one, or more than its state's; its
    /// state is unknown; a helper or a timeout policy may have set it. An established TCP connection with at most as much
    /// left as what its timeout is cut to (five minutes) is taken for one whose timeout was cut: the other reading is a
    /// silence of days.
    #[must_use]
    #[inline]
    pub fn since_last_packet(&self, connection: &Connection<'_>) -> Option<u32> {
        // An entry that lost a race for a mapping is never assured, however long it streams.
        const OPEN: u32 = Status::FIXED_TIMEOUT.0
            | Status::OFFLOAD.0
            | Status::HW_OFFLOAD.0
            | Status::NAT_CLASH.0;
        let left = connection.timeout?;
        if connection.status.0 & OPEN != 0
            || connection.helper.is_some()
            || self.policies.hold_for(connection.original.protocol)
        {
            return None;
        }
        self.whole(connection, left)?.checked_sub(left)
    }

    /// What the timeout was when the last packet came.
    fn whole(&self, connection: &Connection<'_>, left: u32) -> Option<u32> {
        let of = |timeouts: &[Option<u32>], state: u8| *timeouts.get(usize::from(state))?;
        let assured = connection.status.contains(Status::ASSURED);
        let tuple = &connection.original;
        match (connection.protocol_state, tuple.protocol) {
            (ProtocolState::Tcp(state), _) => self.tcp(state, left),
            (ProtocolState::Sctp(state), _) => of(&self.sctp, state),
            (ProtocolState::Dccp(state), _) => of(&self.dccp, state),
            (_, UDP) => of(&self.udp, assured.into()),
            (_, UDP_LITE) if tuple.source_port != 0 => of(&self.udp, assured.into()),
            // The helper of PPTP gives the calls that it expects timeouts of its own.
            (_, GRE) if connection.status.contains(Status::EXPECTED) => None,
            (_, GRE) => of(&self.gre, assured.into()),
            (_, ICMP) => self.icmp,
            (_, ICMPV6) => self.icmpv6,
            (_, TCP) => None,
            _ => self.generic,
        }
    }

    /// The shortest of what a TCP entry's timeout may have been that is not less than what is left.
    fn tcp(&self, state: u8, left: u32) -> Option<u32> {
        const ESTABLISHED: u8 = 3;
        const CLOSE: usize = 8;
        let whole = (*self.tcp.get(usize::from(state))?)?;
        // A reset that is not quite in sequence leaves the state, to let the peer challenge it.
        let reset = (state == ESTABLISHED).then(|| self.tcp.get(CLOSE).copied().flatten());
        let cuts = self.tcp_cuts.into_iter().chain(reset).flatten();
        let candidates = cuts.filter(|cut| *cut < whole).chain([whole]);
        candidates.filter(|candidate| *candidate >= left).min()
    }
}
