//! Tasks that differ in the order of everything.

use planner::abstraction::Abstractions;
use planner::task::{ConditionalEffect, Fact, OpId, Operator, Task, Value, VarId};
use planner::testing::rng;
use rand::seq::SliceRandom;

/// The same task with other numbers for its variables, values and operators.
pub(crate) struct Permuted {
    pub(crate) task: Task,
    variables: Vec<usize>,
    values: Vec<Vec<Value>>,
    operators: Vec<usize>,
}

impl Permuted {
    pub(crate) fn new(task: &Task, seed: u64) -> Permuted {
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

    pub(crate) fn state(&self, state: &[Value]) -> Vec<Value> {
        let mut permuted = state.to_vec();
        for (v, &value) in state.iter().enumerate() {
            permuted[self.variables[v]] = self.values[v][value as usize];
        }
        permuted
    }

    /// For each pair of the task the pair of the permuted task that it became.
    pub(crate) fn pairs(&self, old: &Abstractions, new: &Abstractions) -> Vec<usize> {
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
