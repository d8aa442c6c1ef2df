//! What connections are called: their ends, the Service that they go to, the rules that let them pass.
//!
//! Sources of names come in whole sets ([`Pods`], [`Services`], [`PolicyRules`], [`Networks`]). A connection is looked up at
//! first sight, by [`Naming::name`], which joins what the sources know into one number that the flow table keeps for the
//! connection's life; an encoder asks for the names of that number. After a change of a set, what was unknown of a
//! connection is looked up again ([`Naming::named_later`]); what is named stays. Read [`Naming`] and [`NamesStore`] first.

pub(crate) mod collect;
pub(crate) mod joined;
mod json;
mod later;
pub(crate) mod networks;
pub(crate) mod pods;
pub(crate) mod policies;
pub(crate) mod services;
pub(crate) mod store;
pub(crate) mod wrong;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use ahash::RandomState;
use flow_table::{NamesId, Observation, Progress, Tuple};
use ipfix::Names;
use netfilter::Masked;

use joined::{Facts, Joined, Unknown};
pub use networks::Networks;
pub use networks::ranges::Prefixes;
pub use pods::{Egress, Pod, Pods};
use policies::KnownRules;
pub use policies::{LabelBits, PolicyRule, PolicyRules, RuleLabels};
pub use services::{Service, Services};
use store::{MAX_NAMES, NamesStore};
pub use wrong::{NamesError, PathKey};

/// Joined combinations that are remembered; others are found by their texts. As many as a hash table of 32,768 places
/// holds: growing a larger one, while the table is held, takes more than a millisecond.
const MAX_JOINED: usize = 28_672;

/// A rule that is gone stays known for at least this long.
const RULE_STAYS: Duration = Duration::from_secs(5);

/// At most one warning of rules' numbers that nobody knows in this time.
const UNKNOWN_REST_MS: u64 = 60_000;

/// What an exporter's connections are called by, until other sets are set.
#[derive(Clone, Debug, Default)]
pub struct NamesConfig {
    /// Ends by their addresses.
    pub pods: Arc<Pods>,
    /// Services by what their clients connect to.
    pub services: Arc<Services>,
    /// Rules by the numbers in connections' labels. None: labels are not read until a set is set.
    pub policy_rules: Option<Arc<PolicyRules>>,
    /// Ends that are no Pods, by their prefixes.
    pub networks: Arc<Networks>,
    /// Where Pods have their addresses: what is outside is external. Empty: not known.
    pub pod_networks: Arc<Prefixes>,
    /// The marks of connections to Services. None: every connection to a Service's address is one.
    pub service_mark: Option<Masked>,
    /// Where rules' numbers stand.
    pub rule_labels: RuleLabels,
    /// A rule that is gone stays known for this long, at least five seconds: for connections that it let in since the last
    /// poll.
    pub poll_interval: Duration,
    /// The node, as an element of the standard profile.
    pub node: Option<String>,
    /// Its cluster, as another.
    pub cluster: Option<String>,
}

impl NamesConfig {
    /// Puts a set in the place of the former one.
    pub fn put(&mut self, set: NameSet) {
        match set {
            NameSet::Pods(pods) => self.pods = pods,
            NameSet::Services(services) => self.services = services,
            NameSet::PolicyRules(rules) => self.policy_rules = Some(rules),
            NameSet::Networks(networks) => self.networks = networks,
        }
    }
}

/// A whole set of one kind.
#[derive(Clone, Debug)]
pub enum NameSet {
    /// See [`Pods`].
    Pods(Arc<Pods>),
    /// See [`Services`].
    Services(Arc<Services>),
    /// See [`PolicyRules`].
    PolicyRules(Arc<PolicyRules>),
    /// See [`Networks`].
    Networks(Arc<Networks>),
}

/// What names are looked up in.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    pods: Arc<Pods>,
    services: Arc<Services>,
    rules: Option<Arc<KnownRules>>,
    networks: Arc<Networks>,
    pod_networks: Arc<Prefixes>,
    service_mark: Option<Masked>,
    labels: RuleLabels,
    rule_stays_ms: u64,
}

impl Sources {
    fn new(config: &NamesConfig) -> Self {
        let rules = config.policy_rules.as_ref();
        let stays = config.poll_interval.max(RULE_STAYS).as_millis();
        Self {
            pods: Arc::clone(&config.pods),
            services: Arc::clone(&config.services),
            rules: rules.map(|rules| Arc::new(KnownRules::new(Arc::clone(rules)))),
            networks: Arc::clone(&config.networks),
            pod_networks: Arc::clone(&config.pod_networks),
            service_mark: config.service_mark,
            labels: config.rule_labels,
            rule_stays_ms: u64::try_from(stays).unwrap_or(u64::MAX),
        }
    }

    /// With one set replaced. Takes a while where there are many rules.
    pub(crate) fn with(mut self, set: NameSet, now_ms: u64) -> Self {
        match set {
            NameSet::Pods(pods) => self.pods = pods,
            NameSet::Services(services) => self.services = services,
            NameSet::Networks(networks) => self.networks = networks,
            NameSet::PolicyRules(rules) => {
                let until_ms = now_ms.saturating_add(self.rule_stays_ms);
                self.rules = Some(Arc::new(match &self.rules {
                    Some(known) => known.followed_by(rules, now_ms, until_ms),
                    None => KnownRules::new(rules),
                }));
            }
        }
        self
    }

    fn is_empty(&self) -> bool {
        self.pods.is_empty()
            && self.services.is_empty()
            && self.rules.is_none()
            && self.networks.is_empty()
            && self.pod_networks.is_empty()
    }

    fn service(&self, original: &Tuple, mark: u32) -> Option<NonZeroU32> {
        let marked = |wanted: Masked| mark & wanted.mask == wanted.value;
        if !self.service_mark.is_none_or(marked) {
            return None;
        }
        let Tuple {
            destination,
            destination_port,
            protocol,
            ..
        } = *original;
        self.services.at(destination, destination_port, protocol)
    }
}

/// What an exporter knows connections by.
pub(crate) struct Naming {
    sources: Sources,
    /// Monotonic ms, as of the kernel thread's last round.
    now_ms: u64,
    node: String,
    cluster: String,
    /// Numbers of combinations that were joined of the present sources. Only those of the present: a number in here is
    /// taken without a look at the texts.
    joined: HashMap<Joined, NamesId, RandomState>,
    store: NamesStore,
    unnamed: u64,
    full: Full,
    unknown: UnknownRules,
    /// Counts the changes of sets.
    changes: u64,
    /// As of the last pass over the table's connections.
    looked_at: u64,
    /// Monotonic ms before which there is no other.
    rest_until_ms: u64,
}

/// A full store is said once.
enum Full {
    Never,
    ToSay,
    Said,
}

/// Numbers that no rule has.
#[derive(Default)]
struct UnknownRules {
    total: u64,
    /// Since the last warning.
    unsaid: u64,
    last: Option<(&'static str, NonZeroU32)>,
    said_ms: Option<u64>,
}

/// Where a source's number leads: numbers begin with 1.
fn place(number: NonZeroU32) -> usize {
    number.get() as usize - 1
}

/// What is held of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamesStats {
    /// Distinct combinations held.
    pub held: usize,
    /// Connections that have no names because there was no room for theirs.
    pub unnamed_total: u64,
    /// Numbers of rules in labels that no rule had when their connection was first seen.
    pub unknown_rules_total: u64,
}

/// What a replaced source leaves, to be dropped when no lock is held: with many Pods that takes a while.
#[must_use]
pub(crate) struct Former {
    _sources: Sources,
    _joined: HashMap<Joined, NamesId, RandomState>,
}

impl Naming {
    pub(crate) fn new(config: &NamesConfig) -> Self {
        Self::with_room_for(MAX_NAMES, config)
    }

    pub(crate) fn with_room_for(names: usize, config: &NamesConfig) -> Self {
        Self {
            sources: Sources::new(config),
            now_ms: 0,
            node: config.node.clone().unwrap_or_default(),
            cluster: config.cluster.clone().unwrap_or_default(),
            joined: HashMap::default(),
            store: NamesStore::new(names),
            unnamed: 0,
            full: Full::Never,
            unknown: UnknownRules::default(),
            changes: 0,
            looked_at: 0,
            rest_until_ms: 0,
        }
    }

    /// A copy, to make others of while no lock is held.
    pub(crate) fn sources(&self) -> Sources {
        self.sources.clone()
    }

    /// Looks names up in these from now on. Connections in the table keep the names that they have.
    pub(crate) fn replace(&mut self, sources: Sources) -> Former {
        self.changes += 1;
        Former {
            _sources: std::mem::replace(&mut self.sources, sources),
            _joined: std::mem::take(&mut self.joined),
        }
    }

    /// The names of a connection that is seen for the first time. 0: nothing is known of it.
    pub(crate) fn name(&mut self, seen: &Observation) -> NamesId {
        if self.sources.is_empty() {
            return NamesId(0);
        }
        let (joined, unknown) = Joined::of(&self.sources, self.now_ms, &seen.into());
        self.unknown.count(unknown);
        if joined.is_empty() {
            return NamesId(0);
        }
        if let Some(&id) = self.joined.get(&joined) {
            self.store.keep(id);
            return id;
        }
        let texts = joined.texts(&self.sources, self.now_ms, None);
        let Some(id) = self.store.intern(texts) else {
            self.unnamed += 1;
            if matches!(self.full, Full::Never) {
                self.full = Full::ToSay;
            }
            return NamesId(0);
        };
        if self.joined.len() < MAX_JOINED {
            self.joined.insert(joined, id);
        }
        id
    }

    /// The names of a connection that has `held`, with what is known by now of what was unknown then; what is named stays.
    /// None: nothing is new, or there is no room. `found` remembers answers, for one pass over the table, during which
    /// nothing is collected.
    pub(crate) fn named_later(
        &mut self,
        found: &mut Found,
        held: NamesId,
        facts: &Facts<'_>,
    ) -> Option<NamesId> {
        if found.changes != self.changes {
            *found = Found {
                changes: self.changes,
                ..Found::default()
            };
        }
        let (joined, _) = Joined::of(&self.sources, self.now_ms, facts);
        if joined.is_empty() {
            return None;
        }
        let key = (held, joined);
        if let Some(&answer) = found.answers.get(&key) {
            answer.inspect(|&id| self.store.keep(id));
            return answer;
        }
        let former = self.store.get(held).map(Names::texts);
        let texts = joined.texts(&self.sources, self.now_ms, former);
        let answer = match former {
            Some(former) if *former == texts => None,
            _ => self.store.intern(texts),
        };
        if found.answers.len() < MAX_JOINED {
            found.answers.insert(key, answer);
        }
        answer
    }

    /// Whether a set has changed since the last pass over the table's connections, and that is long enough ago. True: it is
    /// about to be made.
    pub(crate) fn begin_pass(&mut self, now_ms: u64) -> bool {
        let wanted = self.changes != self.looked_at && now_ms >= self.rest_until_ms;
        if wanted {
            self.looked_at = self.changes;
        }
        wanted
    }

    pub(crate) fn end_pass(&mut self, rest_until_ms: u64) {
        self.rest_until_ms = rest_until_ms;
    }

    /// The names of that number.
    #[inline]
    pub(crate) fn names(&self, id: NamesId) -> Option<&Names> {
        self.store.get(id)
    }

    /// A mark by which connections go to Services.
    pub(crate) fn marks_service(&self, mark: u32) -> bool {
        let wanted = self.sources.service_mark;
        wanted.is_some_and(|wanted| mark & wanted.mask == wanted.value)
    }

    /// Empty: not to be told.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Empty: not to be told.
    pub(crate) fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The kernel thread's clock: rules that are gone are forgotten by it.
    pub(crate) fn tick(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    pub(crate) fn wants_collection(&self, now_ms: u64) -> bool {
        self.store.wants_collection(now_ms)
    }

    /// See [`NamesStore::begin_collection`]. What was joined is forgotten, for its numbers may go.
    pub(crate) fn begin_collection(&mut self, now_ms: u64) {
        self.joined = HashMap::default();
        self.store.begin_collection(now_ms);
    }

    pub(crate) fn keep(&mut self, id: NamesId) {
        self.store.keep(id);
    }

    pub(crate) fn sweep(&mut self, slice: usize) -> Progress {
        self.store.sweep(slice)
    }

    pub(crate) fn give_up(&mut self) {
        self.store.give_up();
    }

    pub(crate) fn stats(&self) -> NamesStats {
        NamesStats {
            held: self.store.len(),
            unnamed_total: self.unnamed,
            unknown_rules_total: self.unknown.total,
        }
    }

    /// Codes and texts of warnings: once, when a connection found no room for its names; at most once a minute, of numbers
    /// that no rule has.
    pub(crate) fn take_warnings(&mut self, now_ms: u64) -> Vec<(&'static str, String)> {
        let mut warnings = Vec::new();
        if matches!(self.full, Full::ToSay) {
            self.full = Full::Said;
            let limit = self.store.limit();
            warnings.push((
                "NAMES_FULL",
                format!(
                    "the connections in the table have {limit} different combinations of names, which is the limit: new ones are \
                     exported without names while that is so, and counted; give fewer Pods, such as this node's alone, or \
                     wider networks"
                ),
            ));
        }
        if let Some(message) = self.unknown.take_warning(now_ms) {
            warnings.push(("POLICY_RULE_UNKNOWN", message));
        }
        warnings
    }
}

/// Answers of [`Naming::named_later`].
#[derive(Default)]
pub(crate) struct Found {
    /// Of the sources of that time: their numbers mean others after a change.
    changes: u64,
    answers: HashMap<(NamesId, Joined), Option<NamesId>, RandomState>,
}

impl UnknownRules {
    fn count(&mut self, Unknown { ingress, egress }: Unknown) {
        for (direction, number) in [("ingress", ingress), ("egress", egress)] {
            if let Some(number) = number {
                self.total += 1;
                self.unsaid += 1;
                self.last = Some((direction, number));
            }
        }
    }

    fn take_warning(&mut self, now_ms: u64) -> Option<String> {
        let rested = |said: u64| now_ms >= said.saturating_add(UNKNOWN_REST_MS);
        let (direction, number) = self.last?;
        if self.unsaid == 0 || !self.said_ms.is_none_or(rested) {
            return None;
        }
        self.said_ms = Some(now_ms);
        let count = std::mem::take(&mut self.unsaid);
        let labels = if count == 1 { "label" } else { "labels" };
        Some(format!(
            "{count} {labels} of new connections carried a number that no policy rule has, such as {number} ({direction}): their \
             policies are exported empty; set all rules that the node enforces, or the bits that carry their numbers"
        ))
    }
}

#[cfg(test)]
mod tests;
