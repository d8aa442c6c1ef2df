//! Which connections enter the flow table, asked once at first sight.

use flow_table::{Admission, NamesId, Observation};

use crate::own_sessions::OwnSessions;
use crate::selection::Selection;

/// Admits every connection with a selected mark but the agent's own.
pub(crate) struct Strangers<'a> {
    own: &'a mut OwnSessions,
    selection: &'a Selection,
}

impl<'a> Strangers<'a> {
    pub(crate) fn new(own: &'a mut OwnSessions, selection: &'a Selection) -> Self {
        Self { own, selection }
    }
}

impl Admission for Strangers<'_> {
    fn admit(&mut self, observation: &Observation) -> Option<NamesId> {
        let admitted =
            self.selection.marks(observation.mark) && !self.own.meets(&observation.original);
        admitted.then_some(NamesId(0))
    }
}
