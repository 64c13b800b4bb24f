//! The plan through a state in which both sides have met.
//!
//! Backwards from that state, each predecessor is one of a closed layer: a positive cost leads to
//! an earlier layer, no cost to an earlier part of the same layer. Towards the goal, successors are
//! tried one by one.
//! Cost: per step of the plan, preimages of one state and a pass over the operators.

use bdd::{Bdd, Cap, Halt};

use super::search::{Meeting, Search, Side};
use super::space::Space;
use crate::plan::Plan;
use crate::task::{AxiomEvaluator, AxiomScratch, OpId, Task, Value};

/// The plan; `None` if layers and operators do not fit together, which no input can bring about.
pub(super) fn plan_through(
    meeting: &Meeting,
    search: &Search,
    space: &mut Space,
) -> Result<Option<Plan>, Halt> {
    let mut axioms = Successors::new(space.task);
    let Some(mut operators) = prefix(meeting, search, space, &mut axioms)? else { return Ok(None) };
    let Some(suffix) = suffix(meeting, &search.sides[1], space, &mut axioms) else {
        return Ok(None);
    };
    operators.extend(suffix);
    let plan = Plan { operators, cost: meeting.cost() };
    Ok(Some(plan).filter(|plan| plan.check(space.task).is_ok()))
}

/// Where a state is within its layer; `None` if it is not closed.
fn depth(layers: Option<&Vec<Bdd>>, bits: &[bool], space: &Space) -> Option<usize> {
    layers?.iter().position(|closed| space.contains(closed, bits))
}

/// The operators from the initial state to the one that was met.
fn prefix(
    meeting: &Meeting,
    search: &Search,
    space: &mut Space,
    successors: &mut Successors,
) -> Result<Option<Vec<OpId>>, Halt> {
    let closed = &search.sides[0].closed;
    let (mut state, mut g) = (meeting.state.clone(), meeting.distances[0]);
    let mut at = depth(closed.get(&g), &space.encoding.encode(&state), space);
    let mut operators = Vec::new();
    while g > 0 || state != space.task.initial {
        let here = space.state(&state, Cap::NONE)?;
        let mut before = None;
        for (cost, relation) in search.relations.iter().filter(|(cost, _)| *cost <= g) {
            let earlier = closed.get(&(g - cost)).map_or(&[][..], |layers| match (*cost, at) {
                (0, Some(depth)) => &layers[..depth],
                _ => layers,
            });
            // A state that begins its layer was not reached without cost.
            if earlier.is_empty() {
                continue;
            }
            let from = space.kernel.preimage(
                &here,
                &relation.transitions,
                &relation.written,
                Cap::NONE,
            )?;
            for (depth, layer) in earlier.iter().enumerate() {
                let from = space.kernel.and(&from, layer, Cap::NONE)?;
                if let Some(predecessor) = space.some_state(&from) {
                    before = Some((predecessor, *cost, depth));
                    break;
                }
            }
            if before.is_some() {
                break;
            }
        }
        let Some((predecessor, cost, depth)) = before else { return Ok(None) };
        let leads_here = |op: &OpId| {
            space.task.operator(*op).cost == cost
                && successors.of(&predecessor, *op).is_some_and(|after| after == state)
        };
        let Some(op) = space.task.operator_ids().find(leads_here) else { return Ok(None) };
        operators.push(op);
        (state, g, at) = (predecessor, g - cost, Some(depth));
    }
    operators.reverse();
    Ok(Some(operators))
}

/// The operators from the state that was met to the goal.
fn suffix(
    meeting: &Meeting,
    side: &Side,
    space: &Space,
    successors: &mut Successors,
) -> Option<Vec<OpId>> {
    let closed = &side.closed;
    let (mut state, mut g) = (meeting.state.clone(), meeting.distances[1]);
    let mut at = depth(closed.get(&g), &space.encoding.encode(&state), space);
    let mut operators = Vec::new();
    while g > 0 || !space.task.is_goal(&state) {
        let mut after = None;
        for op in space.task.operator_ids() {
            let cost = space.task.operator(op).cost;
            let Some(later) = g.checked_sub(cost).and_then(|rest| closed.get(&rest)) else {
                continue;
            };
            let later = match (cost, at) {
                (0, Some(depth)) => &later[..depth],
                _ => later,
            };
            if later.is_empty() {
                continue;
            }
            let Some(successor) = successors.of(&state, op) else { continue };
            let bits = space.encoding.encode(&successor);
            if let Some(depth) = later.iter().position(|layer| space.contains(layer, &bits)) {
                after = Some((op, successor, g - cost, depth));
                break;
            }
        }
        let (op, successor, rest, depth) = after?;
        operators.push(op);
        (state, g, at) = (successor, rest, Some(depth));
    }
    Some(operators)
}

/// Successors of single states.
struct Successors<'a> {
    task: &'a Task,
    axioms: AxiomEvaluator,
    scratch: AxiomScratch,
}

impl<'a> Successors<'a> {
    fn new(task: &'a Task) -> Successors<'a> {
        Successors { task, axioms: AxiomEvaluator::new(task), scratch: AxiomScratch::default() }
    }

    /// The state that an operator leads to, if it is applicable.
    fn of(&mut self, state: &[Value], op: OpId) -> Option<Vec<Value>> {
        let operator = self.task.operator(op);
        if !operator.is_applicable(state) {
            return None;
        }
        let mut after = state.to_vec();
        operator.apply(state, &mut after);
        self.axioms.evaluate(&mut after, &mut self.scratch);
        Some(after)
    }
}
