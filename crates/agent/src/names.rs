//! What connections' ends are called.
//!
//! Sources of names come in whole sets ([`Pods`]; others would stand beside it). A connection is looked up once, at first
//! sight, by [`Naming::name`], which joins what the sources know into one number that the flow table keeps for the
//! connection's life; an encoder asks for the names of that number. Read [`Naming`] and [`NamesStore`] first.

pub(crate) mod collect;
pub(crate) mod pods;
pub(crate) mod store;

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use flow_table::{NamesId, Observation, Progress};
use ipfix::NameTexts;

pub use pods::{Pod, Pods, PodsError};
use store::{MAX_NAMES, NamesStore};

/// Joined combinations that are remembered; others are found by their texts. As many as a hash table of 32,768 places
/// holds: growing a larger one, while the table is held, takes more than a millisecond.
const MAX_JOINED: usize = 28_672;

/// What an exporter knows connections by.
pub(crate) struct Naming {
    pods: Arc<Pods>,
    /// Numbers of combinations that were joined of the present sources. Only those of the present: a number in here is
    /// taken without a look at the texts.
    joined: HashMap<Joined, NamesId, RandomState>,
    store: NamesStore,
    unnamed: u64,
    full: Full,
}

/// What the sources found for one connection: everything that its names are made of.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Joined {
    source_pod: Option<u32>,
    destination_pod: Option<u32>,
}

/// A full store is said once.
enum Full {
    Never,
    ToSay,
    Said,
}

/// What is held of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamesStats {
    /// Distinct combinations held.
    pub held: usize,
    /// Connections that have no names because there was no room for theirs.
    pub unnamed_total: u64,
}

/// What a replaced source leaves, to be dropped when no lock is held: with many Pods that takes a while.
#[must_use]
pub(crate) struct Former {
    _pods: Arc<Pods>,
    _joined: HashMap<Joined, NamesId, RandomState>,
}

impl Naming {
    pub(crate) fn new(pods: Arc<Pods>) -> Self {
        Self::with_room_for(MAX_NAMES, pods)
    }

    pub(crate) fn with_room_for(names: usize, pods: Arc<Pods>) -> Self {
        Self {
            pods,
            joined: HashMap::default(),
            store: NamesStore::new(names),
            unnamed: 0,
            full: Full::Never,
        }
    }

    /// Replaces all Pods. Connections in the table keep the names that they have, or have not.
    pub(crate) fn set_pods(&mut self, pods: Arc<Pods>) -> Former {
        Former {
            _pods: std::mem::replace(&mut self.pods, pods),
            _joined: std::mem::take(&mut self.joined),
        }
    }

    /// The names of a connection that is seen for the first time. The destination's Pod is that of the reply's source: the
    /// endpoint behind a Service. 0: nothing is known of either end.
    pub(crate) fn name(&mut self, seen: &Observation) -> NamesId {
        if self.pods.is_empty() {
            return NamesId(0);
        }
        let joined = Joined {
            source_pod: self.pods.at(seen.original.source),
            destination_pod: self.pods.at(seen.reply.source),
        };
        if joined == Joined::default() {
            return NamesId(0);
        }
        if let Some(&id) = self.joined.get(&joined) {
            self.store.keep(id);
            return id;
        }
        let texts = self.texts(&joined);
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

    fn texts(&self, joined: &Joined) -> NameTexts {
        let pod = |number: Option<u32>| number.and_then(|number| self.pods.get(number));
        let mut texts = NameTexts::default();
        if let Some(pod) = pod(joined.source_pod) {
            texts.source_pod_name = pod.name.to_string();
            texts.source_pod_namespace = pod.namespace.to_string();
            texts.source_node_name = pod.node.to_string();
        }
        if let Some(pod) = pod(joined.destination_pod) {
            texts.destination_pod_name = pod.name.to_string();
            texts.destination_pod_namespace = pod.namespace.to_string();
            texts.destination_node_name = pod.node.to_string();
        }
        texts
    }

    /// The names that were given out.
    pub(crate) fn store(&self) -> &NamesStore {
        &self.store
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
        }
    }

    /// The text of a warning, once, when a connection found no room for its names.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        if !matches!(self.full, Full::ToSay) {
            return None;
        }
        self.full = Full::Said;
        Some(format!(
            "the connections in the table have {} different combinations of names, which is the limit: new ones are exported \
             without names while that is so, and counted; give fewer Pods, such as this node's alone",
            self.store.limit()
        ))
    }
}

#[cfg(test)]
mod tests;
