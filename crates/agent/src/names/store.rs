//! Names, one for each distinct combination, numbered for the flow table's connections.
//!
//! A connection holds its names by their number for its life and nobody counts the holders: what no connection holds any
//! more is found by a collection, which asks the flow table (mark) and then frees the others (sweep), both in slices.
//! Numbers that are given out meanwhile are kept. See `names::collect` for who drives it.

mod index;

use ahash::RandomState;
use flow_table::{NamesId, Progress};
use index::Index;
use ipfix::{NameTexts, Names};

/// Combinations held at most. One takes some 600 octets and its texts twice: with names of Kubernetes' usual lengths all
/// of them together about 100 MB, which a node meets only when its connections join as many different pairs.
pub(crate) const MAX_NAMES: usize = 131_072;

/// With fewer a collection is not worth a pass over the table.
const FEW: usize = 4_096;

/// When it is full, milliseconds from one collection to the next: a pass over a million connections takes some tens.
const FULL_REST_MS: u64 = 10_000;

/// Otherwise: what a peak left goes back after this time, also when nothing new comes.
const LONG_REST_MS: u64 = 600_000;

/// Interned names, and the collection that is under way.
pub(crate) struct NamesStore {
    /// By number minus one. Boxed, so that a free place costs little.
    places: Vec<Option<Box<Names>>>,
    free: Vec<u32>,
    index: Index,
    seed: RandomState,
    limit: usize,
    collection: Collection,
    /// As many names make a collection worth while.
    worth: usize,
    /// Monotonic ms of the last collection's begin.
    collected_ms: Option<u64>,
}

enum Collection {
    None,
    Marking(Marks),
    Sweeping { marks: Marks, next: usize },
}

/// A bit for each place.
#[derive(Default)]
struct Marks(Vec<u64>);

impl Marks {
    fn set(&mut self, place: usize) {
        let (word, bit) = (place / 64, place % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    fn has(&self, place: usize) -> bool {
        let word = self.0.get(place / 64).copied().unwrap_or(0);
        word & 1 << (place % 64) != 0
    }
}

impl NamesStore {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            index: Index::new(),
            seed: RandomState::new(),
            limit,
            collection: Collection::None,
            worth: FEW.min(limit),
            collected_ms: None,
        }
    }

    /// Combinations held.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Combinations held at most.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    #[inline]
    pub(crate) fn get(&self, id: NamesId) -> Option<&Names> {
        self.places.get(place(id)?)?.as_deref()
    }

    /// The number of these names, the same for the same texts while anybody holds it. None: full.
    pub(crate) fn intern(&mut self, texts: NameTexts) -> Option<NamesId> {
        let hash = self.seed.hash_one(&texts);
        let same = |number| {
            self.get(NamesId(number))
                .is_some_and(|names| *names.texts() == texts)
        };
        if let Some(id) = self.index.find(hash, same).map(NamesId) {
            self.keep(id);
            return Some(id);
        }
        if self.len() >= self.limit {
            return None;
        }
        let names = Some(Box::new(Names::new(texts)));
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.places.push(None);
                self.places.len() as u32
            }
        };
        *self.places.get_mut(place(NamesId(number))?)? = names;
        self.index.insert(hash, number);
        self.keep(NamesId(number));
        Some(NamesId(number))
    }

    /// Somebody holds it, or is about to: the collection under way leaves it.
    #[inline]
    pub(crate) fn keep(&mut self, id: NamesId) {
        if let Collection::Marking(marks) | Collection::Sweeping { marks, .. } =
            &mut self.collection
            && let Some(place) = place(id)
        {
            marks.set(place);
        }
    }

    /// There are twice as many as the last collection left, or no room for more, or the last one is long ago.
    pub(crate) fn wants_collection(&self, now_ms: u64) -> bool {
        let full = self.len() >= self.limit;
        let rest = if full { FULL_REST_MS } else { LONG_REST_MS };
        let rested = |former: u64| now_ms >= former.saturating_add(rest);
        self.len() >= FEW.min(self.limit)
            && (!full && self.len() >= self.worth || self.collected_ms.is_none_or(rested))
    }

    /// Begins to mark. Every number given out until now is that of a connection in the table, or of nobody.
    pub(crate) fn begin_collection(&mut self, now_ms: u64) {
        self.collected_ms = Some(now_ms);
        self.collection = Collection::Marking(Marks::default());
    }

    /// One slice of freeing what was not kept since `begin_collection`.
    pub(crate) fn sweep(&mut self, slice: usize) -> Progress {
        let (marks, next) = match std::mem::replace(&mut self.collection, Collection::None) {
            Collection::None => return Progress::Done,
            Collection::Marking(marks) => (marks, 0),
            Collection::Sweeping { marks, next } => (marks, next),
        };
        let last = next.saturating_add(slice).min(self.places.len());
        for place in (next..last).filter(|&place| !marks.has(place)) {
            self.remove(place);
        }
        if last < self.places.len() {
            self.collection = Collection::Sweeping { marks, next: last };
            return Progress::More;
        }
        self.give_back();
        self.worth = self.len().saturating_mul(2).max(FEW).min(self.limit);
        Progress::Done
    }

    /// Gives the collection up: nothing more is freed by it.
    pub(crate) fn give_up(&mut self) {
        self.collection = Collection::None;
    }

    fn remove(&mut self, place: usize) {
        let Some(names) = self.places.get_mut(place).and_then(Option::take) else {
            return;
        };
        let number = place as u32 + 1;
        self.index.remove(self.seed.hash_one(names.texts()), number);
        self.free.push(number);
    }

    /// What a peak left: free places at the end, and room for more.
    fn give_back(&mut self) {
        let used = self.places.iter().rposition(Option::is_some);
        self.places.truncate(used.map_or(0, |last| last + 1));
        let end = self.places.len();
        self.free.retain(|&number| number as usize <= end);
        self.index.shrink();
        if self.places.capacity() / 4 > self.len().max(FEW) {
            self.places.shrink_to(2 * end);
            self.free.shrink_to(2 * self.free.len());
        }
    }
}

fn place(id: NamesId) -> Option<usize> {
    (id.0 as usize).checked_sub(1)
}

#[cfg(test)]
mod tests;
