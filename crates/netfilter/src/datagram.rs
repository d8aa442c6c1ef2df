//! A datagram of a listening socket, message by message: what events and NFLOG have in common.
//!
//! Octets enter through [`Datagram::new`], whatever the socket's [`Tally`] makes of its messages leaves. Messages that
//! cannot be read are skipped and counted.

use crate::malformed::Malformed;
use crate::message::{Message, Messages};

/// What a listening socket makes of a message, and counts.
pub(crate) trait Tally {
    type Item<'a>;

    /// Reads a message and counts it; `None` for a kind that is nothing to this socket.
    fn read<'a>(&mut self, message: &Message<'a>) -> Result<Option<Self::Item<'a>>, Malformed>;

    /// Where malformed messages are counted, and the first of them is kept.
    fn malformed(&mut self) -> (&mut u64, &mut Option<Malformed>);
}

pub(crate) struct Datagram<'a, T> {
    messages: Messages<'a>,
    tally: &'a mut T,
}

impl<'a, T: Tally> Datagram<'a, T> {
    pub(crate) fn new(octets: &'a [u8], tally: &'a mut T) -> Self {
        Self {
            messages: Messages::new(octets),
            tally,
        }
    }

    fn count(&mut self, fault: Malformed) {
        let (count, first) = self.tally.malformed();
        *count += 1;
        first.get_or_insert(fault);
    }
}

impl<'a, T: Tally> Iterator for Datagram<'a, T> {
    type Item = T::Item<'a>;

    fn next(&mut self) -> Option<T::Item<'a>> {
        loop {
            // After a broken frame the walk is over: its next message is `None`.
            let read = match self.messages.next() {
                Ok(message) => self.tally.read(&message?),
                Err(fault) => Err(fault),
            };
            match read {
                Ok(Some(item)) => return Some(item),
                Ok(None) => {}
                Err(fault) => self.count(fault),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::malformed::Problem;

    /// Reads payloads of one octet, of type 1 only.
    #[derive(Default)]
    struct Octets {
        malformed: u64,
        first_malformed: Option<Malformed>,
    }

    impl Tally for Octets {
        type Item<'a> = u8;

        fn read<'a>(&mut self, message: &Message<'a>) -> Result<Option<u8>, Malformed> {
            match message.payload {
                _ if message.kind != 1 => Ok(None),
                [octet] => Ok(Some(*octet)),
                longer => Err(Malformed::new(longer.len(), Problem::Missing)),
            }
        }

        fn malformed(&mut self) -> (&mut u64, &mut Option<Malformed>) {
            (&mut self.malformed, &mut self.first_malformed)
        }
    }

    fn message(length: u32, kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut octets = length.to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend([0; 10]);
        octets.extend(payload);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    #[test]
    fn a_message_that_cannot_be_read_is_counted_and_its_neighbours_are_read() {
        let datagram = [
            message(17, 1, &[7]),
            message(18, 1, &[8, 8]),
            message(17, 2, &[9]),
            message(16, 1, &[]),
            message(17, 1, &[10]),
            // Claims more than there is.
            message(40, 1, &[11]),
        ]
        .concat();
        let mut tally = Octets::default();
        assert!(Datagram::new(&datagram, &mut tally).eq([7, 10]));
        assert_eq!(tally.malformed, 3);
        assert_eq!(tally.first_malformed.unwrap().offset, 2);
    }
}
