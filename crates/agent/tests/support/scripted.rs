//! A kernel by script: conntrack entries in memory, and sockets that answer as the kernel's do, without one.
//!
//! An event socket holds as many datagrams as its buffer has room for. One that finds no room is dropped, and all that
//! follow are, until the socket has been read empty; the first drop is told once, before what still waits.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

use agent::{DumpSource, EventSource, Heard, RequestSocket, Sockets};
use netfilter::sysctl::{EventMode, Settings};
use netfilter::testing::{Entry, Zone};
use netfilter::{
    Connection, Counters, Counts, DumpOutcome, Error, Event, EventKind, EventOptions, Filter,
    ProtocolState, Query, SocketOptions, Tuple,
};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

/// Entries of one receive buffer of a dump, as with the kernel's chunks of 32 KiB.
const BUFFER: usize = 130;

/// What an event takes of a receive buffer, of which the kernel grants twice what was asked for.
const EVENT: usize = 1280;

/// The kernel. Its clones are the same one.
#[derive(Clone, Default)]
pub struct ScriptedKernel(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// In the order in which they were made.
    entries: BTreeMap<u64, Held>,
    made: u64,
    listeners: Vec<Arc<Listener>>,
    /// The most octets of a receive buffer that are granted.
    largest_buffer: Option<usize>,
}

#[derive(Clone)]
struct Held {
    number: u64,
    entry: Entry,
}

impl Held {
    fn zones(&self) -> (Option<u16>, Option<u16>, Option<u16>) {
        match self.entry.zone {
            Zone::None => (None, None, None),
            Zone::Shared(zone) => (Some(zone), None, None),
            Zone::Original(zone) => (None, Some(zone), None),
            Zone::Reply(zone) => (None, None, Some(zone)),
        }
    }

    /// What an event before the end says: no counters, no times.
    fn changed(&self) -> Connection<'static> {
        let (shared, original, reply) = self.zones();
        let Entry {
            original: from,
            reply: back,
            ..
        } = self.entry;
        let side = |tuple, zone| Tuple { zone, ..tuple };
        let mut connection = Connection::new(side(from, original), side(back, reply));
        connection.zone = shared;
        connection.id = self.number as u32;
        connection.status = self.entry.status;
        connection.mark = self.entry.mark;
        connection.labels = self.entry.labels;
        connection.protocol_state = self.entry.protocol_state;
        connection.timeout = Some(self.entry.timeout);
        connection
    }

    /// What dumps and lookups say. No packet ever passes.
    fn whole(&self) -> Connection<'static> {
        let mut connection = self.changed();
        connection.start = Some(1_700_000_000_000_000_000 + self.number);
        connection.original_counters = Some(Counters::default());
        connection.reply_counters = Some(Counters::default());
        connection
    }

    fn gone(&self) -> Connection<'static> {
        let mut connection = self.whole();
        connection.labels = None;
        connection.timeout = None;
        connection
    }

    fn is(&self, entry: &Entry) -> bool {
        self.entry.original == entry.original && self.entry.zone == entry.zone
    }
}

impl State {
    fn tell(&self, kind: EventKind, connection: Connection<'static>) {
        for listener in &self.listeners {
            listener.send(Event { kind, connection });
        }
    }

    fn find(&mut self, entry: &Entry) -> &mut Held {
        self.entries
            .values_mut()
            .find(|held| held.is(entry))
            .expect("the entry is there")
    }
}

impl ScriptedKernel {
    pub fn create(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut state = self.0.lock().unwrap();
        for entry in entries {
            state.made += 1;
            let number = state.made;
            let held = Held { number, entry };
            state.tell(EventKind::New, held.changed());
            state.entries.insert(number, held);
        }
    }

    pub fn update(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut state = self.0.lock().unwrap();
        for entry in entries {
            let held = state.find(&entry);
            held.entry = entry;
            let changed = held.changed();
            state.tell(EventKind::Update, changed);
        }
    }

    pub fn delete(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut state = self.0.lock().unwrap();
        for entry in entries {
            let number = state.find(&entry).number;
            let gone = state.entries.remove(&number).unwrap();
            state.tell(EventKind::Destroy, gone.gone());
        }
    }

    pub fn flush(&self) {
        let mut state = self.0.lock().unwrap();
        for gone in std::mem::take(&mut state.entries).into_values() {
            state.tell(EventKind::Destroy, gone.gone());
        }
    }

    pub fn entries(&self) -> usize {
        self.0.lock().unwrap().entries.len()
    }

    /// Grants no larger receive buffers, as net.core.rmem_max does.
    pub fn cap_buffers(&self, octets: usize) {
        self.0.lock().unwrap().largest_buffer = Some(octets);
    }
}

impl Sockets for ScriptedKernel {
    type Requests = Self;
    type Events = ScriptedEvents;

    fn open_requests(&self, _options: SocketOptions) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn open_events(&self, options: EventOptions) -> Result<ScriptedEvents, Error> {
        let mut state = self.0.lock().unwrap();
        let most = state.largest_buffer.unwrap_or(usize::MAX);
        let granted = options.receive_buffer.min(most);
        let listener = Arc::new(Listener {
            queue: Mutex::default(),
            readable: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap(),
            room: (2 * granted / EVENT).max(1),
        });
        state.listeners.push(Arc::clone(&listener));
        Ok(ScriptedEvents { listener, granted })
    }

    fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings {
            accounting: true,
            timestamps: true,
            events: Some(EventMode::Always),
            max: 262_144,
            buckets: 65_536,
            count: 0,
        })
    }
}

impl RequestSocket for ScriptedKernel {
    type Dump<'a> = ScriptedDump;

    fn counts(&mut self) -> Result<Counts, Error> {
        Ok(Counts {
            entries: self.entries() as u32,
            max: Some(262_144),
        })
    }

    fn dump(&mut self, filter: &Filter) -> Result<ScriptedDump, Error> {
        Ok(ScriptedDump {
            kernel: self.clone(),
            filter: *filter,
            next: 0,
            end: self.0.lock().unwrap().made,
        })
    }

    fn lookup(
        &mut self,
        queries: &[Query],
        mut found: impl FnMut(usize, Result<Option<&Connection<'_>>, Error>),
    ) -> Result<(), Error> {
        for (index, query) in queries.iter().enumerate() {
            let entry = {
                let state = self.0.lock().unwrap();
                let mut all = state.entries.values().map(Held::whole);
                all.find(|it| {
                    let original = Tuple {
                        zone: None,
                        ..it.original
                    };
                    original == query.tuple && it.original_zone() == query.zone
                })
            };
            found(index, Ok(entry.as_ref()));
        }
        Ok(())
    }
}

/// A walk over the entries that were there when it was begun and are still there when it comes to them.
pub struct ScriptedDump {
    kernel: ScriptedKernel,
    filter: Filter,
    next: u64,
    end: u64,
}

impl DumpSource for ScriptedDump {
    fn next_buffer(&mut self, mut each: impl FnMut(&Connection<'_>)) -> Result<bool, Error> {
        let buffer: Vec<Held> = {
            let state = self.kernel.0.lock().unwrap();
            let rest = state.entries.range(self.next..self.end + 1);
            rest.take(BUFFER).map(|(_, held)| held.clone()).collect()
        };
        let Some(last) = buffer.last() else {
            return Ok(false);
        };
        self.next = last.number + 1;
        for held in &buffer {
            let connection = held.whole();
            if self.filter.matches(&connection) {
                each(&connection);
            }
        }
        Ok(true)
    }

    fn finish(self) -> DumpOutcome {
        DumpOutcome {
            complete: true,
            ..DumpOutcome::default()
        }
    }
}

struct Listener {
    queue: Mutex<Queue>,
    readable: OwnedFd,
    room: usize,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event<'static>>,
    /// An event was dropped, and nobody was told.
    untold: bool,
    congested: bool,
}

impl Listener {
    fn send(&self, event: Event<'static>) {
        let mut queue = self.queue.lock().unwrap();
        if queue.congested {
            return;
        }
        if queue.events.len() >= self.room {
            (queue.untold, queue.congested) = (true, true);
        } else {
            queue.events.push_back(event);
        }
        let _ = write(&self.readable, &1_u64.to_ne_bytes());
    }
}

pub struct ScriptedEvents {
    listener: Arc<Listener>,
    granted: usize,
}

impl AsFd for ScriptedEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.readable.as_fd()
    }
}

impl EventSource for ScriptedEvents {
    fn receive(&mut self, each: &mut dyn FnMut(&Event<'_>)) -> Result<Heard, Error> {
        let event = {
            let mut queue = self.listener.queue.lock().unwrap();
            if std::mem::take(&mut queue.untold) {
                return Ok(Heard::Overrun);
            }
            let event = queue.events.pop_front();
            if queue.events.is_empty() {
                queue.congested = false;
                let _ = read(&self.listener.readable, &mut [0; 8]);
            }
            event
        };
        Ok(match event {
            Some(event) => {
                each(&event);
                Heard::Datagram { octets: 200 }
            }
            None => Heard::Nothing,
        })
    }

    fn malformed(&self) -> u64 {
        0
    }

    fn granted_buffer(&self) -> usize {
        self.granted
    }
}

/// An entry between two IPv4 ends, in a state of its protocol.
pub fn in_state(from: (IpAddr, u16), to: (IpAddr, u16), protocol_state: ProtocolState) -> Entry {
    let protocol = match protocol_state {
        ProtocolState::Sctp(_) => 132,
        _ => 6,
    };
    Entry {
        protocol_state,
        ..Entry::new(Tuple::new(from.0, to.0, protocol, from.1, to.1))
    }
}
