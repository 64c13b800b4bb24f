//! A permutation of facts that maps a task onto itself, and the check that it does.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::graph::{EDGE, Graph};
use crate::task::{Fact, FactNumbers, OpId, Operator, Task, Value, VarId};
use crate::work::Budget;

/// A permutation σ of facts that maps a task onto itself.
///
/// It moves few variables; all others, and their values, are mapped to themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generator {
    moves: Vec<Move>,
}

/// Where the facts of one variable go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// The variable, …
    pub from: VarId,
    /// … the variable that its facts are mapped to, …
    pub to: VarId,
    /// … and by value the value there.
    pub values: Box<[Value]>,
}

impl Generator {
    /// The permutation with these pairs of a fact and its image, if it is an automorphism.
    pub(super) fn new(
        moved: &[(u32, u32)],
        graph: &Graph,
        operators: &OperatorIndex<'_>,
        budget: &mut Budget,
    ) -> Option<Generator> {
        let task = operators.task;
        let fact = |number: u32| graph.facts[number as usize];
        let mut moves: Vec<Move> = Vec::new();
        for of_variable in moved.chunk_by(|a, b| fact(a.0).var == fact(b.0).var) {
            let from = fact(of_variable[0].0).var;
            let to = fact(of_variable[0].1).var;
            let size = task.variable(from).domain_size();
            if task.variable(to).domain_size() != size
                || task.variable(from).derived.map(|d| d.layer)
                    != task.variable(to).derived.map(|d| d.layer)
                || (from != to && of_variable.len() < size)
            {
                return None;
            }
            let mut values: Box<[Value]> = (0..size as Value).collect();
            for &(fact_number, image) in of_variable {
                if fact(image).var != to {
                    return None;
                }
                values[fact(fact_number).value as usize] = fact(image).value;
            }
            moves.push(Move { from, to, values });
        }
        moves.sort_unstable_by_key(|m| m.from);
        let generator = Generator { moves };
        let is_automorphism = generator.is_permutation(task)
            && generator.maps_facts_well(task)
            && generator.maps_mutexes(moved, graph, task, budget)
            && generator.maps_operators(moved, graph, operators, budget)
            && generator.maps_axioms(task, budget);
        is_automorphism.then_some(generator)
    }

    /// What it moves, in the order of the variables that facts come from.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The image of a fact.
    pub fn image(&self, fact: Fact) -> Fact {
        match self.moves.binary_search_by_key(&fact.var, |m| m.from) {
            Ok(i) => Fact::new(self.moves[i].to, self.moves[i].values[fact.value as usize]),
            Err(_) => fact,
        }
    }

    /// The image of a state: one value per variable.
    pub fn apply(&self, state: &[Value]) -> Vec<Value> {
        let mut image = state.to_vec();
        for m in &self.moves {
            image[m.to.index()] = m.values[state[m.from.index()] as usize];
        }
        image
    }

    /// The inverse permutation.
    pub fn inverse(&self) -> Generator {
        let inverse = |m: &Move| {
            let mut values = m.values.clone();
            for (value, &image) in m.values.iter().enumerate() {
                values[image as usize] = value as Value;
            }
            Move { from: m.to, to: m.from, values }
        };
        let mut moves: Vec<Move> = self.moves.iter().map(inverse).collect();
        moves.sort_unstable_by_key(|m| m.from);
        Generator { moves }
    }

    /// The inverse, if it is another permutation.
    pub(super) fn other_inverse(&self) -> Option<Generator> {
        let inverse = self.inverse();
        (inverse != *self).then_some(inverse)
    }

    /// The numbers of the moved variables' facts, each with that of its image.
    pub fn facts(&self, numbers: &FactNumbers) -> impl Iterator<Item = (u32, u32)> {
        self.moves.iter().flat_map(move |m| {
            let from = numbers.range(m.from).start as u32;
            let to = numbers.range(m.to).start as u32;
            (from..).zip(&*m.values).map(move |(fact, value)| (fact, to + value))
        })
    }

    /// Whether each variable and each value is the image of exactly one.
    fn is_permutation(&self, task: &Task) -> bool {
        let mut to: Vec<VarId> = self.moves.iter().map(|m| m.to).collect();
        to.sort_unstable();
        let is_bijection = |m: &Move| {
            let mut hit = vec![false; task.variable(m.to).domain_size()];
            m.values.iter().all(|&value| !std::mem::replace(&mut hit[value as usize], true))
        };
        self.moves.iter().map(|m| m.from).eq(to)
            && self.moves.windows(2).all(|pair| pair[0].from < pair[1].from)
            && self.moves.iter().all(is_bijection)
    }

    /// Whether goal facts go to goal facts and default values to default values.
    fn maps_facts_well(&self, task: &Task) -> bool {
        let default = |var: VarId| task.variable(var).derived.map(|derivation| derivation.default);
        let keeps_default = |m: &Move| {
            default(m.from).is_none_or(|value| default(m.to) == Some(m.values[value as usize]))
        };
        task.goal.iter().all(|&fact| task.goal.contains(&self.image(fact)))
            && self.moves.iter().all(keeps_default)
    }

    /// Whether mutex pairs of facts go to mutex pairs: bounds may hold only where no such pair does.
    fn maps_mutexes(
        &self,
        moved: &[(u32, u32)],
        graph: &Graph,
        task: &Task,
        budget: &mut Budget,
    ) -> bool {
        if task.mutexes.is_empty() {
            return true;
        }
        budget.spend((moved.len() * graph.facts.len()) as u64);
        moved.iter().all(|&(fact, image)| {
            let (fact, image) = (graph.facts[fact as usize], graph.facts[image as usize]);
            let is_mutex = |other: &&Fact| task.mutexes.contains(fact, **other);
            let others = graph.facts.iter().filter(is_mutex);
            others.into_iter().all(|&other| task.mutexes.contains(image, self.image(other)))
        })
    }

    /// Whether the operators that mention a moved fact go to operators.
    fn maps_operators(
        &self,
        moved: &[(u32, u32)],
        graph: &Graph,
        index: &OperatorIndex<'_>,
        budget: &mut Budget,
    ) -> bool {
        let task = index.task;
        let mut operators: Vec<usize> = if task.num_conditional_effects() > 0 {
            (0..task.operators.len()).collect()
        } else {
            moved.iter().flat_map(|&(fact, _)| graph.operators_of(fact as usize)).collect()
        };
        operators.sort_unstable();
        operators.dedup();
        operators.into_iter().all(|o| {
            let operator = &task.operators[o];
            budget.spend((operator.pre.len() + operator.eff.len()) as u64 * 4 * EDGE);
            index.image(operator, |fact| self.image(fact)).is_some()
        })
    }

    /// Whether axioms go to axioms; their layers are those of variables.
    fn maps_axioms(&self, task: &Task, budget: &mut Budget) -> bool {
        let mut axioms: Vec<(Fact, &[Fact])> =
            task.axioms.iter().map(|axiom| (axiom.head, &*axiom.condition)).collect();
        axioms.sort_unstable();
        task.axioms.iter().all(|axiom| {
            let mut condition: Vec<Fact> =
                axiom.condition.iter().map(|&fact| self.image(fact)).collect();
            condition.sort_unstable();
            budget.spend(condition.len() as u64 * 4 * EDGE);
            axioms.binary_search(&(self.image(axiom.head), &condition)).is_ok()
        })
    }
}

/// The operators of a task by what they do.
pub struct OperatorIndex<'t> {
    task: &'t Task,
    /// Hashes of operators that do not depend on the order of facts, ascending.
    hashes: Vec<(u64, OpId)>,
}

impl<'t> OperatorIndex<'t> {
    /// Sorts the operators of a task by what they do.
    pub fn new(task: &'t Task) -> OperatorIndex<'t> {
        let hash = |op: OpId| (hash_of(task.operator(op), |fact| fact), op);
        let mut hashes: Vec<(u64, OpId)> = task.operator_ids().map(hash).collect();
        hashes.sort_unstable();
        OperatorIndex { task, hashes }
    }

    /// An operator that costs and does what another one does once facts are mapped; effects on the
    /// same variable have the same order.
    pub fn image(&self, operator: &Operator, map: impl Fn(Fact) -> Fact + Copy) -> Option<OpId> {
        let hash = hash_of(operator, map);
        let first = self.hashes.partition_point(|&(other, _)| other < hash);
        let same = self.hashes[first..].iter().take_while(|&&(other, _)| other == hash);
        let mut candidates = same.map(|&(_, op)| op).peekable();
        candidates.peek()?;
        let (pre, effects) = description(operator, map);
        candidates.find(|&op| {
            let other = self.task.operator(op);
            let (other_pre, other_effects) = description(other, |fact| fact);
            other.cost == operator.cost && other_pre == pre && other_effects == effects
        })
    }
}

type Conditional = (Fact, Vec<Fact>);

/// Preconditions in ascending order, and effects in the order of their variables.
fn description(
    operator: &Operator,
    map: impl Fn(Fact) -> Fact + Copy,
) -> (Vec<Fact>, Vec<Conditional>) {
    let sorted = |facts: &[Fact]| {
        let mut facts: Vec<Fact> = facts.iter().map(|&fact| map(fact)).collect();
        facts.sort_unstable();
        facts
    };
    let plain = operator.eff.iter().map(|&fact| (map(fact), Vec::new()));
    let conditional =
        operator.conditional.iter().map(|effect| (map(effect.fact), sorted(&effect.condition)));
    let mut effects: Vec<Conditional> = plain.chain(conditional).collect();
    effects.sort_by_key(|(fact, _)| fact.var);
    (sorted(&operator.pre), effects)
}

/// A hash of an operator's cost and mapped facts, in any order.
fn hash_of(operator: &Operator, map: impl Fn(Fact) -> Fact) -> u64 {
    let of = |fact: Fact, kind: u8| {
        let mut hasher = FxHasher::default();
        (map(fact), kind).hash(&mut hasher);
        hasher.finish()
    };
    let pre = operator.pre.iter().map(|&fact| of(fact, 0));
    let eff = operator.eff.iter().map(|&fact| of(fact, 1));
    let conditional = operator.conditional.iter().map(|effect| of(effect.fact, 2));
    pre.chain(eff).chain(conditional).fold(operator.cost, u64::wrapping_add)
}
