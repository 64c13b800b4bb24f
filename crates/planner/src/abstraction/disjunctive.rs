//! Disjunctive action landmarks as components: operators one of which every plan has to apply.
//!
//! Found for one state, as by LM-cut, such a set of operators holds in many: let R be the facts that
//! can be reached from that state without them if nothing is deleted.
//! In a state all of whose facts are in R the goal is not reached, and the first operator that leads
//! to a fact outside R is one of the set, for any other has only effects in R.
//! So states are of two kinds, *before* and *after*, and only these operators lead from one to the
//! other: a component like any other, to which saturation, ascent and linear programs give cost.
//!
//! Requires a task without axioms and conditional effects.

use std::collections::HashSet;

use super::cartesian::has_cartesian_abstractions;
use super::component::{Component, Shape};
use super::landmarks::Relaxation;
use crate::task::{Fact, OpId, Task, Value, VarId};
use crate::work::{self, Budget, Work};

/// Makes components of disjunctive action landmarks, each once.
pub struct ActionLandmarks<'t> {
    task: &'t Task,
    relaxation: Relaxation<'t>,
    known: HashSet<Vec<bool>>,
}

impl<'t> ActionLandmarks<'t> {
    /// Prepares a task; there are none if it has axioms or conditional effects.
    pub fn new(task: &'t Task) -> Option<ActionLandmarks<'t>> {
        let relaxation = has_cartesian_abstractions(task).then(|| Relaxation::new(task))?;
        Some(ActionLandmarks { task, relaxation, known: HashSet::new() })
    }

    /// The component of operators one of which is in every plan from a state, in any order.
    ///
    /// None if it is known already, or if there is a plan without them when nothing is deleted.
    pub fn component(
        &mut self,
        state: &[Value],
        operators: &[OpId],
        budget: &mut Budget,
    ) -> Option<Component> {
        let facts = state.iter().enumerate();
        let start = facts.map(|(var, &value)| Fact::new(VarId::from(var), value)).collect();
        let mut avoided = vec![false; self.task.operators.len()];
        operators.iter().for_each(|o| avoided[o.index()] = true);
        budget.spend(work::PAIR * avoided.len() as Work);
        let reached = self.relaxation.reached_without(|o| avoided[o.index()], start, budget);
        let is_reached = |fact: Fact| reached[self.relaxation.numbers.of(fact)];
        if self.task.goal.iter().all(|&fact| is_reached(fact)) {
            return None;
        }
        let outside = self.relaxation.numbers.facts().filter(|&fact| !is_reached(fact)).collect();
        let leads_outside = |o: &OpId| {
            let operator = self.task.operator(*o);
            operator.pre.iter().all(|&fact| is_reached(fact))
                && operator.eff.iter().any(|&fact| !is_reached(fact))
        };
        let mut operators: Vec<OpId> = operators.iter().copied().filter(leads_outside).collect();
        operators.sort_unstable();
        operators.dedup();
        if !self.known.insert(reached) {
            return None;
        }
        let groups = vec![(vec![(BEFORE, AFTER)], operators)];
        Some(Component::from_groups(Shape::Landmark(outside), 2, vec![AFTER], groups))
    }
}

/// The abstract state of states with a fact outside, and that of others.
const AFTER: u32 = 0;
const BEFORE: u32 = 1;
