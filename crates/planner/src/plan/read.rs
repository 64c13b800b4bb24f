//! Plan files as plans of the finite-domain task.

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::validate::PlanText;
use super::{CheckError, InvalidPlan, Plan};
use crate::task::{OpId, Task};

/// Why a plan file holds no plan of a finite-domain task.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReadError {
    /// The file is malformed.
    #[error(transparent)]
    Syntax(InvalidPlan),
    /// Its operators are no plan.
    #[error(transparent)]
    NoPlan(CheckError),
}

impl Plan {
    /// Reads a plan file: its steps are operators by their names, in upper or lower case.
    ///
    /// Names of no operator are left out and returned: translation removes actions that change
    /// nothing of what matters. What is left is a plan, or an error.
    pub fn read(task: &Task, text: &str) -> Result<(Plan, Vec<String>), ReadError> {
        let text = PlanText::parse(text).map_err(ReadError::Syntax)?;
        let mut by_name: FxHashMap<String, Vec<OpId>> = FxHashMap::default();
        for op in task.operator_ids() {
            by_name.entry(task.operator_name(op).to_lowercase()).or_default().push(op);
        }
        let (mut plan, mut unknown) = (Plan::default(), Vec::new());
        let mut state = task.initial.clone();
        for step in text.steps {
            let name = step.words.join(" ");
            let Some(same_name) = by_name.get(&name) else {
                unknown.push(name);
                continue;
            };
            // A translator may split an action into several operators.
            let applicable = |op: &&OpId| {
                let pre = task.operator(**op).pre.iter();
                pre.clone().all(|fact| state[fact.var.index()] == fact.value)
            };
            let op = *same_name.iter().find(applicable).unwrap_or(&same_name[0]);
            let before = state.clone();
            task.operator(op).apply(&before, &mut state);
            task.evaluate_axioms(&mut state);
            plan.operators.push(op);
            plan.cost = plan.cost.saturating_add(task.operator(op).cost);
        }
        plan.check(task).map_err(ReadError::NoPlan)?;
        Ok((plan, unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{StateSpace, random_task};

    #[test]
    fn what_is_written_is_read_again() {
        let mut plans = 0;
        for seed in 0..100 {
            let task = random_task(seed);
            let space = StateSpace::new(&task);
            let initial = space.states.iter().position(|state| *state == task.initial);
            if space.distances[initial.expect("a state")].is_none() {
                continue;
            }
            let mut blind = crate::heuristic::Blind::new(&task);
            let found = crate::search::astar(&task, &mut blind, crate::search::Config::default());
            let crate::search::Outcome::Solved(plan) = found.outcome else { panic!("no plan") };
            let text = plan.to_text(&task).to_uppercase() + "(step of nothing)\n";
            let (read, unknown) = Plan::read(&task, &text).expect("a plan");
            assert_eq!((&read, &unknown[..]), (&plan, &["step of nothing".to_string()][..]));
            plans += usize::from(!plan.operators.is_empty());
            let without_end = plan
                .to_text(&task)
                .lines()
                .take(plan.operators.len().saturating_sub(1))
                .collect::<Vec<_>>()
                .join("\n");
            if !plan.operators.is_empty() {
                assert!(matches!(Plan::read(&task, &without_end), Err(ReadError::NoPlan(_))));
            }
        }
        assert!(plans > 20, "{plans}");
        assert!(matches!(Plan::read(&random_task(0), "(a"), Err(ReadError::Syntax(_))));
    }
}
