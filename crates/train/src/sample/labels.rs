//! Labels: optimal non-negative partitionings in which every operator's cost is given out.
//!
//! There are many for a state. [`Labels::Ocp`] takes what path generation ends with, which
//! depends on the states before; [`Labels::Canonical`] takes the most even one and
//! [`Labels::Vertex`] a vertex, which depend on nothing but the state
//! (`planner/src/partition/optimal/canonical.rs`).

use std::sync::Arc;

use lcp::training::bound::value_of;
use planner::abstraction::Abstractions;
use planner::partition::{
    Canonical, CanonicalShares, Choice, CostPartitioning, Ocp, OcpConfig, PartitionScratch,
    Partitioner, Request,
};
use planner::task::{OpId, Value};
use planner::work::Budget;

use crate::dataset::config::Labels;

/// The distance between lower and upper bound at which a partitioning counts as optimal, as a
/// share of the optimum.
pub const LABEL_GAP: f64 = 1e-3;

/// What makes the labels, for the header of the file.
pub fn solver(labels: Labels) -> String {
    match labels {
        Labels::None => "none".to_string(),
        Labels::Ocp => format!(
            "path-based column generation, Clarabel (interior point, no crossover) for the \
             master, relative gap {LABEL_GAP}"
        ),
        Labels::Canonical => format!(
            "the most even optimal partitioning: path-based column generation, Clarabel for the \
             quadratic master, softness {}, relative gap {}",
            CanonicalShares::SOFTNESS,
            CanonicalShares::ACCURACY
        ),
        Labels::Vertex => format!(
            "the vertex of optimal partitionings that gives most to components that come first: \
             path-based column generation, Clarabel for the linear master, softness {}, relative \
             gap {}",
            CanonicalShares::SOFTNESS,
            CanonicalShares::ACCURACY
        ),
    }
}

/// h_OCP and the pairs with an optimal share.
type Label = (f64, Vec<(u32, f32)>);

/// Computes labels.
pub(super) enum Labeller {
    None,
    Ocp(Box<Ocp>, PartitionScratch),
    Canonical(Box<Canonical>),
}

impl Labeller {
    pub(super) fn new(labels: Labels, abstractions: &Arc<Abstractions>) -> Labeller {
        match labels {
            Labels::None => Labeller::None,
            Labels::Ocp => {
                let config = OcpConfig { gap: Some(LABEL_GAP), ..OcpConfig::default() };
                let ocp = Ocp::with_config(abstractions, config);
                Labeller::Ocp(Box::new(ocp), PartitionScratch::default())
            }
            Labels::Canonical => {
                Labeller::Canonical(Box::new(Canonical::new(abstractions, Choice::Even)))
            }
            Labels::Vertex => {
                Labeller::Canonical(Box::new(Canonical::new(abstractions, Choice::Vertex)))
            }
        }
    }

    /// The label of a state that is not a dead end, whatever work it takes, which is counted; `None`
    /// if none can be found.
    pub(super) fn label(&mut self, state: &[Value], work: &mut Budget) -> Option<Label> {
        let mut budget = Budget::unlimited();
        let label = self.label_within(state, &mut budget);
        work.spend(budget.spent());
        label
    }

    fn label_within(&mut self, state: &[Value], budget: &mut Budget) -> Option<Label> {
        match self {
            Labeller::None => None,
            Labeller::Ocp(ocp, scratch) => {
                let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
                let partitioning = ocp.partition(request)?;
                let h = value_of(&partitioning, state, scratch)?;
                Some((reference(h, ocp.bounds().upper), shares(&partitioning)))
            }
            Labeller::Canonical(canonical) => {
                let found = canonical.shares_for(state, budget)?;
                let shares = (0..).zip(found.shares.iter().map(|&share| share as f32)).collect();
                Some((reference(found.value, found.upper), shares))
            }
        }
    }
}

/// The upper bound is what no partitioning exceeds: ratios to it are never flattered.
fn reference(h: f64, upper: f64) -> f64 {
    h.max(upper.min(h * (1.0 + 2.0 * LABEL_GAP)))
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
