//! What the table tells: each record as it is made and settled, and the law when nothing is unexported any more.

use flow_table::{EndReason, Record};

use super::account::Account;
use super::count::{count, sum};
use super::kernel::Incarnation;
use super::ledger::{Ledger, Name, Verdict, broken, name_of};
use super::place::{labels_of, reply_of, tuple_of, zones_of};
use super::world::IDLE_MS;

impl Ledger {
    fn account_of(
        &mut self,
        everybody: &[Incarnation],
        record: &Record,
    ) -> Option<(Name, &mut Account)> {
        let place = everybody.iter().map(|who| who.place).find(|place| {
            tuple_of(*place) == record.original && zones_of(*place).0 == record.zone
        })?;
        let named = everybody.get((record.names.0 as usize).wrapping_sub(1));
        let mut names = vec![(place, record.id, record.start_ns), (place, record.id, 0)];
        names.extend(named.map(|who| name_of(who, true)));
        let name = names
            .into_iter()
            .find(|name| self.accounts.contains_key(name))?;
        self.accounts.get_mut(&name).map(|account| (name, account))
    }

    /// The table makes a record.
    pub fn taken(&mut self, everybody: &[Incarnation], record: &Record, now_ms: u64) -> Verdict {
        let (stopping, blurred) = (self.stopping, self.blurred);
        let forgetful = self.forgetful || blurred;
        let Some((name, account)) = self.account_of(everybody, record) else {
            return broken(format!("a record of nobody: {}", brief(record)));
        };
        let (totals, deltas) = (count(record.totals), count(record.deltas));
        let fell = totals
            .iter()
            .zip(account.totals)
            .any(|(now, then)| *now < then);
        let stamped = name.2 != 0;
        if stamped && fell {
            return broken(format!(
                "totals of {name:?} fall from {:?}: {}",
                account.totals,
                brief(record)
            ));
        }
        account.totals = totals;
        if stamped && !account.zeroed && !account.overtaken && !account.has_shown(&totals) {
            return broken(format!(
                "nobody ever read these totals of {name:?}: {}",
                brief(record)
            ));
        }
        if deltas
            .iter()
            .zip(totals)
            .any(|(delta, total)| *delta > total)
        {
            return broken(format!("deltas above totals: {}", brief(record)));
        }
        if record.end_ns < record.start_ns {
            return broken(format!("an end before its start: {}", brief(record)));
        }
        if stamped && account.in_flight > 0 {
            return broken(format!("{name:?} is in two batches: {}", brief(record)));
        }
        account.in_flight += 1;
        let (reply, labels) = (reply_of(name.0), labels_of(name.0));
        // A DESTROY brings none, and where not every refused one is remembered it may be all that is known of one.
        let must = stamped && account.labelled && !blurred;
        let labelled = record.labels == labels || (record.labels == [0; 16] && !must);
        if record.reply != reply || record.reply_zone != zones_of(name.0).1 || !labelled {
            return broken(format!(
                "another reply or other labels of {name:?}: {record:?}"
            ));
        }
        if stamped && !account.overtaken && !account.marks.contains(&record.mark) {
            return broken(format!("{name:?} never had this mark: {record:?}"));
        }
        if record.reason == EndReason::Idle && stamped && account.moved_ms + IDLE_MS > now_ms {
            return broken(format!("{name:?} does not rest: {}", brief(record)));
        }
        match record.reason {
            EndReason::EndDetected if !account.may_end => {
                return broken(format!(
                    "the end of one that lives, {name:?}: {}",
                    brief(record)
                ));
            }
            EndReason::EndDetected
                if stamped && account.ends > 0 && deltas == [0; 4] && !forgetful =>
            {
                return broken(format!("a second end of {name:?}: {}", brief(record)));
            }
            EndReason::Forced if !stopping && !account.has_left => {
                return broken(format!(
                    "a forced record of {name:?}, for no reason: {}",
                    brief(record)
                ));
            }
            _ => {}
        }
        let mut then = account.clone();
        then.told
            .iter_mut()
            .zip(deltas)
            .for_each(|(told, delta)| *told += delta);
        if then.left_over().is_none() && !forgetful {
            return broken(format!(
                "more of {name:?} is exported than there is: {}; {account}",
                brief(record)
            ));
        }
        Ok(())
    }

    /// It is exported. `lost`: it was too large instead.
    pub fn settled(
        &mut self,
        everybody: &[Incarnation],
        record: &Record,
        exported: bool,
        lost: bool,
    ) -> Verdict {
        let Some((name, account)) = self.account_of(everybody, record) else {
            return broken(format!("a record of nobody: {}", brief(record)));
        };
        account.in_flight = account.in_flight.saturating_sub(1);
        let deltas = count(record.deltas);
        if lost {
            let [packets, octets] = sum(deltas);
            account.lost = [account.lost[0] + packets, account.lost[1] + octets];
        }
        if exported {
            account
                .told
                .iter_mut()
                .zip(deltas)
                .for_each(|(told, delta)| *told += delta);
            let start = *account.start_ns.get_or_insert(record.start_ns);
            if name.2 != 0 && start != record.start_ns {
                return broken(format!(
                    "the start of {name:?} was exported as {start}: {}",
                    brief(record)
                ));
            }
        }
        if (exported || lost) && record.reason == EndReason::EndDetected {
            account.ends += 1;
        }
        Ok(())
    }

    fn told(&self) -> String {
        let each = self.accounts.iter();
        each.map(|(name, account)| format!("\n  {name:?}: {account}"))
            .collect()
    }

    /// Nothing is unexported any more: all together.
    pub fn close(&mut self, all_end: bool) -> Verdict {
        let mut missing = [0; 2];
        let mut room = [0; 2];
        let mut endless = Vec::new();
        for (name, account) in &self.accounts {
            if self.forgetful || (self.blurred && name.2 == 0) {
                continue;
            }
            let Some(left_over) = account.left_over() else {
                return broken(format!("more of {name:?} is told than there is: {account}"));
            };
            room = [room[0] + left_over[0], room[1] + left_over[1]];
            if self.is_own(name.0) {
                continue;
            }
            if self.blurred {
                continue;
            }
            let missed = account.missing();
            missing = [missing[0] + missed[0], missing[1] + missed[1]];
            if self.pool == [0; 2] && missed != [0; 2] {
                return broken(format!(
                    "{missed:?} packets and octets of {name:?} are neither exported nor counted as lost: {account}"
                ));
            }
            // Who has only heard of its beginning takes another one with its place and id for it.
            let mistaken = account.is_hearsay()
                && self
                    .accounts
                    .keys()
                    .any(|other| other != name && (other.0, other.1) == (name.0, name.1));
            if all_end
                && !mistaken
                && account.held
                && account.gone
                && !account.left
                && account.ends == 0
                && !account.end_left
                && account.refusals == 0
                && !account.overtaken
            {
                endless.push(*name);
            }
        }
        if missing[0] > self.pool[0] || missing[1] > self.pool[1] {
            return broken(format!(
                "{missing:?} packets and octets are missing, {:?} are counted as lost: {}",
                self.pool,
                self.told()
            ));
        }
        let nameless = self.accounts.keys().any(|name| name.2 == 0);
        if self.forgetful || (self.blurred && nameless) {
            return Ok(());
        }
        if self.pool[0] > room[0] || self.pool[1] > room[1] {
            return broken(format!(
                "{:?} packets and octets are counted as lost, of {room:?}: {}",
                self.pool,
                self.told()
            ));
        }
        if endless.len() as u64 > self.stale_records + self.evictions {
            return broken(format!("no end of {endless:?} was told or counted"));
        }
        if self.pool == missing && self.pool == room {
            // Each has lost just what it was owed.
            for account in self.accounts.values_mut() {
                let missed = account.missing();
                account.lost = [account.lost[0] + missed[0], account.lost[1] + missed[1]];
            }
            self.pool = [0; 2];
        }
        for account in self.accounts.values_mut() {
            account.end_left |= self.stopping && account.may_end && account.ends == 0;
        }
        Ok(())
    }
}

/// A record, as far as it matters here.
fn brief(record: &Record) -> String {
    format!(
        "{:?}, totals {:?}, deltas {:?}, from {} to {}",
        record.reason,
        count(record.totals),
        count(record.deltas),
        record.start_ns,
        record.end_ns
    )
}
