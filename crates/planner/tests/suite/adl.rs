//! Random ADL tasks, with conditional effects and axioms: projections hold every transition, every
//! heuristic is admissible in every state, and A* finds the optimum with each.

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Blind, Estimate, EveryState, HMax, Heuristic, LmCut, Maximum};
use planner::heuristic::{Stored, StoredConfig};
use planner::partition::{
    Ascent, AscentConfig, Ocp, Saturated, StepRule, Uniform, ZeroOneConfig, zero_one_partitionings,
};
use planner::search::{Config, Outcome, astar};
use planner::task::{Task, Variable};
use planner::testing::{StateSpace, random_adl_task};
use planner::translate::sas;

/// Larger state spaces take too long.
const MAX_STATES: usize = 600;

fn num_states(task: &Task) -> usize {
    let given = task.variables.iter().filter(|v| v.derived.is_none());
    given.map(Variable::domain_size).fold(1, usize::saturating_mul)
}

fn heuristics(task: &Task, size: usize) -> Vec<(&'static str, Box<dyn Heuristic>)> {
    let patterns = interesting_patterns(task, size, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let config = ZeroOneConfig { samples: 5, patience: 2, ..ZeroOneConfig::default() };
    let zero_one = zero_one_partitionings(task, &abstractions, &config);
    let saturated = Saturated::new(&abstractions);
    let ascent = Ascent::new(&abstractions, AscentConfig::stored(StepRule::PLAIN));
    vec![
        ("blind", Box::new(Blind::new(task))),
        ("hmax", Box::new(HMax::new(task))),
        ("lmcut", Box::new(LmCut::new(task))),
        ("uniform", Box::new(EveryState::new(Uniform::new(&abstractions)))),
        ("gzocp", Box::new(Maximum::new(abstractions.clone(), &zero_one))),
        ("scp", Box::new(EveryState::new(saturated.clone()))),
        ("ocp", Box::new(EveryState::new(Ocp::new(&abstractions)))),
        ("ascent", Box::new(EveryState::new(ascent))),
        ("stored", Box::new(Stored::new(saturated, StoredConfig::default()))),
    ]
}

/// Every transition of the task has its image in every projection.
fn check_projections(seed: u64, task: &Task, space: &StateSpace) {
    let patterns = interesting_patterns(task, 3, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    for projection in abstractions.components() {
        let transitions: std::collections::HashSet<_> = projection.transitions().collect();
        for state in &space.states {
            let from = projection.abstract_state(state);
            for op in task.operator_ids().filter(|&op| task.operator(op).is_applicable(state)) {
                let to = projection.abstract_state(&task.successor(state, op));
                let has = |label| {
                    projection.label_operators(label).contains(&op)
                        && transitions.contains(&(from, label, to))
                };
                assert!(from == to || projection.labels().any(has), "seed {seed}");
            }
        }
    }
}

/// Checks a task; says whether it has plans, conditional effects and axioms.
fn check(seed: u64) -> Option<[bool; 3]> {
    let task = random_adl_task(seed);
    let text = sas::write(&task);
    let read = sas::read(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!(sas::write(&read), text, "seed {seed}");
    assert_eq!((&read.axioms, &read.initial), (&task.axioms, &task.initial), "seed {seed}");
    if num_states(&task) > MAX_STATES {
        return None;
    }
    let space = StateSpace::new(&task);
    let initial = space.states.iter().position(|s| *s == task.initial).expect("a state");
    let optimum = space.distances[initial];
    check_projections(seed, &task, &space);
    for (name, mut heuristic) in heuristics(&task, 2 + seed as usize % 2) {
        for (state, h_star) in space.states.iter().zip(&space.distances) {
            let admissible = match heuristic.evaluate(state) {
                Estimate::AtLeast(h) => h_star.is_none_or(|h_star| h <= h_star),
                Estimate::DeadEnd => h_star.is_none(),
            };
            assert!(admissible, "{name}, seed {seed}, state {state:?}, h* {h_star:?}");
        }
    }
    for (name, mut heuristic) in heuristics(&task, 2) {
        let cost = match astar(&task, &mut *heuristic, Config::default()).outcome {
            Outcome::Solved(plan) => {
                assert_eq!(plan.check(&task), Ok(()), "{name}, seed {seed}");
                Some(plan.cost)
            }
            Outcome::Unsolvable => None,
            Outcome::Bounded(_) | Outcome::Stopped(_) => unreachable!("there is no limit"),
        };
        assert_eq!(cost, optimum, "{name}, seed {seed}");
    }
    let solvable = optimum.is_some_and(|cost| cost > 0);
    Some([solvable, task.num_conditional_effects() > 0, !task.axioms.is_empty()])
}

fn check_all(seeds: std::ops::Range<u64>) -> [usize; 4] {
    let mut counts = [0; 4];
    for traits in seeds.filter_map(check) {
        counts[0] += 1;
        traits.iter().zip(&mut counts[1..]).for_each(|(&has, count)| *count += usize::from(has));
    }
    counts
}

#[test]
fn heuristics_are_admissible_on_adl_tasks() {
    let [checked, solvable, conditional, axioms] = check_all(0..150);
    let counts = format!("{checked} tasks, {solvable} {conditional} {axioms}");
    assert!(checked > 100 && solvable > 10 && conditional > 10 && axioms > 10, "{counts}");
}

/// The slow lane: `scripts/slow`.
#[test]
#[ignore = "takes many minutes"]
fn heuristics_are_admissible_on_many_adl_tasks() {
    let mut done = 0;
    for first in (150..).step_by(1000) {
        done += check_all(first..first + 1000)[0];
        println!("{done} tasks");
        if done >= 10_000 {
            break;
        }
    }
}
