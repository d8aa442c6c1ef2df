//! When the last packet of a connection came, on the wall clock: what a record's end is made of.

use netfilter::{Connection, Timeouts};

const SECOND: u64 = 1_000_000_000;

/// What tells it.
#[derive(Debug, Default)]
pub(crate) struct LastPackets {
    timeouts: Timeouts,
    /// When the last complete poll began, ns since 1970. It saw every connection: what has moved since, moved later.
    polled_ns: u64,
}

impl LastPackets {
    /// The namespace's timeouts, as a poll is about to find them.
    pub(crate) fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// A poll that was begun then has seen everything.
    pub(crate) fn polled(&mut self, begun_ns: u64) {
        self.polled_ns = begun_ns;
    }

    /// When the last packet came of a connection that the kernel described at `now_ns`, if its counters have moved since the
    /// last poll; to half a second. None where its timeout leaves that open.
    pub(crate) fn of(&self, connection: &Connection<'_>, now_ns: u64) -> Option<u64> {
        let seconds = u64::from(self.timeouts.since_last_packet(connection)?);
        // In the second that began so many seconds ago: in the middle of it.
        let ago = (seconds * SECOND).saturating_sub(SECOND / 2);
        let told = now_ns.saturating_sub(ago);
        Some(told.max(self.polled_ns).min(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use netfilter::Tuple;
    use netfilter::testing::in_namespace;

    use super::*;

    /// Of UDP, without an answer: the kernel gives it thirty seconds.
    fn entry(left: u32) -> Connection<'static> {
        let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut connection = Connection::new(
            Tuple::new(a, b, 17, 1000, 2000),
            Tuple::new(b, a, 17, 2000, 1000),
        );
        connection.timeout = Some(left);
        connection
    }

    #[test]
    fn a_last_packet_lies_between_the_last_poll_and_now() {
        in_namespace(|| {
            let mut packets = LastPackets::default();
            let now = 1_000 * SECOND;
            assert_eq!(packets.of(&entry(28), now), None, "no timeouts are known");
            packets.set_timeouts(Timeouts::read());
            // Between one and two seconds ago.
            assert_eq!(packets.of(&entry(28), now), Some(now - 3 * SECOND / 2));
            assert_eq!(packets.of(&entry(29), now), Some(now - SECOND / 2));
            assert_eq!(packets.of(&entry(30), now), Some(now));
            assert_eq!(packets.of(&entry(31), now), None);
            packets.polled(now - SECOND);
            assert_eq!(packets.of(&entry(20), now), Some(now - SECOND));
            assert_eq!(packets.of(&entry(29), now), Some(now - SECOND / 2));
            // The clock was set back since.
            packets.polled(now + SECOND);
            assert_eq!(packets.of(&entry(20), now), Some(now));
        });
    }
}
