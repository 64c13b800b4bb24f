//! Action elimination (Nakhost, Müller 2010): operators that a plan does not need.

use crate::task::{AxiomEvaluator, AxiomScratch, OpId, Task, Value};
use crate::work::Work;

/// What applying an operator takes.
const STEP: Work = 15;

/// Drops each operator, with those that depend on it, if the goal is reached all the same.
///
/// Cost: quadratic in the length of the plan.
pub(super) fn eliminate(task: &Task, plan: &[OpId], work: &mut Work) -> Vec<OpId> {
    let axioms = AxiomEvaluator::new(task);
    let mut scratch = AxiomScratch::default();
    let mut plan = plan.to_vec();
    let mut before: Vec<Value> = vec![0; task.variables.len()];
    let mut apply = |op: OpId, state: &mut Vec<Value>| {
        let operator = task.operator(op);
        if !operator.conditional.is_empty() {
            before.copy_from_slice(state);
        }
        operator.apply(&before, state);
        axioms.evaluate(state, &mut scratch);
    };
    let mut prefix = task.initial.clone();
    axioms.evaluate(&mut prefix, &mut AxiomScratch::default());
    let mut i = 0;
    while i < plan.len() {
        let mut state = prefix.clone();
        let mut rest = Vec::new();
        for &op in &plan[i + 1..] {
            if task.operator(op).is_applicable(&state) {
                apply(op, &mut state);
                rest.push(op);
            }
        }
        *work += (plan.len() - i) as Work * STEP + task.variables.len() as Work;
        if task.is_goal(&state) {
            plan.truncate(i);
            plan.extend(rest);
        } else {
            apply(plan[i], &mut prefix);
            i += 1;
        }
    }
    plan
}
