//! The judge of the flow table: a simulated kernel, a driver that plays the agent, and one law.
//!
//! Nothing here knows the table's rules. `kernel` does what conntrack does; `world` feeds the table what an agent would
//! read of it, late, out of turn or not at all; `ledger` knows the truth and what was shown, and checks that exported
//! deltas and counted losses add up to it. A history that breaks the law is printed as short as it goes.
//!
//! `FLOW_TABLE_HISTORIES=100000 cargo test --release -p flow-table simulation` runs so many of each dimension;
//! `FLOW_TABLE_SEED=5` begins at another seed, and `FLOW_TABLE_FAILURES=50` goes on after the first one that fails.

#![allow(
    missing_docs,
    unreachable_pub,
    reason = "a test binary of several files"
)]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests may stop at the first surprise"
)]

mod account;
mod count;
mod dice;
mod exporting;
mod history;
mod kernel;
mod ledger;
mod looking;
mod place;
mod reading;
mod records;
mod setup;
mod shown;
mod shrink;
mod step;
mod world;

use std::collections::BTreeMap;

use history::History;
use setup::Dimension;

/// The table's unit tests have this too: there ranges of slots are tiny, so that connections move, and little is remembered.
const IN_UNIT_TESTS: bool = module_path!().len() > "simulation".len();

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// Plays that many histories, or until as many have failed as may, and prints the shortest one of each kind that did.
fn campaign(dimension: Dimension, histories: u64) {
    let first = number("FLOW_TABLE_SEED", 0);
    let most = number("FLOW_TABLE_FAILURES", 1);
    let mut failures = 0;
    let mut found: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for seed in first..first + number("FLOW_TABLE_HISTORIES", histories) {
        let history = History::new(dimension, seed);
        let Some(verdict) = shrink::judge(&history.setup, &history.steps) else {
            continue;
        };
        failures += 1;
        let (short, verdict) = shrink::shrink(&history, &verdict);
        let length = short.steps.len();
        let text = format!("seed {seed}: {}", shrink::print(&short, &verdict));
        let known = found
            .entry(shrink::looks(&short, &verdict))
            .or_insert_with(|| (length, text.clone()));
        if length < known.0 {
            *known = (length, text);
        }
        if failures == most {
            break;
        }
    }
    let texts: Vec<&str> = found.values().map(|(_, text)| text.as_str()).collect();
    assert!(
        failures == 0,
        "{dimension:?}: {failures} histories fail\n{}",
        texts.join("\n")
    );
}

macro_rules! campaigns {
    ($($name:ident: $dimension:ident, $histories:expr;)*) => {
        $(
            #[test]
            fn $name() {
                campaign(Dimension::$dimension, $histories);
            }
        )*
    };
}

campaigns! {
    polls: Polls, 300; room: Room, 300; events: Events, 300; selections: Selections, 300;
    state_file: StateFile, 300; stops: Stops, 300; clock: Clock, 300; no_stamps: NoStamps, 300;
    batches: Batches, 300; slots: Slots, 300; zeroed: Zeroed, 300; moving: Moving, 300; all: All, 1_000;
}
