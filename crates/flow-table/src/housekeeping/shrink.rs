//! Connections of a topmost range that is worth emptying move down, so that its memory can go back.

use super::CHANGED;
use crate::store::{Place, State, flag};
use crate::table::FlowTable;

impl FlowTable {
    /// Moves some, unless something outside names their slot; true: there is more.
    pub(super) fn move_down(&mut self) -> bool {
        let Some(slots) = self.store.to_move() else {
            return false;
        };
        let mut moved = 0;
        for slot in slots {
            let Some(connection) = self.store.get(slot) else {
                continue;
            };
            let pinned = matches!(connection.place(), Place::InFlight | Place::Awaiting)
                || connection.has(flag::SUSPECT);
            if connection.state() == State::Free || pinned {
                continue;
            }
            self.move_slot(slot);
            moved += 1;
            if moved == CHANGED {
                return true;
            }
        }
        // A range with nothing but pinned ones left has to wait for them.
        moved > 0
    }

    fn move_slot(&mut self, slot: u32) {
        let Some(connection) = self.store.get(slot) else {
            return;
        };
        let queued = connection.place() == Place::Queued;
        let idle = connection.state() == State::Idle;
        self.queues.dequeue(&mut self.store, slot);
        if idle {
            self.set_state(slot, State::Live); // Out of the idle queue, which names slots too.
        }
        let Some(to) = self.store.move_down(slot) else {
            return;
        };
        if idle {
            self.set_state(to, State::Idle);
        }
        if queued {
            self.enqueue(to);
        }
    }
}
