//! Symbolic search: sets of states as decision diagrams, expanded from both ends.
//!
//! [`Symbolic`] is an engine. It shows lower bounds while it closes layers, and a plan as soon as
//! both sides meet; it ends with an optimal plan or a proof that there is none.
//! Conditional effects and axioms are part of the relations (relation.rs, space.rs).
//! Whatever does not become small enough is refused ([`Refusal`]): then nothing was shown.
//!
//! The way of the data: order.rs chooses the order of the variables, encoding.rs gives them bits,
//! space.rs makes conditions of them, relation.rs relations of operators, preparation.rs does all of
//! that by work and merges relations, search.rs searches, plan.rs reads a plan from the layers.

mod encoding;
mod invariants;
mod order;
mod plan;
mod preparation;
mod relation;
mod search;
mod space;

use std::fmt;
use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::engine::{Bounds, Engine, Progress};
use crate::search::{Limits, Stop};
use crate::task::{Cost, Task};
use crate::work::{Budget, DIAGRAM_STEP};
use bdd::Halt;
use preparation::Preparations;
use search::{Search, Turn};
use space::Space;

/// The engine's name.
const NAME: &str = "symbolic";

/// Which sides search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// From both ends, until they meet.
    #[default]
    Both,
    /// From the initial state.
    Forward,
    /// From the goal.
    Backward,
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Which sides search.
    pub direction: Direction,
    /// The most bytes that decision diagrams may take.
    pub memory_bytes: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config { direction: Direction::Both, memory_bytes: 4 << 30 }
    }
}

/// Why a task is left to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its axioms are not those of a translator: conditions on default values of the same layer,
    /// or different values of one variable.
    Axioms,
    /// Its states have too many bits.
    Bits,
    /// Its operators, axioms or goal are too large as decision diagrams.
    Size,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Axioms => "the axioms are not stratified",
            Refusal::Bits => "states have too many bits",
            Refusal::Size => "operators, axioms or goal are too large as decision diagrams",
        })
    }
}

/// Figures of a symbolic search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Statistics {
    /// Every plan costs at least this, if no plan was found.
    pub lower_bound: Cost,
    /// The costs of the layers that the forward and the backward side are at.
    pub layers_at: [Cost; 2],
    /// How many layers each side has closed.
    pub layers: [u64; 2],
    /// Transition relations, after merging.
    pub relations: usize,
    /// Nodes of decision diagrams now.
    pub nodes: usize,
    /// The most nodes at a time.
    pub peak_nodes: usize,
    /// Steps of recursions.
    pub steps: u64,
    /// Bytes of decision diagrams and their tables.
    pub memory_bytes: usize,
}

/// Figures of a search that goes on, perhaps on another thread.
#[derive(Clone, Debug, Default)]
pub struct Figures(Arc<Mutex<Statistics>>);

impl Figures {
    /// The figures after the last step.
    pub fn read(&self) -> Statistics {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self, statistics: Statistics) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = statistics;
    }
}

/// A bidirectional search on sets of states.
pub struct Symbolic<'a> {
    task: &'a Task,
    config: Config,
    limits: Limits<'a>,
    stage: Stage<'a>,
    refusal: Option<Refusal>,
    statistics: Statistics,
    figures: Figures,
    /// The cost of the last plan that was offered.
    offered: Option<Cost>,
}

enum Stage<'a> {
    New,
    Preparing(Box<Preparations<'a>>),
    Searching(Box<(Space<'a>, Search)>),
    Over(Progress),
}

impl<'a> Symbolic<'a> {
    /// A search that has not begun. Of the limits, those of time count.
    pub fn new(task: &'a Task, config: Config, limits: Limits<'a>) -> Symbolic<'a> {
        let limits = Limits { memory_bytes: None, memory_in_use: None, ..limits };
        Symbolic {
            task,
            config,
            limits,
            stage: Stage::New,
            refusal: None,
            statistics: Statistics::default(),
            figures: Figures::default(),
            offered: None,
        }
    }

    /// Why it does nothing, if it does not.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// Figures so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Figures that others can read while it works.
    pub fn figures(&self) -> Figures {
        self.figures.clone()
    }

    /// A stage of its work: the next stage, or the same one if the budget is spent.
    fn work(&mut self, bounds: &mut Bounds, budget: &mut Budget) -> Result<(), Halt> {
        match &mut self.stage {
            Stage::New => {
                if !space::is_stratified(self.task) {
                    self.refusal = Some(Refusal::Axioms);
                    self.stage = Stage::Over(Progress::Finished);
                    return Ok(());
                }
                let bytes = self.config.memory_bytes;
                let config = bdd::Config { bytes, cache_bytes: bytes / 8, levels: 0 };
                let preparations = Preparations::new(self.task, config, self.limits, budget);
                self.stage = Stage::Preparing(Box::new(preparations));
            }
            Stage::Preparing(preparations) => {
                if let Some((mut space, prepared)) = preparations.advance(budget)? {
                    let direction = self.config.direction;
                    let rests = [direction == Direction::Backward, direction == Direction::Forward];
                    let search = Search::new(prepared, rests, &mut space);
                    self.statistics.relations = search.relations.len();
                    self.stage = Stage::Searching(Box::new((space, search)));
                }
            }
            Stage::Searching(searching) => {
                let (space, search) = &mut **searching;
                let before = space.kernel.steps();
                let upper = bounds.upper().unwrap_or(Cost::MAX);
                let turn = search.advance(space, upper, stop_at(before, budget));
                let shown = show(search, space, bounds, &mut self.offered);
                budget.spend((space.kernel.steps() - before) * DIAGRAM_STEP);
                if turn? == Turn::Finished {
                    shown?;
                    self.stage = Stage::Over(Progress::Finished);
                }
            }
            Stage::Over(_) => {}
        }
        Ok(())
    }

    fn update_statistics(&mut self, bounds: &Bounds) {
        let kernel = match &self.stage {
            Stage::Preparing(preparations) => preparations.statistics(),
            Stage::Searching(searching) => {
                let (space, search) = &**searching;
                let of_sides = |value: fn(&search::Side) -> u64| {
                    [value(&search.sides[0]), value(&search.sides[1])]
                };
                self.statistics.layers_at = of_sides(|side| side.g);
                self.statistics.layers = of_sides(|side| side.layers);
                self.statistics.lower_bound = search.lower_bound().unwrap_or(bounds.lower());
                space.kernel.statistics()
            }
            Stage::New | Stage::Over(_) => return,
        };
        self.statistics.nodes = kernel.nodes;
        self.statistics.peak_nodes = kernel.peak_nodes;
        self.statistics.steps = kernel.steps;
        self.statistics.memory_bytes = kernel.bytes;
        self.figures.write(self.statistics);
    }

    /// What the end of an operation means for the engine.
    fn ending(&self, halt: Halt) -> Progress {
        match halt {
            Halt::Interrupted => {
                Progress::Stopped(self.limits.reached(0, 0).unwrap_or(Stop::Interrupted))
            }
            Halt::Memory => Progress::Stopped(Stop::OutOfMemory),
            Halt::Work | Halt::Nodes | Halt::Levels => Progress::Finished,
        }
    }
}

/// The step of the kernel at which a budget is spent.
fn stop_at(now: u64, budget: &Budget) -> u64 {
    now.saturating_add(budget.left().div_ceil(DIAGRAM_STEP))
}

/// Tells the bounds what the search has shown.
fn show(
    search: &Search,
    space: &mut Space,
    bounds: &mut Bounds,
    offered: &mut Option<Cost>,
) -> Result<(), Halt> {
    let mut result = Ok(());
    let met = search.meeting.as_ref();
    if let Some(meeting) = met.filter(|meeting| offered.is_none_or(|cost| meeting.cost() < cost)) {
        match plan::plan_through(meeting, search, space) {
            Ok(Some(plan)) => {
                *offered = Some(plan.cost);
                bounds.offer(plan, NAME);
            }
            Ok(None) => unreachable!("the layers of a search hold the plan that they found"),
            Err(halt) => result = Err(halt),
        }
    }
    let best = met.map(|meeting| meeting.cost()).into_iter().chain(bounds.upper()).min();
    match (search.lower_bound(), best) {
        (Some(lower), Some(best)) => {
            bounds.raise(lower.min(best), NAME);
        }
        (Some(lower), None) => {
            bounds.raise(lower, NAME);
        }
        (None, Some(best)) => {
            bounds.raise(best, NAME);
        }
        (None, None) => bounds.exhaust(NAME),
    }
    result
}

impl Engine for Symbolic<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn advance(&mut self, bounds: &mut Bounds, budget: &mut Budget) -> Progress {
        loop {
            if let Stage::Over(progress) = self.stage {
                return progress;
            }
            if let Some(stop) = self.limits.reached(0, 0) {
                return Progress::Stopped(stop);
            }
            if budget.is_spent() {
                return Progress::Going;
            }
            let worked = self.work(bounds, budget);
            self.update_statistics(bounds);
            if let Err(halt) = worked {
                self.refusal = match halt {
                    Halt::Levels => Some(Refusal::Bits),
                    Halt::Work | Halt::Nodes => Some(Refusal::Size),
                    Halt::Memory | Halt::Interrupted => None,
                };
                let progress = self.ending(halt);
                if progress != Progress::Stopped(Stop::Interrupted) {
                    self.stage = Stage::Over(progress);
                }
                return progress;
            }
        }
    }

    fn lower_bound(&self) -> Cost {
        self.statistics.lower_bound
    }

    fn memory_bytes(&self) -> usize {
        match self.stage {
            Stage::New | Stage::Over(_) => 0,
            Stage::Preparing(_) | Stage::Searching(_) => self.statistics.memory_bytes,
        }
    }

    fn may_take(&self) -> usize {
        match self.stage {
            Stage::Over(_) => 0,
            _ => self.config.memory_bytes.saturating_sub(self.memory_bytes()),
        }
    }
}
