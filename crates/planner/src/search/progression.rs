//! What applying an operator does beyond its effects without conditions: conditional effects, then
//! axioms, on packed states.
//!
//! Most tasks have neither, and then there is no [`Progression`] and no work at all.
//! Derived variables are part of the packed state, so that no state is evaluated twice.

use crate::task::{
    AxiomEvaluator, AxiomScratch, OpId, StatePacker, Task, Value, WordCondition, WordEffect,
};

/// The conditional effects and the axioms of a task.
pub(super) struct Progression {
    /// The conditional effects of operator o are `effects[offsets[o]..offsets[o + 1]]`.
    offsets: Vec<u32>,
    effects: Vec<PackedEffect>,
    conditions: Vec<WordCondition>,
    axioms: AxiomEvaluator,
    scratch: AxiomScratch,
    values: Vec<Value>,
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
        let (mut effects, mut conditions) = (Vec::new(), Vec::new());
        let mut offsets = vec![0];
        for operator in &task.operators {
            for conditional in &operator.conditional {
                let first_condition = conditions.len() as u32;
                conditions.extend(packer.conditions(&conditional.condition));
                let last_condition = conditions.len() as u32;
                let effect = packer.effect(conditional.fact);
                effects.push(PackedEffect { first_condition, last_condition, effect });
            }
            offsets.push(effects.len() as u32);
        }
        Some(Progression {
            offsets,
            effects,
            conditions,
            axioms,
            scratch: AxiomScratch::default(),
            values: vec![0; task.variables.len()],
        })
    }

    /// Completes the successor `child` of `parent`, which has the effects of the operator that
    /// have no conditions.
    pub(super) fn complete(
        &mut self,
        op: OpId,
        packer: &StatePacker,
        parent: &[u32],
        child: &mut [u32],
    ) {
        let range = self.offsets[op.index()] as usize..self.offsets[op.index() + 1] as usize;
        for effect in &self.effects[range] {
            let range = effect.first_condition as usize..effect.last_condition as usize;
            if self.conditions[range].iter().all(|condition| condition.holds(parent)) {
                effect.effect.apply(child);
            }
        }
        if !self.axioms.is_empty() {
            packer.unpack(child, &mut self.values);
            self.axioms.evaluate(&mut self.values, &mut self.scratch);
            packer.pack(&self.values, child);
        }
    }
}
