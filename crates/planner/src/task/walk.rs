//! Random walks, and the states where they end.

use rand::{Rng, RngExt};

use super::{Expander, ExpanderScratch, OpId, Task, Value};

/// What becomes of a walk that meets a dead end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtDeadEnd {
    /// It goes on from the initial state.
    BeginAgain,
    /// It ends in the state before.
    End,
}

/// Walks through the states of a task, one random applicable operator after the other.
#[derive(Debug)]
pub struct RandomWalk<'t> {
    task: &'t Task,
    expander: Expander,
    scratch: ExpanderScratch,
    before: Vec<Value>,
}

impl<'t> RandomWalk<'t> {
    /// A walker for the task.
    pub fn new(task: &'t Task) -> RandomWalk<'t> {
        let (expander, scratch) = (Expander::new(task), ExpanderScratch::default());
        RandomWalk { task, expander, scratch, before: Vec::new() }
    }

    /// Goes to a successor of the state, each applicable operator being equally likely.
    /// `None` if no operator is applicable.
    pub fn step(&mut self, state: &mut [Value], rng: &mut impl Rng) -> Option<OpId> {
        let applicable = self.expander.applicable(state, &mut self.scratch);
        if applicable.is_empty() {
            return None;
        }
        let op = applicable[rng.random_range(0..applicable.len())];
        self.before.clear();
        self.before.extend_from_slice(state);
        self.expander.apply(self.task, &self.before, op, state, &mut self.scratch);
        Some(op)
    }

    /// The state after so many random steps from the initial one, fewer where no operator is
    /// applicable.
    pub fn end(
        &mut self,
        steps: usize,
        is_dead_end: impl Fn(&[Value]) -> bool,
        at_dead_end: AtDeadEnd,
        rng: &mut impl Rng,
    ) -> Vec<Value> {
        let mut state = self.task.initial.clone();
        let mut next = state.clone();
        for _ in 0..steps {
            if self.step(&mut next, rng).is_none() {
                break;
            }
            if is_dead_end(&next) {
                match at_dead_end {
                    AtDeadEnd::BeginAgain => next.clone_from(&self.task.initial),
                    AtDeadEnd::End => break,
                }
            }
            state.clone_from(&next);
        }
        state
    }
}
