//! Heuristics: lower bounds on the cost of reaching the goal from a state.

mod blind;
mod every_state;
mod hmax;
mod justify;
mod lazy;
mod lmcut;
mod maximum;
mod schedule;
mod stored;
mod tables;
mod workshop;

pub use blind::Blind;
pub use every_state::EveryState;
pub use hmax::HMax;
pub use lazy::Lazy;
pub use lmcut::LmCut;
pub use maximum::Maximum;
pub use schedule::ScheduleConfig;
pub use stored::{Stored, StoredConfig};

use std::ops::DerefMut;

use crate::certificate::{BoundId, Certificate};
pub use crate::estimate::Estimate;
use crate::task::{Cost, Value};
use crate::work::Work;

/// A lower bound on goal distances that may improve while the search runs.
///
/// Every implementation is admissible: what it says never exceeds the true distance, and it says
/// [`Estimate::DeadEnd`] only when there is no plan.
/// For a task with mutexes ([`crate::task::Task::mutexes`]) this holds at the states that are
/// reachable from the initial state; without, at all assignments.
/// It need not be consistent; A* reopens.
pub trait Heuristic {
    /// A search begins at this state, or begins again, for a reason; the state is evaluated next,
    /// and this call stands for its first visit.
    fn begin(&mut self, initial: &[Value], why: Why) {
        let _ = (initial, why);
    }

    /// Estimates the goal distance of a state (one value per variable).
    fn evaluate(&mut self, state: &[Value]) -> Estimate;

    /// Says what to do with a state that is about to be expanded; never asked of dead ends.
    ///
    /// Here a heuristic may take time to raise the value of this state, and of others with it.
    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        let _ = visit;
        Verdict::Keep
    }

    /// A bound that shows that a state has at least a value, for a certificate that is written once
    /// the search is over; the bound is written first unless it stands there already.
    ///
    /// Where there is none, the certificate goes on with the state's successors.
    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let _ = (state, least, certificate);
        None
    }

    /// All work so far, that of the search included; none if the heuristic does not count.
    fn work(&self) -> Option<Work> {
        None
    }

    /// Figures for the final statistics.
    fn statistics(&self) -> HeuristicStatistics {
        HeuristicStatistics::default()
    }
}

/// Why a search begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is the first time.
    First,
    /// There are more components than before.
    MoreComponents,
    /// The search dives: every state about to be expanded gets a partitioning of its own for as
    /// long as the search comes closer to a goal.
    Dive,
}

/// A state that is about to be expanded.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The state.
    pub state: &'a [Value],
    /// Its value so far.
    pub h: Cost,
    /// How many states the search evaluated before this one for the first time.
    pub number: u64,
    /// Whether it was visited before.
    pub again: bool,
}

impl Visit<'_> {
    /// What a new estimate of the state means for it.
    pub fn verdict(&self, estimate: Estimate) -> Verdict {
        match estimate {
            Estimate::AtLeast(h) if h > self.h => Verdict::Raised(h),
            Estimate::AtLeast(_) => Verdict::Keep,
            Estimate::DeadEnd => Verdict::DeadEnd,
        }
    }
}

/// What to do with a state that is about to be expanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Expand it.
    Keep,
    /// Its value is this; expand it when its turn comes.
    Raised(Cost),
    /// Drop it: there is no plan from here.
    DeadEnd,
    /// Forget all states and begin again at the initial state, with what was learned since.
    Restart(Why),
}

/// What owns or borrows a heuristic is one.
impl<P: DerefMut<Target: Heuristic>> Heuristic for P {
    fn begin(&mut self, initial: &[Value], why: Why) {
        (**self).begin(initial, why);
    }

    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        (**self).evaluate(state)
    }

    fn before_expansion(&mut self, visit: Visit<'_>) -> Verdict {
        (**self).before_expansion(visit)
    }

    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        (**self).justify(state, least, certificate)
    }

    fn work(&self) -> Option<Work> {
        (**self).work()
    }

    fn statistics(&self) -> HeuristicStatistics {
        (**self).statistics()
    }
}

/// Figures a heuristic reports at the end of a search; zero where they do not apply.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct HeuristicStatistics {
    /// Components: patterns, that is projections, and other abstractions.
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
    /// Of these, seconds spent training on the task, on features of states, and in networks.
    pub training_s: f64,
    /// See `training_s`.
    pub features_s: f64,
    /// See `training_s`.
    pub network_s: f64,
    /// Seconds spent computing goal distances for partitions.
    pub distances_s: f64,
}

impl HeuristicStatistics {
    /// Adds what was done before by a heuristic whose place this one took.
    pub(crate) fn add_earlier(&mut self, earlier: &HeuristicStatistics) {
        self.partitions_computed += earlier.partitions_computed;
        self.partition_s += earlier.partition_s;
        self.training_s += earlier.training_s;
        self.features_s += earlier.features_s;
        self.network_s += earlier.network_s;
        self.distances_s += earlier.distances_s;
    }

    /// Bytes held in all.
    pub fn memory_bytes(&self) -> usize {
        self.transition_bytes + self.table_bytes + self.partitioner_bytes
    }
}
