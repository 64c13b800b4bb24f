//! Every-state evaluation at the paper's width: exact inference against the dense network.
//!
//! `cargo bench -p lcp --bench inference [-- PROBLEM …]`

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/cpu.rs"]
mod cpu;
mod support;

use std::path::{Path, PathBuf};

use cpu::seconds;
use lcp::graph::GraphKind;
use lcp::network::weights::Weights;
use lcp::network::{NetworkConfig, TokenScope};
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax, feature_generator};
use lcp::self_training::walk::random_walk_states;
use lcp::wl::VocabularyBuilder;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::partition::PartitionScratch;
use planner::task::{OpId, Task};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() {
    let mut problems: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| arg != "--bench").map(PathBuf::from).collect();
    if problems.is_empty() {
        problems.push(Path::new(support::BENCHMARKS).join("paper/blocks/probBLOCKS-9-0.pddl"));
    }
    for problem in problems {
        match support::load(&problem) {
            Some(task) => measure(&problem, &task),
            None => eprintln!("skipped: cannot read {}", problem.display()),
        }
    }
}

fn measure(problem: &Path, task: &Task) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let states = random_walk_states(task, &abstractions, 400, 100, &mut rng);
    let mut builder = VocabularyBuilder::new(GraphKind::Flg, 2);
    builder.observe(task, &patterns, &states);
    let vocabulary = std::sync::Arc::new(builder.finish());
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
    )
    .expect("the patterns are the task's");
    let mut scratch = PartitionScratch::default();
    let (first, second) = states.split_at(states.len() / 2);
    for (round, states) in [("cold", first), ("new states", second), ("same states", second)] {
        let (mut predict, mut distances) = (0.0, 0.0);
        for state in states {
            let start = seconds();
            let partitioning = predictor.predict(&abstractions, state);
            predict += seconds() - start;
            let start = seconds();
            partitioning.evaluate(&abstractions, state, &mut scratch);
            distances += seconds() - start;
        }
        println!(
            "  {round}: {:.0} evaluations/s ({:.2} ms network, {:.2} ms distances), {} MiB kept",
            states.len() as f64 / (predict + distances),
            1e3 * predict / states.len() as f64,
            1e3 * distances / states.len() as f64,
            predictor.bytes() >> 20,
        );
    }

    // The dense network on a few states, and the same shares.
    let mut generator =
        feature_generator(task, &abstractions, vocabulary, usize::MAX).expect("as above");
    let (mut dense_s, mut exact_s) = (0.0, 0.0);
    let mut error = 0.0f32;
    for state in &states[..3] {
        let input = dense_input(task, &abstractions, generator.state_rows(state), config.input);
        let start = seconds();
        let alpha = common::dense::forward(&weights, &input, TokenScope::Relevant);
        dense_s += seconds() - start;
        let start = seconds();
        let shares = predictor.shares(&abstractions, state);
        exact_s += seconds() - start;
        for o in (0..input.operators).map(OpId::from) {
            for &(p, pair) in abstractions.operator_pairs(o) {
                let expected = alpha[p.index() * input.operators + o.index()];
                error = error.max((expected - shares[pair as usize]).abs());
            }
        }
    }
    println!(
        "  dense: {:.0} ms a state, exact: {:.2} ms, {:.0} times faster; largest difference {error:.1e}",
        1e3 * dense_s / 3.0,
        1e3 * exact_s / 3.0,
        dense_s / exact_s
    );
    assert!(error <= 1e-5, "exact inference gives the dense network's shares");
}

fn dense_input(
    task: &Task,
    abstractions: &Abstractions,
    rows: lcp::wl::StateRows,
    d: usize,
) -> common::dense::Input {
    let (k, m) = (abstractions.len(), task.operators.len());
    let mut x = vec![0.0; k * m * d];
    for p in 0..k {
        let pattern = rows.pattern(p);
        let distinct: Vec<_> = pattern.rows().map(|(row, _)| row).collect();
        for (o, row) in pattern.rows_of_operators().enumerate() {
            for &(colour, count) in rows.row_table().row(distinct[row]) {
                x[(p * m + o) * d + colour as usize] = count as f32;
            }
        }
    }
    let mut relevant = vec![false; k * m];
    for o in (0..m).map(OpId::from) {
        for (p, _) in abstractions.operator_pairs(o) {
            relevant[p.index() * m + o.index()] = true;
        }
    }
    common::dense::Input { patterns: k, operators: m, x, relevant }
}
