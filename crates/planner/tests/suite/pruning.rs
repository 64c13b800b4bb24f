//! What is not searched and what is not stored: no technique loses the optimum, whatever the
//! heuristic does.

use std::collections::HashMap;

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{
    Blind, Estimate, HMax, Heuristic, LmCut, ScheduleConfig, Stored, StoredConfig,
};
use planner::partition::Saturated;
use planner::reduce::{ReduceConfig, Reduction, reduce};
use planner::search::{Config, Outcome, Pruning, Statistics, astar, deferrable_operators};
use planner::strategy::Stages;
use planner::symmetry::{Generator, symmetries};
use planner::task::{Cost, OpId, Task, Value};
use planner::testing::{StateSpace, random_adl_task, random_symmetric_task, random_task};
use planner::work::Budget;

use crate::search::{RandomShare, Table, cost, operator, task};

/// Tasks with symmetries and others; large ones are left out.
fn tasks(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Task)> {
    let task = |seed| match seed % 10 {
        0 => random_adl_task(seed),
        1 => random_task(seed),
        _ => random_symmetric_task(seed),
    };
    let is_small = |task: &Task| {
        let given = task.variables.iter().filter(|v| v.derived.is_none());
        given.map(|v| v.domain_size()).product::<usize>() <= 900
    };
    seeds.map(move |seed| (seed, task(seed))).filter(move |(_, task)| is_small(task))
}

fn optimum(task: &Task, space: &StateSpace) -> Option<Cost> {
    let initial = space.states.iter().position(|state| *state == task.initial).unwrap();
    space.distances[initial]
}

fn generators(task: &Task) -> Vec<Generator> {
    symmetries(task, &mut Budget::unlimited()).generators
}

/// On so many tasks.
fn keep_distances(seeds: std::ops::Range<u64>) -> usize {
    let (mut tasks_seen, mut with, mut moved_derived) = (0, 0, 0);
    for (seed, task) in tasks(seeds) {
        let generators = generators(&task);
        let space = StateSpace::new(&task);
        let distances: HashMap<&[Value], Option<Cost>> =
            space.states.iter().map(Vec::as_slice).zip(space.distances.iter().copied()).collect();
        for generator in &generators {
            for (state, distance) in &distances {
                let image = generator.apply(state);
                assert_eq!(distances.get(&image[..]), Some(distance), "seed {seed}");
                assert_eq!(generator.inverse().apply(&image), *state, "seed {seed}");
            }
            moved_derived += usize::from(generator.moves().iter().any(|m| task.is_derived(m.from)));
        }
        with += usize::from(!generators.is_empty());
        tasks_seen += 1;
    }
    eprintln!("{tasks_seen} tasks, {with} with symmetries");
    assert!(with > 50 && moved_derived > 10, "{with} {moved_derived}");
    tasks_seen
}

#[test]
fn symmetries_keep_distances() {
    keep_distances(0..300);
}

#[test]
#[ignore = "minutes"]
fn symmetries_of_ten_thousand_tasks_keep_distances() {
    let tasks = keep_distances(0..10_700);
    assert!(tasks >= 10_000, "{tasks}");
}

/// Equal parts are found to be equal: a state and a copy with two parts exchanged have one orbit.
#[test]
fn all_automorphisms_of_interchangeable_switches_are_found() {
    for n in 2..9u32 {
        let mut task = random_symmetric_task(0);
        let switch = task.variables.iter().find(|v| v.domain_size() == 2 && v.derived.is_none());
        let switch = switch.expect("a variable with two values").clone();
        let operator = task.operators[0].clone();
        let fact = |var, value| planner::task::Fact::new(planner::task::VarId(var), value);
        let flip = |var| planner::task::Operator {
            pre: [fact(var, 0)].into(),
            eff: [fact(var, 1)].into(),
            conditional: [].into(),
            cost: 1,
            ..operator.clone()
        };
        task.variables = vec![switch; n as usize];
        task.axioms.clear();
        task.operators = (0..n).map(flip).collect();
        task.initial = vec![0; n as usize];
        task.goal = (0..n).map(|var| fact(var, 1)).collect();
        assert_eq!(generators(&task).len(), n as usize - 1, "transpositions of neighbours");
        let pruning = Pruning { symmetries: true, from: Some(0), ..Pruning::default() };
        let result = astar(&task, &mut Blind::new(&task), Config { pruning, ..Config::default() });
        assert_eq!(result.statistics.registered, u64::from(n) + 1);
        assert_eq!(cost(&result), Some(n.into()));
        // One that costs less stands alone.
        task.operators[0].cost = 0;
        assert_eq!(generators(&task).len(), n as usize - 2);
    }
}

/// Every kind of heuristic: consistent, inconsistent, improving, restarting.
fn heuristics<'a>(
    task: &'a Task,
    space: &'a StateSpace,
    seed: u64,
) -> Vec<(&'static str, Box<dyn Heuristic + 'a>)> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let projections = Abstractions::new(task, &patterns);
    let schedule = ScheduleConfig { least: 100, ..ScheduleConfig::default() };
    let busy = StoredConfig { prune_every: 1, schedule, ..StoredConfig::default() };
    let stored = || Stored::new(Saturated::new(&projections), busy);
    let second = stored();
    let staged = Stages::new(stored()).with_patience(20_000).growing(Box::new(|_| Some(second)));
    vec![
        ("blind", Box::new(Blind::new(task))),
        ("hmax", Box::new(HMax::new(task))),
        ("lmcut", Box::new(LmCut::new(task))),
        ("inconsistent", Box::new(RandomShare::new(space, seed, false))),
        ("improving", Box::new(RandomShare::new(space, seed, true))),
        ("stored", Box::new(stored())),
        ("restarting", Box::new(staged)),
    ]
}

/// What occurred, so that nothing is missed by accident.
#[derive(Default, Debug)]
struct Seen {
    tasks: usize,
    reduced: usize,
    solved: usize,
    zero_costs: usize,
    axioms: usize,
    conditional: usize,
    restarts: u64,
    reopened: u64,
    raised: u64,
    merged: u64,
    pruned: u64,
    left_out: u64,
    reexpanded: u64,
}

impl Seen {
    fn count(&mut self, statistics: &Statistics) {
        self.restarts += statistics.restarts;
        self.reopened += statistics.reopened;
        self.raised += statistics.raised;
        self.merged += statistics.merged;
        self.pruned += statistics.pruned;
        self.left_out += statistics.left_out;
        self.reexpanded += statistics.reexpanded;
    }
}

fn finds_the_optimum(seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for (seed, task) in tasks(seeds) {
        let optimum = optimum(&task, &StateSpace::new(&task));
        let reductions = [
            Reduction::left_out(&task),
            reduce(&task, &ReduceConfig::default(), &mut Budget::unlimited()),
        ];
        // Without h²: each alone, each pair, all. With h²: nothing else, all.
        for (reduction, techniques) in reductions.iter().zip([&[1, 2, 3, 4, 5, 6, 7][..], &[0, 7]])
        {
            let smaller = reduction.task();
            let space = StateSpace::new(smaller);
            seen.reduced += usize::from(reduction.statistics().operators_removed > 0);
            for technique in techniques {
                let with = |bit| technique & bit != 0;
                let (symmetries, stubborn, partial) = (with(1), with(2), with(4));
                let from = Some([0, 3 + seed % 20][seed as usize % 2]);
                let pruning = Pruning { symmetries, stubborn, partial, from };
                for (name, mut heuristic) in heuristics(smaller, &space, seed) {
                    let config = Config { pruning, ..Config::default() };
                    let result = astar(smaller, &mut *heuristic, config);
                    assert_eq!(cost(&result), optimum, "seed {seed}, {name}, {pruning:?}");
                    if let Outcome::Solved(plan) = &result.outcome {
                        assert_eq!(
                            reduction.plan(plan).check(&task),
                            Ok(()),
                            "seed {seed}, {name}"
                        );
                        assert!(result.statistics.lower_bound <= plan.cost);
                    }
                    seen.count(&result.statistics);
                }
            }
        }
        seen.tasks += 1;
        seen.solved += usize::from(optimum.is_some());
        seen.zero_costs += usize::from(task.operators.iter().any(|o| o.cost == 0));
        seen.axioms += usize::from(!task.axioms.is_empty());
        seen.conditional += usize::from(task.num_conditional_effects() > 0);
    }
    eprintln!("{seen:?}");
    seen
}

#[test]
fn pruned_searches_find_the_optimum() {
    let seen = finds_the_optimum(0..300);
    let Seen { reduced, solved, zero_costs, axioms, conditional, .. } = seen;
    assert!(
        reduced > 10 && solved > 80 && zero_costs > 80 && axioms > 20 && conditional > 20,
        "{seen:?}"
    );
    assert!(seen.restarts > 10 && seen.reopened > 10 && seen.raised > 100, "{seen:?}");
    assert!(
        seen.merged > 1000 && seen.pruned > 1000 && seen.left_out > 1000 && seen.reexpanded > 1000,
        "{seen:?}"
    );
}

#[test]
#[ignore = "many minutes"]
fn pruned_searches_of_ten_thousand_tasks_find_the_optimum() {
    let cases = std::env::var("APPORTION_CASES").ok().and_then(|cases| cases.parse().ok());
    let seen = finds_the_optimum(1000..1000 + cases.unwrap_or(10_700));
    assert!(cases.is_some() || seen.tasks >= 10_000, "{seen:?}");
}

/// At every state with a plan, one of the operators that cannot wait begins a cheapest one.
#[test]
fn operators_that_cannot_wait_keep_distances() {
    let (mut deferred, mut compared) = (0, 0);
    for (seed, task) in tasks(0..60) {
        let space = StateSpace::new(&task);
        let index: HashMap<&[Value], usize> =
            space.states.iter().enumerate().map(|(i, state)| (&state[..], i)).collect();
        for (state, &distance) in space.states.iter().zip(&space.distances) {
            let is_goal = task.goal.iter().all(|fact| state[fact.var.index()] == fact.value);
            let Some(distance) = distance.filter(|_| !is_goal) else { continue };
            let waiting = deferrable_operators(&task, state);
            assert!(waiting.iter().all(|&op| task.operator(op).is_applicable(state)));
            let begins = |&op: &OpId| {
                let rest = space.distances[index[&task.successor(state, op)[..]]];
                rest.map(|rest| rest + task.operator(op).cost) == Some(distance)
            };
            let applicable =
                task.operator_ids().filter(|&op| task.operator(op).is_applicable(state));
            let begun = applicable.filter(|op| !waiting.contains(op)).find(begins);
            assert!(begun.is_some(), "seed {seed}: {state:?}");
            (deferred, compared) = (deferred + waiting.len(), compared + 1);
        }
    }
    assert!(deferred > 40 && compared > 1000, "{deferred} at {compared} states");
}

/// State 1 is reached at cost 5 first; its successor has an f value of 26 then, and is left out.
/// When it is reached at cost 2, it must begin again at 2, not at 26, or the plan that costs 25 is
/// found first.
#[test]
fn a_state_that_is_reached_at_lower_cost_forgets_what_it_left_out() {
    let step = |from, to, cost| operator(&[(0, from)], &[(0, to)], cost);
    let steps = [(0, 1, 5), (0, 4, 1), (4, 1, 1), (1, 2, 1), (2, 3, 20), (0, 3, 25)];
    let steps = steps.map(|(from, to, cost)| step(from, to, cost));
    let task = task(&[5], &[(0, 3)], steps.to_vec());
    let pruning = Pruning { partial: true, from: Some(0), ..Pruning::default() };
    let mut h = Table(vec![0, 0, 20, 0, 17]);
    let result = astar(&task, &mut h, Config { pruning, ..Config::default() });
    assert_eq!(cost(&result), Some(23));
    assert_eq!(result.statistics.reopened, 1);
}

/// Of 2^16 states, only those on the way are stored.
#[test]
fn states_above_the_bound_are_not_stored() {
    let n = 16u32;
    let flip = |var| [operator(&[(var, 0)], &[(var, 1)], 1), operator(&[(var, 1)], &[(var, 0)], 1)];
    let goal: Vec<(u32, u32)> = (0..n).map(|var| (var, 1)).collect();
    let task = task(&vec![2; n as usize], &goal, (0..n).flat_map(flip).collect());
    struct Missing;
    impl Heuristic for Missing {
        fn evaluate(&mut self, state: &[Value]) -> Estimate {
            Estimate::AtLeast(state.iter().filter(|&&value| value == 0).count() as Cost)
        }
    }
    let mut task_with_way_back = task.clone();
    task_with_way_back.initial[0] = 1;
    let registered = |partial| {
        let pruning = Pruning { partial, from: Some(0), ..Pruning::default() };
        let config = Config { pruning, ..Config::default() };
        let result = astar(&task_with_way_back, &mut Missing, config);
        assert_eq!(cost(&result), Some(Cost::from(n) - 1));
        result.statistics.registered
    };
    assert!(registered(true) < registered(false));
}
