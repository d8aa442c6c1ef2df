//! The agent's own sessions to its collectors, which are left out of the export.
//!
//! Exporting them would feed itself: each export moves the counters of the session that carries it.

use std::collections::HashMap;
use std::net::SocketAddr;

use flow_table::Tuple;

/// One connection of the agent to a collector, as its socket names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnSession {
    /// IANA protocol number: 6 for TCP and TLS, 17 for UDP.
    pub protocol: u8,
    /// This end.
    pub local: SocketAddr,
    /// The collector's end.
    pub remote: SocketAddr,
}

impl OwnSession {
    /// The original tuple that the kernel gives this session.
    pub(crate) fn tuple(&self) -> Tuple {
        Tuple {
            source: self.local.ip(),
            destination: self.remote.ip(),
            protocol: self.protocol,
            source_port: self.local.port(),
            destination_port: self.remote.port(),
        }
    }
}

/// The tuples to leave out. A closed session stays until conntrack has forgotten it, which the poll tells:
/// a tuple that was closed before a complete poll and not met in it is gone.
#[derive(Debug, Default)]
pub(crate) struct OwnSessions {
    tuples: HashMap<Tuple, Life>,
    polls: u64,
}

#[derive(Debug)]
struct Life {
    open: bool,
    /// The last poll that met it, or the one under way when it was closed.
    last_poll: u64,
}

/// A collector that refuses leaves one closed tuple for each attempt, and attempts are at least a second
/// apart; conntrack keeps a closed one for minutes. The bound is only met by a caller that goes wrong.
const MAX_OWN: usize = 4096;

impl OwnSessions {
    /// Leaves `session` out from now on. When there are too many, the one closed longest ago makes room; false when all
    /// of them are open.
    pub(crate) fn add(&mut self, session: &OwnSession) -> bool {
        let tuple = session.tuple();
        if self.tuples.len() >= MAX_OWN && !self.tuples.contains_key(&tuple) {
            let closed = self.tuples.iter().filter(|(_, life)| !life.open);
            let Some(oldest) = closed
                .min_by_key(|(_, life)| life.last_poll)
                .map(|(tuple, _)| *tuple)
            else {
                return false;
            };
            self.tuples.remove(&oldest);
        }
        let last_poll = self.polls;
        self.tuples.insert(
            tuple,
            Life {
                open: true,
                last_poll,
            },
        );
        true
    }

    /// Says that `session` is closed. It is left out until the kernel has forgotten it.
    pub(crate) fn remove(&mut self, session: &OwnSession) {
        if let Some(life) = self.tuples.get_mut(&session.tuple()) {
            life.open = false;
            life.last_poll = self.polls;
        }
    }

    /// Whether `tuple` is one of the agent's own, which the poll under way met.
    pub(crate) fn meets(&mut self, tuple: &Tuple) -> bool {
        if self.tuples.is_empty() {
            return false;
        }
        match self.tuples.get_mut(tuple) {
            Some(life) => {
                life.last_poll = self.polls;
                true
            }
            None => false,
        }
    }

    /// Begins a poll.
    pub(crate) fn begin_poll(&mut self) {
        self.polls += 1;
    }

    /// Ends a poll that saw the whole table.
    pub(crate) fn end_complete_poll(&mut self) {
        let poll = self.polls;
        self.tuples
            .retain(|_, life| life.open || life.last_poll >= poll);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(port: u16) -> OwnSession {
        OwnSession {
            protocol: 6,
            local: SocketAddr::from(([127, 0, 0, 1], port)),
            remote: SocketAddr::from(([127, 0, 0, 1], 4739)),
        }
    }

    #[test]
    fn a_closed_session_is_left_out_until_the_kernel_forgets_it() {
        let mut own = OwnSessions::default();
        let a = session(40_000);
        assert!(own.add(&a));
        own.begin_poll();
        assert!(own.meets(&a.tuple()));
        own.end_complete_poll();
        own.remove(&a);
        // TIME_WAIT: the kernel still lists it.
        own.begin_poll();
        assert!(own.meets(&a.tuple()));
        own.end_complete_poll();
        own.begin_poll();
        own.end_complete_poll();
        assert!(!own.meets(&a.tuple()), "the port may now be someone else's");
    }

    #[test]
    fn a_session_closed_during_a_poll_survives_it() {
        let mut own = OwnSessions::default();
        let a = session(40_000);
        own.add(&a);
        own.begin_poll();
        own.remove(&a);
        own.end_complete_poll();
        assert!(own.meets(&a.tuple()));
    }

    #[test]
    fn the_set_is_bounded() {
        let mut own = OwnSessions::default();
        for port in 0..4096 {
            assert!(own.add(&session(port)));
        }
        assert!(!own.add(&session(5000)));
        assert!(own.add(&session(7)), "one that is known is no new one");
        own.remove(&session(9));
        assert!(own.add(&session(5000)), "one that is closed makes room");
        assert!(!own.meets(&session(9).tuple()));
    }
}
