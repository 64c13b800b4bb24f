//! Evaluation of axioms: the values of the derived variables in a state.
//!
//! Layer by layer, each to its least fixpoint: a derived variable has its default value unless
//! the condition of one of its axioms holds, and a default value counts as known only once its
//! layer is complete (stratified semantics; Thiébaux, Hoffmann, Nebel 2005).
//! An axiom keeps a counter of its conditions that are not known to hold.
//! Cost: linear in the axioms' conditions that hold; no allocation.

use super::{Fact, FactNumbers, Task, Value, VarId};
use crate::csr::Csr;

/// Evaluates the axioms of a task.
#[derive(Clone, Debug, Default)]
pub struct AxiomEvaluator {
    /// What each axiom derives.
    heads: Vec<Fact>,
    /// The number of conditions of each axiom.
    num_conditions: Vec<u32>,
    /// The variables that are not derived and occur in conditions.
    inputs: Vec<VarId>,
    /// The derived variables with their default values, by layer.
    defaults: Vec<Fact>,
    /// Where each layer ends in `defaults`.
    layer_ends: Vec<u32>,
    /// Axioms without conditions.
    unconditional: Vec<u32>,
    numbers: FactNumbers,
    /// By fact, the axioms that have it among their conditions.
    users: Csr<u32>,
}

/// Buffers of [`AxiomEvaluator::evaluate`].
#[derive(Clone, Debug, Default)]
pub struct AxiomScratch {
    open: Vec<u32>,
    queue: Vec<Fact>,
}

impl AxiomEvaluator {
    /// Prepares the axioms of a task. Cost linear in the task.
    pub fn new(task: &Task) -> AxiomEvaluator {
        if task.axioms.is_empty() && task.variables.iter().all(|v| v.derived.is_none()) {
            return AxiomEvaluator::default();
        }
        let numbers = FactNumbers::new(task);
        let conditions = (0u32..).zip(&task.axioms).flat_map(|(a, axiom)| {
            let numbers = &numbers;
            axiom.condition.iter().map(move |&fact| (numbers.of(fact), a))
        });
        let users = Csr::sorted(numbers.len(), conditions);
        let mut is_input = vec![false; task.variables.len()];
        for fact in task.axioms.iter().flat_map(|axiom| &axiom.condition) {
            is_input[fact.var.index()] = task.variable(fact.var).derived.is_none();
        }
        let derived = task.variables.iter().enumerate();
        let mut derived: Vec<(u32, Fact)> = derived
            .filter_map(|(v, variable)| {
                let derivation = variable.derived?;
                Some((derivation.layer, Fact::new(v.into(), derivation.default)))
            })
            .collect();
        derived.sort_unstable();
        let is_last = |i: usize| derived.get(i + 1).is_none_or(|next| next.0 != derived[i].0);
        let ends = (0..derived.len()).filter(|&i| is_last(i)).map(|i| i as u32 + 1);
        AxiomEvaluator {
            heads: task.axioms.iter().map(|axiom| axiom.head).collect(),
            num_conditions: task.axioms.iter().map(|axiom| axiom.condition.len() as u32).collect(),
            inputs: (0..is_input.len()).filter(|&v| is_input[v]).map(VarId::from).collect(),
            layer_ends: ends.collect(),
            defaults: derived.into_iter().map(|(_, fact)| fact).collect(),
            unconditional: (0..task.axioms.len() as u32)
                .filter(|&a| task.axioms[a as usize].condition.is_empty())
                .collect(),
            numbers,
            users,
        }
    }

    /// Whether the task has no derived variables, so that there is nothing to evaluate.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.defaults.is_empty()
    }

    /// The variables that are not derived and occur in axioms.
    pub fn inputs(&self) -> &[VarId] {
        &self.inputs
    }

    /// Gives the derived variables of a state the values that follow from the others.
    pub fn evaluate(&self, state: &mut [Value], scratch: &mut AxiomScratch) {
        let AxiomScratch { open, queue } = scratch;
        open.clear();
        open.extend_from_slice(&self.num_conditions);
        queue.clear();
        for fact in &self.defaults {
            state[fact.var.index()] = fact.value;
        }
        for &a in &self.unconditional {
            self.derive(a, state, queue);
        }
        queue.extend(self.inputs.iter().map(|&var| Fact::new(var, state[var.index()])));
        let mut start = 0;
        for &end in &self.layer_ends {
            while let Some(fact) = queue.pop() {
                for &a in self.users.row(self.numbers.of(fact)) {
                    open[a as usize] -= 1;
                    if open[a as usize] == 0 {
                        self.derive(a, state, queue);
                    }
                }
            }
            let layer = &self.defaults[start..end as usize];
            queue.extend(layer.iter().filter(|fact| state[fact.var.index()] == fact.value));
            start = end as usize;
        }
    }

    /// The condition of an axiom holds.
    #[inline]
    fn derive(&self, axiom: u32, state: &mut [Value], queue: &mut Vec<Fact>) {
        let head = self.heads[axiom as usize];
        let value = &mut state[head.var.index()];
        if *value != head.value {
            *value = head.value;
            queue.push(head);
        }
    }
}
