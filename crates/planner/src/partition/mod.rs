//! Cost partitionings: ways to divide the cost of every operator among components.
//!
//! If for each operator the costs it has in the components sum up to at most its own cost, then
//! the sum of the components' goal distances is a lower bound on plan costs (Katz and Domshlak
//! 2010).
//! [`CostPartitioning`] holds that condition, in integers: its fields are private and its only
//! constructor checks it.
//! Whatever makes partitionings, a network included, can cost time but never optimality.
//!
//! Each way to make a partitioning is one file; they implement [`Partitioner`].

mod ascent;
mod baselines;
mod flow;
mod optimal;
mod policy;
mod portfolio;
mod saturated;
mod shares;
mod walks;

use thiserror::Error;

use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

use crate::abstraction::{Abstractions, ComponentId, Distance, DistanceScratch, INFINITY, LabelId};
use crate::estimate::Estimate;
use crate::task::{Cost, OpId, Value};
use crate::work::{self, Budget, Work};

pub use crate::abstraction::COST_SCALE;
pub use ascent::{Ascent, AscentConfig, Start, StepRule, ValueBounds};
pub use baselines::{Uniform, ZeroOneConfig, zero_one_partitionings};
pub use optimal::{Canonical, CanonicalShares, Choice, Ocp, OcpConfig, OcpStatistics};
pub use portfolio::Portfolio;
pub use saturated::{GreedyOrders, Saturated, Saturator, saturate};
pub use walks::{Walks, random_walk_states};

/// A cost in parts of a unit; how many parts a unit has is said by the partitioning.
pub type ScaledCost = u32;

/// The most bytes that a partitioner keeps from one state to the next unless told otherwise.
pub const MEMORY_LIMIT: usize = 256 << 20;

/// What a partitioning is wanted for.
#[derive(Debug)]
pub struct Request<'a> {
    /// The state at which the sum of distances is to be high; no dead end of the components.
    pub state: &'a [Value],
    /// A bound already known for the state.
    pub beat: Option<Cost>,
    /// What may be spent; what is found when it is spent counts.
    pub budget: &'a mut Budget,
    /// The work that was done so far, by whoever asks and for them.
    pub elapsed: Work,
    /// Whether a search begins at the state, which is worth trying everything.
    pub initial: bool,
}

/// What learning takes of the time for partitionings, for statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LearningTime {
    /// Training on the task.
    pub training: Duration,
    /// Finding the features of states.
    pub features: Duration,
    /// What the network makes of them.
    pub network: Duration,
}

impl Add for LearningTime {
    type Output = LearningTime;

    fn add(self, other: LearningTime) -> LearningTime {
        LearningTime {
            training: self.training + other.training,
            features: self.features + other.features,
            network: self.network + other.network,
        }
    }
}

/// Makes partitionings for states.
pub trait Partitioner {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The components that it divides costs among.
    fn abstractions(&self) -> &Arc<Abstractions>;

    /// The scale of the partitionings it makes.
    fn scale(&self) -> u32 {
        self.abstractions().scale()
    }

    /// Divides the costs with a view to a high sum of distances at a state.
    ///
    /// `None` means that the partitioning found would not exceed the bound to beat; an
    /// implementation that cannot tell cheaply returns the partitioning regardless.
    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning>;

    /// The best it can do for a state, whatever that takes.
    fn best_for(&mut self, state: &[Value]) -> Option<CostPartitioning> {
        let budget = &mut Budget::unlimited();
        self.partition(Request { state, beat: None, budget, elapsed: 0, initial: false })
    }

    /// No partitioning of the collection gives more than this at the state asked about last, as
    /// far as is known.
    fn ceiling(&self) -> Option<Cost> {
        None
    }

    /// Bytes of heap memory that it keeps from one state to the next, roughly.
    fn memory_bytes(&self) -> usize {
        0
    }

    /// The time that learning has taken so far.
    fn learning_time(&self) -> LearningTime {
        LearningTime::default()
    }
}

impl<P: Partitioner + ?Sized> Partitioner for Box<P> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        (**self).abstractions()
    }

    fn scale(&self) -> u32 {
        (**self).scale()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        (**self).partition(request)
    }

    fn ceiling(&self) -> Option<Cost> {
        (**self).ceiling()
    }

    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }

    fn learning_time(&self) -> LearningTime {
        (**self).learning_time()
    }
}

/// Why costs do not form a cost partitioning.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PartitionError {
    /// More cost is given out than the operator has.
    #[error("operator {} costs {available} but {used} is given out", operator.0)]
    TooMuch {
        /// The operator.
        operator: OpId,
        /// Its cost in parts.
        available: u64,
        /// The sum of its costs in the components.
        used: u64,
    },
    /// Not one cost per pair.
    #[error("{given} costs are given for {needed} pairs of a component and a relevant operator")]
    WrongLength {
        /// How many costs there are.
        given: usize,
        /// How many there should be.
        needed: usize,
    },
    /// The scale is zero or finer than the collection allows.
    #[error("a unit cannot be divided into {scale} parts; at most {most} are safe")]
    WrongScale {
        /// The scale asked for.
        scale: u32,
        /// The finest scale.
        most: u32,
    },
}

/// Costs for every pair of a component and a relevant operator, such that no operator's costs
/// exceed its own.
#[derive(Clone, Debug)]
pub struct CostPartitioning {
    abstractions: Arc<Abstractions>,
    scale: u32,
    costs: Box<[ScaledCost]>,
}

impl PartialEq for CostPartitioning {
    fn eq(&self, other: &CostPartitioning) -> bool {
        (self.scale, &self.costs) == (other.scale, &other.costs)
    }
}

impl CostPartitioning {
    /// Checks that the costs, one per pair and in parts of 1/`scale` unit, are a partitioning.
    pub fn new(
        abstractions: &Arc<Abstractions>,
        scale: u32,
        costs: Vec<ScaledCost>,
    ) -> Result<CostPartitioning, PartitionError> {
        if scale == 0 || scale > abstractions.scale() {
            return Err(PartitionError::WrongScale { scale, most: abstractions.scale() });
        }
        if costs.len() != abstractions.num_pairs() {
            let (given, needed) = (costs.len(), abstractions.num_pairs());
            return Err(PartitionError::WrongLength { given, needed });
        }
        for (o, &cost) in abstractions.costs().iter().enumerate() {
            let operator = OpId::from(o);
            let pairs = abstractions.operator_pairs(operator);
            let used: u64 = pairs.iter().map(|&(_, pair)| u64::from(costs[pair as usize])).sum();
            let available = u64::from(cost) * u64::from(scale);
            if used > available {
                return Err(PartitionError::TooMuch { operator, available, used });
            }
        }
        let abstractions = Arc::clone(abstractions);
        Ok(CostPartitioning { abstractions, scale, costs: costs.into() })
    }

    /// Divides each operator's cost in proportion to weights, one per pair.
    ///
    /// Everything is given out: the k-th pair of an operator receives what brings the running
    /// total to the cost times the running share, rounded down.
    /// Weights that are negative or not finite, or that are all zero, make the operator's
    /// division uniform.
    ///
    /// # Panics
    /// If there is not one weight per pair.
    pub fn from_weights<W: Copy + Into<f64>>(
        abstractions: &Arc<Abstractions>,
        weights: &[W],
    ) -> CostPartitioning {
        assert_eq!(weights.len(), abstractions.num_pairs());
        let mut costs = vec![0; weights.len()];
        for o in 0..abstractions.num_operators() {
            let op = OpId::from(o);
            let pairs = abstractions.operator_pairs(op);
            if pairs.is_empty() {
                continue;
            }
            let weight = |pair: u32| weights[pair as usize].into();
            let mut total = 0.0;
            let mut sound = true;
            for &(_, pair) in pairs {
                sound &= weight(pair) >= 0.0;
                total += weight(pair);
            }
            sound &= total > 0.0 && total.is_finite();
            let cost = abstractions.scaled_cost(op);
            let (mut share, mut given) = (0.0, 0);
            for (k, &(_, pair)) in pairs.iter().enumerate() {
                share += if sound { weight(pair) / total } else { 1.0 / pairs.len() as f64 };
                let last = k + 1 == pairs.len();
                let upto = if last { cost } else { ((f64::from(cost) * share) as u32).min(cost) };
                let upto = upto.max(given);
                costs[pair as usize] = upto - given;
                given = upto;
            }
        }
        CostPartitioning::new(abstractions, abstractions.scale(), costs)
            .expect("running totals never exceed the cost")
    }

    /// The components that it divides costs among.
    pub fn abstractions(&self) -> &Arc<Abstractions> {
        &self.abstractions
    }

    /// The number of parts a unit has.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The costs of all pairs, in parts.
    pub fn costs(&self) -> &[ScaledCost] {
        &self.costs
    }

    /// The costs in one component, in the order of its relevant operators.
    pub fn costs_of(&self, id: ComponentId) -> &[ScaledCost] {
        &self.costs[self.abstractions.pairs(id)]
    }

    /// The bound it gives for a state.
    pub fn evaluate(&self, state: &[Value], scratch: &mut PartitionScratch) -> Estimate {
        let PartitionScratch { distances, label_costs, path, .. } = scratch;
        let mut sum = 0;
        for p in self.abstractions.ids() {
            let component = self.abstractions.component(p);
            component.label_costs(self.costs_of(p), label_costs);
            let from = component.abstract_state(state);
            match component.shortest_path(from, label_costs, distances, path) {
                INFINITY => return Estimate::DeadEnd,
                d => sum += u64::from(d),
            }
        }
        scratch.count(work::PAIR * self.costs.len() as Work);
        Estimate::AtLeast(self.abstractions.bound(sum, self.scale))
    }

    /// The sum of distances that [`CostPartitioning::evaluate`] rounds up, in units of the collection;
    /// `None` for a dead end.
    ///
    /// `used` is told the pairs of one shortest path of each component, a pair as often as the path
    /// uses it.
    /// How often that is times the operator's cost is a supergradient of the value in the shares:
    /// distances are concave in costs.
    pub fn value(
        &self,
        state: &[Value],
        scratch: &mut PartitionScratch,
        mut used: impl FnMut(usize, OpId),
    ) -> Option<f64> {
        let PartitionScratch { distances, label_costs, path, .. } = scratch;
        let mut sum = 0;
        for p in self.abstractions.ids() {
            let component = self.abstractions.component(p);
            let costs = self.costs_of(p);
            component.label_costs(costs, label_costs);
            let from = component.abstract_state(state);
            match component.shortest_path(from, label_costs, distances, path) {
                INFINITY => return None,
                d => sum += u64::from(d),
            }
            let first = self.abstractions.pairs(p).start;
            for &label in &*path {
                let cheapest = component.label_range(label).min_by_key(|&i| costs[i]);
                // A label without operators is free, and nobody's.
                if let Some(i) = cheapest {
                    used(first + i, component.relevant_operators()[i]);
                }
            }
        }
        Some(sum as f64 / f64::from(self.scale))
    }

    /// The goal distances in all components.
    pub fn goal_distances(&self, scratch: &mut PartitionScratch) -> GoalDistances {
        let PartitionScratch { distances, label_costs, .. } = scratch;
        let mut tables = vec![INFINITY; self.abstractions.num_states()];
        for p in self.abstractions.ids() {
            let component = self.abstractions.component(p);
            component.label_costs(self.costs_of(p), label_costs);
            let table = &mut tables[self.abstractions.states(p)];
            component.goal_distances(label_costs, distances, table);
        }
        scratch.count(work::PAIR * self.costs.len() as Work);
        GoalDistances { abstractions: Arc::clone(&self.abstractions), scale: self.scale, tables }
    }
}

/// The goal distances of every abstract state of every component under a partitioning.
#[derive(Clone, Debug)]
pub struct GoalDistances {
    abstractions: Arc<Abstractions>,
    scale: u32,
    tables: Vec<Distance>,
}

impl PartialEq for GoalDistances {
    fn eq(&self, other: &GoalDistances) -> bool {
        (self.scale, &self.tables) == (other.scale, &other.tables)
    }
}

impl GoalDistances {
    /// The number of parts a unit has.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The distances in one component, in parts.
    #[inline]
    pub fn table(&self, id: ComponentId) -> &[Distance] {
        &self.tables[self.abstractions.states(id)]
    }

    /// The bound they give for a state.
    pub fn evaluate(&self, state: &[Value]) -> Estimate {
        let mut sum = 0;
        for p in self.abstractions.ids() {
            let rank = self.abstractions.component(p).abstract_state(state);
            match self.table(p)[rank as usize] {
                INFINITY => return Estimate::DeadEnd,
                d => sum += u64::from(d),
            }
        }
        Estimate::AtLeast(self.abstractions.bound(sum, self.scale))
    }
}

/// Reusable memory for evaluating partitionings.
#[derive(Clone, Debug, Default)]
pub struct PartitionScratch {
    /// For distance computations.
    pub distances: DistanceScratch,
    /// For the costs of the labels of one component.
    pub label_costs: Vec<Distance>,
    /// For the labels of a shortest path.
    pub path: Vec<LabelId>,
    work: Work,
}

impl PartitionScratch {
    /// Takes note of work done.
    pub(crate) fn count(&mut self, work: Work) {
        self.work += work;
    }

    /// The work done since this was asked last.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work) + self.distances.take_work()
    }
}
