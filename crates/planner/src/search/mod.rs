//! A* on packed states.
//!
//! [`astar`] finds a plan of least cost, or proves that there is none, given any admissible
//! heuristic; the heuristic may be inconsistent and may improve while the search runs.

mod astar;
mod certify;
mod chunks;
mod exact;
mod limits;
mod nodes;
mod open_list;
mod orbit;
mod partial;
mod progression;
mod registry;
mod stubborn;

pub use astar::{Search, astar};
pub use certify::CertifyError;
pub use exact::{exact_distances, reachable_states};
pub use limits::{Limits, Stop};
pub use open_list::OpenList;
pub use registry::{StateId, StateRegistry, hash_words};
pub use stubborn::deferrable_operators;

use std::time::Duration;

use serde::Serialize;

use crate::heuristic::HeuristicStatistics;
use crate::plan::Plan;
use crate::reduce::Reduction;
use crate::task::Cost;

/// Who is told the statistics so far.
pub type OnProgress<'a> = Box<dyn Fn(&Statistics) + 'a>;

/// How to search.
#[derive(Default)]
pub struct Config<'a> {
    /// When to stop early.
    pub limits: Limits<'a>,
    /// Called with the statistics so far, about every millisecond.
    pub progress: Option<OnProgress<'a>>,
    /// What need not be searched.
    pub pruning: Pruning,
    /// The reduction that made the task, if the search is to be certified: what a certificate cannot
    /// justify is not used.
    pub reduction: Option<&'a Reduction<'a>>,
}

/// Ways to search less without losing the optimum; the default has none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Pruning {
    /// Store one state for many that symmetries map to each other.
    pub symmetries: bool,
    /// Leave out operators that may be applied later; a search with this cannot be certified.
    pub stubborn: bool,
    /// Do not store states above the lower bound once memory gets scarce.
    pub partial: bool,
    /// Begin when so many states have been evaluated, not when the search has taken long enough, and
    /// whether it seems to be worth it or not.
    pub from: Option<u64>,
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A plan; no plan is cheaper.
    Solved(Plan),
    /// A plan within the gap that was asked for; it is not known whether a plan is cheaper.
    Bounded(Plan),
    /// There is no plan.
    Unsolvable,
    /// Neither is known: a limit was reached.
    Stopped(Stop),
}

/// Figures of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// The estimate of the initial state; `None` if it is a dead end or not yet known.
    pub initial_h: Option<Cost>,
    /// No plan is cheaper than this: the largest f value of an expanded state.
    #[serde(skip)]
    pub lower_bound: Cost,
    /// States taken from the open list and expanded, goal state included.
    pub expanded: u64,
    /// States expanded before the last rise of the lower bound; independent of tie-breaking.
    pub expanded_until_last_jump: u64,
    /// States evaluated for the first time.
    pub evaluated: u64,
    /// How often the value of a state was raised when it was about to be expanded.
    pub raised: u64,
    /// How often the search began again.
    pub restarts: u64,
    /// Successors generated.
    pub generated: u64,
    /// Expanded states that were reached again at lower cost.
    pub reopened: u64,
    /// States that the heuristic recognised as dead ends.
    pub dead_ends: u64,
    /// Generators of symmetries that are used.
    #[serde(rename = "symmetry_generators")]
    pub generators: usize,
    /// Seconds that it took to find them.
    pub symmetry_s: f64,
    /// Successors that a symmetry replaced by another state.
    #[serde(rename = "symmetric_successors")]
    pub merged: u64,
    /// Successors that stubborn sets left out.
    #[serde(rename = "pruned_successors")]
    pub pruned: u64,
    /// How often states were expanded again because successors had been left out.
    pub reexpanded: u64,
    /// How often a successor was not stored because its f value was above the lower bound.
    pub left_out: u64,
    /// Distinct states.
    pub registered: u64,
    /// Bytes held by registry, nodes and open list.
    #[serde(rename = "search_memory_bytes")]
    pub memory_bytes: usize,
    /// The time the search took so far.
    #[serde(skip)]
    pub time: Duration,
    /// What the heuristic says of itself.
    #[serde(flatten)]
    pub heuristic: HeuristicStatistics,
}

/// Outcome and statistics of a search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// What was found.
    pub outcome: Outcome,
    /// At what effort.
    pub statistics: Statistics,
}
