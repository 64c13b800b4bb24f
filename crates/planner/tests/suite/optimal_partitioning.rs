//! Optimal cost partitioning and ascent against the textbook linear program, on random tasks.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use std::sync::Arc;

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::Estimate;
use planner::partition::{
    Ascent, AscentConfig, Ocp, OcpConfig, PartitionScratch, Partitioner, Request, Saturated,
    StepRule, Uniform, ZeroOneConfig, zero_one_partitionings,
};
use planner::task::{Cost, Task, Value};
use planner::testing::{StateSpace, random_task, rng};
use planner::work::Budget;
use proptest::prelude::*;
use rand::RngExt;

fn abstractions(task: &Task) -> Arc<Abstractions> {
    Abstractions::new(task, &interesting_patterns(task, 2, &PatternLimits::default()))
}

/// Optimal cost partitioning as the literature writes it, nothing left out:
///
/// maximise Σ_P H_P subject to
/// D_P(t) ≤ D_P(s) + C_P(o) for every transition s →o t of P, H_P ≤ D_P(g) for every goal g of P,
/// Σ_P C_P(o) ≤ cost(o) for every operator o, and D_P = 0 in the projected state.
fn linear_program(abstractions: &Abstractions, state: &[Value]) -> f64 {
    let mut first_column = Vec::new();
    let mut num_columns = abstractions.len() + abstractions.num_pairs();
    for p in abstractions.ids() {
        first_column.push(num_columns);
        num_columns += abstractions.component(p).num_states();
    }
    let mut rows: Vec<(Vec<(usize, f64)>, f64)> = Vec::new();
    for p in abstractions.ids() {
        let projection = abstractions.component(p);
        let d = |s: u32| first_column[p.index()] + s as usize;
        for (from, label, to) in projection.transitions() {
            for position in projection.label_range(label) {
                let c = abstractions.len() + abstractions.pairs(p).start + position;
                rows.push((vec![(d(to), 1.0), (d(from), -1.0), (c, -1.0)], 0.0));
            }
        }
        for &goal in projection.goals() {
            rows.push((vec![(p.index(), 1.0), (d(goal), -1.0)], 0.0));
        }
        rows.push((vec![(d(projection.abstract_state(state)), 1.0)], 0.0));
    }
    for o in (0..abstractions.num_operators()).map(planner::task::OpId::from) {
        let pairs = abstractions.operator_pairs(o);
        let entry = |&(_, pair): &(_, u32)| (abstractions.len() + pair as usize, 1.0);
        let cost = f64::from(abstractions.costs()[o.index()]);
        rows.push((pairs.iter().map(entry).collect(), cost));
    }
    for column in 0..num_columns {
        rows.push((vec![(column, -1.0)], 0.0));
    }
    let entries = || {
        rows.iter().enumerate().flat_map(|(row, (entries, _))| {
            entries.iter().map(move |&(column, value)| (row, column, value))
        })
    };
    let a = CscMatrix::new_from_triplets(
        rows.len(),
        num_columns,
        entries().map(|entry| entry.0).collect(),
        entries().map(|entry| entry.1).collect(),
        entries().map(|entry| entry.2).collect(),
    );
    let b: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let mut q = vec![0.0; num_columns];
    q[..abstractions.len()].fill(-1.0);
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let cones = [SupportedConeT::NonnegativeConeT(rows.len())];
    let zeros = CscMatrix::zeros((num_columns, num_columns));
    let mut solver = DefaultSolver::new(&zeros, &q, &a, &b, &cones, settings).expect("sound data");
    solver.solve();
    assert!(matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved));
    -solver.solution.obj_val
}

/// Some reachable states that are no dead ends of the projections, with their true distances.
fn some_states(
    task: &Task,
    abstractions: &Abstractions,
    seed: u64,
) -> Vec<(Vec<Value>, Option<Cost>)> {
    let mut rng = rng(seed);
    let space = StateSpace::new(task);
    let alive = space.reachable().filter(|(state, _)| !abstractions.is_dead_end(state));
    let mut states: Vec<_> = alive.map(|(state, h)| (state.to_vec(), h)).collect();
    while states.len() > 6 {
        states.swap_remove(rng.random_range(0..states.len()));
    }
    states
}

fn value(partitioner: &mut dyn Partitioner, state: &[Value]) -> Cost {
    let partitioning = partitioner.best_for(state).expect("nothing to beat");
    match partitioning.evaluate(state, &mut PartitionScratch::default()) {
        Estimate::AtLeast(h) => h,
        Estimate::DeadEnd => panic!("the state is no dead end of the projections"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Warm starts included: one partitioner serves all states of a task, whatever it may keep.
    #[test]
    fn ocp_is_the_linear_program_rounded_up(seed: u64, max_bytes in 0usize..30_000) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let bounded = OcpConfig { max_bytes, ..OcpConfig::default() };
        let mut ocp = Ocp::with_config(&abstractions, bounded);
        for (state, h_star) in some_states(&task, &abstractions, seed) {
            let optimum = linear_program(&abstractions, &state);
            let h = value(&mut ocp, &state);
            // What rounds up is a matter of accuracy only just above an integer.
            prop_assert!(h as f64 >= (optimum - 0.011).ceil(), "{h} is below {optimum}");
            prop_assert!((h as f64) < optimum + 1.0 + 1e-6, "{h} is above {optimum}");
            prop_assert!(h_star.is_none_or(|h_star| h <= h_star));
            let bounds = ocp.bounds();
            prop_assert!(bounds.lower <= optimum + 1e-5 * optimum.max(1.0));
            prop_assert!(bounds.upper >= optimum - 1e-5 * optimum.max(1.0));

            // One that keeps nothing has only what the state itself needs.
            let nothing = OcpConfig { max_bytes: 0, ..OcpConfig::default() };
            let mut forgetful = Ocp::with_config(&abstractions, nothing);
            value(&mut forgetful, &state);
            prop_assert!(ocp.memory_bytes() <= forgetful.memory_bytes() + max_bytes);
        }
        prop_assert_eq!(ocp.statistics().open, 0);
    }

    #[test]
    fn nothing_exceeds_the_optimum(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let mut ocp = Ocp::new(&abstractions);
        let each = AscentConfig { steps: 60, ..AscentConfig::every_state(StepRule::PLAIN) };
        let mut others: [Box<dyn Partitioner>; 4] = [
            Box::new(Uniform::new(&abstractions)),
            Box::new(Saturated::new(&abstractions)),
            Box::new(Ascent::new(&abstractions, AscentConfig::stored(StepRule::PLAIN))),
            Box::new(Ascent::new(&abstractions, each)),
        ];
        let config = ZeroOneConfig { samples: 20, patience: 3, ..ZeroOneConfig::default() };
        let zero_one = zero_one_partitionings(&task, &abstractions, &config);
        let mut scratch = PartitionScratch::default();
        for (state, _) in some_states(&task, &abstractions, seed) {
            let optimal = value(&mut ocp, &state);
            for partitioning in &zero_one {
                let estimate = partitioning.evaluate(&state, &mut scratch);
                prop_assert!(matches!(estimate, Estimate::AtLeast(h) if h <= optimal));
            }
            for partitioner in &mut others {
                let h = value(partitioner.as_mut(), &state);
                prop_assert!(h <= optimal, "{} says {h}, ocp {optimal}", partitioner.name());
            }
        }
    }

    #[test]
    fn the_ascent_encloses_the_optimum(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let mut ascent = Ascent::new(&abstractions, AscentConfig::stored(StepRule::PLAIN));
        for (state, _) in some_states(&task, &abstractions, seed) {
            let optimum = linear_program(&abstractions, &state);
            let h = value(&mut ascent, &state);
            let bounds = ascent.bounds();
            let noise = 1e-5 * optimum.max(1.0);
            prop_assert!(bounds.lower <= optimum + noise);
            prop_assert!(bounds.upper >= optimum - noise);
            if bounds.are_closed() {
                prop_assert!(h as f64 >= (optimum - 0.011).ceil());
            }
            // Nothing to find beyond the optimum, and the ascent may say so.
            let beat = (optimum + noise).ceil() as Cost;
            let (state, budget) = (&state[..], &mut Budget::unlimited());
            let request = Request { state, beat: Some(beat), budget, elapsed: 0, initial: false };
            if let Some(partitioning) = ascent.partition(request) {
                let again =
                    partitioning.evaluate(state, &mut PartitionScratch::default());
                prop_assert!(matches!(again, Estimate::AtLeast(h) if h <= beat));
            }
        }
    }

    #[test]
    fn broken_weights_do_no_harm(seed: u64) {
        let task = random_task(seed);
        let abstractions = abstractions(&task);
        let mut rng = rng(seed);
        let mut weight = || match rng.random_range(0..8) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => -1.0,
            3 => 0.0,
            4 => f32::MAX,
            _ => rng.random_range(0.0..1.0),
        };
        let config = AscentConfig { rule: StepRule::trained(), ..AscentConfig::every_state(StepRule::PLAIN) };
        let mut ascent = Ascent::new(&abstractions, config);
        for (state, h_star) in some_states(&task, &abstractions, seed) {
            let weights: Vec<f32> = (0..abstractions.num_pairs()).map(|_| weight()).collect();
            let (state, budget) = (&state[..], &mut Budget::unlimited());
            let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
            let partitioning =
                ascent.partition_from(&weights, request).expect("nothing to beat");
            let estimate =
                partitioning.evaluate(state, &mut PartitionScratch::default());
            let Estimate::AtLeast(h) = estimate else { panic!("no dead end") };
            prop_assert!(h_star.is_none_or(|h_star| h <= h_star));
        }
    }
}
