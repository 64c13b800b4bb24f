//! A* as an engine: slices of work give the run that one piece gives, and what others have shown is
//! used and never contradicted.

use planner::heuristic::{Blind, HMax, Heuristic};
use planner::plan::Plan;
use planner::search::{Config, Limits, Search, Stop};
use planner::strategy::{Bounds, Engine, Progress, Stages, Worth};
use planner::strategy::{MemoryPlan, Without, first_components, growing};
use planner::task::Task;
use planner::testing::{StateSpace, random_adl_task, random_task};
use planner::work::Budget;

/// Advances an engine in slices until it has no more to do; how many there were.
fn advance(engine: &mut dyn Engine, bounds: &mut Bounds, slice: u64) -> (Progress, usize) {
    for slices in 1.. {
        let mut budget = Budget::new(slice);
        let progress = engine.advance(bounds, &mut budget);
        if progress != Progress::Going {
            return (progress, slices);
        }
        assert!(budget.spent() > 0, "a slice makes progress");
    }
    unreachable!("it ends")
}

fn default_bound(task: &Task) -> Option<Box<dyn Heuristic + '_>> {
    let memory = MemoryPlan::new(None);
    let first = first_components(task, None, &memory, &mut |_| {}).ok()?;
    let (worth, interrupt) = (Worth::default(), Box::new(|| false));
    let stages: Stages<_> = growing(task, &first, memory, Without::nothing(), worth, interrupt);
    Some(Box::new(stages.with_patience(20_000)))
}

fn tasks() -> impl Iterator<Item = Task> {
    (0..150).map(random_task).chain((0..50).map(random_adl_task))
}

#[test]
fn slices_give_the_same_run_as_one_piece() {
    let mut most = 0;
    for task in tasks() {
        for is_blind in [true, false] {
            let bound = || -> Option<Box<dyn Heuristic + '_>> {
                if is_blind { Some(Box::new(Blind::new(&task))) } else { default_bound(&task) }
            };
            let (Some(one), Some(other)) = (bound(), bound()) else { continue };
            let mut whole = Search::new(&task, one, Config::default());
            let mut in_slices = Search::new(&task, other, Config::default());
            let (mut expected, mut bounds) = (Bounds::new(), Bounds::new());
            advance(&mut whole, &mut expected, u64::MAX);
            let (progress, slices) = advance(&mut in_slices, &mut bounds, 1);
            assert_eq!(progress, Progress::Finished);
            assert_eq!(bounds.plan(), expected.plan());
            assert_eq!(bounds.are_unsolvable(), expected.are_unsolvable());
            let figures = |search: &Search<'_, Box<dyn Heuristic + '_>>| {
                let s = search.statistics();
                (s.expanded, s.evaluated, s.generated, s.restarts, s.heuristic.partitions_computed)
            };
            assert_eq!(figures(&in_slices), figures(&whole));
            most = most.max(slices);
        }
    }
    assert!(most > 10, "at most {most} slices");
}

#[test]
fn the_best_plan_of_others_bounds_the_search_and_is_proved_or_beaten() {
    let (mut proved, mut beaten) = (0, 0);
    for task in tasks() {
        let space = StateSpace::new(&task);
        let initial = space.states.iter().position(|s| *s == task.initial).expect("a state");
        let Some(optimum) = space.distances[initial] else { continue };
        let mut plan = space_plan(&task);
        for excess in [0, 1, 5] {
            let mut bounds = Bounds::new();
            let mut alone = Search::new(&task, HMax::new(&task), Config::default());
            advance(&mut alone, &mut Bounds::new(), u64::MAX);
            // What it costs is a claim here: only whether it is used right is asked.
            plan.cost = optimum + excess;
            bounds.offer(plan.clone(), "somebody");
            let mut search = Search::new(&task, HMax::new(&task), Config::default());
            let (progress, _) = advance(&mut search, &mut bounds, 1000);
            assert_eq!(progress, Progress::Finished);
            assert!(bounds.have_met());
            assert_eq!((bounds.lower(), bounds.upper()), (optimum, Some(optimum)));
            let (with, without) = (search.statistics(), alone.statistics());
            assert!(with.expanded <= without.expanded, "{with:?} {without:?}");
            match bounds.found_by() {
                Some("somebody") => proved += 1,
                _ => beaten += 1,
            }
        }
    }
    assert!(proved > 100 && beaten > 200, "{proved} proved, {beaten} beaten");
}

/// An optimal plan.
fn space_plan(task: &Task) -> Plan {
    let mut bounds = Bounds::new();
    let mut search = Search::new(task, Blind::new(task), Config::default());
    advance(&mut search, &mut bounds, u64::MAX);
    bounds.plan().expect("there is a plan").clone()
}

#[test]
fn a_search_that_had_to_stop_claims_nothing_afterwards() {
    for task in tasks().take(50) {
        let limits = Limits { memory_bytes: Some(1), ..Limits::default() };
        let config = Config { limits, ..Config::default() };
        let mut search = Search::new(&task, Blind::new(&task), config);
        let mut bounds = Bounds::new();
        for _ in 0..3 {
            let progress = search.advance(&mut bounds, &mut Budget::unlimited());
            assert_eq!(progress, Progress::Stopped(Stop::OutOfMemory));
            assert!(!bounds.have_met());
        }
    }
}
