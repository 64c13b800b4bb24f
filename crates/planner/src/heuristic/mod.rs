//! Heuristics: lower bounds on the cost of reaching the goal from a state.

mod blind;
mod every_state;
mod hmax;
mod lazy;
mod maximum;
mod stored;
mod tables;

pub use blind::Blind;
pub use every_state::EveryState;
pub use hmax::HMax;
pub use lazy::Lazy;
pub use maximum::Maximum;
pub use stored::{Stored, StoredConfig};

use crate::task::{Cost, Value};

/// What a heuristic says of one state; higher is further from the goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Estimate {
    /// The goal is at least this far away.
    AtLeast(Cost),
    /// The goal cannot be reached.
    DeadEnd,
}

/// A lower bound on goal distances that may improve while the search runs.
///
/// Every implementation is admissible: `evaluate` never exceeds the true distance, and says
/// [`Estimate::DeadEnd`] only when there is no plan.
/// It need not be consistent; A* reopens.
pub trait Heuristic {
    /// Estimates the goal distance of a state (one value per variable).
    fn evaluate(&mut self, state: &[Value]) -> Estimate;

    /// Grows whenever an earlier value might now be higher; a search may then evaluate a state
    /// again before it expands it.
    fn revision(&self) -> u64 {
        0
    }

    /// Whether the next state to be expanded should be handed to [`Heuristic::improve`] first;
    /// `again` says whether it was before.
    fn wants_to_improve(&self, again: bool) -> bool {
        let _ = again;
        false
    }

    /// Like [`Heuristic::evaluate`], but the heuristic may take time to raise the value of this
    /// state, and of others with it.
    fn improve(&mut self, state: &[Value]) -> Estimate {
        self.evaluate(state)
    }

    /// Whether the search should begin again at the initial state, which may pay when the
    /// heuristic intends to work harder from now on.
    fn wants_to_start_over(&self) -> bool {
        false
    }

    /// Takes note that the search has begun again.
    fn start_over(&mut self) {}

    /// Figures for the final statistics.
    fn statistics(&self) -> HeuristicStatistics {
        HeuristicStatistics::default()
    }
}

impl<H: Heuristic + ?Sized> Heuristic for Box<H> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        (**self).evaluate(state)
    }

    fn revision(&self) -> u64 {
        (**self).revision()
    }

    fn wants_to_improve(&self, again: bool) -> bool {
        (**self).wants_to_improve(again)
    }

    fn improve(&mut self, state: &[Value]) -> Estimate {
        (**self).improve(state)
    }

    fn wants_to_start_over(&self) -> bool {
        (**self).wants_to_start_over()
    }

    fn start_over(&mut self) {
        (**self).start_over();
    }

    fn statistics(&self) -> HeuristicStatistics {
        (**self).statistics()
    }
}

/// Figures a heuristic reports at the end of a search; zero where they do not apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeuristicStatistics {
    /// Patterns, that is projections.
    pub patterns: usize,
    /// Cost partitionings kept in the store.
    pub partitions: usize,
    /// Cost partitionings computed in all.
    pub partitions_computed: usize,
    /// Bytes held by the transitions of projections and what belongs to them.
    pub transition_bytes: usize,
    /// Bytes held by the distance tables of stored partitionings.
    pub table_bytes: usize,
    /// Bytes that whatever makes partitionings keeps from one to the next.
    pub partitioner_bytes: usize,
    /// Seconds spent predicting or computing partitions.
    pub partition_s: f64,
    /// Seconds spent computing goal distances for them.
    pub distances_s: f64,
}

impl HeuristicStatistics {
    /// Bytes held in all.
    pub fn memory_bytes(&self) -> usize {
        self.transition_bytes + self.table_bytes + self.partitioner_bytes
    }
}
