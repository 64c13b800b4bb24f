//! The landmarks that LM-cut finds at some states, as components.

use super::{ActionLandmarks, Component};
use crate::heuristic::LmCut;
use crate::task::{OpId, Task, Value};
use crate::work::Budget;

/// How many to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CutConfig {
    /// The most of them.
    pub components: usize,
    /// The most operators of all of them together.
    pub operators: usize,
}

impl Default for CutConfig {
    fn default() -> CutConfig {
        CutConfig { components: 500, operators: 500_000 }
    }
}

/// The landmarks that LM-cut finds at these states, each once, as far as the budget goes.
///
/// There are none if the task has axioms or conditional effects.
pub fn cut_abstractions<'s>(
    task: &Task,
    states: impl IntoIterator<Item = &'s [Value]>,
    config: &CutConfig,
    budget: &mut Budget,
) -> Vec<Component> {
    let mut components: Vec<Component> = Vec::new();
    let Some(mut landmarks) = ActionLandmarks::new(task) else { return components };
    let mut lmcut = LmCut::new(task);
    let mut operators = config.operators;
    for state in states {
        let mut cuts: Vec<Vec<OpId>> = Vec::new();
        lmcut.landmarks(state, None, |cut, _| cuts.push(cut.to_vec()));
        budget.spend(lmcut.take_work());
        for cut in cuts {
            if budget.is_spent() || components.len() == config.components {
                return components;
            }
            if let Some(component) = landmarks.component(state, &cut, budget)
                && component.relevant_operators().len() <= operators
            {
                operators -= component.relevant_operators().len();
                components.push(component);
            }
        }
    }
    components
}
