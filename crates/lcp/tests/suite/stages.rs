//! `auto`, in its first stage and beyond, and untrained networks, on random tasks with and without
//! conditional effects and axioms: admissible in every state, and A* finds the optimum.

use std::cell::Cell;
use std::sync::Arc;

use lcp::auto::{Auto, AutoConfig};
use lcp::components::{ComponentsConfig, go_on};
use lcp::graph::GraphKind;
use lcp::network::{NetworkConfig, Weights};
use lcp::partitioner::Learned;
use lcp::predict::{Predictor, Softmax};
use lcp::wl::VocabularyBuilder;
use planner::abstraction::{Abstractions, Pattern, PatternLimits, interesting_patterns};
use planner::heuristic::{Estimate, EveryState, Heuristic, Staged, Stored, StoredConfig};
use planner::search::{Config, Outcome, astar};
use planner::task::{Task, Variable};
use planner::testing::{StateSpace, random_adl_task, random_task, rng};

/// Larger state spaces take too long.
const MAX_STATES: usize = 600;

fn num_states(task: &Task) -> usize {
    let given = task.variables.iter().filter(|v| v.derived.is_none());
    given.map(Variable::domain_size).fold(1, usize::saturating_mul)
}

/// `auto` that never learns, whose second stage begins at once.
///
/// `stronger` counts how often that was one with more components.
fn auto<'t>(
    task: &'t Task,
    abstractions: &Arc<Abstractions>,
    stronger: &'t Cell<usize>,
) -> Box<dyn Heuristic + 't> {
    let auto = Auto::new(task, abstractions, AutoConfig::default());
    let config = ComponentsConfig { gain: 0.0, least_steps: 0.0, ..ComponentsConfig::default() };
    let stored = StoredConfig::default();
    let before = abstractions.components().len();
    let second = move |first| {
        let second = go_on(task, first, &config, stored);
        stronger.set(stronger.get() + usize::from(second.statistics().patterns > before));
        second
    };
    Box::new(Staged::new(Stored::new(auto, stored), 0, Box::new(second)))
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
    Learned::new(predictor, 3, 1 << 20)
}

/// Checks a task; says whether it was small enough.
fn check(what: &str, task: &Task, seed: u64, stronger: &Cell<usize>) -> bool {
    if num_states(task) > MAX_STATES {
        return false;
    }
    let space = StateSpace::new(task);
    let initial = space.states.iter().position(|s| *s == task.initial).expect("a state");
    let optimum = space.distances[initial];
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let mut heuristics: Vec<(&str, Box<dyn Heuristic>)> =
        vec![("auto", auto(task, &abstractions, stronger))];
    if !patterns.is_empty() {
        let learned = || learned(task, &patterns, &abstractions, seed);
        heuristics.push(("lcp", Box::new(EveryState::new(learned()))));
        heuristics.push(("lcp stored", Box::new(Stored::new(learned(), StoredConfig::default()))));
    }
    for (name, heuristic) in &mut heuristics {
        let found = match astar(task, &mut **heuristic, Config::default()).outcome {
            Outcome::Solved(plan) => {
                assert_eq!(plan.check(task), Ok(()), "{name}, {what} {seed}");
                Some(plan.cost)
            }
            Outcome::Unsolvable => None,
            Outcome::Stopped(_) => unreachable!("there is no limit"),
        };
        assert_eq!(found, optimum, "{name}, {what} {seed}");
        // After the search, the second stage and all that was stored are there.
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

fn check_all(what: &str, make: fn(u64) -> Task, seeds: std::ops::Range<u64>) -> [usize; 2] {
    let mut checked = 0;
    let stronger = Cell::new(0);
    for seed in seeds {
        checked += usize::from(check(what, &make(seed), seed, &stronger));
    }
    [checked, stronger.get()]
}

#[test]
fn auto_is_admissible_and_optimal_in_both_stages() {
    let [checked, stronger] = check_all("task", random_task, 0..100);
    assert!(checked > 80 && stronger > 20, "{checked} tasks, {stronger} with more components");
    let [checked, stronger] = check_all("ADL task", random_adl_task, 0..100);
    assert!(checked > 60 && stronger > 2, "{checked} tasks, {stronger} with more components");
}

/// The slow lane: `scripts/slow`.
#[test]
#[ignore = "takes many minutes"]
fn auto_is_admissible_and_optimal_on_many_tasks() {
    for (what, make) in [("task", random_task as fn(u64) -> Task), ("ADL task", random_adl_task)] {
        let mut done = 0;
        for first in (100..).step_by(1000) {
            done += check_all(what, make, first..first + 1000)[0];
            println!("{done} {what}s");
            if done >= 10_000 {
                break;
            }
        }
    }
}
