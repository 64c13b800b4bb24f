//! Canonical partitionings are optimal, and a function of the state.

use std::sync::Arc;

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::{
    Canonical, CanonicalShares, CostPartitioning, Ocp, OcpConfig, PartitionScratch, Partitioner,
};
use planner::task::{ConditionalEffect, Fact, OpId, Operator, Task, Value, VarId};
use planner::testing::{StateSpace, random_task, rng};
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

/// The same task with other numbers for its variables, values and operators.
struct Permuted {
    task: Task,
    variables: Vec<usize>,
    values: Vec<Vec<Value>>,
    operators: Vec<usize>,
}

impl Permuted {
    fn new(task: &Task, seed: u64) -> Permuted {
        let mut rng = rng(seed);
        let mut shuffled = |n: usize| {
            let mut numbers: Vec<usize> = (0..n).collect();
            numbers.shuffle(&mut rng);
            numbers
        };
        let variables = shuffled(task.variables.len());
        let values: Vec<Vec<Value>> = task
            .variables
            .iter()
            .map(|v| shuffled(v.domain_size()).into_iter().map(|value| value as Value).collect())
            .collect();
        let operators = shuffled(task.operators.len());
        let fact = |fact: &Fact| {
            let value = values[fact.var.index()][fact.value as usize];
            Fact::new(VarId::from(variables[fact.var.index()]), value)
        };
        let facts = |facts: &[Fact]| -> Box<[Fact]> {
            let mut facts: Vec<Fact> = facts.iter().map(fact).collect();
            facts.sort_by_key(|fact| fact.var);
            facts.into()
        };
        let mut new = task.clone();
        for (old, (&var, values)) in task.variables.iter().zip(variables.iter().zip(&values)) {
            new.variables[var] = old.clone();
            for (meaning, &value) in old.values.iter().zip(values) {
                new.variables[var].values[value as usize] = meaning.clone();
            }
        }
        for (old, &o) in task.operators.iter().zip(&operators) {
            let conditional = old.conditional.iter().map(|effect| ConditionalEffect {
                condition: facts(&effect.condition),
                fact: fact(&effect.fact),
            });
            new.operators[o] = Operator {
                pre: facts(&old.pre),
                eff: facts(&old.eff),
                conditional: conditional.collect(),
                ..old.clone()
            };
        }
        new.goal = task.goal.iter().map(fact).collect();
        new.goal.reverse();
        let mut permuted = Permuted { task: new, variables, values, operators };
        permuted.task.initial = permuted.state(&task.initial);
        permuted
    }

    fn state(&self, state: &[Value]) -> Vec<Value> {
        let mut permuted = state.to_vec();
        for (v, &value) in state.iter().enumerate() {
            permuted[self.variables[v]] = self.values[v][value as usize];
        }
        permuted
    }

    /// For each pair of the task the pair of the permuted task that it became.
    fn pairs(&self, old: &Abstractions, new: &Abstractions) -> Vec<usize> {
        let mut pairs = vec![usize::MAX; old.num_pairs()];
        for o in (0..old.num_operators()).map(OpId::from) {
            for &(p, pair) in old.operator_pairs(o) {
                let mut variables: Vec<usize> = old
                    .component(p)
                    .variables()
                    .iter()
                    .map(|var| self.variables[var.index()])
                    .collect();
                variables.sort_unstable();
                let of_new = new.operator_pairs(OpId::from(self.operators[o.index()]));
                let same = |p| {
                    let mut other: Vec<usize> =
                        new.component(p).variables().iter().map(|var| var.index()).collect();
                    other.sort_unstable();
                    other == variables
                };
                let found = of_new.iter().find(|(p, _)| same(*p));
                pairs[pair as usize] = found.expect("the same patterns").1 as usize;
            }
        }
        pairs
    }
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
    canonical.shares_for(state).expect("the bounds meet")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn they_are_optimal_and_give_out_everything(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let config = OcpConfig { gap: Some(1e-6), ..OcpConfig::default() };
        for state in some_states(&task, &abstractions, seed) {
            let found = canonical(&mut Canonical::new(&abstractions), &state);
            let mut ocp = Ocp::with_config(&abstractions, config);
            let best = ocp.best_for(&state).expect("nothing to beat");
            let optimum = value(&best, &state);
            // Softness costs at most this: half of it times the costs of all operators.
            let costs: u32 = abstractions.costs().iter().sum();
            let slack = CanonicalShares::SOFTNESS / 2.0 * f64::from(costs) + 1e-4 * optimum;
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
    fn neither_the_order_nor_what_came_before_matters(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let states = some_states(&task, &abstractions, seed);
        let (mut forward, mut backward) =
            (Canonical::new(&abstractions), Canonical::new(&abstractions));
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
            let one = canonical(&mut Canonical::new(&old), &state);
            let other = canonical(&mut Canonical::new(&new), &permuted.state(&state));
            for o in (0..old.num_operators()).map(OpId::from) {
                for &(_, pair) in old.operator_pairs(o) {
                    let (a, b) = (one.shares[pair as usize], other.shares[pairs[pair as usize]]);
                    prop_assert!((a - b).abs() < 1e-3, "{a} and {b}");
                }
            }
        }
    }
}
