//! Histories made by chance: what a seed and a dimension amount to.

use super::dice::Dice;
use super::place::Place;
use super::setup::{Dimension, Finale, Setup};
use super::step::{Ending, Fate, Luck, Step};

#[derive(Clone)]
pub struct History {
    pub setup: Setup,
    pub steps: Vec<Step>,
}

/// Makes steps for one dimension, or for some at once.
struct Maker {
    dice: Dice,
    setup: Setup,
    dimension: Dimension,
    steps: Vec<Step>,
}

impl History {
    pub fn new(dimension: Dimension, seed: u64) -> Self {
        // Dimensions do not share their chance.
        let mut dice = Dice::new(seed.wrapping_mul(31).wrapping_add(dimension as u64) << 8);
        let all = dimension == Dimension::All;
        let is = |this: Dimension| dimension == this;
        let setup = Setup {
            places: if is(Dimension::Slots) || (all && dice.once_in(4)) {
                36
            } else {
                6
            },
            cap: if is(Dimension::Room) || (all && dice.once_in(2)) {
                1 + dice.below(5) as usize
            } else {
                1_000
            },
            evict: dice.once_in(2),
            total: dice.once_in(3),
            events: is(Dimension::Events)
                || (!is(Dimension::Polls) && dice.once_in(if all { 2 } else { 3 })),
            marked: is(Dimension::Selections) && !dice.once_in(3) || (all && dice.once_in(2)),
            stamps: !(is(Dimension::NoStamps) || (all && dice.once_in(3))),
            counts: !dice.once_in(20),
            seconds: dice.once_in(4),
            whole: dice.once_in(4),
            stale_ms: dice.one_of(&[5_000, 300_000, 300_000]),
            end: dice.one_of(&[Finale::AllEnds, Finale::AllEnds, Finale::Stop, Finale::Rest]),
        };
        let steps = 10 + dice.below(if setup.places > 6 { 160 } else { 60 });
        let mut maker = Maker {
            dice,
            setup,
            dimension,
            steps: Vec::new(),
        };
        for _ in 0..maker.dice.below(6) {
            maker.kernel();
        }
        maker.start(false);
        for _ in 0..steps {
            maker.step();
        }
        Self {
            setup: maker.setup,
            steps: maker.steps,
        }
    }
}

impl Maker {
    fn is(&self, dimension: Dimension) -> bool {
        self.dimension == dimension || self.dimension == Dimension::All
    }

    fn place(&mut self) -> Place {
        self.dice.below(self.setup.places as u64) as usize
    }

    fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn step(&mut self) {
        match self.dice.below(100) {
            0..42 => self.kernel(),
            42..54 => {
                let ms = match self.dice.below(5) {
                    4 if self.dice.once_in(4) => 200_000,
                    0 => 1 + self.dice.below(20),
                    1 | 2 => 100 + self.dice.below(9_000),
                    _ => 10_000 + self.dice.below(80_000),
                };
                self.push(Step::Wait(ms));
            }
            54..68 => self.poll(),
            68..74 => self.push(Step::Work),
            74..82 => self.push(Step::Export),
            82..92 => self.particular(),
            92..96 if self.setup.events => {
                let events = 1 + self.dice.below(4) as usize;
                self.push(Step::Hear(events));
            }
            _ if self.setup.events || self.setup.marked => self.look(),
            _ => self.kernel(),
        }
    }

    fn kernel(&mut self) {
        let place = self.place();
        let step = match self.dice.below(40) {
            0..12 => Step::Create {
                place,
                id: 1 + self.dice.below(3) as u32,
                mark: if self.dice.once_in(4) { 0 } else { 1 },
            },
            12..26 => Step::Move {
                place,
                packets: match self.dice.below(3) {
                    0 => 1,
                    1 => self.dice.below(50),
                    _ => self.dice.below(100_000),
                },
            },
            26..33 => Step::Destroy { place },
            33..36 => Step::Turn {
                place,
                state: self.dice.one_of(&[3, 3, 4, 7, 8]),
            },
            36 if self.setup.marked => Step::Mark {
                place,
                mark: self.dice.below(3) as u32,
            },
            37 if self.is(Dimension::Zeroed) => Step::Zero,
            38 if self.setup.events => match self.dice.below(4) {
                0 | 1 => Step::Overrun,
                2 => Step::Repeat(self.dice.below(3) as usize),
                _ => Step::Move { place, packets: 7 },
            },
            39 if self.dice.once_in(4) => Step::Flush,
            _ => Step::Move { place, packets: 7 },
        };
        self.push(step);
    }

    fn missed(&mut self) -> u32 {
        if self.is(Dimension::Moving) && self.dice.once_in(3) {
            1 << self.dice.below(6) | 1 << self.dice.below(6)
        } else {
            0
        }
    }

    fn poll(&mut self) {
        let missed = self.missed();
        let slowly = self.is(Dimension::Moving) || self.setup.events;
        let step = match self.dice.below(8) {
            0..4 => Step::Poll {
                missed,
                complete: !self.dice.once_in(8),
                together: self.dice.once_in(2),
            },
            4 if slowly => Step::Begin {
                scope: self.dice.below(2) as usize,
            },
            5 | 6 if slowly => Step::Buffer {
                entries: 1 + self.dice.below(3) as usize,
                missed,
                again: self.is(Dimension::Moving) && self.dice.once_in(4),
            },
            7 if slowly => Step::End {
                complete: !self.dice.once_in(4),
            },
            _ => Step::Poll {
                missed: 0,
                complete: true,
                together: false,
            },
        };
        self.push(step);
    }

    fn look(&mut self) {
        let which = self.dice.below(4) as usize;
        let step = match self.dice.below(5) {
            0 => Step::Ask(1 + which),
            1 => {
                let luck = self.dice.one_of(&[
                    Luck::Answered,
                    Luck::Answered,
                    Luck::Answered,
                    Luck::Failed,
                    Luck::Unreadable,
                ]);
                Step::Answer(which, luck)
            }
            2 => Step::Tell(which),
            _ => Step::LookUp,
        };
        self.push(step);
    }

    /// What is this dimension's own.
    fn particular(&mut self) {
        let mut own: Vec<Dimension> = Dimension::EACH.to_vec();
        own.retain(|dimension| self.is(*dimension));
        match self.dice.one_of(&own) {
            Dimension::StateFile => match self.dice.below(4) {
                0 => self.push(Step::Save),
                1 | 2 => {
                    let entries = 1 + self.dice.below(3) as usize;
                    self.push(Step::SaveSlice(entries));
                }
                _ => self.restart(),
            },
            Dimension::Stops if self.dice.once_in(2) => self.restart(),
            Dimension::Clock => {
                let seconds =
                    self.dice
                        .one_of(&[3_600, -3_600, 86_400, -86_400, -4_000_000_000, 5, -5]);
                self.push(Step::Clock(seconds));
            }
            Dimension::Selections if self.dice.once_in(8) => self.restart(),
            Dimension::Selections if self.setup.marked => {
                let place = self.place();
                let mark = self.dice.below(3) as u32;
                self.push(Step::Mark { place, mark });
            }
            Dimension::Batches => self.batch(),
            Dimension::Zeroed if self.dice.once_in(2) => self.push(Step::Zero),
            Dimension::Events if self.dice.once_in(3) => self.late(),
            Dimension::Room if self.dice.once_in(4) => self.push(Step::Wait(16_000)),
            Dimension::Slots if self.dice.once_in(3) => self.push(Step::Flush),
            _ => self.kernel(),
        }
    }

    /// What a dump read is handed over after a lookup has told more.
    fn late(&mut self) {
        let place = self.place();
        self.push(Step::Hear(20));
        self.push(Step::Begin { scope: 0 });
        for _ in 0..1 + self.dice.below(2) {
            self.push(Step::Buffer {
                entries: 1 + place,
                missed: 0,
                again: false,
            });
        }
        self.push(Step::Move { place, packets: 5 });
        self.push(Step::Wait(61_000));
        self.push(Step::LookUp);
        self.kernel();
        let complete = !self.dice.once_in(3);
        self.push(Step::End { complete });
    }

    fn batch(&mut self) {
        let which = self.dice.below(4) as usize;
        let step = match self.dice.below(5) {
            0 | 1 => Step::Take {
                max: 1 + which,
                full: self.dice.once_in(8).then_some(which),
                too_large: self.dice.once_in(8).then_some(which / 2),
            },
            2 if self.dice.once_in(8) => Step::Own {
                place: self.place(),
            },
            _ => Step::Settle(
                which,
                self.dice.one_of(&[
                    Fate::Committed,
                    Fate::Committed,
                    Fate::RolledBack,
                    Fate::Dropped,
                ]),
            ),
        };
        self.push(step);
    }

    fn restart(&mut self) {
        let ending = self
            .dice
            .one_of(&[Ending::Clean, Ending::NobodyTakes, Ending::Crash]);
        self.push(Step::Stop(ending));
        for _ in 0..self.dice.below(4) {
            self.kernel();
        }
        if self.is(Dimension::Clock) && self.dice.once_in(4) {
            self.push(Step::Clock(-3_600));
        }
        let file = self.is(Dimension::StateFile) && !self.dice.once_in(4);
        self.start(file);
    }

    fn start(&mut self, file: bool) {
        let zones = if self.is(Dimension::Selections) || self.is(Dimension::StateFile) {
            self.dice.below(4) as usize
        } else {
            0
        };
        self.push(Step::Start { file, zones });
    }
}
