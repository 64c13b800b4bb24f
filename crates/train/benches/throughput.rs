//! Training throughput of the paper's network: states per second, forward and backward, on
//! distinct tokens and on all of them.
//!
//! `cargo bench -p train --bench throughput [-- ENGINE…]` with the engines native (all cores),
//! burn (CPU) and cuda (needs the feature `cuda`); the default is native and burn.
//! Needs no files: tasks are generated, states are ends of random walks.
//! The loss and the optimiser are left out; the first step of each row is not counted.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Tensor, TensorData};
use lcp::network::tokens::Batch;
use lcp::network::train_pass::Tape;
use lcp::network::weights::Weights;
use planner::pddl::{self, Source};
use planner::translate::{TranslateOptions, translate};
use rand::SeedableRng;
use rayon::prelude::*;
use train::config::TrainConfig;
use train::dense::dense_batch;
use train::device::DeviceBackend;
use train::examples::{ExampleId, Examples, TaskStates, vocabulary};
use train::generate::{Domain, Random, generate};
use train::network::{DeviceBatch, Dropout, Network};
use train::sample::{Job, Labels, SampleConfig, StateSource, abstractions, sample_task};

/// The size of each domain's tasks, in the middle of the paper's training sizes.
const SIZES: [(Domain, usize); 6] = [
    (Domain::Blocks, 6),
    (Domain::Ferry, 5),
    (Domain::Logistics, 3),
    (Domain::Miconic, 6),
    (Domain::Spanner, 5),
    (Domain::Visitall, 4),
];

/// States per step, the paper's.
const BATCH: usize = 4;

/// Seconds per row.
const SECONDS: f64 = 2.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let engines = match arguments.is_empty() {
        true => vec!["native".to_string(), "burn".to_string()],
        false => arguments,
    };
    println!("{} threads, batches of {BATCH} states", rayon::current_num_threads());
    println!("| domain | features | engine | tokens | tokens a state | first step, s | states/s |");
    println!("|---|---|---|---|---|---|---|");
    for (domain, size) in SIZES {
        let data = Data::new(domain, size);
        for engine in &engines {
            for dense in [false, true] {
                data.measure(domain, engine, dense);
            }
        }
    }
}

struct Data {
    examples: Examples,
    weights: Weights,
    steps: Vec<Vec<ExampleId>>,
}

impl Data {
    fn new(domain: Domain, size: usize) -> Data {
        let parsed = pddl::parse_domain(Source::new("domain", domain.pddl().as_bytes()));
        let parsed = parsed.expect("the domain is valid");
        let config = SampleConfig {
            states: StateSource::Walk,
            per_task: 8,
            labels: Labels::None,
            time_limit_s: 60.0,
            seed: 1,
        };
        let problems = generate(domain, size..=size, 4, 1).expect("there are so many tasks");
        let tasks = problems.into_iter().map(|problem| {
            let source = Source::new(&problem.name, problem.text.as_bytes());
            let parsed_problem = pddl::parse_problem(source, &parsed).expect("it is valid");
            let task = translate(&parsed, &parsed_problem, &TranslateOptions::default());
            let task = task.expect("it has a finite-domain form");
            let source = train::dataset::Source::Pddl(problem.text);
            let job = Job { name: problem.name, source, task };
            let states = sample_task(&job, &config, &AtomicBool::new(false)).states;
            let abstractions = abstractions(&job.task);
            TaskStates { name: job.name, task: job.task, abstractions, states }
        });
        let tasks: Vec<TaskStates> = tasks.collect();
        let mut config = TrainConfig::paper();
        let vocabulary = Arc::new(vocabulary(&config, &tasks));
        config.network.input = vocabulary.num_features();
        let examples = Examples::new(tasks, &vocabulary, &config.network, config.softmax);
        let weights = Weights::random(&config.network, &mut Random::seed_from_u64(1));
        // States of different tasks, as in training.
        let mut ids: Vec<ExampleId> = examples.ids().collect();
        ids.sort_by_key(|id| id.state);
        let steps = ids.chunks(BATCH).map(<[ExampleId]>::to_vec).collect();
        Data { examples, weights, steps }
    }

    fn measure(&self, domain: Domain, engine: &str, dense: bool) {
        let step = |ids: &[ExampleId]| match engine {
            "native" => self.native_step(ids, dense),
            "burn" => self.device_step::<Autodiff<Flex>>(ids, dense),
            #[cfg(feature = "cuda")]
            "cuda" => self.device_step::<Autodiff<burn::backend::Cuda>>(ids, dense),
            _ => panic!("no engine {engine} in this build"),
        };
        let start = Instant::now();
        step(&self.steps[0]);
        let first = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let (mut states, mut tokens) = (0, 0);
        for ids in self.steps.iter().cycle().skip(1) {
            tokens += step(ids);
            states += ids.len();
            if start.elapsed().as_secs_f64() > SECONDS {
                break;
            }
        }
        println!(
            "| {domain} | {} | {engine} | {} | {} | {first:.2} | {:.2} |",
            self.weights.config.input,
            if dense { "all" } else { "distinct" },
            tokens / states,
            states as f64 / start.elapsed().as_secs_f64()
        );
    }

    fn batch(&self, ids: &[ExampleId], dense: bool) -> Batch {
        if !dense {
            return self.examples.batch(&self.weights.config, ids);
        }
        let rows: Vec<Vec<u32>> = ids
            .iter()
            .map(|&id| {
                let (task, state) = self.examples.example(id);
                task.row_of_position(state)
            })
            .collect();
        let positions = |id: &ExampleId| &self.examples.tasks[id.task as usize].places.positions;
        let positions = ids.iter().map(positions);
        dense_batch(&self.weights.config, positions.zip(rows.iter().map(Vec::as_slice)))
    }

    /// The gradient of the sum of all scores, by the passes of `lcp`; returns the number of
    /// tokens with a score.
    fn native_step(&self, ids: &[ExampleId], dense: bool) -> usize {
        let of_state = |id: &ExampleId| {
            let batch = self.batch(std::slice::from_ref(id), dense);
            let mut tape = Tape::default();
            tape.forward(&self.weights, &self.examples.rows, &batch);
            let d_scores = vec![1.0; tape.scores.len()];
            let mut gradient = Weights::zeros(&self.weights.config);
            tape.backward(&self.weights, &self.examples.rows, &batch, &d_scores, &mut gradient);
            std::hint::black_box(gradient);
            tape.scores.len()
        };
        ids.par_iter().map(of_state).sum()
    }

    /// The same on a device.
    fn device_step<B>(&self, ids: &[ExampleId], dense: bool) -> usize
    where
        B: AutodiffBackend + DeviceBackend<Plain = <B as AutodiffBackend>::InnerBackend>,
    {
        let (device, padding) = (Default::default(), B::PADDING);
        let (config, rows) = (&self.weights.config, &self.examples.rows);
        let batch = self.batch(ids, dense);
        let network = Network::<B>::new(&self.weights, true, padding, &device);
        let on_device = DeviceBatch::new(config, rows, &batch, padding, &device);
        let scores = network.forward(&on_device, &Dropout::NONE);
        let length = scores.dims()[0];
        let tokens = batch.stages.last().map_or(0, |stage| stage.tokens());
        let mut d_scores = vec![1.0f32; length];
        d_scores[tokens..].fill(0.0);
        let d_scores = Tensor::<B, 1>::from_data(TensorData::new(d_scores, [length]), &device);
        let gradients = (scores * d_scores).sum().backward();
        std::hint::black_box(network.gradient(&gradients));
        tokens
    }
}
