//! Inference on distinct tokens gives the dense network's shares on tasks of all six domains.

mod common;
#[path = "common/pddl.rs"]
mod pddl;

use std::sync::Arc;

use common::dense;
use lcp::graph::GraphKind;
use lcp::network::weights::Weights;
use lcp::network::{NetworkConfig, TokenScope};
use lcp::predict::{Predictor, Softmax};
use lcp::self_training::walk::random_walk_states;
use lcp::wl::{FeatureGenerator, VocabularyBuilder};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::task::{OpId, Task};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const TASKS: [(&str, &str); 7] = [
    ("blocks", "probBLOCKS-5-0.pddl"),
    ("ferry", "p03.pddl"),
    ("logistics00", "probLOGISTICS-4-0.pddl"),
    ("logistics98", "prob32.pddl"),
    ("miconic", "s4-0.pddl"),
    ("spanner", "p05.pddl"),
    ("visitall-opt11-strips", "problem03-full.pddl"),
];

#[test]
fn shares_are_those_of_the_dense_network() {
    for (i, (domain, problem)) in TASKS.into_iter().enumerate() {
        let Some(task) = pddl::published_task(domain, problem) else { continue };
        for kind in [GraphKind::Flg, GraphKind::Aoag] {
            // One graph with distance features, one without, by turns.
            let distances = (kind == GraphKind::Flg) == (i % 2 == 0);
            check(&format!("{domain} {problem} {kind:?}"), &task, kind, distances);
        }
    }
}

fn check(what: &str, task: &Task, kind: GraphKind, distances: bool) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let states = random_walk_states(task, &abstractions, 6, 20, &mut rng);
    // The vocabulary misses some colours of the later states.
    let mut builder = VocabularyBuilder::new(kind, 2).distances(distances);
    builder.observe(task, &patterns, &states[..2]);
    let vocabulary = Arc::new(builder.finish());
    let d = vocabulary.num_features();
    let mut features = FeatureGenerator::new(task, &abstractions, vocabulary.clone(), usize::MAX);
    for config in [NetworkConfig::paper(d), NetworkConfig::compact(d, 8)] {
        let weights = Weights::random(&config, &mut rng);
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
                    let rows = features.state_rows(&abstractions, state);
                    let input = dense::Input::new(&abstractions, &rows, d);
                    let expected = dense::forward(&weights, &input, scope);
                    let shares = predictor.shares(&abstractions, state);
                    for o in (0..input.operators).map(OpId::from) {
                        for &(p, pair) in abstractions.operator_pairs(o) {
                            let expected = expected[p.index() * input.operators + o.index()];
                            let error = (expected - shares[pair as usize]).abs();
                            assert!(error <= 1e-5, "{what}, {config:?}, {softmax:?}: {error}");
                        }
                    }
                }
            }
        }
    }
}
