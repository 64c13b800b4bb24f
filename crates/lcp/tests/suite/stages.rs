//! Untrained networks on random tasks with and without conditional effects and axioms: admissible in
//! every state, and A* finds the optimum.

use std::sync::Arc;

use lcp::graph::GraphKind;
use lcp::network::{NetworkConfig, Weights};
use lcp::partitioner::Learned;
use lcp::predict::{Predictor, Softmax};
use lcp::wl::VocabularyBuilder;
use planner::abstraction::{Abstractions, Pattern, PatternLimits, interesting_patterns};
use planner::heuristic::{Estimate, EveryState, Heuristic, Stored, StoredConfig};
use planner::partition::StepRule;
use planner::search::{Config, Outcome, astar};
use planner::task::{Task, Variable};
use planner::testing::{StateSpace, random_adl_task, random_task, rng};

/// Larger state spaces take too long.
const MAX_STATES: usize = 600;

fn num_states(task: &Task) -> usize {
    let given = task.variables.iter().filter(|v| v.derived.is_none());
    given.map(Variable::domain_size).fold(1, usize::saturating_mul)
}

/// Predictions of an untrained network.
fn learned(
    task: &Task,
    patterns: &[Pattern],
    abstractions: &Arc<Abstractions>,
    seed: u64,
) -> Learned {
    let kind = if seed.is_multiple_of(2) { GraphKind::Flg } else { GraphKind::Aoag };
    let mut vocabulary = VocabularyBuilder::new(kind, 2);
    vocabulary.observe(task, patterns, std::slice::from_ref(&task.initial));
    let vocabulary = Arc::new(vocabulary.finish());
    let config = NetworkConfig::compact(vocabulary.num_features(), 4);
    let weights = Weights::random(&config, &mut rng(seed));
    let predictor =
        Predictor::from_parts(task, abstractions, vocabulary, weights, Softmax::Masked, 1 << 16);
    Learned::new(predictor, StepRule::trained(), 3, 1 << 20)
}

/// Checks a task; says whether it was small enough.
fn check(what: &str, task: &Task, seed: u64) -> bool {
    if num_states(task) > MAX_STATES {
        return false;
    }
    let space = StateSpace::new(task);
    let initial = space.states.iter().position(|s| *s == task.initial).expect("a state");
    let optimum = space.distances[initial];
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    if patterns.is_empty() {
        return false;
    }
    let learned = || learned(task, &patterns, &abstractions, seed);
    let mut heuristics: Vec<(&str, Box<dyn Heuristic>)> = vec![
        ("lcp", Box::new(EveryState::new(learned()))),
        ("lcp stored", Box::new(Stored::new(learned(), StoredConfig::default()))),
    ];
    for (name, heuristic) in &mut heuristics {
        let found = match astar(task, &mut **heuristic, Config::default()).outcome {
            Outcome::Solved(plan) => {
                assert_eq!(plan.check(task), Ok(()), "{name}, {what} {seed}");
                Some(plan.cost)
            }
            Outcome::Unsolvable => None,
            Outcome::Bounded(_) | Outcome::Stopped(_) => unreachable!("there is no limit"),
        };
        assert_eq!(found, optimum, "{name}, {what} {seed}");
        for (state, h_star) in space.states.iter().zip(&space.distances) {
            let admissible = match heuristic.evaluate(state) {
                Estimate::AtLeast(h) => h_star.is_none_or(|h_star| h <= h_star),
                Estimate::DeadEnd => h_star.is_none(),
            };
            assert!(admissible, "{name}, {what} {seed}, {state:?}, h* {h_star:?}");
        }
    }
    true
}

#[test]
fn predictions_are_admissible_and_the_plans_optimal() {
    let checked = (0..100).filter(|&seed| check("task", &random_task(seed), seed)).count();
    assert!(checked > 80, "{checked} tasks");
    let checked = (0..100).filter(|&seed| check("ADL task", &random_adl_task(seed), seed)).count();
    assert!(checked > 40, "{checked} ADL tasks");
}
