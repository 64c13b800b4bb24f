//! Gaps are honest: what is said of a plan's distance from the optimum is true.

use planner::engine::Gap;
use planner::plan::Plan;
use planner::plans::{self, Plans};
use planner::search::{Limits, Outcome};
use planner::strategy::{Bounds, Config, Engine, Engines, Progress, solve};
use planner::task::{Cost, Task};
use planner::testing::{StateSpace, random_adl_task, random_symmetric_task, random_task};
use planner::work::Budget;

fn optimum(task: &Task) -> Option<Cost> {
    let space = StateSpace::new(task);
    let initial = space.states.iter().position(|state| *state == task.initial);
    space.distances[initial.expect("a state")]
}

/// The first plan that is found.
fn first_plan(task: &Task) -> Option<Plan> {
    let mut engine = Plans::new(task, plans::Config::default(), Limits::default());
    let mut bounds = Bounds::new();
    while bounds.plan().is_none() {
        if engine.advance(&mut bounds, &mut Budget::new(1)) != Progress::Going {
            break;
        }
    }
    bounds.plan().cloned()
}

/// Checks one task with every gap; how many plans were accepted, and how many of them not proved.
fn check(seed: u64) -> (usize, usize) {
    let task = match seed % 3 {
        0 => random_task(seed),
        1 => random_adl_task(seed),
        _ => random_symmetric_task(seed),
    };
    let optimum = optimum(&task);
    let start = first_plan(&task);
    assert_eq!(start.is_some(), optimum.is_some(), "seed {seed}");
    let (mut accepted, mut unproved) = (0, 0);
    for (i, (gap, percent)) in [("0", 0), ("5%", 5), ("30%", 30), ("100%", 100), ("inf", u128::MAX)]
        .into_iter()
        .enumerate()
    {
        let is_given = (seed + i as u64).is_multiple_of(2);
        let config = Config {
            gap: gap.parse::<Gap>().expect("a gap"),
            start_plan: start.clone().filter(|_| is_given).map(|plan| (plan, "start-plan")),
            engines: if seed.is_multiple_of(5) { Engines::Astar } else { Engines::default() },
            ..Config::default()
        };
        let solution = solve(&task, config, &|_| {});
        let bounds = &solution.bounds;
        assert!(optimum.is_none_or(|optimum| bounds.lower() <= optimum), "seed {seed}, {gap}");
        match &solution.outcome {
            Outcome::Solved(plan) => {
                assert_eq!((plan.check(&task), Some(plan.cost)), (Ok(()), optimum), "seed {seed}");
                accepted += 1;
            }
            Outcome::Bounded(plan) => {
                let optimum = optimum.expect("there is a plan");
                assert_eq!(plan.check(&task), Ok(()), "seed {seed}, {gap}");
                assert!(bounds.lower() < plan.cost, "seed {seed}, {gap}: it is optimal");
                // The distance that is claimed is at least the true one, and at most what was asked for.
                let excess = u128::from(plan.cost - optimum) * 100;
                let most = percent.saturating_mul(optimum.into());
                assert!(percent == u128::MAX || excess <= most, "seed {seed}, {gap}");
                accepted += 1;
                unproved += 1;
            }
            Outcome::Unsolvable => assert_eq!(optimum, None, "seed {seed}, {gap}"),
            Outcome::Stopped(stop) => panic!("there are no limits, but {stop:?}"),
        }
    }
    (accepted, unproved)
}

fn check_all(seeds: std::ops::Range<u64>) {
    let count = seeds.end - seeds.start;
    let (accepted, unproved) = seeds.map(check).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    eprintln!("{accepted} plans accepted, {unproved} of them not proved to be optimal");
    assert!(accepted as u64 > 2 * count && unproved as u64 > count / 20, "{accepted} {unproved}");
}

#[test]
fn plans_within_a_gap_are_within_it() {
    check_all(0..200);
}

#[test]
#[ignore = "the slow lane"]
fn plans_of_many_tasks_are_within_their_gaps() {
    check_all(1_000..6_000);
}
