//! Exact goal distances by listing everything that can be reached: for small tasks, and as the
//! truth that bounds are held to.
//!
//! Lists the states that can be reached from the given ones, then runs Dijkstra's algorithm from the
//! goals backwards along the transitions found.
//! Uses no heuristic and no abstraction.
//! Cost: O(t log t) for t transitions; a transition takes 20 bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::limits::Stop;
use super::registry::{StateId, StateRegistry, hash_words};
use crate::csr::Csr;
use crate::task::{Cost, Expander, ExpanderScratch, OpId, Task, Value};

/// The cost of a cheapest plan from each of these states, `None` where there is no plan.
///
/// Stops, out of memory, when more than `most` states can be reached from them or more than 2³¹
/// transitions are found, and soon after `interrupt` says so.
pub fn exact_distances<S: AsRef<[Value]>>(
    task: &Task,
    states: &[S],
    most: usize,
    interrupt: &dyn Fn() -> bool,
) -> Result<Vec<Option<Cost>>, Stop> {
    // By target: source and cost.
    let mut transitions: Vec<(u32, (u32, Cost))> = Vec::new();
    let mut note = |from: u32, op: OpId, to: u32| {
        transitions.push((to, (from, task.operator(op).cost)));
        if transitions.len() == 1 << 31 { Err(Stop::OutOfMemory) } else { Ok(()) }
    };
    let Reached { registry, asked, goals, .. } = explore(task, states, most, interrupt, &mut note)?;

    let entering = transitions.iter().map(|&(to, arc)| (to as usize, arc));
    let entering = Csr::sorted(registry.len(), entering);
    drop(transitions);
    let mut distances = vec![None; registry.len()];
    goals.iter().for_each(|&goal| distances[goal as usize] = Some(0));
    let mut queue: BinaryHeap<Reverse<(Cost, u32)>> =
        goals.into_iter().map(|goal| Reverse((0, goal))).collect();
    let mut settled = 0u32;
    while let Some(Reverse((d, to))) = queue.pop() {
        settled = settled.wrapping_add(1);
        if settled.is_multiple_of(1024) && interrupt() {
            return Err(Stop::Interrupted);
        }
        if distances[to as usize] != Some(d) {
            continue; // Reached on a shorter way since.
        }
        for &(from, cost) in entering.row(to as usize) {
            let through = d + cost;
            if distances[from as usize].is_none_or(|d| through < d) {
                distances[from as usize] = Some(through);
                queue.push(Reverse((through, from)));
            }
        }
    }
    Ok(asked.into_iter().map(|id| distances[id as usize]).collect())
}

/// The states that can be reached from these, in the order of breadth-first search, and themselves.
///
/// Stops as [`exact_distances`] does, but for the number of transitions.
pub fn reachable_states<S: AsRef<[Value]>>(
    task: &Task,
    states: &[S],
    most: usize,
    interrupt: &dyn Fn() -> bool,
) -> Result<Vec<Vec<Value>>, Stop> {
    let reached = explore(task, states, most, interrupt, &mut |_, _, _| Ok(()))?;
    let unpack = |id: usize| {
        let mut state = vec![0; task.variables.len()];
        reached.expander.packer().unpack(reached.registry.state(StateId(id as u32)), &mut state);
        state
    };
    Ok((0..reached.registry.len()).map(unpack).collect())
}

/// What can be reached from some states.
struct Reached {
    expander: Expander,
    registry: StateRegistry,
    /// The ids of the given states.
    asked: Vec<u32>,
    /// The ids of the goal states.
    goals: Vec<u32>,
}

/// Lists what can be reached; tells every transition.
fn explore<S: AsRef<[Value]>>(
    task: &Task,
    states: &[S],
    most: usize,
    interrupt: &dyn Fn() -> bool,
    transition: &mut dyn FnMut(u32, OpId, u32) -> Result<(), Stop>,
) -> Result<Reached, Stop> {
    let expander = Expander::new(task);
    let packer = expander.packer();
    let mut registry = StateRegistry::new(packer.words(), packer.key_words());
    let mut packed = vec![0; packer.words()];
    let mut add = |registry: &mut StateRegistry, state: &[Value]| {
        packer.pack(state, &mut packed);
        let found = registry.insert(hash_words(&packed[..packer.key_words()]), &packed);
        let (id, is_new) = found.ok_or(Stop::OutOfMemory)?;
        if is_new && registry.len() > most { Err(Stop::OutOfMemory) } else { Ok(id.0) }
    };
    let add_given = |state: &S| add(&mut registry, state.as_ref());
    let asked: Vec<u32> = states.iter().map(add_given).collect::<Result<_, Stop>>()?;

    let mut goals = Vec::new();
    let scratch = &mut ExpanderScratch::default();
    let mut state = vec![0; task.variables.len()];
    let mut successor = state.clone();
    let mut from = 0u32;
    while (from as usize) < registry.len() {
        if from.is_multiple_of(1024) && interrupt() {
            return Err(Stop::Interrupted);
        }
        packer.unpack(registry.state(StateId(from)), &mut state);
        if task.is_goal(&state) {
            goals.push(from);
        }
        let applicable = expander.applicable(&state, scratch).to_vec();
        for op in applicable {
            expander.apply(task, &state, op, &mut successor, scratch);
            let to = add(&mut registry, &successor)?;
            transition(from, op, to)?;
        }
        from += 1;
    }
    Ok(Reached { expander, registry, asked, goals })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{StateSpace, random_adl_task, random_task};

    /// Against Bellman-Ford on all assignments; the states of a task with axioms, too.
    #[test]
    fn distances_are_those_of_the_state_space() {
        let plain = (0..300).map(random_task);
        let mut compared = 0;
        for (seed, task) in plain.chain((0..40).map(random_adl_task)).enumerate() {
            let size: usize = task.variables.iter().map(|v| v.domain_size()).product();
            if size > 20_000 {
                continue;
            }
            let space = StateSpace::new(&task);
            let found = exact_distances(&task, &space.states, usize::MAX, &|| false).unwrap();
            assert_eq!(found, space.distances, "task {seed}");
            let reached = reachable_states(&task, &[&task.initial], usize::MAX, &|| false).unwrap();
            assert_eq!(reached[0], task.initial, "task {seed}");
            let mut expected: Vec<&[Value]> = space.reachable().map(|(state, _)| state).collect();
            let mut reached: Vec<&[Value]> = reached.iter().map(|state| &state[..]).collect();
            expected.sort_unstable();
            reached.sort_unstable();
            assert_eq!(reached, expected, "task {seed}");
            compared += found.iter().flatten().filter(|&&d| d > 0).count();
        }
        assert!(compared > 1000, "{compared}");
    }

    #[test]
    fn it_stops_at_the_limit_and_when_asked() {
        let task = random_task(1);
        let states = StateSpace::new(&task).states;
        let few = exact_distances(&task, &states, states.len() - 1, &|| false);
        assert_eq!(few, Err(Stop::OutOfMemory));
        assert!(exact_distances(&task, &states, states.len(), &|| false).is_ok());
        let all = exact_distances(&task, &states, usize::MAX, &|| true);
        assert_eq!(all, Err(Stop::Interrupted));
    }
}
