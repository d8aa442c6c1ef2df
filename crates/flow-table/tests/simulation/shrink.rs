//! A history that breaks the law, made as short as it goes and printed.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::history::History;
use super::setup::Setup;
use super::step::Step;
use super::world::World;

/// How a history breaks the law. None: it does not.
pub fn judge(setup: &Setup, steps: &[Step]) -> Option<String> {
    let run = AssertUnwindSafe(|| {
        let mut world = World::new(setup);
        steps.iter().try_for_each(|step| world.step(step))?;
        world.close()
    });
    match catch_unwind(run) {
        Ok(verdict) => verdict.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            Some(format!("a panic: {}", text.unwrap_or_default()))
        }
    }
}

/// The kind of a fault: shrinking must not end at another one.
fn kind(verdict: &str) -> String {
    verdict
        .split(['{', ':', '(', '['])
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|letter| letter.is_alphabetic() || *letter == ' ')
        .collect()
}

/// Leaves out what is not needed, the longest stretches first, then makes the rest plainer.
pub fn shrink(history: &History, verdict: &str) -> (History, String) {
    let mut history = history.clone();
    let mut verdict = verdict.to_owned();
    let wanted = kind(&verdict);
    let still = |setup: &Setup, steps: &[Step]| {
        judge(setup, steps).filter(|verdict| kind(verdict) == wanted)
    };
    let mut better = true;
    while better {
        better = false;
        let mut length = history.steps.len().max(1);
        while length > 0 {
            let mut at = 0;
            while at < history.steps.len() {
                let mut fewer = history.steps.clone();
                fewer.drain(at..(at + length).min(fewer.len()));
                match still(&history.setup, &fewer) {
                    Some(now) => {
                        (history.steps, verdict, better) = (fewer, now, true);
                    }
                    None => at += length,
                }
            }
            length /= 2;
        }
        for at in 0..history.steps.len() {
            for plainer in plainer(&history.steps[at]) {
                let mut steps = history.steps.clone();
                steps[at] = plainer;
                if let Some(now) = still(&history.setup, &steps) {
                    (history.steps, verdict, better) = (steps, now, true);
                }
            }
        }
        for setup in plainer_setups(&history.setup) {
            if let Some(now) = still(&setup, &history.steps) {
                (history.setup, verdict, better) = (setup, now, true);
            }
        }
    }
    (history, verdict)
}

fn plainer(step: &Step) -> Vec<Step> {
    match *step {
        Step::Move { place, packets } if packets > 10 => vec![Step::Move { place, packets: 10 }],
        Step::Wait(ms) if ms > 10 => vec![Step::Wait(10)],
        Step::Poll {
            missed,
            complete,
            together,
        } => {
            let mut all = Vec::new();
            if missed != 0 {
                all.push(Step::Poll {
                    missed: 0,
                    complete,
                    together,
                });
            }
            if together {
                all.push(Step::Poll {
                    missed,
                    complete,
                    together: false,
                });
            }
            all
        }
        Step::Create { place, id, mark } if id > 1 => vec![Step::Create { place, id: 1, mark }],
        Step::Begin { scope } if scope > 0 => vec![Step::Begin { scope: 0 }],
        Step::Start { file, zones } if zones > 0 => vec![Step::Start { file, zones: 0 }],
        Step::Take {
            max,
            full: Some(_),
            too_large,
        } => vec![Step::Take {
            max,
            full: None,
            too_large,
        }],
        Step::Take { .. } | Step::Hear(_) => vec![Step::Export],
        _ => Vec::new(),
    }
}

fn plainer_setups(setup: &Setup) -> Vec<Setup> {
    let mut all = Vec::new();
    let mut with = |differs: bool, change: &dyn Fn(&mut Setup)| {
        if differs {
            let mut setup = setup.clone();
            change(&mut setup);
            all.push(setup);
        }
    };
    with(setup.cap != 1_000, &|it| it.cap = 1_000);
    with(setup.evict, &|it| it.evict = false);
    with(setup.total, &|it| it.total = false);
    with(setup.events, &|it| it.events = false);
    with(setup.marked, &|it| it.marked = false);
    with(!setup.stamps, &|it| it.stamps = true);
    with(!setup.counts, &|it| it.counts = true);
    with(setup.seconds, &|it| it.seconds = false);
    with(setup.whole, &|it| it.whole = false);
    with(setup.stale_ms != 300_000, &|it| it.stale_ms = 300_000);
    all
}

/// Histories that fail alike: the same verdict after the same kinds of steps.
pub fn looks(history: &History, verdict: &str) -> String {
    let mut kinds: Vec<String> = history
        .steps
        .iter()
        .map(|step| format!("{step:?}"))
        .map(|text| text.split([' ', '(']).next().unwrap_or_default().to_owned())
        .collect();
    kinds.sort();
    kinds.dedup();
    let setup = &history.setup;
    format!(
        "{} {kinds:?} {} {} {}",
        kind(verdict),
        setup.events,
        setup.marked,
        setup.stamps
    )
}

/// As one reads it.
pub fn print(history: &History, verdict: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:?}", history.setup);
    for step in &history.steps {
        let _ = writeln!(text, "  {step}");
    }
    let _ = writeln!(text, "  the end: {:?}", history.setup.end);
    let _ = writeln!(text, "BROKEN: {verdict}");
    text
}
