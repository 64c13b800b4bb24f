//! What is known of a state's partitioning before the network is asked: the saturated one.
//!
//! The prior of a pair is ln(ε + share), where the share of its operator's cost is that of
//! saturated cost partitioning with a greedy order for the state, each projection keeping its
//! distances up to the state's own.
//! It is added to the network's score, times a gain that is learned: with scores of zero and a gain
//! of one the softmax gives the saturated shares again, mixed with equal ones by ε and with what
//! saturation leaves divided among all.
//!
//! A function of the state: ties in the order fall the same way whenever it is asked.
//! Cost: that of one saturated partitioning per state.

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::partition::{Partitioner, Request, Saturated, Saturator};
use planner::task::Value;
use planner::work::{Budget, Work};

use crate::network::pointwise::ln;

/// ε: what a pair without a share counts as; the network can still give it everything.
const LEAST: f64 = 0.01;

/// Computes priors of the states of one task.
#[derive(Clone, Debug)]
pub struct SaturatedPrior {
    saturated: Saturated,
    logs: Vec<f32>,
    work: Work,
}

impl SaturatedPrior {
    /// For the states of these projections.
    pub fn new(abstractions: &Arc<Abstractions>) -> SaturatedPrior {
        let saturated = Saturated::new(abstractions).with_saturator(Saturator::Perimeter);
        SaturatedPrior { saturated, logs: vec![0.0; abstractions.num_pairs()], work: 0 }
    }

    /// The prior of each pair in a state.
    pub fn of_state(&mut self, state: &[Value]) -> &[f32] {
        self.saturated.restart();
        let mut budget = Budget::unlimited();
        let request =
            Request { state, beat: None, budget: &mut budget, elapsed: 0, initial: false };
        let partitioning = self.saturated.partition(request);
        self.work += budget.spent();
        let least = ln(LEAST) as f32;
        self.logs.fill(least);
        let Some(partitioning) = partitioning else { return &self.logs };
        let abstractions = partitioning.abstractions();
        for p in abstractions.ids() {
            let logs = &mut self.logs[abstractions.pairs(p)];
            let operators = abstractions.component(p).relevant_operators();
            for ((log, &cost), o) in logs.iter_mut().zip(partitioning.costs_of(p)).zip(operators) {
                if cost > 0 {
                    let all = abstractions.costs()[o.index()];
                    *log = ln(LEAST + f64::from(cost) / f64::from(all)) as f32;
                }
            }
        }
        &self.logs
    }

    /// The work done since this was asked last.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }
}
