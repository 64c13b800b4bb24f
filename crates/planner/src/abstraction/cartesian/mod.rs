//! Cartesian abstractions by counterexample-guided refinement (Seipp and Helmert 2018).
//!
//! An abstract state is a Cartesian set: any values for each variable.
//! From one set that holds everything, sets are split where a shortest abstract path does not
//! work in the task, until one does or the budget is spent.
//! There is an abstraction for each goal fact and for each landmark, a fact that every plan makes
//! true on its way.
//! That of a landmark f counts the cost until f holds; it is over in states with a fact that
//! cannot be reached before f.
//! In any other state only facts that can be reached without f hold, and from these the goal
//! cannot be reached without f: so its distance is a lower bound in every state.
//!
//! Requires a task without axioms and conditional effects; there are no abstractions otherwise.
//! Cost: the given budget, divided evenly among what is left to do.

mod graph;
mod refine;
mod sets;

use rustc_hash::FxHashMap;

use super::component::{Component, Groups, Shape};
use super::landmarks::{Landmark, fact_landmarks};
use super::restrictions::PossibleFacts;
use crate::task::{Cost, Fact, OpId, Task};
use crate::work::{Budget, SECOND, Work};
use refine::{Limits, Refinement, Subtask};
pub use sets::SplitTree;
pub(super) use sets::Weighed;

/// How much to refine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CartesianConfig {
    /// The work for all of them.
    pub work: Work,
    /// The most abstract states of all of them together.
    pub states: usize,
    /// The most transitions of all of them together.
    pub transitions: usize,
    /// Whether there is one for each landmark, too.
    pub landmarks: bool,
}

impl Default for CartesianConfig {
    fn default() -> CartesianConfig {
        CartesianConfig {
            work: 3 * SECOND / 2,
            states: 100_000,
            transitions: 2_000_000,
            landmarks: true,
        }
    }
}

/// Whether the task is one that they are made for: without axioms and conditional effects.
pub fn has_cartesian_abstractions(task: &Task) -> bool {
    task.axioms.is_empty() && task.operators.iter().all(|o| o.conditional.is_empty())
}

/// Abstractions for the goals and landmarks of a task, those without any use left out.
pub fn cartesian_abstractions(task: &Task, config: &CartesianConfig) -> Vec<Component> {
    if !has_cartesian_abstractions(task) {
        return Vec::new();
    }
    let mut budget = Budget::new(config.work);
    let costs: Vec<Cost> = task.operators.iter().map(|o| o.cost).collect();
    let possible = PossibleFacts::new(task);
    let subtasks = subtasks(task, config, &mut budget);
    let mut components = Vec::new();
    let (mut sets, mut transitions) = (config.states, config.transitions);
    for (done, subtask) in subtasks.iter().enumerate() {
        let left = subtasks.len() - done;
        let mut part = budget.part(budget.left() / left as Work);
        let limits = Limits { sets: sets / left, transitions: transitions / left };
        let mut refinement = Refinement::new(task, &costs, possible.as_ref(), subtask);
        refinement.run(limits, &mut part);
        budget.spend(part.spent());
        sets = sets.saturating_sub(refinement.len());
        transitions = transitions.saturating_sub(refinement.graph.len);
        if refinement.distance() > 0 {
            components.push(component(refinement));
        }
        if budget.is_spent() || sets == 0 || transitions == 0 {
            break;
        }
    }
    components
}

fn subtasks(task: &Task, config: &CartesianConfig, budget: &mut Budget) -> Vec<Subtask> {
    let is_open = |fact: &&Fact| task.initial[fact.var.index()] != fact.value;
    let goals = task.goal.iter().filter(is_open);
    let mut subtasks: Vec<Subtask> =
        goals.map(|&fact| Subtask { goal: vec![fact], over: Vec::new() }).collect();
    if config.landmarks {
        let mut part = budget.part(budget.left() / 4);
        let landmarks = fact_landmarks(task, &mut part);
        budget.spend(part.spent());
        let others = landmarks.into_iter().filter(|landmark| !task.goal.contains(&landmark.fact));
        subtasks.extend(
            others.map(|Landmark { fact, after }| Subtask { goal: vec![fact], over: after }),
        );
    }
    // What is left of the budget is for all goals together.
    let goal: Vec<Fact> = task.goal.clone();
    if goal.len() > 1 {
        subtasks.push(Subtask { goal, over: Vec::new() });
    }
    subtasks
}

/// What was refined, as a component: operators with the same transitions share a label.
fn component(refinement: Refinement<'_>) -> Component {
    let mut by_operator: Vec<(OpId, u32, u32)> =
        refinement.graph.transitions().map(|(from, o, to)| (o, from, to)).collect();
    by_operator.sort_unstable();
    let mut groups: Groups = Vec::new();
    let mut group_of: FxHashMap<Vec<(u32, u32)>, usize> = FxHashMap::default();
    for steps in by_operator.chunk_by(|a, b| a.0 == b.0) {
        let key: Vec<(u32, u32)> = steps.iter().map(|&(_, from, to)| (from, to)).collect();
        let group = *group_of.entry(key).or_insert_with_key(|key| {
            groups.push((key.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(steps[0].0);
    }
    let num_states = refinement.len() as u32;
    let goals = (0..num_states).filter(|&set| refinement.graph.is_goal(set)).collect();
    let subgoal = refinement.subtask.goal.clone();
    let shape = Shape::Cartesian { tree: refinement.tree, subgoal, counts: false };
    Component::from_groups(shape, num_states, goals, groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abstraction::{Distance, DistanceScratch, INFINITY};
    use crate::testing::random_task;

    #[test]
    fn distances_are_kept_up_to_date() {
        let mut compared = 0;
        for seed in 0..300 {
            let task = random_task(seed);
            let costs: Vec<Cost> = task.operators.iter().map(|o| o.cost).collect();
            let config = CartesianConfig::default();
            for subtask in subtasks(&task, &config, &mut Budget::unlimited()) {
                for sets in [3, 10, 100] {
                    let mut refinement = Refinement::new(&task, &costs, None, &subtask);
                    let limits = Limits { sets, transitions: 100_000 };
                    refinement.run(limits, &mut Budget::unlimited());
                    let kept = refinement.graph.distances.clone();
                    let component = component(refinement);
                    let costs: Vec<Distance> =
                        task.operators.iter().map(|o| o.cost as Distance).collect();
                    let mut label_costs = Vec::new();
                    component.label_costs_of_task(&costs, &mut label_costs);
                    let mut distances = vec![INFINITY; component.num_states()];
                    let scratch = &mut DistanceScratch::new();
                    component.goal_distances(&label_costs, scratch, &mut distances);
                    let kept: Vec<Distance> =
                        kept.iter().map(|&d| Distance::try_from(d).unwrap_or(INFINITY)).collect();
                    assert_eq!(kept, distances, "seed {seed}");
                    compared += usize::from(component.num_states() > 2);
                }
            }
        }
        assert!(compared > 200, "{compared}");
    }
}
