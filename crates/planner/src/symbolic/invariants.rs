//! Mutex groups as constraints on states.
//!
//! No reachable state has two facts of a group. A backward search meets many states that violate
//! this; leaving them out changes no cost and often makes sets much smaller.
//! A constraint is optional: it is used where diagrams stay small.

use bdd::{Bdd, Cap, Halt};

use super::space::Space;
use crate::task::{Fact, FactNumbers, VarId};

/// Constraints by fact, made when they are asked for.
pub(super) struct Invariants {
    numbers: FactNumbers,
    /// By fact, the mutex groups that it belongs to.
    groups: Vec<Vec<u32>>,
    known: Vec<Option<Bdd>>,
}

impl Invariants {
    pub(super) fn new(space: &Space) -> Invariants {
        let task = space.task;
        let numbers = FactNumbers::new(task);
        let mut groups = vec![Vec::new(); numbers.len()];
        for (index, group) in (0..).zip(&task.mutex_groups) {
            if group.iter().all(|fact| !task.is_derived(fact.var)) {
                group.iter().for_each(|&fact| groups[numbers.of(fact)].push(index));
            }
        }
        let known = vec![None; numbers.len()];
        Invariants { numbers, groups, known }
    }

    /// Whether a fact is in a mutex group at all.
    pub(super) fn constrain(&self, fact: Fact) -> bool {
        !self.groups[self.numbers.of(fact)].is_empty()
    }

    /// The states in which a fact does not hold, or none of those of other variables that exclude it.
    pub(super) fn of(&mut self, fact: Fact, space: &mut Space, cap: Cap) -> Result<Bdd, Halt> {
        let number = self.numbers.of(fact);
        if let Some(known) = &self.known[number] {
            return Ok(known.clone());
        }
        let task = space.task;
        let groups = self.groups[number].iter().map(|&group| &task.mutex_groups[group as usize]);
        let mut others: Vec<Fact> = groups.flatten().copied().collect();
        others.retain(|other| other.var != fact.var);
        others.sort_unstable_by_key(|&other| {
            (std::cmp::Reverse(space.rank[other.var.index()]), other)
        });
        others.dedup();
        let mut excluded = space.kernel.constant(false);
        for other in others {
            let holds = space.condition(&[other], cap)?;
            excluded = space.kernel.or(&holds, &excluded, cap)?;
        }
        let holds = space.condition(&[fact], cap)?;
        let violated = space.kernel.and(&excluded, &holds, cap)?;
        let constraint = space.kernel.not(&violated);
        self.known[number] = Some(constraint.clone());
        Ok(constraint)
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
