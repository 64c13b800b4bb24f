//! Mutexes as constraints on states.
//!
//! No reachable state has two facts of a mutex group, and no state of a plan has a pair of
//! [`Task::mutexes`](crate::task::Task::mutexes), whose states backward invariants exclude, too.
//! Either side meets many states that violate this; leaving them out changes no cost, for a
//! cheapest plan has none of them, and often makes sets much smaller.
//! A constraint is optional: it is used where diagrams stay small.

use bdd::{Bdd, Cap, Halt};

use super::space::Space;
use crate::task::{Fact, FactNumbers, Operator, VarId, ones};

/// Constraints by fact, made when they are asked for.
pub(super) struct Invariants {
    numbers: FactNumbers,
    /// By fact, the facts of other variables that exclude it, from the bottom of diagrams up.
    others: Vec<Box<[Fact]>>,
    known: Vec<Option<Bdd>>,
}

impl Invariants {
    pub(super) fn new(space: &Space) -> Invariants {
        let task = space.task;
        let numbers = FactNumbers::new(task);
        let facts: Vec<Fact> = numbers.facts().collect();
        let mut others: Vec<Vec<Fact>> = match task.mutexes.is_empty() {
            true => vec![Vec::new(); numbers.len()],
            false => {
                let row = |&fact| ones(task.mutexes.row(fact)).map(|other| facts[other]).collect();
                facts.iter().map(row).collect()
            }
        };
        for group in &task.mutex_groups {
            for &fact in group {
                others[numbers.of(fact)].extend(group);
            }
        }
        let is_other = |fact: Fact, other: Fact| {
            fact.var != other.var && !task.is_derived(fact.var) && !task.is_derived(other.var)
        };
        let others = facts.iter().zip(others).map(|(&fact, mut others)| {
            others.retain(|&other| is_other(fact, other));
            others.sort_unstable_by_key(|&other| {
                (std::cmp::Reverse(space.rank[other.var.index()]), other)
            });
            others.dedup();
            others.into_boxed_slice()
        });
        let others = others.collect();
        let known = vec![None; numbers.len()];
        Invariants { numbers, others, known }
    }

    /// Whether other facts exclude this one.
    fn constrain(&self, fact: Fact) -> bool {
        !self.others[self.numbers.of(fact)].is_empty()
    }

    /// The states in which a fact does not hold, or none of those of other variables that exclude it.
    pub(super) fn of(&mut self, fact: Fact, space: &mut Space, cap: Cap) -> Result<Bdd, Halt> {
        let number = self.numbers.of(fact);
        if let Some(known) = &self.known[number] {
            return Ok(known.clone());
        }
        let allowed = none_of(self.others[number].iter(), space, cap)?;
        let holds = space.condition(&[fact], cap)?;
        let violated = space.kernel.minus(&holds, &allowed, cap)?;
        let constraint = space.kernel.not(&violated);
        self.known[number] = Some(constraint.clone());
        Ok(constraint)
    }

    /// The states in which an operator without conditional effects may make a fact true: no fact
    /// holds that it does not change and that excludes this one. `None` if its preconditions
    /// already say so.
    pub(super) fn beside(
        &self,
        fact: Fact,
        operator: &Operator,
        space: &mut Space,
        cap: Cap,
    ) -> Result<Option<Bdd>, Halt> {
        let is_open = |other: &&Fact| {
            operator.eff_on(other.var).is_none()
                && operator.pre_on(other.var).is_none_or(|value| value == other.value)
        };
        let mut others = self.others[self.numbers.of(fact)].iter().filter(is_open).peekable();
        if others.peek().is_none() {
            return Ok(None);
        }
        none_of(others, space, cap).map(Some)
    }

    /// The facts of a variable that are constrained, or the one with this value if it is.
    pub(super) fn facts(&self, var: VarId, value: Option<u32>, space: &Space) -> Vec<Fact> {
        let values = match value {
            Some(value) => value..value + 1,
            None => 0..space.task.variable(var).domain_size() as u32,
        };
        values.map(|value| Fact::new(var, value)).filter(|&fact| self.constrain(fact)).collect()
    }
}

/// The states in which none of these facts holds, which come from the bottom of diagrams up.
fn none_of<'f>(
    facts: impl Iterator<Item = &'f Fact>,
    space: &mut Space,
    cap: Cap,
) -> Result<Bdd, Halt> {
    let mut some = space.kernel.constant(false);
    for &fact in facts {
        let holds = space.condition(&[fact], cap)?;
        some = space.kernel.or(&holds, &some, cap)?;
    }
    Ok(space.kernel.not(&some))
}
