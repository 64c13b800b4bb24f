//! States of a task met on random walks from its initial state.

use planner::abstraction::Abstractions;
use planner::task::{OpId, StatePacker, SuccessorGenerator, SuccessorStack, Task, Value};
use rand::{Rng, RngExt};
use rustc_hash::FxHashSet;

/// Up to `count` distinct states that are neither goals nor recognised dead ends, the initial
/// state first.
///
/// Each walk has a length drawn uniformly up to `longest` and yields its last state; a walk ends
/// early where nothing is applicable or at a dead end.
pub fn random_walk_states(
    task: &Task,
    abstractions: &Abstractions,
    count: usize,
    longest: usize,
    rng: &mut impl Rng,
) -> Vec<Vec<Value>> {
    let packer = StatePacker::new(task);
    let successors = SuccessorGenerator::new(task, &packer);
    let mut stack = SuccessorStack::default();
    let mut packed = vec![0; packer.words()];
    let mut applicable: Vec<OpId> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut states = Vec::new();
    let is_useful = |state: &[Value]| !task.is_goal(state) && !abstractions.is_dead_end(state);
    if is_useful(&task.initial) {
        seen.insert(task.initial.clone());
        states.push(task.initial.clone());
    }
    for _ in 0..4 * count {
        if states.len() >= count {
            break;
        }
        let mut state = task.initial.clone();
        for _ in 0..rng.random_range(0..=longest) {
            packer.pack(&state, &mut packed);
            applicable.clear();
            successors.applicable(&packed, &mut stack, &mut applicable);
            if applicable.is_empty() {
                break;
            }
            let op = applicable[rng.random_range(0..applicable.len())];
            let next = task.successor(&state, op);
            if abstractions.is_dead_end(&next) {
                break;
            }
            state = next;
        }
        if is_useful(&state) && seen.insert(state.clone()) {
            states.push(state);
        }
    }
    states
}
