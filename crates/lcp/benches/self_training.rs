//! Self-training on one task each of many domains: how close to the optimal cost partitioning a
//! few seconds of training on the task itself come, on states not trained on.
//!
//! `cargo bench -p lcp --bench self_training [-- --seconds 5] [TASK.sas …]`
//!
//! Columns: mean of h / h_OCP over unseen states for the learned, the saturated (greedy order)
//! and the uniform partitioning; h is the sum of distances before rounding, and h_OCP is what
//! Lagrangian ascent reaches.

use lcp::partitioner::Learned;
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax};
use lcp::self_training::walk::random_walk_states;
use lcp::self_training::{SelfTraining, Trainer};
use planner::abstraction::{Abstractions, INFINITY, PatternLimits, interesting_patterns};
use planner::partition::{
    CostPartitioning, Lagrangian, LagrangianConfig, PartitionScratch, Partitioner, Saturated,
    Start, Uniform,
};
use planner::task::{Task, Value};
use planner::translate::sas;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Seconds of processor time, which other programs on the machine disturb less than the clock.
fn seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, writable `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

fn main() {
    let mut budget = 5.0;
    let mut tasks = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => budget = args.next().and_then(|s| s.parse().ok()).expect("a number"),
            "--bench" => {}
            _ => tasks.push(arg),
        }
    }
    println!("task, k, m, d, states/s, steps, train h, learned, scp, uniform");
    let (mut better, mut all) = (0, 0);
    for path in &tasks {
        let text = std::fs::read_to_string(path).expect("the task can be read");
        let Ok(task) = sas::read(&text) else {
            println!("{path}: not supported");
            continue;
        };
        if let Some((learned, scp)) = measure(path, &task, budget) {
            all += 1;
            better += usize::from(learned > scp);
        }
    }
    println!("learned above scp in {better} of {all}");
}

/// The mean ratios of the learned and the saturated partitioning.
fn measure(name: &str, task: &Task, budget: f64) -> Option<(f64, f64)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let patterns = interesting_patterns(task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(task, &patterns);
    let var = |name: &str, default: usize| {
        std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
    };
    let n = var("STATES", 60);
    let longest = var("WALK", 60);
    let mut states = random_walk_states(task, &abstractions, n + 20, longest, &mut rng);
    if states.len() < 10 {
        return None;
    }
    let unseen = states.split_off(states.len() - states.len() / 4);

    let start = seconds();
    let mut settings = SelfTraining::default();
    settings.iterations = var("L", settings.iterations);
    settings.batch = var("BATCH", settings.batch);
    settings.steps = var("STEPS", settings.steps);
    settings.network.width = Some(var("W", 32));
    settings.network.layers = var("LAYERS", settings.network.layers);
    if var("ALL", 0) == 1 {
        settings.network.tokens = lcp::network::TokenScope::All;
    }
    if var("LEARNED", 0) == 1 {
        settings.network.attention = lcp::network::Attention::Learned;
    }
    settings.network.mlp_ratio =
        std::env::var("MLP").ok().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    if let Some(rate) = std::env::var("RATE").ok().and_then(|s| s.parse().ok()) {
        settings.rate = rate;
    }
    let batch = settings.batch;
    let mut trainer = Trainer::new(task, &abstractions, &states, settings).expect("own patterns");
    let prepared = seconds() - start;
    let mut last = 0.0;
    let epoch = states.len().div_ceil(batch);
    while seconds() - start < budget {
        last = 0.0;
        for _ in 0..epoch {
            last += trainer.step(&abstractions)? / epoch as f64;
        }
    }
    let speed = (trainer.steps() * batch) as f64 / (seconds() - start - prepared);
    let (vocabulary, weights) = (trainer.vocabulary().clone(), trainer.weights().clone());
    let d = weights.config.input;
    let predictor = Predictor::from_parts(
        task,
        &abstractions,
        vocabulary,
        weights,
        Softmax::Masked,
        MEMORY_LIMIT,
    )
    .expect("own patterns");
    let mut learned = Learned::new(&abstractions, predictor, 0);
    let mut saturated = Saturated::new(&abstractions);
    let mut ascent =
        Lagrangian::new(&abstractions, LagrangianConfig { steps: 400, start: Start::Uniform });
    let mut sums = [0.0; 3];
    for state in &unseen {
        let optimal = ascent.partition(&abstractions, state, None);
        let optimal = value(&abstractions, &optimal.expect("nothing to beat"), state);
        let partitioners: [&mut dyn Partitioner; 3] = [&mut learned, &mut saturated, &mut Uniform];
        for (sum, partitioner) in sums.iter_mut().zip(partitioners) {
            let found = partitioner.partition(&abstractions, state, None);
            let h = value(&abstractions, &found.expect("nothing to beat"), state);
            *sum += if optimal > 0.0 { h / optimal } else { 1.0 };
        }
    }
    let mean = sums.map(|sum| sum / unseen.len() as f64);
    println!(
        "{name}, {}, {}, {d}, {speed:.0}, {}, {last:.2}, {:.3}, {:.3}, {:.3}",
        abstractions.len(),
        task.operators.len(),
        trainer.steps(),
        mean[0],
        mean[1],
        mean[2]
    );
    Some((mean[0], mean[1]))
}

/// The sum of distances at a state, in units of cost, before rounding.
fn value(abstractions: &Abstractions, partitioning: &CostPartitioning, state: &[Value]) -> f64 {
    let mut scratch = PartitionScratch::default();
    let mut sum = 0.0;
    for p in abstractions.ids() {
        let projection = abstractions.projection(p);
        let PartitionScratch { distances, label_costs, path, .. } = &mut scratch;
        projection.label_costs(partitioning.costs_of(abstractions, p), label_costs);
        let from = projection.abstract_state(state);
        match projection.shortest_path(from, label_costs, distances, path) {
            INFINITY => {}
            d => sum += f64::from(d) / f64::from(partitioning.scale()),
        }
    }
    sum
}
