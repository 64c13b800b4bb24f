//! Steps to random successors.

use rand::{Rng, RngExt};

use super::{
    AxiomEvaluator, AxiomScratch, OpId, StatePacker, SuccessorGenerator, SuccessorStack, Task,
    Value,
};

/// Walks through the states of a task, one random applicable operator after the other.
#[derive(Debug)]
pub struct RandomWalk<'t> {
    task: &'t Task,
    packer: StatePacker,
    successors: SuccessorGenerator,
    stack: SuccessorStack,
    packed: Vec<u32>,
    before: Vec<Value>,
    applicable: Vec<OpId>,
    axioms: AxiomEvaluator,
    scratch: AxiomScratch,
}

impl<'t> RandomWalk<'t> {
    /// A walker for the task.
    pub fn new(task: &'t Task) -> RandomWalk<'t> {
        let packer = StatePacker::new(task);
        RandomWalk {
            task,
            successors: SuccessorGenerator::new(task, &packer),
            stack: SuccessorStack::default(),
            packed: vec![0; packer.words()],
            before: Vec::new(),
            applicable: Vec::new(),
            axioms: AxiomEvaluator::new(task),
            scratch: AxiomScratch::default(),
            packer,
        }
    }

    /// Goes to a successor of the state, each applicable operator being equally likely.
    /// `None` if no operator is applicable.
    pub fn step(&mut self, state: &mut [Value], rng: &mut impl Rng) -> Option<OpId> {
        self.packer.pack(state, &mut self.packed);
        self.applicable.clear();
        self.successors.applicable(&self.packed, &mut self.stack, &mut self.applicable);
        if self.applicable.is_empty() {
            return None;
        }
        let op = self.applicable[rng.random_range(0..self.applicable.len())];
        self.before.clear();
        self.before.extend_from_slice(state);
        self.task.operator(op).apply(&self.before, state);
        self.axioms.evaluate(state, &mut self.scratch);
        Some(op)
    }
}
