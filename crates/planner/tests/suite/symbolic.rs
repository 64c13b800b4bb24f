//! Symbolic search finds what exhaustive search finds: optimal costs, and that there is no plan.

use std::collections::BTreeSet;

use planner::engine::{Bounds, Engine, Progress};
use planner::heuristic::{Blind, Heuristic};
use planner::reduce::{ReduceConfig, reduce};
use planner::search::{Limits, Outcome};
use planner::strategy::{self, Feature, Pace, Without};
use planner::symbolic::{Config, Direction, Symbolic};
use planner::task::{Cost, Task};
use planner::testing::{StateSpace, random_adl_task, random_task};
use planner::work::Budget;

use super::search::operator;

/// The optimal cost by exhaustive search.
fn optimum(task: &Task) -> Option<Cost> {
    let space = StateSpace::new(task);
    let initial = space.states.iter().position(|state| *state == task.initial).unwrap();
    space.distances[initial]
}

/// The cost by symbolic search in slices of this much work; bounds stay right all the time.
fn solve(task: &Task, config: Config, slice: u64, optimum: Option<Cost>) -> Option<Cost> {
    let mut engine = Symbolic::new(task, config, Limits::default());
    let mut bounds = Bounds::new();
    for _ in 0..1_000_000 {
        let progress = engine.advance(&mut bounds, &mut Budget::new(slice));
        assert!(
            optimum.is_none_or(|cost| bounds.lower() <= cost),
            "{:?} {optimum:?}",
            bounds.lower()
        );
        match progress {
            Progress::Going if !bounds.have_met() => {}
            Progress::Stopped(stop) => panic!("{stop:?}"),
            _ => {
                assert_eq!(engine.refusal(), None);
                assert!(bounds.have_met(), "{bounds:?}");
                assert_eq!(bounds.are_unsolvable(), bounds.plan().is_none());
                let plan = bounds.plan()?;
                plan.check(task).unwrap();
                assert_eq!(plan.cost, bounds.lower());
                return Some(plan.cost);
            }
        }
    }
    panic!("the search does not end");
}

const DIRECTIONS: [Direction; 3] = [Direction::Both, Direction::Forward, Direction::Backward];

/// In all directions, at once and in small slices.
fn check(task: &Task, seed: u64) {
    let optimum = optimum(task);
    for direction in DIRECTIONS {
        let config = Config { direction, memory_bytes: 8 << 20 };
        for slice in [u64::MAX, 3000] {
            let cost = solve(task, config, slice, optimum);
            assert_eq!(cost, optimum, "seed {seed}, {direction:?}, slices of {slice}");
        }
    }
}

#[test]
fn costs_are_those_of_exhaustive_search() {
    (0..400).for_each(|seed| check(&random_task(seed), seed));
}

#[test]
fn costs_with_conditional_effects_and_axioms_are_those_of_exhaustive_search() {
    (0..150).for_each(|seed| check(&random_adl_task(seed), seed));
}

/// A reduced task has mutexes that hold on plans only; symbolic search leaves out what violates
/// them, on both sides. How many mutex pairs of different variables the task has.
fn check_reduced(task: &Task, seed: u64) -> usize {
    let optimum = optimum(task);
    let reduction = reduce(task, &ReduceConfig::default(), &mut Budget::unlimited());
    let smaller = reduction.task();
    for direction in DIRECTIONS {
        let config = Config { direction, memory_bytes: 8 << 20 };
        for slice in [u64::MAX, 3000] {
            let cost = solve(smaller, config, slice, optimum);
            assert_eq!(cost, optimum, "seed {seed}, {direction:?}, slices of {slice}");
        }
    }
    smaller.mutexes.pairs().count()
}

#[test]
fn costs_of_reduced_tasks_are_those_of_exhaustive_search() {
    let pairs: usize = (0..300).map(|seed| check_reduced(&random_task(seed), seed)).sum();
    assert!(pairs > 50, "{pairs}");
}

/// All engines together, in the shortest turns or side by side on threads; who showed bounds that met.
fn check_together(task: &Task, seed: u64, threads: usize, seen: &mut BTreeSet<&'static str>) {
    let config = strategy::Config { pace: Pace::HURRIED, threads, ..strategy::Config::default() };
    let solution = strategy::solve(task, config, &|_| {});
    let cost = match &solution.outcome {
        Outcome::Solved(plan) => {
            plan.check(task).unwrap();
            Some(plan.cost)
        }
        Outcome::Unsolvable => None,
        other => panic!("seed {seed}: {other:?}"),
    };
    assert_eq!(cost, optimum(task), "seed {seed}, {threads} threads");
    seen.extend(solution.bounds.raised_by());
}

/// On an idle machine A* may be first on all of these small tasks.
#[test]
fn engines_side_by_side_find_the_same_costs() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        for threads in [2, 3] {
            check_together(&random_task(seed), seed, threads, &mut seen);
            check_together(&random_adl_task(seed), seed, threads, &mut seen);
        }
    }
}

/// Sixteen switches, each turned on by itself: as many states as A* without a bound can see, and
/// small decision diagrams.
#[test]
fn symbolic_search_ends_what_blind_search_does_not() {
    let switches = 16;
    let operators = (0..switches).map(|var| operator(&[(var, 0)], &[(var, 1)], 1)).collect();
    let goal: Vec<(u32, u32)> = (0..switches).map(|var| (var, 1)).collect();
    let task = super::search::task(&[2; 16], &goal, operators);
    for threads in [1, 2] {
        let mut without = Without::nothing();
        for feature in [Feature::Symmetries, Feature::Stubborn] {
            without.leave_out(feature);
        }
        let bound: Box<dyn Heuristic> = Box::new(Blind::new(&task));
        let pace = Pace::HURRIED;
        let config = strategy::Config {
            pace,
            bound: Some(bound),
            without,
            threads,
            ..strategy::Config::default()
        };
        let solution = strategy::solve(&task, config, &|_| {});
        let Outcome::Solved(plan) = &solution.outcome else { panic!("{:?}", solution.outcome) };
        assert_eq!(plan.cost, 16);
        // With threads it may be A* on a machine that is busy enough.
        assert!(threads > 1 || solution.bounds.raised_by() == Some("symbolic"));
    }
}

#[test]
#[ignore = "slow lane: minutes"]
fn costs_of_all_engines_together_are_those_of_exhaustive_search() {
    let mut seen = BTreeSet::new();
    for seed in 0..5_000 {
        check_together(&random_task(seed), seed, 1, &mut seen);
        check_together(&random_adl_task(seed), seed, 1, &mut seen);
    }
    assert!(seen.contains("astar"), "{seen:?}");
}

#[test]
#[ignore = "slow lane: minutes"]
fn costs_on_many_tasks_are_those_of_exhaustive_search() {
    (0..10_000).for_each(|seed| check(&random_task(seed), seed));
    (0..10_000).for_each(|seed| {
        check_reduced(&random_task(seed), seed);
    });
    (0..10_000).for_each(|seed| check(&random_adl_task(seed), seed));
}
