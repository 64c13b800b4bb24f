//! How several partitioners split the costs at one state, and how good that is.
//!
//! Partitioners give components more than they need; here every component keeps only what its
//! distance *at the state* needs, which is what there is to explain.
//! With H the distance at the state, these are the saturated costs of min(distance, H).

use std::sync::Arc;

use planner::abstraction::{Abstractions, INFINITY};
use planner::partition::{
    Ascent, AscentConfig, CostPartitioning, Ocp, OcpConfig, PartitionScratch, Partitioner, Request,
    Saturated, ScaledCost, StepRule, Uniform, ValueBounds,
};
use planner::strategy::MemoryPlan;
use planner::task::{Task, Value};
use planner::work::Budget;

use crate::setup::heuristic::Resources;
use crate::setup::learned::LearnedArgs;

/// Optimal to within this share.
pub(super) const GAP: f64 = 1e-5;

/// One way to split the costs, evaluated at a state.
pub(super) struct Split {
    /// What each component needs at the state.
    pub(super) partitioning: CostPartitioning,
    /// Per component the distance of the state, in parts of a unit.
    pub(super) distances: Vec<ScaledCost>,
}

impl Split {
    /// The sum of the distances, in the input's units of cost, not rounded.
    pub(super) fn value(&self) -> f64 {
        let sum: u64 = self.distances.iter().map(|&d| u64::from(d)).sum();
        sum as f64 * self.unit()
    }

    /// What a part is worth in the input's units of cost.
    pub(super) fn unit(&self) -> f64 {
        let divisor = self.partitioning.abstractions().divisor();
        divisor as f64 / f64::from(self.partitioning.scale())
    }

    /// Reduces a partitioning to what a state needs; none if the state is a dead end.
    fn new(
        found: &CostPartitioning,
        state: &[Value],
        scratch: &mut PartitionScratch,
    ) -> Option<Split> {
        let abstractions = found.abstractions();
        let tables = found.goal_distances(scratch);
        let mut costs = vec![0; abstractions.num_pairs()];
        let mut distances = Vec::with_capacity(abstractions.len());
        let mut capped = Vec::new();
        let label_costs = &mut scratch.label_costs;
        for p in abstractions.ids() {
            let component = abstractions.component(p);
            let table = tables.table(p);
            let most = table[component.abstract_state(state) as usize];
            if most == INFINITY {
                return None;
            }
            distances.push(most);
            if most > 0 {
                capped.clear();
                capped.extend(table.iter().map(|&d| d.min(most)));
                component.saturated_costs(&capped, label_costs);
                component.spread_label_costs(label_costs, &mut costs[abstractions.pairs(p)]);
            }
        }
        let partitioning = CostPartitioning::new(abstractions, found.scale(), costs)
            .expect("no component needs more than it was given");
        Some(Split { partitioning, distances })
    }
}

/// What there is to say of one state.
pub(super) struct Look {
    /// In the order of [`Partitioners::names`]; none where a partitioner had nothing to offer.
    pub(super) splits: Vec<Option<Split>>,
    /// What is known of the best that any partitioning can do, in the input's units of cost.
    pub(super) optimum: ValueBounds,
}

/// The partitioners that are compared.
pub(super) struct Partitioners {
    others: Vec<Box<dyn Partitioner>>,
    ocp: Ocp,
    scratch: PartitionScratch,
}

impl Partitioners {
    /// All that work on these components; the network only on projections.
    pub(super) fn new(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        learned: &LearnedArgs,
        left: &Resources,
    ) -> anyhow::Result<Partitioners> {
        let memory = MemoryPlan::new(left.memory_bytes);
        let max_bytes = memory.partitioner / 2;
        let ascent = AscentConfig { max_bytes, ..AscentConfig::every_state(StepRule::trained()) };
        let mut others: Vec<Box<dyn Partitioner>> = vec![
            Box::new(Uniform::new(abstractions)),
            Box::new(Saturated::new(abstractions)),
            Box::new(Ascent::new(abstractions, ascent)),
        ];
        let only_patterns = abstractions.components().iter().all(|c| c.pattern().is_some());
        if only_patterns && !abstractions.is_empty() && learned.has_model(task) {
            others.push(Box::new(learned.partitioner(task, abstractions, left, &memory, 0)?));
        }
        // The optimum itself: a search is content when rounding up makes no difference any more.
        let ocp = Ocp::with_config(abstractions, OcpConfig { gap: Some(GAP), max_bytes });
        Ok(Partitioners { others, ocp, scratch: PartitionScratch::default() })
    }

    /// The names on the command line, the optimal one last.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let names = self.others.iter().map(|partitioner| partitioner.name());
        names.chain([self.ocp.name()]).collect()
    }

    /// Splits the costs at a state, which is not a dead end, in every way.
    pub(super) fn look(&mut self, state: &[Value], budget: &mut Budget) -> Look {
        let scratch = &mut self.scratch;
        let mut split = |partitioner: &mut dyn Partitioner| {
            let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
            let found = partitioner.partition(request);
            let split = found.and_then(|found| Split::new(&found, state, scratch));
            budget.spend(scratch.take_work());
            split
        };
        let mut splits: Vec<Option<Split>> =
            self.others.iter_mut().map(|partitioner| split(&mut **partitioner)).collect();
        splits.push(split(&mut self.ocp));
        let divisor = self.ocp.abstractions().divisor() as f64;
        let ValueBounds { lower, upper } = match splits.last() {
            Some(Some(_)) => self.ocp.bounds(),
            // What it knows is of another state.
            _ => ValueBounds { lower: 0.0, upper: f64::INFINITY },
        };
        // Any partitioning shows that the best is not worse.
        let best = splits.iter().flatten().map(Split::value).fold(lower * divisor, f64::max);
        // Adding zero makes a zero of either sign a plain one.
        let optimum = ValueBounds { lower: best, upper: (upper * divisor).max(best) + 0.0 };
        Look { splits, optimum }
    }
}
