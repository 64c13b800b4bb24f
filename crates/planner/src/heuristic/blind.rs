//! The blind heuristic: the least operator cost everywhere but in goal states.

use super::{Estimate, Heuristic};
use crate::task::{Cost, Task, Value};

/// Knows only whether a state is a goal; consistent and admissible.
pub struct Blind<'t> {
    task: &'t Task,
    min_cost: Cost,
}

impl<'t> Blind<'t> {
    /// The blind heuristic of a task.
    pub fn new(task: &'t Task) -> Blind<'t> {
        Blind { task, min_cost: task.min_operator_cost() }
    }
}

impl Heuristic for Blind<'_> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        Estimate::AtLeast(if self.task.is_goal(state) { 0 } else { self.min_cost })
    }
}
