//! Canonical partitionings are optimal, and a function of the state.

use std::sync::Arc;

use crate::permuted::Permuted;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::{
    Canonical, CanonicalShares, Choice, CostPartitioning, Ocp, OcpConfig, PartitionScratch,
    Partitioner,
};
use planner::task::{OpId, Task, Value};
use planner::testing::{StateSpace, random_task, rng};
use planner::work::Budget;
use proptest::prelude::*;
use rand::seq::SliceRandom;

fn abstractions(task: &Task) -> Arc<Abstractions> {
    Abstractions::new(task, &interesting_patterns(task, 2, &PatternLimits::default()))
}

/// Some reachable states that are no dead ends of the projections.
fn some_states(task: &Task, abstractions: &Abstractions, seed: u64) -> Vec<Vec<Value>> {
    let space = StateSpace::new(task);
    let mut states: Vec<Vec<Value>> = space.reachable().map(|(state, _)| state.to_vec()).collect();
    states.retain(|state| !abstractions.is_dead_end(state));
    states.shuffle(&mut rng(seed));
    states.truncate(6);
    states
}

fn value(partitioning: &CostPartitioning, state: &[Value]) -> f64 {
    let distances = partitioning.goal_distances(&mut PartitionScratch::default());
    let abstractions = partitioning.abstractions();
    let sum: u64 = abstractions
        .ids()
        .map(|p| {
            let from = abstractions.component(p).abstract_state(state);
            u64::from(distances.table(p)[from as usize])
        })
        .sum();
    sum as f64 / f64::from(partitioning.scale())
}

/// The canonical partitioning, which must exist.
fn canonical(canonical: &mut Canonical, state: &[Value]) -> CanonicalShares {
    canonical.shares_for(state, &mut Budget::unlimited()).expect("the bounds meet")
}

/// On this task rounding of the solver keeps the bounds 1.6e-8 apart when no path is missing.
#[test]
fn a_complete_program_ends_it_whatever_rounding_leaves() {
    let task = random_task(13188229333992908341);
    let abstractions = abstractions(&task);
    for state in some_states(&task, &abstractions, 13188229333992908341) {
        let found = canonical(&mut Canonical::new(&abstractions, Choice::Even), &state);
        assert!(found.gap < 1e-7 && found.rounds < 100, "{} {}", found.gap, found.rounds);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn they_are_optimal_and_give_out_everything(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let config = OcpConfig { gap: Some(1e-6), ..OcpConfig::default() };
        let states = some_states(&task, &abstractions, seed);
        for (state, choice) in states.into_iter().zip([Choice::Even, Choice::Vertex].into_iter().cycle()) {
            let found = canonical(&mut Canonical::new(&abstractions, choice), &state);
            let mut ocp = Ocp::with_config(&abstractions, config);
            let best = ocp.best_for(&state).expect("nothing to beat");
            let optimum = value(&best, &state);
            // Softness costs at most this: it times the costs of all operators, half of it where the
            // choice is the most even one.
            let costs: u32 = abstractions.costs().iter().sum();
            let slack = CanonicalShares::SOFTNESS * f64::from(costs) + 1e-4 * optimum;
            prop_assert!(found.value <= found.upper && optimum <= found.upper + 1e-4 * optimum);
            prop_assert!(found.value >= optimum - slack, "{} of {optimum}", found.value);
            let integers = CostPartitioning::from_weights(&abstractions, &found.shares);
            prop_assert!((value(&integers, &state) - found.value).abs() <= slack + 0.01);
            for o in (0..abstractions.num_operators()).map(OpId::from) {
                let pairs = abstractions.operator_pairs(o);
                let sum: f64 = pairs.iter().map(|&(_, pair)| found.shares[pair as usize]).sum();
                prop_assert!(pairs.is_empty() || (sum - 1.0).abs() < 1e-9, "{sum}");
            }
        }
    }

    #[test]
    fn neither_the_order_nor_what_came_before_matters(seed: u64, vertex: bool) {
        let choice = if vertex { Choice::Vertex } else { Choice::Even };
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let states = some_states(&task, &abstractions, seed);
        let (mut forward, mut backward) =
            (Canonical::new(&abstractions, choice), Canonical::new(&abstractions, choice));
        let one: Vec<CanonicalShares> =
            states.iter().map(|state| canonical(&mut forward, state)).collect();
        let mut other: Vec<CanonicalShares> =
            states.iter().rev().map(|state| canonical(&mut backward, state)).collect();
        other.reverse();
        prop_assert_eq!(one, other);
    }

    #[test]
    fn a_permuted_task_has_the_permuted_partitioning(seed: u64) {
        let task = random_task(seed);
        let permuted = Permuted::new(&task, seed);
        let (old, new) = (abstractions(&task), abstractions(&permuted.task));
        let pairs = permuted.pairs(&old, &new);
        for state in some_states(&task, &old, seed) {
            let one = canonical(&mut Canonical::new(&old, Choice::Even), &state);
            let other = canonical(&mut Canonical::new(&new, Choice::Even), &permuted.state(&state));
            for o in (0..old.num_operators()).map(OpId::from) {
                for &(_, pair) in old.operator_pairs(o) {
                    let (a, b) = (one.shares[pair as usize], other.shares[pairs[pair as usize]]);
                    prop_assert!((a - b).abs() < 1e-3, "{a} and {b}");
                }
            }
        }
    }
}

/// At least four of five shares of operators with a cost are 0 or 1.
#[test]
fn vertices_have_shares_of_nothing_or_all() {
    let (mut clear, mut all) = (0, 0);
    for seed in 0..40 {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        for state in some_states(&task, &abstractions, seed) {
            let vertex = canonical(&mut Canonical::new(&abstractions, Choice::Vertex), &state);
            let is_clear = |share: &&f64| **share < 1e-3 || **share > 1.0 - 1e-3;
            let costly = |o: &OpId| abstractions.costs()[o.index()] > 0;
            for o in (0..abstractions.num_operators()).map(OpId::from).filter(costly) {
                let pairs = abstractions.operator_pairs(o);
                let shares = pairs.iter().map(|&(_, pair)| &vertex.shares[pair as usize]);
                clear += shares.filter(is_clear).count();
                all += pairs.len();
            }
        }
    }
    assert!(all > 1000 && 5 * clear >= 4 * all, "{clear} of {all}");
}
