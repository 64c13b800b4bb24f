//! The blind heuristic: the least operator cost everywhere but in goal states.

use super::{Estimate, Heuristic};
use crate::certificate::{BoundId, Certificate, Part, View};
use crate::task::{Cost, Fact, Task, Value};

/// Knows only whether a state is a goal; consistent and admissible.
pub struct Blind {
    goal: Vec<Fact>,
    min_cost: Cost,
    /// The goal facts that are not derived, with the numbers of values and what stands in a
    /// certificate of them.
    basic: Vec<(Fact, usize, Option<BoundId>)>,
}

impl Blind {
    /// The blind heuristic of a task.
    pub fn new(task: &Task) -> Blind {
        let basic = task.goal.iter().filter(|fact| !task.is_derived(fact.var));
        let basic = basic.map(|&fact| (fact, task.variable(fact.var).domain_size(), None));
        let basic = basic.collect();
        Blind { goal: task.goal.clone(), min_cost: task.min_operator_cost(), basic }
    }
}

impl Heuristic for Blind {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        let is_goal = self.goal.iter().all(|fact| state[fact.var.index()] == fact.value);
        Estimate::AtLeast(if is_goal { 0 } else { self.min_cost })
    }

    /// The projection to a variable without its goal value: any operator leads at most to the goal.
    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let min_cost = u32::try_from(self.min_cost).ok()?;
        if Estimate::AtLeast(self.min_cost) < least {
            return None;
        }
        let open = |(fact, ..): &&mut (Fact, usize, _)| state[fact.var.index()] != fact.value;
        let (fact, size, bound) = self.basic.iter_mut().find(open)?;
        Some(*bound.get_or_insert_with(|| {
            let mut table = vec![min_cost; *size];
            table[fact.value as usize] = 0;
            let bound = certificate.new_bound();
            let part = Part { view: View::Variable(fact.var), table };
            certificate.bound(bound, 1, 1, &[part]);
            bound
        }))
    }
}
