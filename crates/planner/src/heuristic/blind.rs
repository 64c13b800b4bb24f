//! The blind heuristic: the least operator cost everywhere but in goal states.

use super::{Estimate, Heuristic};
use crate::task::{Cost, Fact, Task, Value};

/// Knows only whether a state is a goal; consistent and admissible.
pub struct Blind {
    goal: Vec<Fact>,
    min_cost: Cost,
}

impl Blind {
    /// The blind heuristic of a task.
    pub fn new(task: &Task) -> Blind {
        Blind { goal: task.goal.clone(), min_cost: task.min_operator_cost() }
    }
}

impl Heuristic for Blind {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        let is_goal = self.goal.iter().all(|fact| state[fact.var.index()] == fact.value);
        Estimate::AtLeast(if is_goal { 0 } else { self.min_cost })
    }
}
