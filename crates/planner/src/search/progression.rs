//! What applying an operator does beyond its effects without conditions: conditional effects on
//! packed states, then axioms.
//!
//! Most tasks have neither, and then there is no [`Progression`] and no work at all.
//! Derived variables are stored with the state, so that no state is evaluated twice, but do not
//! tell it from others: axioms are evaluated only for states that are new, and only if the
//! operator may have changed a variable that an axiom mentions.

use crate::task::{
    AxiomEvaluator, AxiomScratch, OpId, StatePacker, Task, Value, WordCondition, WordEffect,
};
use crate::work::Work;

/// Work for each condition of an axiom.
const CONDITION: Work = 2;

/// The conditional effects and the axioms of a task.
pub(super) struct Progression {
    /// The conditional effects of operator o are `effects[offsets[o]..offsets[o + 1]]`.
    offsets: Vec<u32>,
    effects: Vec<PackedEffect>,
    conditions: Vec<WordCondition>,
    axioms: AxiomEvaluator,
    scratch: AxiomScratch,
    /// Whether each operator may change a derived variable.
    derives: Vec<bool>,
    /// What axioms take at a state, and what they have taken.
    work_of_axioms: Work,
    pub(super) work: Work,
}

/// An effect that happens if its conditions, a range of all conditions, hold.
struct PackedEffect {
    first_condition: u32,
    last_condition: u32,
    effect: WordEffect,
}

impl Progression {
    /// The conditional effects and axioms of a task, if it has any.
    pub(super) fn new(task: &Task, packer: &StatePacker) -> Option<Progression> {
        let axioms = AxiomEvaluator::new(task);
        if axioms.is_empty() && task.num_conditional_effects() == 0 {
            return None;
        }
        let mut is_input = vec![false; task.variables.len()];
        axioms.inputs().iter().for_each(|var| is_input[var.index()] = true);
        let (mut effects, mut conditions) = (Vec::new(), Vec::new());
        let (mut offsets, mut derives) = (vec![0], Vec::with_capacity(task.operators.len()));
        for operator in &task.operators {
            for conditional in &operator.conditional {
                let first_condition = conditions.len() as u32;
                conditions.extend(packer.conditions(&conditional.condition));
                let last_condition = conditions.len() as u32;
                let effect = packer.effect(conditional.fact);
                effects.push(PackedEffect { first_condition, last_condition, effect });
            }
            offsets.push(effects.len() as u32);
            derives.push(operator.affected().any(|var| is_input[var.index()]));
        }
        let scratch = AxiomScratch::default();
        let size: usize = task.axioms.iter().map(|axiom| axiom.condition.len() + 1).sum();
        let work_of_axioms = CONDITION * size as Work;
        Some(Progression {
            offsets,
            effects,
            conditions,
            axioms,
            scratch,
            derives,
            work_of_axioms,
            work: 0,
        })
    }

    /// Adds the conditional effects of an operator applied in `parent` to its successor `child`.
    pub(super) fn apply(&self, op: OpId, parent: &[u32], child: &mut [u32]) {
        let range = self.offsets[op.index()] as usize..self.offsets[op.index() + 1] as usize;
        for effect in &self.effects[range] {
            let range = effect.first_condition as usize..effect.last_condition as usize;
            if self.conditions[range].iter().all(|condition| condition.holds(parent)) {
                effect.effect.apply(child);
            }
        }
    }

    /// Evaluates the axioms in the successor by an operator, whose derived variables have the
    /// values of its parent; false if they keep them for certain, unless something else may have
    /// changed, too.
    pub(super) fn derive(&mut self, op: OpId, more: bool, values: &mut [Value]) -> bool {
        let derives = self.derives[op.index()] || (more && !self.axioms.is_empty());
        if derives {
            self.axioms.evaluate(values, &mut self.scratch);
            self.work += self.work_of_axioms;
        }
        derives
    }
}
