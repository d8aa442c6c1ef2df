//! How the agent looks connections up: asked for, answered by the kernel, told to the table, each in its own time.

use flow_table::*;

use super::kernel::Sight;
use super::ledger::{Verdict, Way};
use super::place::{Place, tuple_of, zones_of};
use super::step::Luck;
use super::world::World;

/// One lookup on its way.
pub struct Lookup {
    key: RefreshKey,
    place: Place,
    asked: u64,
    answer: Option<(Luck, Option<Sight>)>,
}

impl World {
    pub fn ask(&mut self, limit: usize) -> Result<usize, String> {
        let now = self.kernel.now();
        let mut keys = Vec::new();
        self.call(None, [0; 2], |table| {
            table.refresh_due(now, &mut keys, limit)
        })?;
        let asked = self.ledger.calls;
        let found = keys.len();
        for key in keys {
            let place = (0..self.kernel.places())
                .find(|place| tuple_of(*place) == key.original && zones_of(*place).0 == key.zone);
            let Some(place) = place else {
                return Err(format!("nobody is at {key:?}"));
            };
            if let Some(run) = &mut self.run {
                run.lookups.push(Lookup {
                    key,
                    place,
                    asked,
                    answer: None,
                });
            }
        }
        Ok(found)
    }

    pub fn answer(&mut self, which: usize, luck: Luck) {
        let Some(run) = &mut self.run else { return };
        if let Some(lookup) = run.lookups.get_mut(which)
            && lookup.answer.is_none()
        {
            lookup.answer = Some((luck, self.kernel.look(lookup.place)));
        }
    }

    pub fn tell(&mut self, which: usize) -> Verdict {
        self.answer(which, Luck::Answered);
        let now = self.kernel.now();
        let Some(run) = self.run.as_mut().filter(|run| which < run.lookups.len()) else {
            return Ok(());
        };
        let Lookup {
            key,
            place,
            asked,
            answer,
        } = run.lookups.remove(which);
        let Some((luck, sight)) = answer else {
            return Ok(());
        };
        let inside = sight
            .as_ref()
            .is_some_and(|sight| self.ledger.marks(sight.seen.mark));
        let who = sight.as_ref().map(|sight| sight.who);
        match (&sight, luck) {
            (Some(sight), Luck::Answered) => {
                let ms = self.kernel.ms;
                // One whose end was told and that is outside now is asked for as one that the table does not hold.
                let ended = self.ledger.has_ended(&self.kernel.everybody, sight);
                let way = if inside || (self.holds(sight.who) && !ended) {
                    Way::Lookup
                } else {
                    Way::Aside
                };
                self.ledger
                    .shown(&self.kernel.everybody, sight, way, asked, ms);
                if !inside {
                    self.ledger.left(&self.kernel.everybody, sight);
                }
            }
            (None, Luck::Answered) => self.ledger.absent(place),
            _ => {}
        }
        let mut admission = self.admission();
        self.call(who, [0; 2], |table| {
            let answer = match (&sight, luck) {
                (_, Luck::Failed) => Answer::Failed,
                (_, Luck::Unreadable) => Answer::Unreadable,
                (None, Luck::Answered) => Answer::Absent,
                (Some(sight), Luck::Answered) if inside => Answer::Present(&sight.seen),
                (Some(sight), Luck::Answered) => Answer::LeftSelection(&sight.seen),
            };
            table.refreshed(&key, answer, &mut admission, now);
        })
    }

    pub fn look_up(&mut self) -> Verdict {
        for round in 0.. {
            let asked = self.ask(100)?;
            while self.run.as_ref().is_some_and(|run| !run.lookups.is_empty()) {
                self.tell(0)?;
            }
            if asked == 0 {
                return Ok(());
            }
            if round > 20 {
                return Err("lookups are wanted for ever".to_owned());
            }
        }
        Ok(())
    }
}
