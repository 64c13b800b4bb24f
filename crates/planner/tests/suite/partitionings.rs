//! Cost partitionings on random small tasks: the constraint, admissibility, agreement.

use planner::abstraction::{
    Abstractions, CegarConfig, PatternLimits, cegar_patterns, interesting_patterns,
};
use planner::heuristic::{
    Estimate, EveryState, Heuristic, LmCut, Maximum, ScheduleConfig, Stored, StoredConfig, Verdict,
    Visit, Why,
};
use planner::partition::{
    Ascent, AscentConfig, CostPartitioning, GoalDistances, Ocp, PartitionError, PartitionScratch,
    Partitioner, Portfolio, Request, Saturated, Start, StepRule, Uniform, ZeroOneConfig, saturate,
    zero_one_partitionings,
};
use planner::task::{Cost, OpId, Task};
use planner::testing::{StateSpace, random_task, rng};
use planner::work::{Budget, SECOND};
use proptest::prelude::*;
use rand::RngExt;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

fn abstractions(task: &Task) -> Arc<Abstractions> {
    Abstractions::new(task, &interesting_patterns(task, 2, &PatternLimits::default()))
}

/// Projections to larger patterns: all of up to three variables, grown ones, and both.
fn larger_abstractions(task: &Task) -> [Arc<Abstractions>; 3] {
    let triples = interesting_patterns(task, 3, &PatternLimits::default());
    let grown = cegar_patterns(task, &CegarConfig { work: SECOND / 1000, ..Default::default() });
    [&triples, &grown, &[&triples[..], &grown].concat()].map(|all| Abstractions::new(task, all))
}

/// Weights of all kinds, broken ones included.
fn random_weights(abstractions: &Abstractions, seed: u64) -> Vec<f32> {
    let mut rng = rng(seed);
    let mut weight = || match rng.random_range(0..20) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => -1.0,
        3..=6 => 0.0,
        7 => f32::MAX,
        _ => rng.random_range(0.0..1.0),
    };
    (0..abstractions.num_pairs()).map(|_| weight()).collect()
}

fn check_admissible(estimate: Estimate, h_star: Option<Cost>) -> Result<(), TestCaseError> {
    match estimate {
        Estimate::AtLeast(h) => prop_assert!(h_star.is_none_or(|h_star| h <= h_star)),
        Estimate::DeadEnd => prop_assert_eq!(h_star, None),
    }
    Ok(())
}

/// The larger of two estimates.
fn larger(a: Estimate, b: Estimate) -> Estimate {
    match (a, b) {
        (Estimate::AtLeast(a), Estimate::AtLeast(b)) => Estimate::AtLeast(a.max(b)),
        _ => Estimate::DeadEnd,
    }
}

/// Greedy zero-one partitionings; tiny tasks have few orders.
fn zero_one(task: &Task, abstractions: &Arc<Abstractions>) -> Vec<CostPartitioning> {
    let config = ZeroOneConfig { samples: 20, patience: 3, ..ZeroOneConfig::default() };
    zero_one_partitionings(task, abstractions, &config)
}

/// One of each kind that makes partitionings for states.
fn partitioners(abstractions: &Arc<Abstractions>) -> [Box<dyn Partitioner>; 7] {
    let scp = Saturated::new(abstractions);
    let ascent = Ascent::new(
        abstractions,
        AscentConfig { steps: 20, max_bytes: 4096, ..AscentConfig::stored(StepRule::PLAIN) },
    );
    let improved = |rule| {
        let start = match rule == StepRule::PLAIN {
            true => Start::Saturated,
            false => Start::SaturatedSparing,
        };
        Ascent::new(abstractions, AscentConfig { start, steps: 10, rule, max_bytes: 4096 })
    };
    let both = Portfolio::new(abstractions).with(scp.clone()).with(ascent.clone());
    [
        Box::new(Uniform::new(abstractions)),
        Box::new(scp.clone()),
        Box::new(Ocp::new(abstractions)),
        Box::new(ascent.clone()),
        Box::new(both),
        Box::new(improved(StepRule::PLAIN)),
        Box::new(improved(StepRule::trained())),
    ]
}

/// A partitioner that notes what it makes.
struct Recorder {
    inner: Box<dyn Partitioner>,
    made: Rc<RefCell<Option<CostPartitioning>>>,
}

impl Partitioner for Recorder {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        self.inner.abstractions()
    }

    fn scale(&self) -> u32 {
        self.inner.scale()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let made = self.inner.partition(request);
        self.made.replace(made.clone());
        made
    }
}

#[test]
fn random_tasks_are_of_all_kinds() {
    let tasks: Vec<Task> = (0..1000).map(random_task).collect();
    let share = |is: &dyn Fn(&Task) -> bool| tasks.iter().filter(|t| is(t)).count();
    let costs = |task: &Task| task.operators.iter().map(|o| o.cost).collect::<Vec<_>>();
    assert!(share(&|task| costs(task).contains(&0)) > 200, "operators without cost");
    assert!(share(&|task| costs(task).iter().all(|&cost| cost == 1)) > 200, "unit costs");
    assert!(share(&|task| costs(task).iter().any(|&cost| cost > 20)) > 100, "general costs");
    let has_dead_ends = |task: &Task| {
        let space = StateSpace::new(task);
        let plan = space.reachable().any(|(_, h)| h.is_some());
        plan && space.reachable().any(|(_, h)| h.is_none())
    };
    assert!(share(&has_dead_ends) > 100, "dead ends beside states with plans");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        // Many random tasks are dead ends from the start.
        max_global_rejects: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn weights_give_out_exactly_the_cost(seed: u64) {
        let abstractions = abstractions(&random_task(seed));
        let partitioning =
            CostPartitioning::from_weights(&abstractions, &random_weights(&abstractions, seed));
        for o in (0..abstractions.num_operators()).map(OpId::from) {
            let pairs = abstractions.operator_pairs(o);
            let given: u32 = pairs.iter().map(|&(_, pair)| partitioning.costs()[pair as usize]).sum();
            let all = if pairs.is_empty() { 0 } else { abstractions.scaled_cost(o) };
            prop_assert_eq!(given, all);
        }
    }

    #[test]
    fn no_partitioner_gives_out_more_than_the_cost(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let mut made = zero_one(&task, &abstractions);
        let space = StateSpace::new(&task);
        let alive = space.reachable().map(|(s, _)| s).filter(|s| !abstractions.is_dead_end(s));
        for state in alive.take(3) {
            for partitioner in &mut partitioners(&abstractions) {
                let found = partitioner.best_for(state);
                made.push(found.expect("always found without a bound to beat"));
            }
        }
        for partitioning in made {
            for (o, operator) in task.operators.iter().enumerate() {
                let pairs = abstractions.operator_pairs(OpId::from(o)).iter();
                let given: u64 =
                    pairs.map(|&(_, pair)| u64::from(partitioning.costs()[pair as usize])).sum();
                prop_assert!(given <= operator.cost * u64::from(partitioning.scale()));
            }
        }
    }

    #[test]
    fn any_partitioning_is_admissible_in_every_state(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let weights = random_weights(&abstractions, seed);
        let partitionings = [
            CostPartitioning::from_weights(&abstractions, &weights),
            Uniform::new(&abstractions).best_for(&task.initial).expect("always found"),
            Saturated::new(&abstractions)
                .best_for(&task.initial)
                .expect("always found without a bound to beat"),
        ];
        let mut scratch = PartitionScratch::default();
        for (state, h_star) in StateSpace::new(&task).reachable() {
            for partitioning in &partitionings {
                let estimate = partitioning.evaluate(state, &mut scratch);
                check_admissible(estimate, h_star)?;
            }
        }
    }

    #[test]
    fn larger_patterns_are_admissible_whoever_divides_the_costs(seed: u64) {
        let task = random_task(seed);
        let space = StateSpace::new(&task);
        let mut scratch = PartitionScratch::default();
        for abstractions in larger_abstractions(&task) {
            let weights = random_weights(&abstractions, seed);
            let mut made = zero_one(&task, &abstractions);
            made.push(CostPartitioning::from_weights(&abstractions, &weights));
            if !abstractions.is_dead_end(&task.initial) {
                let mut partitioners = partitioners(&abstractions);
                made.extend(partitioners.iter_mut().filter_map(|p| p.best_for(&task.initial)));
            }
            for partitioning in made {
                let (_, tables) = saturate(&partitioning, abstractions.ids(), &mut scratch);
                for (state, h_star) in space.reachable() {
                    check_admissible(partitioning.evaluate(state, &mut scratch), h_star)?;
                    check_admissible(tables.evaluate(state), h_star)?;
                }
            }
        }
    }

    #[test]
    fn goal_distances_agree_with_single_states(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let partitioning =
            CostPartitioning::from_weights(&abstractions, &random_weights(&abstractions, seed));
        let mut scratch = PartitionScratch::default();
        let distances = partitioning.goal_distances(&mut scratch);
        for state in StateSpace::new(&task).states {
            let by_table = distances.evaluate(&state);
            prop_assert_eq!(by_table, partitioning.evaluate(&state, &mut scratch));
        }
    }

    #[test]
    fn saturating_never_lowers_a_distance(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let partitioning =
            CostPartitioning::from_weights(&abstractions, &random_weights(&abstractions, seed));
        let mut scratch = PartitionScratch::default();
        let before = partitioning.goal_distances(&mut scratch);
        let (better, after) = saturate(&partitioning, abstractions.ids(), &mut scratch);
        prop_assert_eq!(&better.goal_distances(&mut scratch), &after);
        for p in abstractions.ids() {
            let tables = before.table(p).iter().zip(after.table(p));
            for (before, after) in tables {
                prop_assert!(before <= after);
            }
        }
    }

    #[test]
    fn scp_returns_a_partitioning_exactly_if_it_beats_the_bound(seed: u64, beat in 0u64..30) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        prop_assume!(!abstractions.is_dead_end(&task.initial));
        let scp = Saturated::new(&abstractions);
        let mut scratch = PartitionScratch::default();
        // Equal generators break ties equally.
        let free = scp.clone().best_for(&task.initial).expect("found");
        let (state, budget) = (&task.initial[..], &mut Budget::unlimited());
        let request = Request { state, beat: Some(beat), budget, elapsed: 0, initial: false };
        let bound = scp.clone().partition(request);
        match free.evaluate(&task.initial, &mut scratch) {
            Estimate::AtLeast(h) => prop_assert_eq!(bound, (h > beat).then_some(free)),
            Estimate::DeadEnd => unreachable!("ruled out above"),
        }
    }

    #[test]
    fn heuristics_are_admissible_in_every_state_at_all_times(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let space = StateSpace::new(&task);
        let scp = Saturated::new(&abstractions);
        let always =
            ScheduleConfig { min_share: 1.0, max_share: 1.0, ..ScheduleConfig::default() };
        let eager = StoredConfig { prune_every: 2, schedule: always, ..StoredConfig::default() };
        let tiny = StoredConfig { max_bytes: 1, ..eager };
        let mut heuristics: Vec<Box<dyn Heuristic>> = vec![
            Box::new(LmCut::new(&task)),
            Box::new(Maximum::new(abstractions.clone(), &zero_one(&task, &abstractions))),
            Box::new(EveryState::with_memory(scp.clone(), usize::MAX)),
            Box::new(EveryState::with_memory(scp.clone(), 100)),
            Box::new(EveryState::with_interval(scp.clone(), usize::MAX, 3)),
            Box::new(Stored::new(scp, tiny)),
        ];
        for partitioner in partitioners(&abstractions) {
            heuristics.push(Box::new(EveryState::new(partitioner)));
        }
        for partitioner in partitioners(&abstractions) {
            heuristics.push(Box::new(Stored::new(partitioner, eager)));
        }
        for mut heuristic in heuristics {
            for (state, h_star) in space.reachable().chain(space.reachable()) {
                let estimate = heuristic.evaluate(state);
                check_admissible(estimate, h_star)?;
                let Estimate::AtLeast(h) = estimate else { continue };
                let visit = Visit { state, h, number: 0, again: false };
                match heuristic.before_expansion(visit) {
                    Verdict::Keep | Verdict::Restart(_) => {}
                    Verdict::Raised(h) => check_admissible(Estimate::AtLeast(h), h_star)?,
                    Verdict::DeadEnd => check_admissible(Estimate::DeadEnd, h_star)?,
                }
                heuristic.begin(state, Why::First);
                check_admissible(heuristic.evaluate(state), h_star)?;
            }
        }
    }

    /// With an interval, one of N states gets a partitioning, and the others have the best value of
    /// what was kept before them.
    #[test]
    fn an_interval_leaves_states_to_what_is_kept(seed: u64, interval in 1u64..5) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let space = StateSpace::new(&task);
        let mut scratch = PartitionScratch::default();
        for inner in partitioners(&abstractions) {
            let made = Rc::default();
            let recorder = Recorder { inner, made: Rc::clone(&made) };
            let mut every = EveryState::with_interval(recorder, usize::MAX, interval);
            let (mut kept, mut computed) = (Vec::<CostPartitioning>::new(), 0);
            let states = space.reachable().map(|(state, _)| state);
            let alive = states.filter(|state| !abstractions.is_dead_end(state));
            for (i, state) in (0u64..).zip(alive.take(30)) {
                let h = every.evaluate(state);
                computed += usize::from(i % interval == 0);
                prop_assert_eq!(every.statistics().partitions_computed, computed);
                let mut known = Estimate::AtLeast(0);
                for kept in &kept {
                    known = larger(known, kept.evaluate(state, &mut scratch));
                }
                if let Some(made) = made.take() {
                    let own = made.evaluate(state, &mut scratch);
                    if own > known {
                        known = own;
                        kept.push(made);
                    }
                }
                prop_assert_eq!(h, known);
            }
        }
    }

    /// Whatever makes them: looking up what is stored gives what computing it again gives.
    #[test]
    fn stored_partitionings_give_what_they_gave_when_made(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let space = StateSpace::new(&task);
        let mut scratch = PartitionScratch::default();
        for inner in partitioners(&abstractions) {
            let made = Rc::default();
            let recorder = Recorder { inner, made: Rc::clone(&made) };
            let mut stored = Stored::new(recorder, StoredConfig::default());
            let mut kept: Vec<GoalDistances> = Vec::new();
            let states = space.reachable().map(|(state, _)| state);
            for state in states.filter(|s| !abstractions.is_dead_end(s)).take(20) {
                stored.begin(state, Why::First);
                if stored.statistics().partitions > kept.len() {
                    let made = made.take().expect("something is stored");
                    let order = abstractions.ids().collect::<Vec<_>>().into_iter().rev();
                    kept.push(saturate(&made, order, &mut scratch).1);
                }
            }
            for (state, _) in space.reachable() {
                let values = kept.iter().map(|tables| tables.evaluate(state));
                let recomputed = values.fold(Estimate::AtLeast(0), larger);
                let is_dead = abstractions.is_dead_end(state);
                let recomputed = if is_dead { Estimate::DeadEnd } else { recomputed };
                prop_assert_eq!(stored.evaluate(state), recomputed);
            }
        }
    }

    /// More partitionings than share a row of the tables, of different scales.
    #[test]
    fn the_maximum_is_that_of_the_single_partitionings(seed: u64, number in 1u64..40) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let mut scratch = PartitionScratch::default();
        let mut partitionings = zero_one(&task, &abstractions);
        for i in 0..number {
            let weights = random_weights(&abstractions, seed.wrapping_add(i));
            partitionings.push(CostPartitioning::from_weights(&abstractions, &weights));
        }
        let mut maximum = Maximum::new(abstractions.clone(), &partitionings);
        for state in StateSpace::new(&task).states {
            let single = |p: &CostPartitioning| p.evaluate(&state, &mut scratch);
            let recomputed = partitionings.iter().map(single).fold(Estimate::AtLeast(0), larger);
            prop_assert_eq!(maximum.evaluate(&state), recomputed);
        }
    }

    #[test]
    fn too_much_cost_is_refused(seed: u64) {
        let abstractions = abstractions(&random_task(seed));
        prop_assume!(abstractions.num_pairs() > 0);
        let weights = vec![1.0f64; abstractions.num_pairs()];
        let uniform = CostPartitioning::from_weights(&abstractions, &weights);
        let mut costs = uniform.costs().to_vec();
        costs[(seed % abstractions.num_pairs() as u64) as usize] += 1;
        let scale = abstractions.scale();
        let refused = CostPartitioning::new(&abstractions, scale, costs.clone());
        let refused = matches!(refused, Err(PartitionError::TooMuch { .. }));
        prop_assert!(refused);
        costs.push(0);
        prop_assert!(CostPartitioning::new(&abstractions, scale, costs.clone()).is_err());
        prop_assert!(CostPartitioning::new(&abstractions, 2 * scale, costs).is_err());
    }
}

#[test]
fn huge_costs_stay_admissible() {
    for seed in 0..200 {
        let mut task = random_task(seed);
        for operator in &mut task.operators {
            operator.cost = operator.cost.saturating_mul(1 << 50);
        }
        let abstractions = abstractions(&task);
        let uniform = Uniform::new(&abstractions).best_for(&task.initial).expect("always found");
        let mut scratch = PartitionScratch::default();
        for (state, h_star) in StateSpace::new(&task).reachable() {
            if let Estimate::AtLeast(h) = uniform.evaluate(state, &mut scratch) {
                assert!(h_star.is_none_or(|h_star| h <= h_star));
            }
        }
    }
}
