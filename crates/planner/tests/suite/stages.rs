//! The strategy on random tasks with and without conditional effects and axioms: its bound is
//! admissible in every state in both stages, and it finds the optimum.

use std::cell::Cell;
use std::collections::BTreeSet;

use planner::heuristic::{Estimate, Heuristic, Verdict, Visit, Why};
use planner::partition::Portfolio;
use planner::search::{Config, Outcome, astar};
use planner::strategy::{
    self, Feature, MemoryPlan, Pace, Stages, Without, Worth, first_components, growing,
};
use planner::task::{Task, Variable};
use planner::testing::{StateSpace, random_adl_task, random_task};

/// Larger state spaces take too long.
const MAX_STATES: usize = 600;

fn num_states(task: &Task) -> usize {
    let given = task.variables.iter().filter(|v| v.derived.is_none());
    given.map(Variable::domain_size).fold(1, usize::saturating_mul)
}

/// The default's bound, which goes on with more components whenever there are some.
fn bound<'t>(task: &'t Task, without: &Without) -> Option<Stages<'t, Portfolio<'static>>> {
    let memory = MemoryPlan::new(None);
    let first = first_components(task, None, &memory, &mut |_| {}).ok()?;
    let worth = Worth { gain: 0.0, least_steps: 0.0 };
    Some(growing(task, &first, memory, without.clone(), worth, Box::new(|| false)))
}

#[test]
fn an_interrupt_ends_the_building_of_components() {
    let (mut built, mut asked) = (0, 0);
    for seed in 0..50 {
        let task = random_task(seed);
        let memory = MemoryPlan::new(None);
        let Ok(first) = first_components(&task, None, &memory, &mut |_| {}) else { continue };
        let worth = Worth { gain: 0.0, least_steps: 0.0 };
        // How many questions are answered with no.
        for patience in [0, 3, usize::MAX] {
            let questions = Cell::new(0);
            let interrupt = Box::new(|| {
                questions.set(questions.get() + 1);
                questions.get() > patience
            });
            let mut stages = growing(&task, &first, memory, Without::nothing(), worth, interrupt);
            stages.begin(&task.initial, Why::First);
            let has_more = stages.go_on() == Some(Why::MoreComponents);
            drop(stages);
            if questions.get() > patience {
                assert_eq!((has_more, questions.get()), (false, patience + 1), "{seed}");
                asked += 1;
            }
            built += usize::from(has_more);
        }
    }
    assert!(built > 10 && asked > 50, "{built} built, {asked} interrupted");
}

/// What was checked, and how often the second stage had more components.
#[derive(Default)]
struct Seen {
    tasks: usize,
    more_components: usize,
    /// Who showed the bounds that met.
    engines: BTreeSet<&'static str>,
}

fn check(what: &str, task: &Task, seed: u64, seen: &mut Seen) {
    if num_states(task) > MAX_STATES {
        return;
    }
    seen.tasks += 1;
    let space = StateSpace::new(task);
    let initial = space.states.iter().position(|s| *s == task.initial).expect("a state");
    let optimum = space.distances[initial];
    let solution = strategy::solve(task, strategy::Config::default(), &|_| {});
    assert_eq!(solution.outcome, outcome(task, optimum, &solution.outcome), "{what} {seed}");
    assert_eq!(solution.bounds.upper(), optimum, "{what} {seed}");
    for without in [Without::nothing(), [Feature::Plans].into_iter().collect()] {
        let hurried = strategy::Config { pace: Pace::HURRIED, without, ..Default::default() };
        let solution = strategy::solve(task, hurried, &|_| {});
        assert_eq!(solution.outcome, outcome(task, optimum, &solution.outcome), "{what} {seed}");
        let bounds = &solution.bounds;
        seen.engines.extend(bounds.raised_by().into_iter().chain(bounds.found_by()));
    }
    let parts = [Without::nothing(), [Feature::Dive, Feature::Policy].into_iter().collect()];
    for without in &parts {
        for patience in [0, 20_000] {
            let Some(heuristic) = bound(task, without) else { continue };
            let mut heuristic = heuristic.with_patience(patience);
            let found = astar(task, &mut heuristic, Config::default()).outcome;
            assert_eq!(found, outcome(task, optimum, &found), "{what} {seed}, {patience}");
            let had = heuristic.statistics().patterns;
            let again = heuristic.go_on();
            assert!(patience > 0 || optimum.is_none() || again.is_none(), "it went on before");
            seen.more_components += usize::from(again == Some(Why::MoreComponents));
            seen.more_components += usize::from(patience == 0 && had > space_components(task));
            for (state, h_star) in space.states.iter().zip(&space.distances) {
                let mut estimates = vec![heuristic.evaluate(state)];
                if let Estimate::AtLeast(h) = estimates[0] {
                    let visit = Visit { state, h, number: 0, again: false };
                    if let Verdict::Raised(h) = heuristic.before_expansion(visit) {
                        estimates.push(Estimate::AtLeast(h));
                    }
                }
                for estimate in estimates {
                    let admissible = match estimate {
                        Estimate::AtLeast(h) => h_star.is_none_or(|h_star| h <= h_star),
                        Estimate::DeadEnd => h_star.is_none(),
                    };
                    assert!(admissible, "{what} {seed}, {state:?}: {estimate:?}, h* {h_star:?}");
                }
            }
        }
    }
}

/// The number of components of the first stage.
fn space_components(task: &Task) -> usize {
    let first = first_components(task, None, &MemoryPlan::new(None), &mut |_| {});
    first.map_or(0, |first| first.len())
}

/// What a search has to say of a task with this optimum; its plan is checked.
fn outcome(task: &Task, optimum: Option<u64>, found: &Outcome) -> Outcome {
    match (optimum, found) {
        (Some(cost), Outcome::Solved(plan)) => {
            assert_eq!((plan.check(task), plan.cost), (Ok(()), cost));
            found.clone()
        }
        (Some(_), _) => panic!("there is a plan, but {found:?}"),
        (None, _) => Outcome::Unsolvable,
    }
}

fn check_all(what: &str, make: fn(u64) -> Task, seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        check(what, &make(seed), seed, &mut seen);
    }
    seen
}

#[test]
fn the_default_is_admissible_and_optimal_in_both_stages() {
    let seen = check_all("task", random_task, 0..100);
    assert!(
        seen.tasks > 80 && seen.more_components > 20,
        "{} {}",
        seen.tasks,
        seen.more_components
    );
    let engines: Vec<&str> = seen.engines.into_iter().collect();
    assert_eq!(engines, ["astar", "plans", "symbolic"]);
    let seen = check_all("ADL task", random_adl_task, 0..100);
    assert!(seen.tasks > 60 && seen.more_components > 2, "{} {}", seen.tasks, seen.more_components);
}

/// The slow lane: `scripts/slow`.
#[test]
#[ignore = "takes many minutes"]
fn the_default_is_admissible_and_optimal_on_many_tasks() {
    for (what, make) in [("task", random_task as fn(u64) -> Task), ("ADL task", random_adl_task)] {
        let mut done = 0;
        for first in (100..).step_by(1000) {
            done += check_all(what, make, first..first + 1000).tasks;
            println!("{done} {what}s");
            if done >= 10_000 {
                break;
            }
        }
    }
}
