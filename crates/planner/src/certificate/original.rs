//! What is said of a smaller task, as said of the original one.
//!
//! Entries for facts and abstract states that the reduction excluded do not matter; they are ∞.

use super::{Part, View};
use crate::abstraction::{Component, ComponentShape, Distance, INFINITY};
use crate::reduce::Reduction;
use crate::symmetry::Move;
use crate::task::{FactNumbers, OpId, Value, VarId};

/// The original of a smaller task.
pub(super) struct Original<'r> {
    reduction: &'r Reduction<'r>,
    /// Of the smaller task.
    facts: FactNumbers,
    is_same: bool,
}

impl<'r> Original<'r> {
    pub(super) fn new(reduction: &'r Reduction<'r>) -> Original<'r> {
        let is_same = reduction.statistics().unreduced.is_some();
        Original { reduction, facts: FactNumbers::new(reduction.task()), is_same }
    }

    pub(super) fn variable(&self, var: VarId) -> VarId {
        self.reduction.variable(var)
    }

    pub(super) fn values(&self, var: VarId) -> &'r [Value] {
        self.reduction.values(var)
    }

    /// By value of the original variable, the value that a generator's move gives it where it leads;
    /// values that never hold may go anywhere.
    pub(super) fn values_of_move(&self, m: &Move) -> Vec<Value> {
        let from = self.reduction.original().variable(self.variable(m.from));
        let mut images = vec![0; from.domain_size()];
        for (&value, &image) in self.values(m.from).iter().zip(&m.values) {
            images[value as usize] = self.values(m.to)[image as usize];
        }
        images
    }

    pub(super) fn operator(&self, op: OpId) -> OpId {
        self.reduction.operator(op)
    }

    /// The values of a state's variables that are not derived.
    pub(super) fn basic_values(&self, state: &[Value]) -> impl Iterator<Item = Value> {
        let original = self.reduction.original();
        let values = self.reduction.state(state).into_iter().zip(&original.variables);
        values.filter(|(_, variable)| variable.derived.is_none()).map(|(value, _)| value)
    }

    /// A table with an entry for whatever there is in the original task.
    pub(super) fn table(&self, part: &Part<'_>) -> Vec<Distance> {
        match part.view {
            View::Component(component) => self.table_of(component, &part.table),
            View::Variable(var) => self.table_of_projection(&[var], &part.table),
            View::Facts => self.table_of_facts(&part.table),
        }
    }

    fn table_of(&self, component: &Component, table: &[Distance]) -> Vec<Distance> {
        match component.shape() {
            ComponentShape::Tree(_) => table.to_vec(),
            ComponentShape::Pattern(pattern) => {
                self.table_of_projection(pattern.variables(), table)
            }
            // As costs at which facts can be reached.
            ComponentShape::Landmark(outside) => {
                let mut of_facts = vec![table[0]; self.facts.len()];
                outside.iter().for_each(|&fact| of_facts[self.facts.of(fact)] = table[1]);
                self.table_of_facts(&of_facts)
            }
        }
    }

    /// Abstract states are ordered with the last variable fastest in both tasks.
    fn table_of_projection(&self, vars: &[VarId], table: &[Distance]) -> Vec<Distance> {
        if self.is_same {
            return table.to_vec();
        }
        // The abstract state of the smaller task, if there is one, for each of the original task.
        let mut states = vec![Some(0)];
        for &var in vars {
            let original = self.reduction.original().variable(self.variable(var));
            let mut value_of = vec![None; original.domain_size()];
            let values = self.values(var);
            (0..).zip(values).for_each(|(value, &of)| value_of[of as usize] = Some(value));
            let below = |state: Option<usize>| {
                let value_of = &value_of;
                value_of.iter().map(move |value| Some(state? * values.len() + (*value)?))
            };
            states = states.iter().flat_map(|&state| below(state)).collect();
        }
        states.into_iter().map(|state| state.map_or(INFINITY, |state| table[state])).collect()
    }

    /// Facts of variables that are not there cost nothing, facts that never hold do not matter.
    fn table_of_facts(&self, table: &[Distance]) -> Vec<Distance> {
        if self.is_same {
            return table.to_vec();
        }
        let original = FactNumbers::new(self.reduction.original());
        let mut all = vec![0; original.len()];
        for var in (0..self.facts.num_variables()).map(VarId::from) {
            all[original.range(self.variable(var))].fill(INFINITY);
        }
        for (fact, &entry) in self.facts.facts().zip(table) {
            all[original.of(self.reduction.fact(fact))] = entry;
        }
        all
    }
}
