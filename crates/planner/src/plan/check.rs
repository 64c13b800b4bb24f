//! Execution of a plan on the finite-domain task, fact by fact.
//!
//! Shares nothing with packed states, the successor generator or the search.

use thiserror::Error;

use super::Plan;
use crate::task::{Cost, Fact, Task, Value};

/// Why a sequence of operators is not a plan of the stated cost.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CheckError {
    /// There is no such operator.
    #[error("step {step}: the task has no operator with index {operator}")]
    NoSuchOperator {
        /// One-based.
        step: usize,
        /// The index of the operator.
        operator: u32,
    },
    /// A precondition does not hold.
    #[error("step {step}, ({operator}): `{fact}` does not hold")]
    NotApplicable {
        /// One-based.
        step: usize,
        /// The operator's name.
        operator: String,
        /// The precondition.
        fact: String,
    },
    /// A goal does not hold at the end.
    #[error("after the last step the goal `{fact}` does not hold")]
    GoalNotReached {
        /// The goal fact.
        fact: String,
    },
    /// The costs do not add up.
    #[error("the plan costs {actual}, not {claimed}")]
    WrongCost {
        /// What the plan says.
        claimed: Cost,
        /// The sum of its operators' costs.
        actual: u128,
    },
}

impl Plan {
    /// Executes the plan from the initial state; checks preconditions, goal and cost.
    pub fn check(&self, task: &Task) -> Result<(), CheckError> {
        let mut state = task.initial.clone();
        derive(task, &mut state);
        let broken = |facts: &[Fact], state: &[Value]| {
            let fact = facts.iter().find(|fact| state[fact.var.index()] != fact.value)?;
            Some(task.fact_name(*fact))
        };
        let mut cost = 0u128;
        for (i, &op) in self.operators.iter().enumerate() {
            let step = i + 1;
            let operator = task
                .operators
                .get(op.index())
                .ok_or(CheckError::NoSuchOperator { step, operator: op.0 })?;
            if let Some(fact) = broken(&operator.pre, &state) {
                let operator = task.operator_name(op);
                return Err(CheckError::NotApplicable { step, operator, fact });
            }
            let holds = |fact: &Fact| state[fact.var.index()] == fact.value;
            let happens = operator.conditional.iter().filter(|e| e.condition.iter().all(holds));
            let changes: Vec<Fact> =
                operator.eff.iter().copied().chain(happens.map(|e| e.fact)).collect();
            for fact in changes {
                state[fact.var.index()] = fact.value;
            }
            derive(task, &mut state);
            cost += u128::from(operator.cost);
        }
        if let Some(fact) = broken(&task.goal, &state) {
            return Err(CheckError::GoalNotReached { fact });
        }
        if cost != self.cost.into() {
            return Err(CheckError::WrongCost { claimed: self.cost, actual: cost });
        }
        Ok(())
    }
}

/// Gives derived variables their values: layer by layer, until no axiom changes anything.
fn derive(task: &Task, state: &mut [Value]) {
    let mut layers = Vec::new();
    for (value, variable) in state.iter_mut().zip(&task.variables) {
        if let Some(derivation) = variable.derived {
            *value = derivation.default;
            layers.push(derivation.layer);
        }
    }
    layers.sort_unstable();
    layers.dedup();
    for layer in layers {
        let mut changed = true;
        while changed {
            changed = false;
            for axiom in &task.axioms {
                let var = axiom.head.var.index();
                if task.variables[var].derived.is_some_and(|d| d.layer == layer)
                    && state[var] != axiom.head.value
                    && axiom.condition.iter().all(|f| state[f.var.index()] == f.value)
                {
                    state[var] = axiom.head.value;
                    changed = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristic::Blind;
    use crate::search::{Config, Outcome, astar};
    use crate::task::OpId;
    use crate::testing::random_task;

    /// Every way to break an optimal plan is noticed.
    #[test]
    fn broken_plans_are_refused() {
        let mut broken = 0;
        for seed in 0..200 {
            let task = random_task(seed);
            let result = astar(&task, &mut Blind::new(&task), Config::default());
            let Outcome::Solved(plan) = result.outcome else { continue };
            assert_eq!(plan.check(&task), Ok(()));
            if plan.operators.is_empty() || plan.cost == 0 {
                continue;
            }
            broken += 1;
            let mut short = plan.clone();
            short.operators.pop();
            assert!(short.check(&task).is_err());
            let cheap = Plan { cost: plan.cost - 1, ..plan.clone() };
            assert!(matches!(cheap.check(&task), Err(CheckError::WrongCost { .. })));
            let mut unknown = plan.clone();
            unknown.operators[0] = OpId(9999);
            assert!(matches!(unknown.check(&task), Err(CheckError::NoSuchOperator { .. })));
        }
        assert!(broken > 50);
    }
}
