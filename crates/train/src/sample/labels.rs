//! Labels: optimal non-negative partitionings in which every operator's cost is given out.

use std::sync::Arc;

use lcp::training::bound::value_of;
use planner::abstraction::Abstractions;
use planner::partition::{CostPartitioning, Ocp, OcpConfig, PartitionScratch, Partitioner};
use planner::task::{OpId, Value};

/// The distance between lower and upper bound at which a partitioning counts as optimal, as a
/// share of the optimum.
pub const LABEL_GAP: f64 = 1e-3;

/// What makes the labels, for the header of the file.
pub fn solver() -> String {
    format!(
        "path-based column generation, Clarabel (interior point, no crossover) for the master, \
         relative gap {LABEL_GAP}"
    )
}

/// Computes labels.
pub(super) struct Labeller {
    ocp: Ocp,
    scratch: PartitionScratch,
}

impl Labeller {
    pub(super) fn new(abstractions: &Arc<Abstractions>) -> Labeller {
        let ocp = Ocp::with_config(
            abstractions,
            OcpConfig { gap: Some(LABEL_GAP), ..OcpConfig::default() },
        );
        Labeller { ocp, scratch: PartitionScratch::default() }
    }

    /// h_OCP and the pairs with an optimal share; `None` for a dead end.
    pub(super) fn label(&mut self, state: &[Value]) -> Option<(f64, Vec<(u32, f32)>)> {
        if self.ocp.abstractions().is_dead_end(state) {
            return None;
        }
        let partitioning = self.ocp.best_for(state)?;
        let h = value_of(&partitioning, state, &mut self.scratch)?;
        // The upper bound is what no partitioning exceeds: ratios to it are never flattered.
        let h = h.max(self.ocp.bounds().upper.min(h * (1.0 + 2.0 * LABEL_GAP)));
        Some((h, shares(&partitioning)))
    }
}

/// The share of its operator's cost that each pair has; what is left over is divided equally, so
/// that the shares of an operator sum to one.
fn shares(partitioning: &CostPartitioning) -> Vec<(u32, f32)> {
    let (abstractions, costs) = (partitioning.abstractions(), partitioning.costs());
    let mut shares = Vec::new();
    for o in 0..abstractions.num_operators() {
        let pairs = abstractions.operator_pairs(OpId::from(o));
        let cost = f64::from(abstractions.costs()[o]) * f64::from(partitioning.scale());
        let given: f64 = pairs.iter().map(|&(_, pair)| f64::from(costs[pair as usize])).sum();
        let rest = (cost - given) / pairs.len().max(1) as f64;
        for &(_, pair) in pairs {
            let share = (f64::from(costs[pair as usize]) + rest) / cost;
            let share = if cost > 0.0 { share as f32 } else { 1.0 / pairs.len() as f32 };
            shares.push((pair, share));
        }
    }
    shares.sort_by_key(|&(pair, _)| pair);
    shares
}
