//! Every-state evaluation at the paper's width: exact inference against the dense network.
//!
//! `cargo bench -p lcp --bench inference [-- PROBLEM …]`
//!
//! Asserts that both give the same shares, and that on blocks 9-0 the exact one is at least 50
//! times as fast.

#[path = "../tests/common/cpu.rs"]
mod cpu;
#[path = "../tests/common/dense.rs"]
mod dense;
mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cpu::seconds;
use lcp::graph::GraphKind;
use lcp::network::{NetworkConfig, TokenScope, Weights};
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax};
use lcp::wl::{FeatureGenerator, VocabularyBuilder};
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::{PartitionScratch, random_walk_states};
use planner::task::{OpId, Operator, Task, Value};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() {
    let mut problems: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| arg != "--bench").map(PathBuf::from).collect();
    let chosen = !problems.is_empty();
    if !chosen {
        problems.push(Path::new(support::BENCHMARKS).join("paper/blocks/probBLOCKS-9-0.pddl"));
    }
    for problem in problems {
        match support::load(&problem) {
            Some(task) => {
                let ratio = measure(&problem, &task);
                assert!(chosen || ratio >= 50.0, "only {ratio:.0} times as fast");
            }
            None => eprintln!("skipped: cannot read {}", problem.display()),
        }
    }
}

/// How many times as long the dense network takes.
fn measure(problem: &Path, task: &Task) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let states = random_walk_states(task, &abstractions, 200, 100, &mut rng);
    let neighbours = neighbours(task, 400);
    let mut builder = VocabularyBuilder::new(GraphKind::Flg, 2);
    builder.observe(task, &patterns, &states);
    let vocabulary = Arc::new(builder.finish());
    let config = NetworkConfig::paper(vocabulary.num_features());
    let weights = Weights::random(&config, &mut rng);
    println!(
        "{}: k = {}, m = {}, d = {}, {} states",
        problem.file_stem().unwrap_or_default().display(),
        abstractions.len(),
        task.operators.len(),
        config.input,
        states.len()
    );

    let mut predictor = Predictor::from_parts(
        task,
        &abstractions,
        vocabulary.clone(),
        weights.clone(),
        Softmax::Masked,
        MEMORY_LIMIT,
    );
    let mut scratch = PartitionScratch::default();
    let rounds =
        [("cold, states of random walks", &states), ("states in order of search", &neighbours)];
    let mut network_s = 0.0;
    for (round, states) in rounds {
        let (mut predict, mut distances) = (0.0, 0.0);
        for state in states {
            let start = seconds();
            let partitioning = predictor.predict(state);
            predict += seconds() - start;
            let start = seconds();
            partitioning.evaluate(state, &mut scratch);
            distances += seconds() - start;
        }
        println!(
            "  {round}: {:.0} evaluations/s ({:.2} ms network, {:.2} ms distances), {} MiB kept",
            states.len() as f64 / (predict + distances),
            1e3 * predict / states.len() as f64,
            1e3 * distances / states.len() as f64,
            predictor.bytes() >> 20,
        );
        network_s = predict / states.len() as f64;
    }

    // The dense network on a few states, and the same shares.
    let mut generator = FeatureGenerator::new(task, &abstractions, vocabulary, usize::MAX);
    let mut dense_s = 0.0;
    let mut error = 0.0f32;
    for state in &states[..3] {
        let rows = generator.state_rows(state);
        let input = dense::Input::new(&abstractions, &rows, config.input);
        let start = seconds();
        let alpha = dense::forward(&weights, &input, TokenScope::Relevant);
        dense_s += (seconds() - start) / 3.0;
        let shares = predictor.shares(state);
        for o in (0..input.operators).map(OpId::from) {
            for &(p, pair) in abstractions.operator_pairs(o) {
                let expected = alpha[p.index() * input.operators + o.index()];
                error = error.max((expected - shares[pair as usize]).abs());
            }
        }
    }
    println!(
        "  dense: {:.0} ms a state, {:.0} times as long; largest difference {error:.1e}",
        1e3 * dense_s,
        dense_s / network_s
    );
    assert!(error <= 1e-5, "exact inference gives the dense network's shares");
    dense_s / network_s
}

/// The first states of a breadth-first search: like those of A*, neighbours come together.
fn neighbours(task: &Task, count: usize) -> Vec<Vec<Value>> {
    let mut states = vec![task.initial.clone()];
    let mut next = 0;
    while states.len() < count && next < states.len() {
        let state = states[next].clone();
        next += 1;
        let applicable = |o: &&Operator| o.pre.iter().all(|f| state[f.var.index()] == f.value);
        for operator in task.operators.iter().filter(applicable) {
            let mut successor = state.clone();
            operator.eff.iter().for_each(|f| successor[f.var.index()] = f.value);
            if !states.contains(&successor) {
                states.push(successor);
            }
        }
    }
    states
}
