//! The facts of a task as numbers: those of the first variable, then those of the second, ….

use std::ops::Range;

use super::{Fact, Task, Value, VarId};
use crate::csr::Offsets;

/// Numbers of facts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FactNumbers(Offsets);

impl FactNumbers {
    /// Numbers the facts of a task.
    pub fn new(task: &Task) -> FactNumbers {
        FactNumbers(task.variables.iter().map(|variable| variable.domain_size()).collect())
    }

    /// How many facts there are.
    pub fn len(&self) -> usize {
        self.0.total()
    }

    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many variables there are.
    pub fn num_variables(&self) -> usize {
        self.0.len()
    }

    /// The number of a fact.
    #[inline(always)]
    pub fn of(&self, fact: Fact) -> usize {
        self.0.start(fact.var.index()) + fact.value as usize
    }

    /// The numbers of a variable's facts.
    #[inline(always)]
    pub fn range(&self, var: VarId) -> Range<usize> {
        self.0.range(var.index())
    }

    /// The words of a bit set of facts in which a variable's facts are, each with the bits of these.
    #[inline]
    pub fn words(&self, var: VarId) -> impl Iterator<Item = (usize, u64)> {
        let Range { start, end } = self.range(var);
        (start / 64..end.div_ceil(64)).map(move |word| {
            let from = start.saturating_sub(word * 64);
            let to = (end - word * 64).min(64);
            (word, (!0 >> (64 - to)) & (!0 << from))
        })
    }

    /// The values of a variable.
    pub fn values(&self, var: VarId) -> Range<Value> {
        0..self.range(var).len() as Value
    }

    /// The numbers of a state's facts.
    #[inline]
    pub fn of_state(&self, state: &[Value]) -> impl Iterator<Item = usize> + Clone {
        state.iter().enumerate().map(|(var, &value)| self.0.start(var) + value as usize)
    }

    /// All facts, in the order of their numbers.
    pub fn facts(&self) -> impl Iterator<Item = Fact> {
        (0..self.0.len())
            .map(VarId::from)
            .flat_map(|var| self.values(var).map(move |value| Fact::new(var, value)))
    }
}
