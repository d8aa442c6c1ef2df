//! Which connections enter the flow table and by what names, asked once at first sight.

use flow_table::{Admission, NamesId, Observation};

use crate::kernel::own_sessions::OwnSessions;
use crate::names::Naming;
use crate::selection::Selection;

/// Admits every connection with a selected mark but the agent's own, and names it.
pub(crate) struct AdmitSelected<'a> {
    own: &'a mut OwnSessions,
    names: &'a mut Naming,
    selection: &'a Selection,
}

impl<'a> AdmitSelected<'a> {
    pub(crate) fn new(
        own: &'a mut OwnSessions,
        names: &'a mut Naming,
        selection: &'a Selection,
    ) -> Self {
        Self {
            own,
            names,
            selection,
        }
    }
}

impl Admission for AdmitSelected<'_> {
    fn admit(&mut self, observation: &Observation) -> Option<NamesId> {
        let admitted =
            self.selection.marks(observation.mark) && !self.own.meets(&observation.original);
        admitted.then(|| self.names.name(observation))
    }
}
