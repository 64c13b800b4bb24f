//! Facts that every plan makes true: landmarks of the delete relaxation (Keyder, Richter and
//! Helmert 2010, with sets of one fact).
//!
//! The landmarks of a fact are itself and those that all its achievers have in common; those of
//! an operator are those of its preconditions.
//! Computed as the greatest solution of these equations, from the initial state on.
//! Cost: a pass over the operators takes O(operators · facts / 64), and there are few of them.

use crate::csr::Csr;
use crate::task::{Fact, FactNumbers, OpId, Task, Value, VarId};
use crate::work::{self, Budget, Work};

/// A fact that is false at first and that every plan makes true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Landmark {
    /// The fact.
    pub(super) fact: Fact,
    /// What can be true only after it, itself included, by variable.
    pub(super) after: Vec<(VarId, Vec<Value>)>,
}

/// The landmarks of a task, the ones that plans need first before the others; none if the budget
/// does not suffice or no plan exists.
///
/// Requires a task without axioms and conditional effects.
pub(super) fn fact_landmarks(task: &Task, budget: &mut Budget) -> Vec<Landmark> {
    let relaxation = Relaxation::new(task);
    let Some(sets) = relaxation.landmark_sets(budget) else { return Vec::new() };
    let mut of_goal = vec![0u64; relaxation.words];
    for &fact in &task.goal {
        match &sets[relaxation.number(fact)] {
            Some(set) => of_goal.iter_mut().zip(set).for_each(|(a, b)| *a |= b),
            None => return Vec::new(),
        }
    }
    let mut found: Vec<(usize, Landmark)> = Vec::new();
    for fact in relaxation.numbers.facts() {
        let number = relaxation.number(fact);
        let is_landmark = of_goal[number / 64] >> (number % 64) & 1 == 1;
        if !is_landmark || task.initial[fact.var.index()] == fact.value || budget.is_spent() {
            continue;
        }
        let before = sets[number].as_ref().map_or(0, |set| ones(set));
        found.push((before, Landmark { fact, after: relaxation.only_after(fact, budget) }));
    }
    found.sort_by_key(|&(before, _)| before);
    found.into_iter().map(|(_, landmark)| landmark).collect()
}

fn ones(set: &[u64]) -> usize {
    set.iter().map(|word| word.count_ones() as usize).sum()
}

/// A task whose operators delete nothing.
pub(super) struct Relaxation<'t> {
    task: &'t Task,
    pub(super) numbers: FactNumbers,
    words: usize,
    /// The operators with each fact as a precondition.
    needs: Csr<OpId>,
}

impl<'t> Relaxation<'t> {
    pub(super) fn new(task: &'t Task) -> Relaxation<'t> {
        let numbers = FactNumbers::new(task);
        let needs = task.operators.iter().enumerate().flat_map(|(o, operator)| {
            let numbers = &numbers;
            operator.pre.iter().map(move |&fact| (numbers.of(fact), OpId::from(o)))
        });
        let needs = Csr::sorted(numbers.len(), needs);
        Relaxation { task, words: numbers.len().div_ceil(64), numbers, needs }
    }

    fn adds(&self, o: OpId, fact: Fact) -> bool {
        self.task.operator(o).eff.contains(&fact)
    }

    fn number(&self, fact: Fact) -> usize {
        self.numbers.of(fact)
    }

    fn initial(&self) -> impl Iterator<Item = Fact> {
        let values = self.task.initial.iter().enumerate();
        values.map(|(var, &value)| Fact::new(VarId::from(var), value))
    }

    /// For each fact that can be reached, its landmarks.
    fn landmark_sets(&self, budget: &mut Budget) -> Option<Vec<Option<Vec<u64>>>> {
        let mut sets: Vec<Option<Vec<u64>>> = vec![None; self.numbers.len()];
        let operators = &self.task.operators;
        let mut waits = vec![true; operators.len()];
        let mut queue: std::collections::VecDeque<OpId> = self.task.operator_ids().collect();
        for fact in self.initial() {
            let mut set = vec![0; self.words];
            set[self.number(fact) / 64] |= 1 << (self.number(fact) % 64);
            sets[self.number(fact)] = Some(set);
        }
        let mut needed = vec![0u64; self.words];
        while let Some(o) = queue.pop_front() {
            if budget.is_spent() {
                return None;
            }
            waits[o.index()] = false;
            let operator = &operators[o.index()];
            needed.fill(0);
            let facts = operator.pre.len() + operator.eff.len();
            budget.spend(work::PAIR * (1 + facts * self.words) as Work);
            let mut reached = true;
            for &fact in &operator.pre {
                match &sets[self.number(fact)] {
                    Some(set) => needed.iter_mut().zip(set).for_each(|(a, b)| *a |= b),
                    None => {
                        reached = false;
                        break;
                    }
                }
            }
            if !reached {
                continue;
            }
            for &fact in &operator.eff {
                let number = self.number(fact);
                let own = (number / 64, 1u64 << (number % 64));
                let changed = match &mut sets[number] {
                    Some(set) => {
                        let mut changed = false;
                        for (i, (a, b)) in set.iter_mut().zip(&needed).enumerate() {
                            let keep = if i == own.0 { b | own.1 } else { *b };
                            changed |= *a & !keep != 0;
                            *a &= keep;
                        }
                        changed
                    }
                    none => {
                        let mut set = needed.clone();
                        set[own.0] |= own.1;
                        *none = Some(set);
                        true
                    }
                };
                if changed {
                    for &next in self.needs.row(number) {
                        if !std::mem::replace(&mut waits[next.index()], true) {
                            queue.push_back(next);
                        }
                    }
                }
            }
        }
        Some(sets)
    }

    /// Which facts can be reached from the given ones without some operators.
    pub(super) fn reached_without(
        &self,
        avoided: impl Fn(OpId) -> bool,
        mut queue: Vec<Fact>,
        budget: &mut Budget,
    ) -> Vec<bool> {
        let mut reached = vec![false; self.numbers.len()];
        let mut missing: Vec<u32> =
            self.task.operators.iter().map(|o| o.pre.len() as u32).collect();
        for &fact in &queue {
            reached[self.number(fact)] = true;
        }
        let apply = |o: OpId, reached: &mut [bool], queue: &mut Vec<Fact>| {
            if avoided(o) {
                return;
            }
            for &fact in &self.task.operator(o).eff {
                if !std::mem::replace(&mut reached[self.number(fact)], true) {
                    queue.push(fact);
                }
            }
        };
        for o in self.task.operator_ids().filter(|&o| self.task.operator(o).pre.is_empty()) {
            apply(o, &mut reached, &mut queue);
        }
        while let Some(fact) = queue.pop() {
            let operators = self.needs.row(self.number(fact));
            budget.spend(work::ARC * (1 + operators.len()) as Work);
            for &o in operators {
                missing[o.index()] -= 1;
                if missing[o.index()] == 0 {
                    apply(o, &mut reached, &mut queue);
                }
            }
        }
        reached
    }

    /// The goals that cannot be reached without making a fact true; where it is true at first, its
    /// variable has all its other values instead.
    pub(super) fn goals_that_need(&self, fact: Fact, budget: &mut Budget) -> Vec<Fact> {
        let mut start: Vec<Fact> = self.initial().filter(|&initial| initial != fact).collect();
        if start.len() < self.task.variables.len() {
            let values = self.numbers.values(fact.var).filter(|&value| value != fact.value);
            start.extend(values.map(|value| Fact::new(fact.var, value)));
        }
        budget.spend(self.task.operators.len() as Work);
        let reached = self.reached_without(|o| self.adds(o, fact), start, budget);
        self.task.goal.iter().copied().filter(|&goal| !reached[self.number(goal)]).collect()
    }

    /// The facts that cannot be reached without passing a state with the given one.
    fn only_after(&self, landmark: Fact, budget: &mut Budget) -> Vec<(VarId, Vec<Value>)> {
        let start = self.initial().collect();
        let reached = self.reached_without(|o| self.adds(o, landmark), start, budget);
        let mut after: Vec<(VarId, Vec<Value>)> = Vec::new();
        for fact in self.numbers.facts().filter(|&fact| !reached[self.number(fact)]) {
            match after.last_mut() {
                Some((var, values)) if *var == fact.var => values.push(fact.value),
                _ => after.push((fact.var, vec![fact.value])),
            }
        }
        after
    }
}
