//! What labels cost, and how far those of the same state are apart when states are labelled in
//! the opposite order.
//!
//! `cargo bench -p train --bench labels`
//! Needs no files: tasks are generated, states are ends of random walks. One thread.
//! The distance is the total variation of an operator's shares, the mean over operators and states.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use planner::abstraction::Abstractions;
use planner::pddl::{self, Source};
use planner::task::{OpId, Value};
use planner::translate::{TranslateOptions, translate};
use train::dataset::SampledState;
use train::dataset::config::{Labels, SampleConfig, StateSource};
use train::dataset::tasks::{Job, abstractions};
use train::generate::{Domain, Grids, Split, generate};
use train::sample::sample_task;

/// The size of each domain's tasks: in the middle of the paper's training sizes, and the largest
/// of them that take seconds.
const SIZES: [(Domain, [usize; 2]); 6] = [
    (Domain::Blocks, [6, 9]),
    (Domain::Ferry, [5, 7]),
    (Domain::Logistics, [3, 5]),
    (Domain::Miconic, [4, 6]),
    (Domain::Spanner, [5, 9]),
    (Domain::Visitall, [3, 4]),
];

/// States a task.
const STATES: usize = 20;

fn main() {
    println!(
        "| domain | size | states | ms, ocp | ms, canonical | apart, ocp | apart, canonical |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (domain, sizes) in SIZES {
        sizes.into_iter().for_each(|size| measure(domain, size));
    }
}

fn config(labels: Labels) -> SampleConfig {
    let states = StateSource::Walk;
    SampleConfig {
        states,
        per_task: STATES,
        labels,
        pattern_size: 2,
        work_s: 1e6,
        at_least: 0,
        seed: 1,
    }
}

/// Labels states in their order.
fn label(job: &mut Job, labels: Labels, states: &[Vec<Value>]) -> (Vec<SampledState>, f64) {
    job.states = Some(states.to_vec());
    let start = Instant::now();
    let labelled = sample_task(job, &config(labels), &AtomicBool::new(false)).states;
    (labelled, start.elapsed().as_secs_f64())
}

fn measure(domain: Domain, size: usize) {
    let parsed = pddl::parse_domain(Source::new("domain", domain.pddl().as_bytes()));
    let parsed = parsed.expect("the domain is valid");
    let problems =
        generate(domain, &Split { sizes: size..=size, count: 2, grids: Grids::default() }, 1)
            .expect("there are so many tasks");
    let (mut count, mut seconds, mut apart) = (0, [0.0; 2], [0.0; 2]);
    for problem in problems {
        let source = Source::new(&problem.name, problem.text.as_bytes());
        let parsed_problem = pddl::parse_problem(source, &parsed).expect("it is valid");
        let task = translate(&parsed, &parsed_problem, &TranslateOptions::default());
        let task = task.expect("it has a finite-domain form");
        let source = train::dataset::Source::Pddl(problem.text);
        let mut job = Job { name: problem.name, source, task, states: None };
        let sampled = sample_task(&job, &config(Labels::None), &AtomicBool::new(false)).states;
        let mut states: Vec<Vec<Value>> = sampled.into_iter().map(|s| s.values).collect();
        let abstractions = abstractions(&job.task, 2);
        count += states.len();
        for (i, labels) in [Labels::Ocp, Labels::Canonical].into_iter().enumerate() {
            let (forward, time) = label(&mut job, labels, &states);
            states.reverse();
            let (mut backward, _) = label(&mut job, labels, &states);
            states.reverse();
            backward.reverse();
            seconds[i] += time;
            let both = forward.iter().zip(&backward);
            apart[i] += both.map(|(a, b)| distance(&abstractions, a, b)).sum::<f64>();
        }
    }
    let [ocp, canonical] = seconds.map(|seconds| seconds * 1e3 / count as f64);
    let [of_ocp, of_canonical] = apart.map(|apart| apart / count as f64);
    println!(
        "| {domain} | {size} | {count} | {ocp:.1} | {canonical:.1} | {of_ocp:.3} | {of_canonical:.3} |"
    );
}

/// The mean over operators of the total variation between two labels.
fn distance(abstractions: &Arc<Abstractions>, a: &SampledState, b: &SampledState) -> f64 {
    assert_eq!(a.values, b.values);
    let dense = |state: &SampledState| {
        let mut shares = vec![0.0; abstractions.num_pairs()];
        let labels = state.shares.iter().flatten();
        labels.for_each(|&(pair, share)| shares[pair as usize] = f64::from(share));
        shares
    };
    let (a, b) = (dense(a), dense(b));
    let of_operator = |o: usize| -> f64 {
        let pairs = abstractions.operator_pairs(OpId::from(o)).iter();
        pairs.map(|&(_, pair)| (a[pair as usize] - b[pair as usize]).abs()).sum::<f64>() / 2.0
    };
    let operators = abstractions.num_operators();
    (0..operators).map(of_operator).sum::<f64>() / operators as f64
}
