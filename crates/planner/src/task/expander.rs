//! The successors of single states, given as values: for walks, for lists of all states, and for
//! programs that hold states of their own. A search has its own, on packed states.

use super::{
    AxiomEvaluator, AxiomScratch, OpId, StatePacker, SuccessorGenerator, SuccessorStack, Task,
    Value,
};

/// Applies the operators of a task to states.
#[derive(Clone, Debug)]
pub struct Expander {
    packer: StatePacker,
    successors: SuccessorGenerator,
    axioms: AxiomEvaluator,
}

/// Reusable memory of an [`Expander`].
#[derive(Default, Debug)]
pub struct ExpanderScratch {
    stack: SuccessorStack,
    packed: Vec<u32>,
    applicable: Vec<OpId>,
    axioms: AxiomScratch,
}

impl Expander {
    /// An expander of the task, which every call must be about.
    pub fn new(task: &Task) -> Expander {
        let packer = StatePacker::new(task);
        let successors = SuccessorGenerator::new(task, &packer);
        Expander { successors, packer, axioms: AxiomEvaluator::new(task) }
    }

    /// How states are packed.
    pub fn packer(&self) -> &StatePacker {
        &self.packer
    }

    /// The operators that are applicable in a state, in the order of a search.
    pub fn applicable<'s>(&self, state: &[Value], scratch: &'s mut ExpanderScratch) -> &'s [OpId] {
        let ExpanderScratch { stack, packed, applicable, .. } = scratch;
        packed.resize(self.packer.words(), 0);
        self.packer.pack(state, packed);
        applicable.clear();
        self.successors.applicable(packed, stack, applicable);
        applicable
    }

    /// Writes the state that an operator leads to.
    pub fn apply(
        &self,
        task: &Task,
        before: &[Value],
        op: OpId,
        after: &mut [Value],
        scratch: &mut ExpanderScratch,
    ) {
        after.copy_from_slice(before);
        task.operator(op).apply(before, after);
        self.derive(after, scratch);
    }

    /// Gives the derived variables of a state the values that follow from the others.
    pub fn derive(&self, state: &mut [Value], scratch: &mut ExpanderScratch) {
        if !self.axioms.is_empty() {
            self.axioms.evaluate(state, &mut scratch.axioms);
        }
    }
}
