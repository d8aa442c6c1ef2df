//! Connections that must be looked at in the kernel before the table acts on them: the lists of those to ask for.

use std::collections::VecDeque;

use crate::observation::{Observation, Scope, Tuple};
use crate::store::{ConnectionKey, Place, Store, flag};

/// One lookup to make. Give it back with its answer through `refreshed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshKey {
    /// What to ask for.
    pub original: Tuple,
    /// Zone of the original direction.
    pub zone: u16,
    pub(crate) asked: Asked,
    /// Order of the request among polls and lookups.
    pub(crate) request: u32,
}

/// Who is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// The connection that has this slot in this life.
    Slot(Named),
    /// One that has none: an event spoke of it.
    Stranger(Scope),
}

/// A slot in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// What the lookup found.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The entry is there.
    Present(&'a Observation),
    /// The entry is there and no longer matches the selection: one record with reason 4, then it is forgotten.
    LeftSelection(&'a Observation),
    /// No such entry.
    Absent,
    /// The lookup failed: nothing is known, the connection is asked for again.
    Failed,
    /// The lookup of this connection alone failed, and may for ever: its deadline acts on what was known before.
    Unreadable,
}

/// Unknown connections that wait for a lookup, and those whose answer is awaited: not more than this of either.
const MOST_STRANGERS: usize = 16_384;

/// What is to be asked for.
#[derive(Default)]
pub(crate) struct Lookups {
    /// Due connections that a lookup must confirm, out of the queue.
    awaiting: List,
    /// Connections that a filtered dump missed, or of which an event told too little.
    suspects: List,
    strangers: VecDeque<(ConnectionKey, Scope)>,
    /// Strangers asked for: a DESTROY in between makes the answer worthless.
    asked: Vec<ConnectionKey>,
    unasked: u64,
}

impl Lookups {
    pub(crate) fn bytes(&self) -> usize {
        let stranger = size_of::<(ConnectionKey, Scope)>();
        self.awaiting.bytes()
            + self.suspects.bytes()
            + self.strangers.capacity() * stranger
            + self.asked.capacity() * size_of::<ConnectionKey>()
    }

    /// Lookups of strangers that were not made.
    pub(crate) fn unasked(&self) -> u64 {
        self.unasked
    }

    /// A due connection, which must have been put at [`Place::Awaiting`].
    pub(crate) fn await_answer(&mut self, store: &Store, name: Named) {
        self.awaiting.push(name, |name| is_awaited(store, name));
    }

    /// The next due connection that still waits.
    pub(crate) fn next_awaiting(&mut self, store: &Store) -> Option<Named> {
        self.awaiting.pop(|name| is_awaited(store, name))
    }

    /// A connection that is to be looked at soon, which must have been marked as suspect.
    pub(crate) fn suspect(&mut self, store: &Store, name: Named) {
        self.suspects.push(name, |name| is_suspect(store, name));
    }

    /// The next of them that nobody has looked at since.
    pub(crate) fn next_suspect(&mut self, store: &Store) -> Option<Named> {
        self.suspects.pop(|name| is_suspect(store, name))
    }

    /// A connection without a slot is to be looked at.
    pub(crate) fn ask_for_stranger(&mut self, key: ConnectionKey, scope: Scope) {
        if self.strangers.back() == Some(&(key, scope)) {
            return;
        }
        if self.strangers.len() < MOST_STRANGERS {
            self.strangers.push_back((key, scope));
        } else {
            self.unasked += 1;
        }
    }

    pub(crate) fn next_stranger(&mut self) -> Option<(ConnectionKey, Scope)> {
        let next = self.strangers.pop_front()?;
        if self.asked.len() >= MOST_STRANGERS {
            // Nobody answers.
            self.asked.clear();
        }
        self.asked.push(next.0);
        Some(next)
    }

    /// A DESTROY of this tuple was merged: what is asked for already may speak of what it destroyed.
    pub(crate) fn destroyed(&mut self, key: &ConnectionKey) {
        self.asked.retain(|other| other != key);
    }

    /// An answer has come; false: it is worth nothing.
    pub(crate) fn answered(&mut self, key: &ConnectionKey) -> bool {
        let at = self.asked.iter().position(|other| other == key);
        at.map(|at| self.asked.swap_remove(at)).is_some()
    }
}

fn is_awaited(store: &Store, name: Named) -> bool {
    let connection = store.get(name.slot);
    connection.is_some_and(|it| it.generation == name.generation && it.place() == Place::Awaiting)
}

/// Whoever has the slot now: a suspect is looked at however often its generation changes.
fn is_suspect(store: &Store, name: Named) -> bool {
    let connection = store.get(name.slot);
    connection.is_some_and(|it| it.has(flag::SUSPECT))
}

/// Connections in the order in which they came, some of which need no lookup any more. Each that comes looks at two from the
/// front, so that there are never more than twice as many as need one (and a few).
#[derive(Default)]
struct List {
    names: VecDeque<Named>,
}

impl List {
    fn bytes(&self) -> usize {
        self.names.capacity() * size_of::<Named>()
    }

    fn push(&mut self, name: Named, needed: impl Fn(Named) -> bool) {
        for _ in 0..2 {
            if let Some(first) = self.names.pop_front().filter(|first| needed(*first)) {
                self.names.push_back(first);
            }
        }
        self.names.push_back(name);
    }

    fn pop(&mut self, needed: impl Fn(Named) -> bool) -> Option<Named> {
        loop {
            let first = self.names.pop_front()?;
            if needed(first) {
                return Some(first);
            }
        }
    }
}
