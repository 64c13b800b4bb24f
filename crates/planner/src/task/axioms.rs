//! Evaluation of axioms: the values of the derived variables in a state.
//!
//! Layer by layer, each to its least fixpoint: a derived variable has its default value unless
//! the condition of one of its axioms holds, and a default value counts as known only once its
//! layer is complete (stratified semantics; Thiébaux, Hoffmann, Nebel 2005).
//! An axiom keeps a counter of its conditions that are not known to hold.
//! Cost: linear in the axioms' conditions that hold; no allocation.

use super::{Fact, Task, Value, VarId};

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
    /// The number of a fact is its value plus this, by variable.
    first_fact: Vec<u32>,
    /// The axioms with fact f among their conditions are `users[offsets[f]..offsets[f + 1]]`.
    offsets: Vec<u32>,
    users: Vec<u32>,
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
        let mut first_fact = Vec::with_capacity(task.variables.len());
        let mut num_facts = 0;
        for variable in &task.variables {
            first_fact.push(num_facts);
            num_facts += variable.domain_size() as u32;
        }
        let index = |fact: &Fact| (first_fact[fact.var.index()] + fact.value) as usize;
        let mut offsets = vec![0u32; num_facts as usize + 1];
        for fact in task.axioms.iter().flat_map(|axiom| &axiom.condition) {
            offsets[index(fact) + 1] += 1;
        }
        for f in 0..num_facts as usize {
            offsets[f + 1] += offsets[f];
        }
        let mut next = offsets.clone();
        let mut users = vec![0; offsets[num_facts as usize] as usize];
        let mut is_input = vec![false; task.variables.len()];
        for (a, axiom) in task.axioms.iter().enumerate() {
            for fact in &axiom.condition {
                let slot = &mut next[index(fact)];
                users[*slot as usize] = a as u32;
                *slot += 1;
                is_input[fact.var.index()] = task.variable(fact.var).derived.is_none();
            }
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
            first_fact,
            offsets,
            users,
        }
    }

    /// Whether the task has no derived variables, so that there is nothing to evaluate.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.defaults.is_empty()
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
                let f = (self.first_fact[fact.var.index()] + fact.value) as usize;
                for &a in &self.users[self.offsets[f] as usize..self.offsets[f + 1] as usize] {
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
