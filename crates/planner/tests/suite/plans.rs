//! The engine for plans: what it offers are plans, it finds one wherever there is one, and slices
//! of work give the same run as one piece.

use planner::engine::{Bounds, Engine, Progress};
use planner::plan::Plan;
use planner::plans::{Config, Plans};
use planner::reduce::{ReduceConfig, reduce};
use planner::search::{Limits, Stop};
use planner::task::{Cost, Task};
use planner::testing::{StateSpace, random_adl_task, random_symmetric_task, random_task};
use planner::work::{Budget, Work};

fn tasks(count: u64) -> impl Iterator<Item = (u64, Task)> {
    (0..count).flat_map(|seed| {
        let kinds = [random_task(seed), random_adl_task(seed), random_symmetric_task(seed)];
        kinds.into_iter().map(move |task| (seed, task))
    })
}

fn optimum(task: &Task) -> Option<Cost> {
    let space = StateSpace::new(task);
    let initial = space.states.iter().position(|state| *state == task.initial);
    space.distances[initial.expect("a state")]
}

/// All plans that are offered within so much work, in slices of another amount of work.
fn offered(task: &Task, slice: Work, all: Work, bounds: &mut Bounds) -> Vec<Plan> {
    let mut engine = Plans::new(task, Config::default(), Limits::default());
    let (mut plans, mut done) = (Vec::new(), 0);
    while done < all {
        let mut budget = Budget::new(slice.min(all - done));
        let progress = engine.advance(bounds, &mut budget);
        done += budget.spent();
        bounds.check();
        if let Some(plan) = bounds.plan()
            && plans.last() != Some(plan)
        {
            plans.push(plan.clone());
        }
        match progress {
            Progress::Going => assert!(budget.is_spent(), "a slice is used up"),
            Progress::Finished => break,
            Progress::Stopped(stop) => panic!("{stop:?}"),
        }
    }
    plans
}

#[test]
fn what_is_offered_are_plans_and_never_cheaper_than_the_optimum() {
    let (mut solved, mut optimal, mut axioms, mut conditional, mut free) = (0, 0, 0, 0, 0);
    for (seed, task) in tasks(150) {
        let optimum = optimum(&task);
        let mut bounds = Bounds::new();
        let plans = offered(&task, 1_000, 3_000_000, &mut bounds);
        assert_eq!(plans.is_empty(), optimum.is_none(), "seed {seed}");
        let Some(optimum) = optimum else { continue };
        for plan in &plans {
            assert_eq!(plan.check(&task), Ok(()), "seed {seed}");
            assert!(plan.cost >= optimum, "seed {seed}: {} {optimum}", plan.cost);
        }
        assert!(plans.windows(2).all(|two| two[1].cost < two[0].cost), "seed {seed}");
        solved += 1;
        optimal += usize::from(plans.last().map(|plan| plan.cost) == Some(optimum));
        axioms += usize::from(!task.axioms.is_empty());
        conditional += usize::from(task.num_conditional_effects() > 0);
        free += usize::from(optimum == 0);
    }
    assert!(axioms > 20 && conditional > 20 && free > 20, "{axioms} {conditional} {free}");
    assert!(optimal * 100 >= solved * 97, "{optimal} of {solved}");
}

#[test]
fn slices_give_the_same_run_as_one_piece() {
    for (seed, task) in tasks(40) {
        let whole = offered(&task, Work::MAX, 2_000_000, &mut Bounds::new());
        for slice in [1, 7_000] {
            let slices = offered(&task, slice, 2_000_000, &mut Bounds::new());
            // The last piece of work may be cut differently.
            assert_eq!(whole.last(), slices.last(), "seed {seed}");
        }
    }
}

#[test]
fn it_ends_when_bounds_meet_and_goes_on_with_plans_of_others() {
    let mut improved = 0;
    for (seed, task) in tasks(60) {
        let Some(optimum) = optimum(&task) else { continue };
        let mut first = Bounds::new();
        let plans = offered(&task, 1_000, 3_000_000, &mut first);
        let (Some(worst), Some(best)) = (plans.first(), plans.last()) else { continue };
        // Somebody else's plan is a beginning.
        let mut bounds = Bounds::new();
        bounds.offer(worst.clone(), "somebody");
        let again = offered(&task, 1_000, 3_000_000, &mut bounds);
        assert!(again.iter().all(|plan| plan.check(&task).is_ok()), "seed {seed}");
        improved += usize::from(again.last().is_some_and(|plan| plan.cost < worst.cost));
        // With the optimum proved there is nothing more to do.
        if best.cost == optimum {
            let mut bounds = Bounds::new();
            bounds.raise(optimum, "somebody");
            offered(&task, 1_000, 3_000_000, &mut bounds);
            assert!(bounds.have_met(), "seed {seed}");
            let mut engine = Plans::new(&task, Config::default(), Limits::default());
            let progress = engine.advance(&mut bounds, &mut Budget::unlimited());
            assert_eq!(progress, Progress::Finished);
        }
    }
    assert!(improved > 5, "{improved}");
}

#[test]
fn plans_of_a_reduced_task_are_plans_of_the_original_one() {
    let mut smaller = 0;
    for seed in 0..150 {
        let task = random_task(seed);
        let reduction = reduce(&task, &ReduceConfig::default(), &mut Budget::unlimited());
        smaller += usize::from(reduction.task().operators.len() < task.operators.len());
        for plan in offered(reduction.task(), 1_000, 1_000_000, &mut Bounds::new()) {
            assert_eq!(reduction.plan(&plan).check(&task), Ok(()), "seed {seed}");
        }
    }
    assert!(smaller > 20, "{smaller}");
}

#[test]
fn without_memory_or_time_it_stops_and_claims_nothing() {
    let task = random_task(3);
    let mut bounds = Bounds::new();
    let mut small = Plans::new(&task, Config { memory_bytes: 1 }, Limits::default());
    let progress = small.advance(&mut bounds, &mut Budget::unlimited());
    assert_eq!(progress, Progress::Stopped(Stop::OutOfMemory));
    let limits = Limits { deadline: Some(std::time::Instant::now()), ..Limits::default() };
    let mut late = Plans::new(&task, Config::default(), limits);
    let progress = late.advance(&mut bounds, &mut Budget::unlimited());
    assert_eq!(progress, Progress::Stopped(Stop::OutOfTime));
    assert!(bounds.plan().is_none() && bounds.lower() == 0 && !bounds.are_unsolvable());
}
