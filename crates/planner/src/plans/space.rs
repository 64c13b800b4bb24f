//! Packed states and their successors, for searches that make one successor at a time.

use crate::csr::Csr;
use crate::task::{
    AxiomEvaluator, AxiomScratch, OpId, StatePacker, SuccessorGenerator, SuccessorStack, Task,
    Value, WordEffect,
};

/// The states of a task.
pub(super) struct Space<'t> {
    pub(super) task: &'t Task,
    pub(super) packer: StatePacker,
    generator: SuccessorGenerator,
    stack: SuccessorStack,
    /// By operator: its effects without conditions.
    effects: Csr<WordEffect>,
    /// Neither axioms nor conditional effects.
    is_plain: bool,
    axioms: AxiomEvaluator,
    scratch: AxiomScratch,
    before: Vec<Value>,
    after: Vec<Value>,
}

impl<'t> Space<'t> {
    /// The states of a task. Cost linear in the task.
    pub(super) fn new(task: &'t Task) -> Space<'t> {
        let packer = StatePacker::new(task);
        let mut effects = Csr::default();
        task.operators.iter().for_each(|operator| effects.push(packer.effects(operator)));
        Space {
            generator: SuccessorGenerator::new(task, &packer),
            stack: SuccessorStack::default(),
            effects,
            is_plain: task.axioms.is_empty() && task.num_conditional_effects() == 0,
            axioms: AxiomEvaluator::new(task),
            scratch: AxiomScratch::default(),
            before: vec![0; task.variables.len()],
            after: vec![0; task.variables.len()],
            packer,
            task,
        }
    }

    /// A state, packed.
    pub(super) fn pack(&self, state: &[Value]) -> Vec<u32> {
        let mut packed = vec![0; self.packer.words()];
        self.packer.pack(state, &mut packed);
        packed
    }

    /// Writes the successor of a packed state by an operator.
    pub(super) fn successor(&mut self, parent: &[u32], op: OpId, child: &mut Vec<u32>) {
        child.clear();
        child.extend_from_slice(parent);
        if self.is_plain {
            self.effects.row(op.index()).iter().for_each(|effect| effect.apply(child));
            return;
        }
        self.packer.unpack(parent, &mut self.before);
        self.after.copy_from_slice(&self.before);
        self.task.operator(op).apply(&self.before, &mut self.after);
        self.axioms.evaluate(&mut self.after, &mut self.scratch);
        self.packer.pack(&self.after, child);
    }

    /// Replaces `operators` by those that are applicable in a packed state.
    pub(super) fn applicable(&mut self, packed: &[u32], operators: &mut Vec<OpId>) {
        operators.clear();
        self.generator.applicable(packed, &mut self.stack, operators);
    }

    /// The states that operators lead through, the first one included, one after the other.
    pub(super) fn trajectory(&mut self, plan: &[OpId]) -> Trajectory {
        let width = self.task.variables.len();
        let mut values = self.task.initial.clone();
        let mut state = self.task.initial.clone();
        self.axioms.evaluate(&mut state, &mut self.scratch);
        values.copy_from_slice(&state);
        for &op in plan {
            self.before.copy_from_slice(&state);
            self.task.operator(op).apply(&self.before, &mut state);
            self.axioms.evaluate(&mut state, &mut self.scratch);
            values.extend_from_slice(&state);
        }
        Trajectory { values, width }
    }
}

/// States, one after the other.
pub(super) struct Trajectory {
    values: Vec<Value>,
    width: usize,
}

impl Trajectory {
    /// The state after so many operators.
    pub(super) fn state(&self, i: usize) -> &[Value] {
        &self.values[i * self.width..(i + 1) * self.width]
    }
}
