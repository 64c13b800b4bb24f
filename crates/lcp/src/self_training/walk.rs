//! States of a task met on random walks from its initial state.

use planner::abstraction::Abstractions;
use planner::task::{RandomWalk, Task, Value};
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
    let mut walk = RandomWalk::new(task);
    let mut seen = FxHashSet::default();
    let mut states = Vec::new();
    let mut add = |state: Vec<Value>, states: &mut Vec<Vec<Value>>| {
        let is_useful = !task.is_goal(&state) && !abstractions.is_dead_end(&state);
        if is_useful && seen.insert(state.clone()) {
            states.push(state);
        }
    };
    add(task.initial.clone(), &mut states);
    for _ in 0..4 * count {
        if states.len() >= count {
            break;
        }
        let mut state = task.initial.clone();
        let mut next = state.clone();
        for _ in 0..rng.random_range(0..=longest) {
            if walk.step(&mut next, rng).is_none() || abstractions.is_dead_end(&next) {
                break;
            }
            state.clone_from(&next);
        }
        add(state, &mut states);
    }
    states
}
