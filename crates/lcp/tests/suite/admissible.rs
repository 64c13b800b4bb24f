//! Whatever a network says, the heuristic never overestimates and plans stay optimal.
//!
//! Random small tasks are solved exhaustively; networks are trained, untrained, of another task,
//! or broken on purpose.

use std::sync::Arc;

use lcp::graph::GraphKind;
use lcp::network::{NetworkConfig, Weights};
use lcp::partitioner::Learned;
use lcp::predict::{Predictor, Softmax};
use lcp::self_training::{SelfTraining, Session, train};
use lcp::wl::{Vocabulary, VocabularyBuilder};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Estimate, EveryState, Heuristic, Lazy, Stored, StoredConfig, Why};
use planner::partition::{Ocp, StepRule, random_walk_states};
use planner::search::{Config, Outcome, astar};
use planner::task::{Cost, Task};
use planner::testing::{StateSpace, TestRng, random_task, rng};
use planner::work::Budget;
use rand::RngExt;

fn projections(task: &Task) -> Arc<Abstractions> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    Abstractions::new(task, &patterns)
}

/// The vocabulary of the initial state of a task.
fn vocabulary(task: &Task, kind: GraphKind) -> Arc<Vocabulary> {
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let mut builder = VocabularyBuilder::new(kind, 2).distances(kind == GraphKind::Aoag);
    builder.observe(task, &patterns, std::slice::from_ref(&task.initial));
    Arc::new(builder.finish())
}

/// Weights that no training would give.
fn broken_weights(config: &NetworkConfig, rng: &mut TestRng) -> Vec<(&'static str, Weights)> {
    let random = Weights::random(config, rng);
    let filled = |x: f32| {
        let mut weights = random.clone();
        weights.data.fill(x);
        weights
    };
    let mut one_nan = random.clone();
    let i = rng.random_range(0..one_nan.data.len());
    one_nan.data[i] = f32::NAN;
    let mut huge = random.clone();
    huge.data.iter_mut().for_each(|x| *x *= 1e30);
    let mut wild = random.clone();
    wild.data.iter_mut().for_each(|x| *x = rng.random_range(-50.0..50.0));
    vec![
        ("random", random.clone()),
        ("wild", wild),
        ("huge", huge),
        ("one NaN", one_nan),
        ("all NaN", filled(f32::NAN)),
        ("infinite", filled(f32::INFINITY)),
        ("minus infinite", filled(f32::NEG_INFINITY)),
        ("zero", filled(0.0)),
    ]
}

fn check(what: &str, task: &Task, space: &StateSpace, make: &dyn Fn() -> Learned) {
    let mut every_state = EveryState::new(make());
    let mut lazy = Lazy::new(make(), 1 << 20);
    for (state, distance) in space.states.iter().zip(&space.distances) {
        let own = every_state.evaluate(state);
        lazy.begin(state, Why::First);
        let improved = lazy.evaluate(state);
        assert!(improved >= own, "{what}: what was made for a state is not used there");
        for estimate in [own, improved] {
            match (estimate, distance) {
                (Estimate::AtLeast(h), Some(distance)) => assert!(h <= *distance, "{what}"),
                (Estimate::DeadEnd, Some(_)) => panic!("{what}: a dead end that is none"),
                (_, None) => {}
            }
        }
    }
    let optimum = space.states.iter().position(|state| *state == task.initial);
    let optimum = space.distances[optimum.expect("the initial state is a state")];
    let every_state: Box<dyn Heuristic> = Box::new(EveryState::new(make()));
    let stored: Box<dyn Heuristic> = Box::new(Stored::new(make(), StoredConfig::default()));
    let lazy: Box<dyn Heuristic> = Box::new(Lazy::new(make(), 1 << 20));
    for mut heuristic in [every_state, stored, lazy] {
        let found: Option<Cost> = match astar(task, &mut heuristic, Config::default()).outcome {
            Outcome::Solved(plan) => Some(plan.cost),
            Outcome::Unsolvable => None,
            outcome => panic!("there is no limit, but {outcome:?}"),
        };
        assert_eq!(found, optimum, "{what}");
    }
}

#[test]
fn no_weights_make_the_heuristic_inadmissible() {
    for seed in 0..12 {
        let task = random_task(seed);
        let space = StateSpace::new(&task);
        let abstractions = projections(&task);
        let mut rng = rng(seed);
        let kind = if seed % 2 == 0 { GraphKind::Flg } else { GraphKind::Aoag };
        // Every third model is of another task: hardly a colour that it knows occurs.
        let origin = if seed % 3 == 2 { random_task(seed + 1000) } else { task.clone() };
        let vocabulary = vocabulary(&origin, kind);
        let d = vocabulary.num_features();
        for config in [NetworkConfig::paper(d), NetworkConfig::compact(d, 4)] {
            for (name, weights) in broken_weights(&config, &mut rng) {
                for softmax in [Softmax::Masked, Softmax::Paper] {
                    for refine in [0, 3] {
                        let what = format!("task {seed}, {name}, {softmax:?}, refine {refine}");
                        check(&what, &task, &space, &|| {
                            let predictor = Predictor::from_parts(
                                &task,
                                &abstractions,
                                vocabulary.clone(),
                                weights.clone(),
                                softmax,
                                1 << 16,
                            );
                            Learned::new(predictor, StepRule::trained(), refine, 1 << 20)
                        });
                    }
                }
            }
        }
    }
}

/// What a network says at one state is a partitioning like any other.
#[test]
fn no_prediction_exceeds_the_optimal_partitioning() {
    let mut compared = 0;
    for seed in 0..1000 {
        let task = random_task(seed);
        let abstractions = projections(&task);
        let mut rng = rng(seed);
        let vocabulary = vocabulary(&task, GraphKind::Flg);
        let config = NetworkConfig::compact(vocabulary.num_features(), 4);
        let mut weights = Weights::random(&config, &mut rng);
        weights.data.iter_mut().for_each(|x| *x *= rng.random_range(0.0..5.0));
        let softmax = if seed % 2 == 0 { Softmax::Masked } else { Softmax::Paper };
        let predictor =
            Predictor::from_parts(&task, &abstractions, vocabulary, weights, softmax, 1 << 16);
        let learned =
            Learned::new(predictor, StepRule::trained(), [0, 3][(seed % 3 == 0) as usize], 0);
        let mut learned = EveryState::new(learned);
        let mut optimal = EveryState::new(Ocp::new(&abstractions));
        for (state, _) in StateSpace::new(&task).reachable().take(10) {
            match (learned.evaluate(state), optimal.evaluate(state)) {
                (Estimate::AtLeast(h), Estimate::AtLeast(optimum)) => {
                    assert!(h <= optimum, "task {seed}: {h} is above {optimum}");
                    compared += 1;
                }
                (learned, optimal) => assert_eq!(learned, optimal, "task {seed}"),
            }
        }
    }
    assert!(compared > 1000, "{compared} states were compared");
}

#[test]
fn a_self_trained_network_is_admissible_and_learns() {
    let (mut before, mut after) = (0.0, 0.0);
    for seed in 0..12 {
        let task = random_task(seed);
        let space = StateSpace::new(&task);
        let abstractions = projections(&task);
        let settings = SelfTraining { steps: 100, ..SelfTraining::default() };
        let untrained = SelfTraining { steps: 0, ..settings.clone() };
        before += train(&task, &abstractions, &untrained, &mut Budget::unlimited()).bound;
        let trained = train(&task, &abstractions, &settings, &mut Budget::unlimited());
        after += trained.bound;
        check(&format!("task {seed}, trained"), &task, &space, &|| {
            let predictor = Predictor::from_parts(
                &task,
                &abstractions,
                trained.vocabulary.clone(),
                trained.weights.clone(),
                Softmax::Masked,
                1 << 20,
            );
            Learned::new(predictor, StepRule::PLAIN, 0, 1 << 20)
        });
    }
    assert!(after > before, "training raised the bound from {before} to {after}");
}

#[test]
fn the_same_seed_trains_the_same_network() {
    let task = random_task(3);
    let abstractions = projections(&task);
    let settings = SelfTraining { steps: 40, ..SelfTraining::default() };
    let train = || train(&task, &abstractions, &settings, &mut Budget::unlimited());
    assert_eq!(train().weights, train().weights);
}

#[test]
fn training_stops_when_its_budget_is_spent_and_goes_on_where_it_stopped() {
    let settings = SelfTraining { steps: 40, ..SelfTraining::default() };
    let with_states = |seed| {
        let task = random_task(seed);
        let abstractions = projections(&task);
        let states = random_walk_states(&task, &abstractions, 20, 30, &mut rng(1));
        (states.len() >= 8).then_some((task, abstractions, states))
    };
    let (task, abstractions, states) = (0..).find_map(with_states).expect("most have some states");
    let begin = || {
        let mut budget = Budget::unlimited();
        let session = Session::new(&task, &abstractions, &states, &settings, &mut budget);
        assert!(budget.spent() > 0, "preparing takes work");
        session
    };
    let (mut whole, mut sliced) = (begin(), begin());
    whole.advance(&mut Budget::unlimited());
    let mut slices = 0;
    while !sliced.is_done() {
        let mut slice = Budget::new(1);
        sliced.advance(&mut slice);
        assert!(slice.is_spent());
        slices += 1;
    }
    assert!(slices > 10, "a slice is a step");
    assert_eq!(whole.best().weights, sliced.best().weights);
}
