//! Cost partitionings on random small tasks: the constraint, admissibility, agreement.

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Estimate, EveryState, Heuristic, Stored, StoredConfig};
use planner::partition::{
    CostPartitioning, PartitionError, PartitionScratch, Partitioner, Saturated, Uniform, saturate,
};
use planner::task::{Cost, OpId, Task};
use planner::testing::{StateSpace, random_task, rng};
use proptest::prelude::*;
use rand::RngExt;
use std::sync::Arc;

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

fn check_admissible(estimate: Estimate, h_star: Option<Cost>) -> Result<(), TestCaseError> {
    match estimate {
        Estimate::AtLeast(h) => prop_assert!(h_star.is_none_or(|h_star| h <= h_star)),
        Estimate::DeadEnd => prop_assert_eq!(h_star, None),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        // Many random tasks are dead ends from the start.
        max_global_rejects: 20_000,
        ..ProptestConfig::default()
    })]

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
            Saturated::new(&abstractions)
                .partition(&abstractions, &task.initial, None)
                .expect("always found without a bound to beat"),
        ];
        let mut scratch = PartitionScratch::default();
        for (state, h_star) in StateSpace::new(&task).reachable() {
            for partitioning in &partitionings {
                let estimate = partitioning.evaluate(&abstractions, state, &mut scratch);
                check_admissible(estimate, h_star)?;
            }
        }
    }

    #[test]
    fn goal_distances_agree_with_single_states(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let partitioning =
            CostPartitioning::from_weights(&abstractions, &random_weights(&abstractions, seed));
        let mut scratch = PartitionScratch::default();
        let distances = partitioning.goal_distances(&abstractions, &mut scratch);
        for state in StateSpace::new(&task).states {
            let by_table = distances.evaluate(&abstractions, &state);
            prop_assert_eq!(by_table, partitioning.evaluate(&abstractions, &state, &mut scratch));
        }
    }

    #[test]
    fn saturating_never_lowers_a_distance(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let partitioning =
            CostPartitioning::from_weights(&abstractions, &random_weights(&abstractions, seed));
        let mut scratch = PartitionScratch::default();
        let before = partitioning.goal_distances(&abstractions, &mut scratch);
        let (better, after) = saturate(&abstractions, &partitioning, abstractions.ids(), &mut scratch);
        prop_assert_eq!(&better.goal_distances(&abstractions, &mut scratch), &after);
        for p in abstractions.ids() {
            let tables = before.table(&abstractions, p).iter().zip(after.table(&abstractions, p));
            for (before, after) in tables {
                prop_assert!(before <= after);
            }
        }
    }

    #[test]
    fn scp_returns_a_partitioning_exactly_if_it_beats_the_bound(seed: u64, beat in 0u64..30) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        prop_assume!(!abstractions.is_dead_end(&task.initial));
        let scp = Saturated::new(&abstractions);
        let mut scratch = PartitionScratch::default();
        // Equal generators break ties equally.
        let free = scp.clone().partition(&abstractions, &task.initial, None).expect("found");
        let bound = scp.clone().partition(&abstractions, &task.initial, Some(beat));
        match free.evaluate(&abstractions, &task.initial, &mut scratch) {
            Estimate::AtLeast(h) => prop_assert_eq!(bound, (h > beat).then_some(free)),
            Estimate::DeadEnd => unreachable!("ruled out above"),
        }
    }

    #[test]
    fn heuristics_are_admissible_in_every_state_at_all_times(seed: u64) {
        let task = random_task(seed);
        let abstractions = Arc::new(abstractions(&task));
        let space = StateSpace::new(&task);
        let scp = Saturated::new(&abstractions);
        let eager = StoredConfig {
            min_share: 1.0,
            max_share: 1.0,
            prune_every: 2,
            ..StoredConfig::default()
        };
        let tiny = StoredConfig { max_bytes: 1, ..eager };
        let heuristics: [Box<dyn Heuristic>; 5] = [
            Box::new(EveryState::new(abstractions.clone(), Uniform)),
            Box::new(EveryState::with_memory(abstractions.clone(), scp.clone(), usize::MAX)),
            Box::new(Stored::new(abstractions.clone(), Uniform, eager)),
            Box::new(Stored::new(abstractions.clone(), scp.clone(), eager)),
            Box::new(Stored::new(abstractions.clone(), scp, tiny)),
        ];
        for mut heuristic in heuristics {
            for (state, h_star) in space.reachable().chain(space.reachable()) {
                check_admissible(heuristic.evaluate(state), h_star)?;
                check_admissible(heuristic.improve(state), h_star)?;
            }
        }
    }

    #[test]
    fn a_stored_partitioning_gives_what_it_gave_when_made(seed: u64) {
        let task = random_task(seed);
        let abstractions = Arc::new(abstractions(&task));
        let space = StateSpace::new(&task);
        // Uniform partitionings are the same for all states, so one is stored at most.
        let mut scratch = PartitionScratch::default();
        let uniform = Uniform.partition(&abstractions, &task.initial, None).expect("always found");
        let order = abstractions.ids().collect::<Vec<_>>().into_iter().rev();
        let (saturated, _) = saturate(&abstractions, &uniform, order, &mut scratch);
        let mut stored = Stored::new(abstractions.clone(), Uniform, StoredConfig::default());
        let states = || space.reachable().map(|(state, _)| state);
        for state in states() {
            stored.improve(state);
        }
        let is_stored = stored.statistics().partitions == 1;
        for state in states() {
            let recomputed = saturated.evaluate(&abstractions, state, &mut scratch);
            prop_assert!(stored.evaluate(state) == recomputed || !is_stored);
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
