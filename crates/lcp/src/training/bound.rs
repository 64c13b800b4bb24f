//! The bound itself as a training objective, with its gradient, and the value of a partitioning.
//!
//! For shares α, component P sees operator o at the cost α_{P,o}·cost(o), and the bound at a state s
//! is Σ_P h^P(s).
//! h^P is concave in the costs; how often one shortest path uses o is a supergradient:
//! ∂bound/∂α_{P,o} = cost(o) · (occurrences of o on one shortest path of P).
//! No labels are needed, and any of the many optimal partitionings is as good as another.
//! Distances are those of the integer grid that search uses.
//! Cost: one shortest path per component.

use planner::abstraction::{Abstractions, Distance, DistanceScratch, INFINITY, LabelId};
use planner::partition::{CostPartitioning, PartitionScratch};
use planner::task::Value;

/// Computes bounds and their gradients; holds the memory they need.
#[derive(Debug, Default)]
pub struct Bound {
    distances: DistanceScratch,
    costs: Vec<Distance>,
    label_costs: Vec<Distance>,
    path: Vec<LabelId>,
}

impl Bound {
    /// The bound at a state that is not a dead end, in units of cost; adds its gradient to
    /// `gradient`, one entry per pair.
    pub fn evaluate(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        shares: &[f32],
        gradient: &mut [f32],
    ) -> f64 {
        let scale = abstractions.scale();
        let mut sum = 0u64;
        for p in abstractions.ids() {
            let component = abstractions.component(p);
            let pairs = abstractions.pairs(p);
            let operators = component.relevant_operators();
            self.costs.clear();
            self.costs.extend(shares[pairs.clone()].iter().zip(operators).map(|(&share, o)| {
                (share * (abstractions.costs()[o.index()] * scale) as f32) as Distance
            }));
            component.label_costs(&self.costs, &mut self.label_costs);
            let from = component.abstract_state(state);
            let Bound { distances, label_costs, path, .. } = self;
            let distance = component.shortest_path(from, label_costs, distances, path);
            if distance == INFINITY {
                continue; // A dead end has no gradient.
            }
            sum += u64::from(distance);
            for &label in &self.path {
                let range = component.label_range(label);
                let cheapest = range
                    .min_by_key(|&i| self.costs[i])
                    .expect("a label stands for at least one operator");
                let cost = abstractions.costs()[operators[cheapest].index()];
                gradient[pairs.start + cheapest] += cost as f32;
            }
        }
        sum as f64 / f64::from(scale)
    }
}

/// The sum of the distances of a partitioning in units of cost, not rounded; `None` for a dead
/// end.
pub fn value_of(
    partitioning: &CostPartitioning,
    state: &[Value],
    scratch: &mut PartitionScratch,
) -> Option<f64> {
    partitioning.value(state, scratch, |_, _| {})
}
