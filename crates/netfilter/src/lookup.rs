//! Lookups of single connections by original tuple and zone (IPCTNL_MSG_CT_GET), many on their way at once.

use crate::connection::{Connection, cta};
use crate::error::Error;
use crate::message::{Messages, flag, kind};
use crate::request::{Head, Request};
use crate::socket::ConntrackSocket;
use crate::tuple::Tuple;

const OPERATION: &str = "look connections up";

/// Requests in one send. Their answers wait in the receive buffer, each accounted with about 1,300 octets: 64 of them
/// stay far below the system's default of 212,992.
const WINDOW: usize = 64;

/// Which connection is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Query {
    /// The original tuple; its own `zone` is not used.
    pub tuple: Tuple,
    /// The zone of the original direction ([`Connection::original_zone`]).
    pub zone: u16,
}

impl Query {
    fn write(&self, request: &mut Request, sequence: u32) {
        let head = Head {
            kind: kind::CT_GET,
            flags: flag::REQUEST,
            sequence,
            family: self.tuple.family().number(),
            resource: 0,
        };
        request.message(head, |request| {
            let tuple = Tuple {
                zone: None,
                ..self.tuple
            };
            request.tuple(cta::TUPLE_ORIG, &tuple);
            if self.zone != 0 {
                request.be16(cta::ZONE, self.zone);
            }
        });
    }

    /// The kernel finds an entry by either of its tuples; only the original one is meant.
    fn is_for(&self, connection: &Connection<'_>) -> bool {
        let wanted = Tuple {
            zone: connection.original.zone,
            ..self.tuple
        };
        connection.original == wanted && connection.original_zone() == self.zone
    }
}

impl ConntrackSocket {
    /// Looks every query up and hands each answer to `found` with the query's index, in the queries' order; `None`: the
    /// kernel has no such connection. What is found may be a later incarnation than the one meant: compare id and start.
    /// An error is that of one query, refused or answered by an entry that cannot be read: the others are none of its
    /// business.
    ///
    /// # Errors
    /// When an answer is lost, or all are refused. `found` was not called then for every query, and the missing ones are
    /// unknown, not absent.
    pub fn lookup(
        &mut self,
        queries: &[Query],
        mut found: impl FnMut(usize, Result<Option<&Connection<'_>>, Error>),
    ) -> Result<(), Error> {
        self.settle(OPERATION)?;
        for (window, queries) in queries.chunks(WINDOW).enumerate() {
            self.lookup_window(queries, |index, connection| {
                found(window * WINDOW + index, connection);
            })?;
        }
        Ok(())
    }

    fn lookup_window(
        &mut self,
        queries: &[Query],
        mut found: impl FnMut(usize, Result<Option<&Connection<'_>>, Error>),
    ) -> Result<(), Error> {
        let first = self.next_sequence(queries.len() as u32);
        self.request.clear();
        for (query, sequence) in queries.iter().zip(first..) {
            query.write(&mut self.request, sequence);
        }
        self.channel.send(OPERATION, self.request.octets())?;
        let reply = |malformed| Error::Reply {
            operation: OPERATION,
            malformed,
        };
        let mut outstanding = queries.len();
        while outstanding > 0 {
            let length = self
                .channel
                .receive(&mut self.buffer)
                .map_err(|reason| self.channel.not_received(OPERATION, reason))?;
            let mut messages = Messages::new(self.buffer.get(..length).unwrap_or(&self.buffer));
            while let Some(message) = messages.next().map_err(reply)? {
                let index = message.sequence.wrapping_sub(first) as usize;
                let Some(query) = queries.get(index) else {
                    continue;
                };
                match message.kind {
                    kind::CT_NEW => match Connection::decode(message.payload) {
                        Ok(entry) => found(index, Ok(Some(&entry).filter(|it| query.is_for(it)))),
                        Err(malformed) => found(index, Err(reply(malformed))),
                    },
                    kind::ERROR => match message.errno() {
                        errno if errno == rustix::io::Errno::NOENT.raw_os_error() => {
                            found(index, Ok(None));
                        }
                        errno => match Error::from_errno(OPERATION, errno) {
                            error @ Error::Permission { .. } => return Err(error),
                            error => found(index, Err(error)),
                        },
                    },
                    _ => continue,
                }
                outstanding = outstanding.saturating_sub(1);
            }
        }
        Ok(())
    }
}
