//! The naive table: what the design says, in the order in which it says it.

use std::collections::HashMap;

use flow_table::EndReason::{self, Active, EndDetected, Forced, Idle, LackOfResources};
use flow_table::{Loss, Now};

use super::run::Setup;
use super::support::EPOCH_NS;

pub const ACTIVE: u64 = 60_001;
pub const IDLE: u64 = 15_002;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Live,
    Resting,
    Ended,
    Done,
}

/// What is observed: totals are packets and octets, original and reply; None: no accounting.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub tuple: usize,
    pub tcp: bool,
    pub id: u32,
    pub start: Option<u64>,
    pub totals: Option<[u64; 4]>,
    pub tcp_state: u8,
    pub timeout: u32,
}

#[derive(Clone, Debug)]
pub struct Flow {
    pub tuple: usize,
    pub scope: u8,
    pub id: u32,
    pub kernel_start: Option<u64>,
    pub start: u64,
    pub totals: Option<[u64; 4]>,
    pub exported: [u64; 4],
    pub active_unseen: bool,
    pub moved: u64,
    pub end_ns: u64,
    pub since: u64,
    pub state: State,
    pub gone: bool,
    pub recorded: bool,
    pub record_end_s: u64,
    pub stamp: u32,
    pub expires: u64,
    pub tcp_state: u8,
    pub forced: bool,
    pub in_flight: bool,
    /// Never given twice.
    pub number: u64,
}

impl Flow {
    pub fn now_totals(&self) -> [u64; 4] {
        self.totals.unwrap_or_default()
    }

    pub fn unexported(&self) -> bool {
        match self.totals {
            Some(totals) => totals != self.exported,
            None => self.active_unseen && self.state != State::Done,
        }
    }

    fn urgent(&self) -> bool {
        self.state == State::Ended || self.forced
    }

    /// Order in which due flows are taken: ended ones first, then by deadline. None: not due.
    pub fn due(&self, now: u64, stopping: bool) -> Option<(bool, u64)> {
        if self.in_flight
            || (self.state == State::Done && !self.unexported())
            || self.state == State::Resting
        {
            return None;
        }
        if self.urgent() {
            return Some((false, self.since));
        }
        if stopping {
            return None;
        }
        let deadline = match self.state {
            State::Done => self.since + ACTIVE,
            _ => (self.since + ACTIVE).min(self.moved + IDLE),
        };
        (deadline <= now).then_some((true, deadline))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub reason: EndReason,
    pub start: u64,
    pub end: u64,
    pub end_s: u64,
    pub totals: [u64; 4],
    pub deltas: [u64; 4],
}

/// A record that is in flight.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub number: u64,
    pub totals: [u64; 4],
    pub end_s: u64,
    pub reason: EndReason,
    pub activity: bool,
    pub taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saved {
    pub start: Option<u64>,
    pub exported: [u64; 4],
    pub record_end_s: u64,
    pub recorded: bool,
    pub done: bool,
}

/// By tuple and id.
pub type SavedFlows = HashMap<(usize, u32), Vec<Saved>>;

#[derive(Clone, Copy)]
struct Out {
    sums: [u64; 2],
    evicted: bool,
    scope: u8,
    stamp: u32,
}

pub struct Naive {
    pub setup: Setup,
    pub agent_start: u64,
    pub flows: Vec<Flow>,
    pub losses: HashMap<Loss, [u64; 3]>,
    pub stopping: bool,
    pub sequence: u32,
    pub refused_now: [usize; 3],
    pub refused: [usize; 3],
    pub refused_total: u64,
    pub complete: [Vec<u64>; 3],
    pub wanted: usize,
    pub sweeps: Vec<(u8, u32)>,
    /// When the state file was written, and what is left of it.
    pub saved: Option<(u64, SavedFlows)>,
    outside: HashMap<(usize, u32), Out>,
    next_number: u64,
}

fn backwards(new: [u64; 4], old: [u64; 4]) -> bool {
    new.iter().zip(old).any(|(new, old)| *new < old)
}

fn closed(tcp: bool, state: u8) -> bool {
    tcp && (state == 7 || state == 8)
}

fn sums(totals: [u64; 4]) -> [u64; 2] {
    [totals[0] + totals[2], totals[1] + totals[3]]
}

pub fn scope_of(tuple: usize) -> u8 {
    (tuple % 3) as u8
}

impl Naive {
    pub fn new(setup: Setup, agent_start: u64) -> Self {
        Self {
            setup,
            agent_start,
            flows: Vec::new(),
            losses: HashMap::new(),
            stopping: false,
            sequence: 0,
            refused_now: [0; 3],
            refused: [0; 3],
            refused_total: 0,
            complete: [Vec::new(), Vec::new(), Vec::new()],
            wanted: 0,
            sweeps: Vec::new(),
            saved: None,
            outside: HashMap::new(),
            next_number: 0,
        }
    }

    pub fn lost(&mut self, reason: Loss, records: u64, sums: [u64; 2]) {
        let lost = self.losses.entry(reason).or_default();
        lost[0] += records;
        lost[1] += sums[0];
        lost[2] += sums[1];
    }

    pub fn begin(&mut self, scope: u8) -> u32 {
        self.sequence += 2;
        self.refused_now[usize::from(scope)] = 0;
        self.sequence
    }

    pub fn end_poll(&mut self, scope: u8, sequence: u32, began: u64) {
        self.complete[usize::from(scope)].push(began);
        self.refused[usize::from(scope)] = self.refused_now[usize::from(scope)];
        self.wanted = self.wanted.min(self.refused.iter().sum());
        self.sweeps.retain(|sweep| sweep.0 != scope);
        self.sweeps.push((scope, sequence));
    }

    pub fn observe(&mut self, at: u32, seen: &Seen, now: Now) {
        let same = |flow: &Flow| flow.tuple == seen.tuple && flow.id == seen.id;
        let known_same = |flow: &Flow| {
            same(flow) && flow.kernel_start.is_some() && flow.kernel_start == seen.start
        };
        let perhaps =
            |flow: &Flow| same(flow) && (flow.kernel_start.is_none() || seen.start.is_none());
        if let Some(flow) = self
            .flows
            .iter()
            .position(|flow| !flow.gone && (known_same(flow) || perhaps(flow)))
        {
            return self.known(flow, at, seen, now);
        }
        let current = self
            .flows
            .iter()
            .position(|flow| flow.tuple == seen.tuple && !flow.gone);
        let gone: Vec<usize> = (0..self.flows.len())
            .filter(|flow| known_same(&self.flows[*flow]))
            .collect();
        if let [flow] = gone[..]
            && current.is_none()
            && self.flows[flow].stamp <= at
        {
            self.flows[flow].gone = false;
            return self.known(flow, at, seen, now);
        }
        if !gone.is_empty()
            || self
                .flows
                .iter()
                .any(|flow| flow.gone && perhaps(flow) && flow.stamp > at)
        {
            return;
        }
        if let Some(current) = current {
            let flow = &self.flows[current];
            let older = matches!((flow.kernel_start, seen.start), (Some(known), Some(start)) if start < known);
            if at < flow.stamp || older {
                return;
            }
            self.replace(current, now);
        }
        self.first_sight(at, seen, now);
    }

    fn replace(&mut self, flow: usize, now: Now) {
        self.flows[flow].stamp = self.sequence + 1;
        self.vanish(flow, now);
    }

    /// The kernel has dropped it.
    pub fn vanish(&mut self, at: usize, now: Now) {
        let flow = &mut self.flows[at];
        flow.gone = true;
        match flow.state {
            State::Live | State::Resting => {
                flow.state = State::Ended;
                flow.forced = false;
                flow.since = now.monotonic_ms;
            }
            State::Done if flow.unexported() && !flow.in_flight => {
                flow.state = State::Ended;
                flow.since = now.monotonic_ms;
            }
            _ => {}
        }
        self.clean();
    }

    fn clean(&mut self) {
        self.flows.retain(|flow| {
            !flow.gone || flow.state != State::Done || flow.in_flight || flow.unexported()
        });
    }

    fn known(&mut self, at_flow: usize, at: u32, seen: &Seen, now: Now) {
        let flow = &mut self.flows[at_flow];
        if at < flow.stamp {
            return;
        }
        let back =
            matches!((seen.totals, flow.totals), (Some(new), Some(old)) if backwards(new, old));
        let nameless = seen.start.is_none() && flow.kernel_start.is_none();
        let reopened =
            nameless && closed(seen.tcp, flow.tcp_state) && !closed(seen.tcp, seen.tcp_state);
        if back || reopened {
            self.replace(at_flow, now);
            return self.first_sight(at, seen, now);
        }
        flow.stamp = self.sequence + 1;
        let moved = match seen.totals {
            Some(totals) => flow.totals.replace(totals) != Some(totals),
            None => {
                let expires = now.monotonic_ms / 1000 + u64::from(seen.timeout);
                let moved = expires > flow.expires + 1 || flow.tcp_state != seen.tcp_state;
                flow.expires = expires;
                flow.active_unseen |= moved;
                moved
            }
        };
        if moved {
            flow.moved = now.monotonic_ms;
            flow.end_ns = now.wall_ns;
        }
        flow.tcp_state = seen.tcp_state;
        match flow.state {
            State::Live | State::Resting if closed(seen.tcp, seen.tcp_state) => {
                flow.state = State::Ended;
                flow.since = now.monotonic_ms;
            }
            State::Resting if moved => flow.state = State::Live,
            _ => {}
        }
    }

    fn first_sight(&mut self, at: u32, seen: &Seen, now: Now) {
        let scope = usize::from(scope_of(seen.tuple));
        let totals = seen.totals.unwrap_or_default();
        let key = (seen.tuple, seen.id);
        if let Some(out) = self.outside.get(&key).copied() {
            if seen.totals.is_some()
                && sums(totals)
                    .iter()
                    .zip(out.sums)
                    .any(|(new, old)| *new < old)
            {
                self.outside.remove(&key);
            } else {
                let growth = match seen.totals {
                    Some(_) => [sums(totals)[0] - out.sums[0], sums(totals)[1] - out.sums[1]],
                    None => [0, 0],
                };
                let reason = if out.evicted {
                    Loss::Evicted
                } else {
                    Loss::Refused
                };
                self.lost(reason, 0, growth);
                let out = Out {
                    sums: [out.sums[0] + growth[0], out.sums[1] + growth[1]],
                    stamp: at,
                    ..out
                };
                self.outside.insert(key, out);
                if self.has_room(growth != [0, 0]) {
                    self.outside.remove(&key);
                    self.add(seen, now, Saved::nothing(totals), false);
                } else if !out.evicted {
                    self.refused_now[scope] += 1;
                }
                return;
            }
        }
        let (saved, fresh) = self.baseline(seen, now);
        if self.has_room(true) {
            return self.add(seen, now, saved, fresh);
        }
        let (all, before) = (sums(totals), sums(saved.exported));
        self.lost(
            Loss::Refused,
            1,
            [
                all[0].saturating_sub(before[0]),
                all[1].saturating_sub(before[1]),
            ],
        );
        self.refused_total += 1;
        self.refused_now[scope] += 1;
        if self.setup.evict {
            self.wanted = (self.wanted + 1).min(self.setup.cap);
        }
        self.outside.insert(
            key,
            Out {
                sums: all,
                evicted: false,
                scope: scope as u8,
                stamp: self.sequence,
            },
        );
    }

    fn baseline(&mut self, seen: &Seen, _now: Now) -> (Saved, bool) {
        let totals = seen.totals.unwrap_or_default();
        if let Some((_, saved)) = &mut self.saved
            && let Some(entries) = saved.get_mut(&(seen.tuple, seen.id))
            && let Some(at) = entries
                .iter()
                .position(|it| it.start.is_none() || seen.start.is_none() || it.start == seen.start)
        {
            let entry = entries.remove(at);
            if seen.totals.is_none() || !backwards(totals, entry.exported) {
                return (entry, false);
            }
        }
        let complete = &self.complete[usize::from(scope_of(seen.tuple))];
        let since = self
            .saved
            .as_ref()
            .map_or(self.agent_start, |(written, _)| *written);
        let older = match seen.start {
            Some(start) => start < since,
            None => complete.is_empty(),
        };
        let been_here = complete.len() > 1
            && seen
                .start
                .is_some_and(|start| start < EPOCH_NS + complete[complete.len() - 2] * 1_000_000);
        if been_here || (older && !self.setup.total) {
            return (Saved::nothing(totals), false);
        }
        (Saved::nothing([0; 4]), true)
    }

    fn has_room(&mut self, worth: bool) -> bool {
        if self.flows.len() < self.setup.cap {
            return true;
        }
        if !worth || !self.setup.evict {
            return false;
        }
        let resting =
            (0..self.flows.len()).filter(|flow| self.flows[*flow].state == State::Resting);
        match resting.min_by_key(|flow| self.flows[*flow].moved) {
            Some(flow) => {
                self.evict(flow);
                true
            }
            None => false,
        }
    }

    pub fn evict(&mut self, flow: usize) {
        let flow = self.flows.remove(flow);
        let out = Out {
            sums: sums(flow.now_totals()),
            evicted: true,
            scope: flow.scope,
            stamp: flow.stamp,
        };
        self.outside.insert((flow.tuple, flow.id), out);
    }

    fn add(&mut self, seen: &Seen, now: Now, saved: Saved, fresh: bool) {
        let over = closed(seen.tcp, seen.tcp_state);
        self.next_number += 1;
        let mut flow = Flow {
            tuple: seen.tuple,
            scope: scope_of(seen.tuple),
            id: seen.id,
            kernel_start: seen.start,
            start: seen.start.unwrap_or(now.wall_ns),
            totals: seen.totals,
            exported: saved.exported,
            active_unseen: fresh && seen.totals.is_none(),
            moved: now.monotonic_ms,
            end_ns: now.wall_ns,
            since: now.monotonic_ms,
            state: if saved.done {
                State::Done
            } else if over {
                State::Ended
            } else {
                State::Live
            },
            gone: false,
            recorded: saved.recorded,
            record_end_s: saved.record_end_s,
            stamp: self.sequence + 1,
            expires: now.monotonic_ms / 1000 + u64::from(seen.timeout),
            tcp_state: seen.tcp_state,
            forced: false,
            in_flight: false,
            number: self.next_number,
        };
        if flow.state == State::Live && flow.unexported() {
            let age = seen
                .start
                .map_or(0, |start| (now.wall_ns - start) / 1_000_000);
            flow.since = now.monotonic_ms.saturating_sub(age);
        }
        self.flows.push(flow);
    }

    pub fn work(&mut self, now: Now) {
        for (scope, sequence) in std::mem::take(&mut self.sweeps) {
            let missing = |flow: &Flow| flow.scope == scope && !flow.gone && flow.stamp < sequence;
            while let Some(flow) = self.flows.iter().position(missing) {
                self.vanish(flow, now);
            }
            self.outside
                .retain(|_, out| out.scope != scope || out.stamp >= sequence);
        }
        if self.stopping {
            return;
        }
        let stale = self.setup.stale;
        let is_stale = |flow: &Flow| {
            flow.state == State::Ended && !flow.in_flight && flow.since + stale <= now.monotonic_ms
        };
        while let Some(at) = self.flows.iter().position(is_stale) {
            let flow = &mut self.flows[at];
            let (all, before) = (sums(flow.now_totals()), sums(flow.exported));
            flow.exported = flow.now_totals();
            self.lost(Loss::Stale, 1, [all[0] - before[0], all[1] - before[1]]);
            self.ended_settled(at, now);
        }
    }

    fn ended_settled(&mut self, at: usize, now: Now) {
        let flow = &mut self.flows[at];
        flow.since = now.monotonic_ms;
        flow.active_unseen = false;
        flow.state = State::Done;
        if (flow.gone || self.stopping) && flow.unexported() {
            flow.state = State::Ended;
        }
        self.clean();
    }

    /// What a due flow does: a record for this reason, or none.
    pub fn reason(&self, flow: &Flow, now: u64) -> Option<EndReason> {
        match flow.state {
            State::Ended | State::Done => Some(EndDetected),
            State::Live if flow.forced => Some(Forced),
            State::Live if now >= flow.moved + IDLE => {
                match (flow.unexported() || !flow.recorded, self.wanted) {
                    (false, _) => None,
                    (true, 0) => Some(Idle),
                    (true, _) => Some(LackOfResources),
                }
            }
            State::Live if flow.unexported() => Some(Active),
            State::Live | State::Resting => None,
        }
    }

    pub fn without_record(&mut self, at: usize, now: u64) {
        let flow = &mut self.flows[at];
        if now >= flow.moved + IDLE {
            flow.state = State::Resting;
        } else {
            flow.since = now;
        }
    }

    pub fn record(&self, flow: &Flow, reason: EndReason, now: Now) -> Record {
        let start = flow.start.min(now.wall_ns);
        let mut end = (flow.end_ns / 1_000_000 * 1_000_000).max(start);
        let mut end_s = end / 1_000_000_000;
        if self.setup.seconds && flow.record_end_s != 0 && end_s <= flow.record_end_s {
            end_s = flow.record_end_s + 1;
            end = end_s * 1_000_000_000;
        }
        let totals = flow.now_totals();
        let mut deltas = totals;
        deltas
            .iter_mut()
            .zip(flow.exported)
            .for_each(|(delta, exported)| *delta -= exported);
        Record {
            reason,
            start,
            end,
            end_s,
            totals,
            deltas,
        }
    }

    pub fn take(&mut self, at: usize, record: &Record, now: u64) -> Item {
        let flow = &mut self.flows[at];
        flow.in_flight = true;
        let activity = std::mem::take(&mut flow.active_unseen);
        if record.reason == LackOfResources {
            self.wanted -= 1;
        }
        let (totals, end_s, reason) = (record.totals, record.end_s, record.reason);
        Item {
            number: flow.number,
            totals,
            end_s,
            reason,
            activity,
            taken: now,
        }
    }

    pub fn settle(&mut self, item: &Item, lost: Option<Loss>, now: Now) {
        let Some(at) = self
            .flows
            .iter()
            .position(|flow| flow.number == item.number)
        else {
            return;
        };
        let flow = &mut self.flows[at];
        let (all, before) = (sums(item.totals), sums(flow.exported));
        flow.in_flight = false;
        flow.exported = item.totals;
        flow.record_end_s = item.end_s;
        flow.recorded = true;
        flow.forced = false;
        let unexported = flow.unexported();
        match flow.state {
            State::Ended | State::Done if item.reason == EndDetected => self.ended_settled(at, now),
            State::Ended | State::Done => flow.since = now.monotonic_ms,
            State::Live | State::Resting => {
                flow.since = item.taken;
                if self.stopping {
                    flow.forced = unexported;
                } else if item.reason == LackOfResources && !unexported {
                    self.evict(at);
                } else if now.monotonic_ms >= flow.moved + IDLE && !unexported {
                    flow.state = State::Resting;
                }
            }
        }
        if let Some(reason) = lost {
            self.lost(reason, 1, [all[0] - before[0], all[1] - before[1]]);
        }
    }

    pub fn unsettle(&mut self, item: &Item, now: Now) {
        if item.reason == LackOfResources {
            self.wanted += 1;
        }
        let Some(at) = self
            .flows
            .iter()
            .position(|flow| flow.number == item.number)
        else {
            return;
        };
        let flow = &mut self.flows[at];
        flow.in_flight = false;
        flow.active_unseen |= item.activity;
        if flow.state == State::Done && (flow.gone || self.stopping) && flow.unexported() {
            flow.state = State::Ended;
            flow.since = now.monotonic_ms;
        }
        if flow.state == State::Live && self.stopping {
            flow.forced = flow.unexported();
        }
        self.clean();
    }

    pub fn stop(&mut self, now: Now) {
        self.stopping = true;
        for flow in self
            .flows
            .iter_mut()
            .filter(|flow| !flow.in_flight && flow.unexported())
        {
            match flow.state {
                State::Live | State::Resting => {
                    flow.state = State::Live;
                    flow.forced = true;
                }
                State::Done => {
                    flow.state = State::Ended;
                    flow.since = now.monotonic_ms;
                }
                State::Ended => {}
            }
        }
    }

    pub fn forget(&mut self, tuple: usize) {
        self.flows.retain(|flow| flow.tuple != tuple);
    }

    /// What the state file holds.
    pub fn save(&self) -> SavedFlows {
        let mut saved = SavedFlows::new();
        for flow in self.flows.iter().filter(|flow| !flow.gone) {
            saved.entry((flow.tuple, flow.id)).or_default().push(Saved {
                start: flow.kernel_start,
                exported: flow.exported,
                record_end_s: flow.record_end_s,
                recorded: flow.recorded,
                done: flow.state == State::Done,
            });
        }
        saved
    }
}

impl Saved {
    fn nothing(exported: [u64; 4]) -> Self {
        Self {
            start: None,
            exported,
            record_end_s: 0,
            recorded: false,
            done: false,
        }
    }
}
