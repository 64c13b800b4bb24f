//! Improving a partitioning without changing its purpose: nothing it needs is lost, nothing it
//! wastes is kept.
//!
//! Most partitionings give components more than they need.
//! First every component is reduced to its saturated costs, which keeps all its distances; then
//! what nobody needs is offered to each component in turn, which again takes only what raises
//! its distances.
//! Guarantees that no distance of any state in any component becomes smaller.
//! Cost: one or two distance computations per component.

use crate::abstraction::{ComponentId, Distance};
use crate::partition::{CostPartitioning, GoalDistances, PartitionScratch};
use crate::work::{self, Work};

/// Saturates a partitioning and hands the leftover cost on, in the given order of components.
pub fn saturate(
    partitioning: &CostPartitioning,
    order: impl IntoIterator<Item = ComponentId>,
    scratch: &mut PartitionScratch,
) -> (CostPartitioning, GoalDistances) {
    let abstractions = &partitioning.abstractions;
    let mut goal_distances = partitioning.goal_distances(scratch);
    let scale = partitioning.scale();
    let mut leftover: Vec<Distance> = abstractions.costs().iter().map(|c| c * scale).collect();
    let mut costs = vec![0; abstractions.num_pairs()];
    let PartitionScratch { distances, label_costs, .. } = scratch;
    for p in abstractions.ids() {
        let component = abstractions.component(p);
        component.saturated_costs(goal_distances.table(p), label_costs);
        let costs = &mut costs[abstractions.pairs(p)];
        component.spread_label_costs(label_costs, costs);
        for (o, cost) in component.relevant_operators().iter().zip(costs) {
            leftover[o.index()] -= *cost;
        }
    }

    for p in order {
        let component = abstractions.component(p);
        let costs = &mut costs[abstractions.pairs(p)];
        let operators = component.relevant_operators();
        let can_gain = |label| {
            let operators = component.label_operators(label);
            !operators.is_empty() && operators.iter().all(|o| leftover[o.index()] > 0)
        };
        if !component.labels().any(can_gain) {
            continue;
        }
        // Offer everything, then take back what is not needed.
        for (o, cost) in operators.iter().zip(&mut *costs) {
            *cost += leftover[o.index()];
            leftover[o.index()] = 0;
        }
        component.label_costs(costs, label_costs);
        let table = &mut goal_distances.tables[abstractions.states(p)];
        component.goal_distances(label_costs, distances, table);
        component.saturated_costs(table, label_costs);
        for label in component.labels() {
            let needed = label_costs[label.index()];
            for i in component.label_range(label) {
                leftover[operators[i].index()] += costs[i] - needed;
                costs[i] = needed;
            }
        }
    }
    scratch.count(4 * work::PAIR * costs.len() as Work);
    let partitioning = CostPartitioning::new(abstractions, scale, costs)
        .expect("only what is left over is handed on");
    (partitioning, goal_distances)
}
