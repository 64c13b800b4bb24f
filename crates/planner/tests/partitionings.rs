//! Cost partitionings on random small tasks: the constraint, admissibility, agreement.

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::Estimate;
use planner::partition::{
    CostPartitioning, PartitionError, PartitionScratch, Partitioner, Uniform,
};
use planner::task::{OpId, Task};
use planner::testing::{StateSpace, random_task, rng};
use proptest::prelude::*;
use rand::RngExt;

fn abstractions(task: &Task) -> Abstractions {
    Abstractions::new(task, &interesting_patterns(task, 2, &PatternLimits::default()))
}

/// Weights of all kinds, broken ones included.
fn random_weights(abstractions: &Abstractions, seed: u64) -> Vec<f32> {
    let mut rng = rng(seed);
    let mut weight = || match rng.random_range(0..20) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => -1.0,
        3..=6 => 0.0,
        7 => f32::MAX,
        _ => rng.random_range(0.0..1.0),
    };
    (0..abstractions.num_pairs()).map(|_| weight()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn weights_give_out_exactly_the_cost(seed: u64) {
        let abstractions = abstractions(&random_task(seed));
        let partitioning =
            CostPartitioning::from_weights(&abstractions, &random_weights(&abstractions, seed));
        for o in (0..abstractions.num_operators()).map(OpId::from) {
            let pairs = abstractions.operator_pairs(o);
            let given: u32 = pairs.iter().map(|&(_, pair)| partitioning.costs()[pair as usize]).sum();
            let all = if pairs.is_empty() { 0 } else { abstractions.scaled_cost(o) };
            prop_assert_eq!(given, all);
        }
    }

    #[test]
    fn any_partitioning_is_admissible_in_every_state(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let weights = random_weights(&abstractions, seed);
        let partitionings = [
            CostPartitioning::from_weights(&abstractions, &weights),
            Uniform.partition(&abstractions, &task.initial, None).expect("always found"),
        ];
        let mut scratch = PartitionScratch::default();
        for (state, h_star) in StateSpace::new(&task).reachable() {
            for partitioning in &partitionings {
                match partitioning.evaluate(&abstractions, state, &mut scratch) {
                    Estimate::AtLeast(h) => prop_assert!(h_star.is_none_or(|h_star| h <= h_star)),
                    Estimate::DeadEnd => prop_assert_eq!(h_star, None),
                }
            }
        }
    }

    #[test]
    fn too_much_cost_is_refused(seed: u64) {
        let abstractions = abstractions(&random_task(seed));
        prop_assume!(abstractions.num_pairs() > 0);
        let weights = vec![1.0f64; abstractions.num_pairs()];
        let uniform = CostPartitioning::from_weights(&abstractions, &weights);
        let mut costs = uniform.costs().to_vec();
        costs[(seed % abstractions.num_pairs() as u64) as usize] += 1;
        let scale = abstractions.scale();
        let refused = CostPartitioning::new(&abstractions, scale, costs.clone());
        let refused = matches!(refused, Err(PartitionError::TooMuch { .. }));
        prop_assert!(refused);
        costs.push(0);
        prop_assert!(CostPartitioning::new(&abstractions, scale, costs.clone()).is_err());
        prop_assert!(CostPartitioning::new(&abstractions, 2 * scale, costs).is_err());
    }
}

#[test]
fn huge_costs_stay_admissible() {
    for seed in 0..200 {
        let mut task = random_task(seed);
        for operator in &mut task.operators {
            operator.cost = operator.cost.saturating_mul(1 << 50);
        }
        let abstractions = abstractions(&task);
        let uniform = Uniform.partition(&abstractions, &task.initial, None).expect("always found");
        let mut scratch = PartitionScratch::default();
        for (state, h_star) in StateSpace::new(&task).reachable() {
            if let Estimate::AtLeast(h) = uniform.evaluate(&abstractions, state, &mut scratch) {
                assert!(h_star.is_none_or(|h_star| h <= h_star));
            }
        }
    }
}
