//! Reductions against exhaustive search on random tasks.

use planner::abstraction::{
    Abstractions, CartesianConfig, Component, Distance, DistanceScratch, INFINITY, LandmarkConfig,
    Pattern, PatternLimits, cartesian_abstractions, interesting_patterns, landmark_abstractions,
    projections_within,
};
use planner::heuristic::{
    Blind, Estimate, EveryState, HMax, Heuristic, LmCut, Stored, StoredConfig,
};
use planner::partition::Saturated;
use planner::plan::Plan;
use planner::reduce::{Direction, ReduceConfig, Reduction, Round, Unreduced, reduce};
use planner::search::{Config, Outcome, astar};
use planner::task::{Fact, FactNumbers, Mutexes, OpId, Task, Value, VarId};
use planner::testing::{StateSpace, random_adl_task, random_task, rng};
use planner::work::Budget;
use rand::RngExt;

fn reduced(task: &Task) -> Reduction<'_> {
    let config = ReduceConfig { keep_rounds: true, ..ReduceConfig::default() };
    reduce(task, &config, &mut Budget::unlimited())
}

fn facts_of(state: &[Value]) -> Vec<Fact> {
    (0..state.len()).map(|var| Fact::new(VarId::from(var), state[var])).collect()
}

/// The pairs that a round excludes.
fn pairs_of(task: &Task, round: &Round) -> Vec<(Fact, Fact)> {
    let facts: Vec<Fact> = FactNumbers::new(task).facts().collect();
    let all = (0..facts.len()).flat_map(|a| (0..=a).map(move |b| (a, b)));
    let flags = round.runs.iter().enumerate();
    let flags = flags.flat_map(|(i, &run)| std::iter::repeat_n(i % 2 == 1, run as usize));
    all.zip(flags)
        .filter(|(_, is_excluded)| *is_excluded)
        .map(|((a, b), _)| (facts[a], facts[b]))
        .collect()
}

/// Whether a state has both facts.
fn has(state: &[Value], (a, b): (Fact, Fact)) -> bool {
    state[a.var.index()] == a.value && state[b.var.index()] == b.value
}

/// Compares a reduction with all states of the task; how much it removed.
fn compare(task: &Task, seed: u64) -> [usize; 6] {
    let reduction = reduced(task);
    let space = StateSpace::new(task);
    let smaller = reduction.task();
    let on_plans = || space.reachable().filter(|(_, d)| d.is_some()).map(|(state, _)| state);

    let mut backward = 0;
    for (i, round) in reduction.rounds().iter().enumerate() {
        for pair in pairs_of(task, round) {
            assert!(on_plans().all(|state| !has(state, pair)), "seed {seed}: {pair:?}");
            // The first one needs no goal.
            let is_first = i == 0 && round.direction == Direction::Forward;
            assert!(!is_first || space.reachable().all(|(state, _)| !has(state, pair)));
            backward += usize::from(round.direction == Direction::Backward);
        }
    }

    // What operators do to the variables that are kept.
    let kept: Vec<VarId> =
        (0..smaller.variables.len()).map(|var| reduction.variable(VarId::from(var))).collect();
    let seen = |state: &[Value]| kept.iter().map(|var| state[var.index()]).collect::<Vec<_>>();
    let is_kept = |op| smaller.operator_ids().any(|kept| reduction.operator(kept) == op);
    let distance_of = |state: &[Value]| {
        space.distances[space.states.iter().position(|other| other == state).expect("a state")]
    };
    for op in task.operator_ids().filter(|&op| !is_kept(op)) {
        for state in on_plans().filter(|state| task.operator(op).is_applicable(state)) {
            let after = task.successor(state, op);
            let is_useless = seen(&after) == seen(state) || distance_of(&after).is_none();
            let does_the_same = |kept| {
                let (other, cost) = (task.operator(kept), task.operator(op).cost);
                let applies = other.cost <= cost && other.is_applicable(state);
                applies && seen(&task.successor(state, kept)) == seen(&after)
            };
            let is_replaced =
                || smaller.operator_ids().any(|o| does_the_same(reduction.operator(o)));
            assert!(is_useless || is_replaced(), "seed {seed}: {op:?} in {state:?}");
        }
    }

    // Distances on plans are the same.
    let smaller_space = StateSpace::new(smaller);
    for (state, distance) in smaller_space.reachable() {
        let original = reduction.state(state);
        if smaller.mutexes.any_among(&facts_of(state)) {
            assert_eq!(distance, None, "seed {seed}: {state:?} is on no plan");
        }
        // With the initial values of variables that nothing needs, the state may not be reachable,
        // and operators may be applicable there that are on no plan.
        let at = space.states.iter().position(|other| *other == original).expect("a state");
        let expected = space.distances[at];
        let is_right = match (distance, expected) {
            (Some(d), Some(e)) => d == e || d > e && !space.reachable[at],
            (distance, _) => distance.is_none(),
        };
        assert!(is_right, "seed {seed}: {state:?}");
    }
    let optimum = distance_of(&task.initial);
    let result = astar(smaller, &mut Blind::new(smaller), Config::default());
    match result.outcome {
        Outcome::Solved(plan) => {
            let plan = reduction.plan(&plan);
            assert_eq!(plan.check(task), Ok(()), "seed {seed}");
            assert_eq!(Some(plan.cost), optimum, "seed {seed}");
        }
        Outcome::Unsolvable => assert_eq!(optimum, None, "seed {seed}"),
        Outcome::Bounded(_) | Outcome::Stopped(_) => unreachable!("there is no limit"),
    }
    let statistics = reduction.statistics();
    [
        statistics.operators_removed,
        statistics.facts_removed,
        statistics.variables_removed,
        statistics.preconditions_added,
        statistics.mutexes,
        backward,
    ]
}

fn compare_all(seeds: std::ops::Range<u64>) {
    let mut found = [0; 6];
    let count = (seeds.end - seeds.start) as usize;
    for seed in seeds {
        let of_task = compare(&random_task(seed), seed);
        found.iter_mut().zip(of_task).for_each(|(sum, n)| *sum += usize::from(n > 0));
    }
    assert!(found.iter().all(|&n| n > count / 60), "{found:?} of {count}");
}

#[test]
fn what_is_removed_is_on_no_plan() {
    compare_all(0..1000);
}

/// The slow lane.
#[test]
#[ignore = "takes minutes"]
fn what_is_removed_is_on_no_plan_of_many_tasks() {
    compare_all(1000..50_000);
}

fn distances(task: &Task, component: &Component) -> Vec<Distance> {
    let costs: Vec<Distance> = task.operators.iter().map(|o| o.cost as Distance).collect();
    let mut label_costs = Vec::new();
    component.label_costs_of_task(&costs, &mut label_costs);
    let mut distances = vec![INFINITY; component.num_states()];
    component.goal_distances(&label_costs, &mut DistanceScratch::new(), &mut distances);
    distances
}

/// A random task of which much cannot be reached.
fn sparse_task(seed: u64) -> Task {
    let mut task = random_task(seed);
    task.operators.truncate(4 + seed as usize % 5);
    task
}

/// No bound falls where mutexes are known, and what they raise stays admissible for states of plans.
#[test]
fn mutexes_raise_distances_of_projections() {
    let (mut raised, mut compared) = (0, 0);
    for seed in 0..3000 {
        let original = if seed % 3 == 0 { random_task(seed) } else { sparse_task(seed) };
        let reduction = reduced(&original);
        let task = reduction.task();
        if task.mutexes.pairs().next().is_none() {
            continue;
        }
        let unaware = Task { mutexes: Mutexes::default(), ..task.clone() };
        let space = StateSpace::new(task);
        let vars: Vec<VarId> = (0..task.variables.len()).map(VarId::from).collect();
        let pairs = vars.iter().flat_map(|&a| vars.iter().map(move |&b| Pattern::new([a, b])));
        for pattern in pairs.chain([Pattern::new(vars.iter().copied())]) {
            let [with, without] =
                [task, &unaware].map(|task| distances(task, &Component::new(task, &pattern)));
            let component = Component::new(task, &pattern);
            for (state, distance) in space.reachable() {
                let rank = component.abstract_state(state) as usize;
                if task.mutexes.any_among(&facts_of(state)) {
                    continue;
                }
                assert!(with[rank] >= without[rank], "seed {seed}: {pattern} at {state:?}");
                if let Some(distance) = distance {
                    assert!(u64::from(with[rank]) <= distance, "seed {seed}: {pattern}, {state:?}");
                }
                compared += 1;
                raised += usize::from(with[rank] > without[rank]);
            }
        }
    }
    assert!(compared > 1000 && raised > 20, "{raised} of {compared}");
}

/// Every kind of component, and heuristics on the smaller task.
#[test]
fn bounds_with_mutexes_are_admissible_for_states_of_plans() {
    let mut compared = 0;
    for seed in 0..1500 {
        let original = if seed % 3 == 0 { random_task(seed) } else { sparse_task(seed) };
        let reduction = reduced(&original);
        let task = reduction.task();
        if task.mutexes.is_empty() {
            continue;
        }
        let space = StateSpace::new(task);
        let patterns = interesting_patterns(task, 3, &PatternLimits::default());
        let mut components = projections_within(task, &patterns, usize::MAX);
        for states in [3, 20, 1000] {
            let config = CartesianConfig { states, ..CartesianConfig::default() };
            components.extend(cartesian_abstractions(task, &config));
        }
        components.extend(landmark_abstractions(task, &LandmarkConfig::default()));
        let all = Abstractions::of(task, components);
        let mut heuristics: Vec<Box<dyn Heuristic>> = vec![
            Box::new(HMax::new(task)),
            Box::new(LmCut::new(task)),
            Box::new(EveryState::new(Saturated::new(&all))),
            Box::new(Stored::new(Saturated::new(&all), StoredConfig::default())),
        ];
        for (state, distance) in space.reachable() {
            let Some(distance) = distance else { continue };
            for (h, heuristic) in heuristics.iter_mut().enumerate() {
                let value = heuristic.evaluate(state);
                let is_admissible = value <= Estimate::AtLeast(distance);
                assert!(is_admissible, "seed {seed}, {h}: {value:?} > {distance} at {state:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 5000, "{compared}");
}

#[test]
fn tasks_with_axioms_or_conditional_effects_are_left_as_they_are() {
    let mut seen = [0; 3];
    for seed in 0..100 {
        let task = random_adl_task(seed);
        let reduction = reduced(&task);
        let expected = if !task.axioms.is_empty() {
            Some(Unreduced::Axioms)
        } else if task.operators.iter().any(|operator| operator.has_conditional_changes()) {
            Some(Unreduced::ConditionalEffects)
        } else {
            None
        };
        assert_eq!(reduction.statistics().unreduced, expected, "seed {seed}");
        assert!(expected.is_none() || *reduction.task() == task);
        seen[expected.map_or(2, |reason| usize::from(reason != Unreduced::Axioms))] += 1;
    }
    assert!(seen.iter().all(|&n| n > 0), "{seen:?}");
}

#[test]
fn a_budget_ends_a_reduction_between_rounds() {
    for seed in 0..300 {
        let task = random_task(seed);
        let all = reduced(&task);
        for divisor in [2, 3, 5, 1000] {
            let mut budget = Budget::new(all.statistics().work / divisor);
            let reduction = reduce(&task, &ReduceConfig::default(), &mut budget);
            assert!(reduction.statistics().operators_removed <= all.statistics().operators_removed);
            let [before, after] = [&task, reduction.task()].map(|task| {
                let result = astar(task, &mut Blind::new(task), Config::default());
                match result.outcome {
                    Outcome::Solved(plan) => Some(plan.cost),
                    _ => None,
                }
            });
            assert_eq!(before, after, "seed {seed}");
        }
    }
}

/// A plan with steps that it does not need: walks at random, and then to a goal if it can.
fn winding_plan(space: &StateSpace, task: &Task, seed: u64) -> Option<Plan> {
    let (mut rng, mut state, mut plan) = (rng(seed), task.initial.clone(), Plan::default());
    let distance = |state: &[Value]| {
        let number = space.states.iter().position(|known| known == state);
        space.distances[number.expect("a state")]
    };
    let mut left = 12;
    while left > 0 || !task.is_goal(&state) {
        let here = distance(&state)?;
        let applicable = task.operator_ids().filter(|&op| {
            task.operator(op).pre.iter().all(|fact| state[fact.var.index()] == fact.value)
        });
        let steps = applicable.filter_map(|op| {
            let next = task.successor(&state, op);
            let there = distance(&next)?;
            let leads_on = left > 0 || there + task.operator(op).cost == here && there < here;
            leads_on.then_some((op, next))
        });
        let steps: Vec<(OpId, Vec<Value>)> = steps.collect();
        if steps.is_empty() {
            // Without steps it is over; without cost it could go round in circles.
            return task.is_goal(&state).then_some(plan);
        }
        let (op, next) = steps[rng.random_range(0..steps.len())].clone();
        plan.operators.push(op);
        plan.cost += task.operator(op).cost;
        state = next;
        left = usize::saturating_sub(left, 1);
    }
    Some(plan)
}

#[test]
fn every_plan_is_one_of_the_smaller_task() {
    let (mut plans, mut shorter, mut replaced) = (0, 0, 0);
    for seed in 0..400 {
        let task = if seed % 2 == 0 { random_task(seed) } else { sparse_task(seed) };
        let space = StateSpace::new(&task);
        let reduction = reduced(&task);
        for walk in 0..5 {
            let Some(plan) = winding_plan(&space, &task, walk) else { continue };
            assert_eq!(plan.check(&task), Ok(()));
            let smaller = reduction.smaller_plan(&plan);
            let smaller = smaller.unwrap_or_else(|| panic!("seed {seed}: a plan was lost"));
            assert_eq!(smaller.check(reduction.task()), Ok(()), "seed {seed}");
            assert!(smaller.cost <= plan.cost, "seed {seed}");
            let again = reduction.plan(&smaller);
            assert_eq!(again.check(&task), Ok(()), "seed {seed}");
            plans += 1;
            shorter += usize::from(smaller.operators.len() < plan.operators.len());
            replaced += usize::from(again.operators.iter().any(|op| !plan.operators.contains(op)));
        }
    }
    assert!(plans > 200 && shorter > 20 && replaced > 0, "{plans} {shorter} {replaced}");
}
