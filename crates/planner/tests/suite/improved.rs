//! Saturated partitionings, improved by ascent: never worse, never above the optimum, and the same
//! whatever things are called, numbered and counted in.

use std::sync::Arc;

use crate::permuted::Permuted;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::{
    Ascent, AscentConfig, CostPartitioning, Ocp, OcpConfig, PartitionScratch, Partitioner,
    Saturated, Saturator, ScaledCost, StepRule,
};
use planner::task::{Task, Value};
use planner::testing::{StateSpace, random_task, rng};
use proptest::prelude::*;
use rand::RngExt;

const ROUNDS: [usize; 4] = [1, 3, 8, 20];

fn abstractions(task: &Task) -> Arc<Abstractions> {
    Abstractions::new(task, &interesting_patterns(task, 2, &PatternLimits::default()))
}

fn improved(abstractions: &Arc<Abstractions>, rule: StepRule, steps: usize) -> Ascent {
    Ascent::new(
        abstractions,
        AscentConfig { steps, rule, ..AscentConfig::every_state(StepRule::PLAIN) },
    )
}

fn rules() -> [StepRule; 2] {
    [StepRule::PLAIN, StepRule::trained()]
}

/// A random task in which hardly any two paths cost the same.
fn task_without_ties(seed: u64) -> Task {
    let mut task = random_task(seed);
    let mut rng = rng(!seed);
    for operator in &mut task.operators {
        operator.cost = rng.random_range(300..3000);
    }
    task
}

/// The value of a partitioning at a state, in units, not rounded.
fn value(found: &CostPartitioning, state: &[Value]) -> f64 {
    let abstractions = found.abstractions();
    let tables = found.goal_distances(&mut PartitionScratch::default());
    let distance = |p| {
        let from = abstractions.component(p).abstract_state(state);
        f64::from(tables.table(p)[from as usize])
    };
    abstractions.ids().map(distance).sum::<f64>() / f64::from(tables.scale())
}

/// The values of an ascent after some steps.
fn trace(found: &CostPartitioning, state: &[Value], rule: &StepRule) -> Vec<f64> {
    let mut values = Vec::new();
    improved(found.abstractions(), rule.clone(), 0).trace(found, state, &ROUNDS, &mut values);
    values
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn no_value_is_below_that_of_saturation_or_above_the_optimum(seed: u64, steps in 0usize..40) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let mut ocp =
            Ocp::with_config(&abstractions, OcpConfig { gap: Some(1e-6), ..OcpConfig::default() });
        for rule in rules() {
            // Equal generators break ties equally.
            let mut saturated =
                Saturated::new(&abstractions).with_saturator(Saturator::Perimeter);
            let mut improved = improved(&abstractions, rule, steps);
            let space = StateSpace::new(&task);
            let alive = space.reachable().map(|(s, _)| s).filter(|s| !abstractions.is_dead_end(s));
            for state in alive.take(5) {
                let floor = value(&saturated.best_for(state).expect("no bound to beat"), state);
                let h = value(&improved.best_for(state).expect("no bound to beat"), state);
                let _ = ocp.best_for(state);
                prop_assert!(h >= floor, "{} after {}", h, floor);
                let most = ocp.bounds().upper;
                prop_assert!(h <= most + 1e-3 * most.max(1.0), "{} of {}", h, most);
            }
        }
    }

    /// Twice the costs, twice the values, to the last bit: all that a rule sees is relative.
    #[test]
    fn costs_may_be_counted_in_any_unit(seed: u64) {
        let task = task_without_ties(seed);
        let mut double = task.clone();
        double.operators.iter_mut().for_each(|operator| operator.cost *= 2);
        let (one, two) = (abstractions(&task), abstractions(&double));
        prop_assume!(!one.is_dead_end(&task.initial));
        let found = Saturated::new(&one).best_for(&task.initial).expect("no bound to beat");
        let costs: Vec<ScaledCost> = found.costs().iter().map(|cost| 2 * cost).collect();
        let doubled = CostPartitioning::new(&two, 1, costs).expect("twice of what is allowed");
        for rule in rules() {
            let once: Vec<f64> =
                trace(&found, &task.initial, &rule).iter().map(|value| 2.0 * value).collect();
            prop_assert_eq!(once, trace(&doubled, &task.initial, &rule));
        }
    }
}

/// Where no two paths cost the same, the order of variables, values and operators, and with them
/// of patterns, changes nothing but rounding.
#[test]
fn numbers_and_names_mean_nothing() {
    let (mut compared, mut different) = (0, 0);
    for seed in 0..300 {
        let task = task_without_ties(seed);
        let permuted = Permuted::new(&task, seed);
        let (old, new) = (abstractions(&task), abstractions(&permuted.task));
        if old.is_dead_end(&task.initial) || old.num_pairs() != new.num_pairs() {
            continue;
        }
        let pairs = permuted.pairs(&old, &new);
        let found = Saturated::new(&old).best_for(&task.initial).expect("no bound to beat");
        let mut costs = vec![0; found.costs().len()];
        for (&cost, &pair) in found.costs().iter().zip(&pairs) {
            costs[pair] = cost;
        }
        let other = CostPartitioning::new(&new, 1, costs).expect("the same costs");
        for rule in rules() {
            let one = trace(&found, &task.initial, &rule);
            let two = trace(&other, &permuted.task.initial, &rule);
            compared += 1;
            let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * a.abs().max(1.0);
            different += usize::from(!one.iter().zip(&two).all(agree));
        }
    }
    // Two operators with the same effects share a label, and which of them is cheaper may be a tie.
    assert!(compared > 200 && different * 50 <= compared, "{different} of {compared}");
}
