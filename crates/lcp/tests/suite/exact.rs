//! Inference on distinct tokens gives the dense network's shares on tasks of all six domains.

use crate::common;
use std::sync::Arc;

use crate::common::dense;
use lcp::graph::GraphKind;
use lcp::model::Model;
use lcp::network::{NetworkConfig, Prior, TokenScope, Weights};
use lcp::predict::{Predictor, Softmax};
use lcp::wl::{FeatureGenerator, VocabularyBuilder};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::{Partitioner, Saturated, Saturator, random_walk_states};
use planner::task::{OpId, Task, Value};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Tasks of the six domains that our generators made.
const TASKS: [(&str, &str); 6] = [
    ("blocks", "size-5"),
    ("ferry", "size-3"),
    ("logistics", "size-3"),
    ("miconic", "size-4"),
    ("spanner", "size-4"),
    ("visitall", "size-4"),
];

#[test]
fn shares_are_those_of_the_dense_network() {
    for (i, (domain, problem)) in TASKS.into_iter().enumerate() {
        let task = common::pddl::generated_task(domain, problem);
        for kind in [GraphKind::Flg, GraphKind::Aoag] {
            // One graph with distance features, one without, by turns.
            let distances = (kind == GraphKind::Flg) == (i % 2 == 0);
            check(&format!("{domain} {problem} {kind:?}"), &task, (kind, distances), 2);
        }
    }
}

/// The graph of a state and a pattern is defined for patterns of any size.
#[test]
fn shares_over_three_variables_are_those_of_the_dense_network() {
    for (domain, problem) in [("ferry", "size-3"), ("spanner", "size-4")] {
        let task = common::pddl::generated_task(domain, problem);
        for kind in [GraphKind::Flg, GraphKind::Aoag] {
            check(&format!("{domain} {problem} {kind:?}"), &task, (kind, true), 3);
        }
    }
}

/// With colours of pairs of variables, on patterns of at most so many variables.
fn check(what: &str, task: &Task, (kind, distances): (GraphKind, bool), size: usize) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let larger = interesting_patterns(task, size, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &larger);
    let states = random_walk_states(task, &abstractions, 6, 20, &mut rng);
    // The vocabulary misses some colours of the later states.
    let mut builder = VocabularyBuilder::new(kind, 2).distances(distances);
    builder.observe(task, &patterns, &states[..2]);
    let vocabulary = Arc::new(builder.finish());
    let d = vocabulary.num_features();
    let mut features = FeatureGenerator::new(task, &abstractions, vocabulary.clone(), usize::MAX);
    let compact = NetworkConfig::compact(d, 8);
    let with_prior = NetworkConfig { prior: Prior::Saturated, ..compact.clone() };
    for config in [NetworkConfig::paper(d), compact, with_prior] {
        let mut weights = Weights::random(&config, &mut rng);
        if let Some(gain) = weights.layout.prior {
            weights[gain][0] = 0.7;
        }
        for (softmax, scope) in
            [(Softmax::Masked, TokenScope::Relevant), (Softmax::Paper, TokenScope::All)]
        {
            // Too little memory to keep anything, and enough to keep all.
            for memory in [1, 1 << 30] {
                let mut predictor = Predictor::from_parts(
                    task,
                    &abstractions,
                    vocabulary.clone(),
                    weights.clone(),
                    softmax,
                    memory,
                );
                for state in &states {
                    let error = largest_error(
                        (&abstractions, state),
                        &mut features,
                        &mut predictor,
                        (&weights, scope),
                    );
                    assert!(error <= 1e-5, "{what}, {config:?}, {softmax:?}: {error}");
                }
            }
        }
    }
}

/// The logarithms of the saturated shares, pair by pair, by a partitioner that knows no other state.
fn prior(abstractions: &Arc<Abstractions>, state: &[Value], input: &dense::Input) -> Vec<f32> {
    let mut saturated = Saturated::new(abstractions).with_saturator(Saturator::Perimeter);
    let partitioning = saturated.best_for(state).expect("nothing to beat");
    let mut prior = vec![0.0; input.relevant.len()];
    for p in abstractions.ids() {
        let operators = abstractions.component(p).relevant_operators();
        for (&cost, o) in partitioning.costs_of(p).iter().zip(operators) {
            let share = f64::from(cost) / f64::from(abstractions.costs()[o.index()]);
            prior[p.index() * input.operators + o.index()] = (0.01 + share).ln() as f32;
        }
    }
    prior
}

/// How far the predictor's shares are from those of the dense network in a state.
fn largest_error(
    (abstractions, state): (&Arc<Abstractions>, &[Value]),
    features: &mut FeatureGenerator,
    predictor: &mut Predictor,
    (weights, scope): (&Weights, TokenScope),
) -> f32 {
    let rows = features.state_rows(state);
    let mut input = dense::Input::new(abstractions, &rows, weights.config.input);
    if weights.config.prior == Prior::Saturated {
        input.prior = prior(abstractions, state, &input);
    }
    let expected = dense::forward(weights, &input, scope);
    let shares = predictor.shares(state);
    let mut largest = 0.0f32;
    for o in (0..input.operators).map(OpId::from) {
        for &(p, pair) in abstractions.operator_pairs(o) {
            let expected = expected[p.index() * input.operators + o.index()];
            let error = (expected - shares[pair as usize]).abs();
            largest = if error.is_nan() { f32::INFINITY } else { largest.max(error) };
        }
    }
    largest
}

/// Trained weights are larger than random ones, and their sums cancel more.
#[test]
fn shares_are_those_of_the_dense_network_with_trained_weights() {
    let mut compared = 0;
    for (domain, problem) in TASKS {
        let task = common::pddl::generated_task(domain, problem);
        let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
        let abstractions = Abstractions::new(&task, &patterns);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        let states = random_walk_states(&task, &abstractions, 2, 20, &mut rng);
        for kind in ["flg-1", "flg-2", "aoag-1", "aoag-2"] {
            let name = format!("{domain}-{kind}.safetensors");
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/paper");
            let file = std::path::Path::new(file).join(&name);
            if !file.exists() {
                let too_large = ["logistics-aoag-2", "miconic-aoag-2"];
                assert!(too_large.iter().any(|large| name.starts_with(large)), "{name} is missing");
                continue;
            }
            let model = Model::load(&file).expect("a shipped model");
            let vocabulary = model.vocabulary.clone();
            let mut features = FeatureGenerator::new(&task, &abstractions, vocabulary, usize::MAX);
            for (softmax, scope) in
                [(Softmax::Masked, TokenScope::Relevant), (Softmax::Paper, TokenScope::All)]
            {
                let mut predictor = Predictor::new(&task, &abstractions, &model, softmax, 1 << 30);
                for state in &states {
                    let error = largest_error(
                        (&abstractions, state),
                        &mut features,
                        &mut predictor,
                        (&model.weights, scope),
                    );
                    assert!(error <= 1e-5, "{domain} {problem}, {name}, {softmax:?}: {error}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 88, "22 models, two states, two ways to compete");
}
