//! Shares of operators' costs, whatever made them, as a partitioning; and a partitioning as shares.
//!
//! A share is the part of its operator's cost that a pair gets.
//! What is negative or not a number counts as 0.
//! Where the shares of an operator add up to more than 1 they are divided by their sum, so any
//! weights will do; what they leave of a cost is given to nobody.
//! Costs are floored onto the integer grid, and [`CostPartitioning::new`] checks their sums.

use std::sync::Arc;

use super::CostPartitioning;
use crate::abstraction::Abstractions;
use crate::task::OpId;

/// Brings back a cost that was divided by the operator's and multiplied with it again: below half
/// a part, and above the rounding errors of both for costs below 2³¹.
const ROUNDING: f64 = 1.0 / (1 << 20) as f64;

impl CostPartitioning {
    /// The partitioning in which each pair gets its share of the operator's cost, rounded down.
    ///
    /// The shares of a partitioning of the same scale ([`CostPartitioning::shares`]) give the same
    /// costs again.
    ///
    /// # Panics
    /// If there is not one share per pair.
    pub fn from_shares(abstractions: &Arc<Abstractions>, shares: &[f64]) -> CostPartitioning {
        assert_eq!(shares.len(), abstractions.num_pairs());
        let mut costs = vec![0; shares.len()];
        // However many are infinite, their sum is finite.
        let most = f64::MAX / (1 + abstractions.len()) as f64;
        for op in (0..abstractions.num_operators()).map(OpId::from) {
            let pairs = abstractions.operator_pairs(op);
            // `max` returns the other number for one that is none.
            let share = |pair: u32| shares[pair as usize].max(0.0).min(most);
            let total: f64 = pairs.iter().map(|&(_, pair)| share(pair)).sum();
            let cost = abstractions.scaled_cost(op);
            let mut left = cost;
            for &(_, pair) in pairs {
                let share = share(pair) / total.max(1.0);
                let part = (f64::from(cost) * share + ROUNDING) as u32;
                costs[pair as usize] = part.min(left);
                left -= part.min(left);
            }
        }
        CostPartitioning::new(abstractions, abstractions.scale(), costs)
            .expect("no pair gets more than what is left")
    }

    /// The part of its operator's cost that each pair gets; 0 where the operator costs nothing.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let abstractions = self.abstractions();
        let components = abstractions.components().iter();
        let operators = components.flat_map(|component| component.relevant_operators());
        operators.zip(self.costs()).map(|(o, &given)| {
            let cost = u64::from(abstractions.costs()[o.index()]) * u64::from(self.scale());
            if cost == 0 { 0.0 } else { f64::from(given) / cost as f64 }
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::abstraction::{PatternLimits, interesting_patterns};
    use crate::estimate::Estimate;
    use crate::partition::{PartitionScratch, Partitioner, Saturated};
    use crate::testing::{StateSpace, random_task, rng};

    fn components(seed: u64) -> (crate::task::Task, Arc<Abstractions>) {
        let task = random_task(seed);
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Abstractions::new(&task, &patterns);
        (task, abstractions)
    }

    /// Numbers that networks give when something went wrong, among others.
    const STRANGE: [f64; 9] =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -1.0, 0.0, -0.0, 1e-310, 1.0];

    #[test]
    fn any_numbers_give_an_admissible_bound_in_every_state() {
        let scratch = &mut PartitionScratch::default();
        for seed in 0..300 {
            let (task, abstractions) = components(seed);
            let space = StateSpace::new(&task);
            let mut rng = rng(seed);
            for kind in 0..4 {
                let mut number = |_| match kind {
                    0 => rng.random_range(0.0..1.0),
                    1 => STRANGE[rng.random_range(0..STRANGE.len())],
                    2 => f64::from_bits(rng.random()),
                    _ => 10.0f64.powi(rng.random_range(-300..300)),
                };
                let shares: Vec<f64> = (0..abstractions.num_pairs()).map(&mut number).collect();
                let found = CostPartitioning::from_shares(&abstractions, &shares);
                for (state, truth) in space.states.iter().zip(&space.distances) {
                    match (found.evaluate(state, scratch), truth) {
                        (Estimate::AtLeast(h), Some(truth)) => assert!(h <= *truth, "{seed}"),
                        (Estimate::DeadEnd, Some(_)) => panic!("task {seed}: no dead end"),
                        (_, None) => {}
                    }
                }
            }
        }
    }

    #[test]
    fn shares_of_a_partitioning_give_its_costs_again() {
        let mut compared = 0;
        for seed in 0..300 {
            let (task, abstractions) = components(seed);
            let mut rng = rng(seed);
            let weights: Vec<f64> =
                (0..abstractions.num_pairs()).map(|_| rng.random_range(0.0..1.0)).collect();
            let found = CostPartitioning::from_weights(&abstractions, &weights);
            let shares: Vec<f64> = found.shares().collect();
            assert_eq!(CostPartitioning::from_shares(&abstractions, &shares), found, "{seed}");
            compared += found.costs().len();

            // In whole units: the same value, for the grid is a finer one.
            let Some(found) = Saturated::new(&abstractions).best_for(&task.initial) else {
                continue;
            };
            let shares: Vec<f64> = found.shares().collect();
            let again = CostPartitioning::from_shares(&abstractions, &shares);
            let scratch = &mut PartitionScratch::default();
            assert_eq!(
                again.evaluate(&task.initial, scratch),
                found.evaluate(&task.initial, scratch)
            );
        }
        assert!(compared > 1000, "{compared}");
    }

    /// Shares that add up to more than one by rounding, in 32 bits or in 64.
    #[test]
    fn what_rounding_adds_is_not_given_out() {
        for seed in 0..100 {
            let (_, abstractions) = components(seed);
            let mut shares = vec![0.0; abstractions.num_pairs()];
            for op in (0..abstractions.num_operators()).map(OpId::from) {
                let pairs = abstractions.operator_pairs(op);
                for &(_, pair) in pairs {
                    shares[pair as usize] = f64::from(1.0 / pairs.len() as f32) * (1.0 + 1e-7);
                }
            }
            let found = CostPartitioning::from_shares(&abstractions, &shares);
            for op in (0..abstractions.num_operators()).map(OpId::from) {
                let pairs = abstractions.operator_pairs(op);
                let given: u32 = pairs.iter().map(|&(_, pair)| found.costs()[pair as usize]).sum();
                let lost = abstractions.scaled_cost(op) - given;
                assert!(pairs.is_empty() || lost <= pairs.len() as u32, "{seed}: {lost}");
            }
        }
    }

    /// What the pairs of shortest paths get is the value, and no other partitioning is above what
    /// the supergradient says.
    #[test]
    fn the_pairs_of_shortest_paths_are_a_supergradient() {
        let scratch = &mut PartitionScratch::default();
        let mut compared = 0;
        for seed in 0..200 {
            let (task, abstractions) = components(seed);
            let mut rng = rng(seed);
            let mut random = |_| rng.random_range(0.0..1.0);
            let mut made = || {
                let weights: Vec<f64> = (0..abstractions.num_pairs()).map(&mut random).collect();
                CostPartitioning::from_weights(&abstractions, &weights)
            };
            let (found, other) = (made(), made());
            for state in &StateSpace::new(&task).states {
                let mut used = vec![0; abstractions.num_pairs()];
                let value = found.value(state, scratch, |pair, o| {
                    assert!(abstractions.operator_pairs(o).iter().any(|p| p.1 as usize == pair));
                    used[pair] += 1;
                });
                let bound = match found.evaluate(state, scratch) {
                    Estimate::AtLeast(h) => Some(h),
                    Estimate::DeadEnd => None,
                };
                assert_eq!(value.map(|v| v.ceil() as u64), bound, "{seed}");
                let Some(value) = value else { continue };
                let along = |costs: &[u32]| {
                    let sum: u64 = used.iter().zip(costs).map(|(&n, &c)| n * u64::from(c)).sum();
                    sum as f64 / f64::from(abstractions.scale())
                };
                assert_eq!(along(found.costs()), value, "{seed}");
                let elsewhere = other.value(state, scratch, |_, _| {}).unwrap();
                assert!(elsewhere <= along(other.costs()), "{seed}");
                compared += usize::from(value > 0.0);
            }
        }
        assert!(compared > 1000, "{compared}");
    }
}
