//! Training throughput of the paper's network on all cores: states per second, forward, loss and
//! backward.
//!
//! `cargo bench -p train --bench throughput`
//! Needs no files: tasks are generated, states are ends of random walks.
//! The optimiser is left out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lcp::network::Weights;
use lcp::network::dropout::Dropout;
use lcp::predict::patterns_of;
use lcp::training::engine::{Cores, Engine, Item, Native, Part, Pass};
use lcp::training::examples::{Examples, LabelledState};
use lcp::training::loss::Loss;
use lcp::wl::VocabularyBuilder;
use planner::pddl::{self, Source};
use planner::translate::{TranslateOptions, translate};
use rand::SeedableRng;
use train::dataset::config::{Labels, SampleConfig, StateSource};
use train::dataset::tasks::{Job, abstractions};
use train::generate::{Domain, Grids, Random, Split, generate};
use train::sample::sample_task;
use train::training::config::TrainConfig;

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
    println!("{} threads, batches of {BATCH} states", rayon::current_num_threads());
    println!("| domain | features | tokens a state | states/s |");
    println!("|---|---|---|---|");
    for (domain, size) in SIZES {
        measure(domain, size);
    }
}

fn measure(domain: Domain, size: usize) {
    let parsed = pddl::parse_domain(Source::new("domain", domain.pddl().as_bytes()));
    let parsed = parsed.expect("the domain is valid");
    let sampling = SampleConfig {
        states: StateSource::Walk,
        per_task: 8,
        labels: Labels::None,
        pattern_size: 2,
        work_s: 60.0,
        at_least: 0,
        seed: 1,
    };
    let problems =
        generate(domain, &Split { sizes: size..=size, count: 4, grids: Grids::default() }, 1)
            .expect("there are so many tasks");
    let mut config = TrainConfig::paper();
    let mut builder = VocabularyBuilder::new(config.graph, config.iterations);
    let mut tasks = Vec::new();
    for problem in problems {
        let source = Source::new(&problem.name, problem.text.as_bytes());
        let parsed_problem = pddl::parse_problem(source, &parsed).expect("it is valid");
        let task = translate(&parsed, &parsed_problem, &TranslateOptions::default());
        let task = task.expect("it has a finite-domain form");
        let source = train::dataset::Source::Pddl(problem.text);
        let job = Job { name: problem.name, source, task, states: None };
        let states = sample_task(&job, &sampling, &AtomicBool::new(false)).states;
        let states: Vec<_> = states.into_iter().map(|s| LabelledState::new(s.values)).collect();
        let abstractions = abstractions(&job.task, 2);
        let values: Vec<_> = states.iter().map(|state| state.values.as_slice()).collect();
        builder.observe(&job.task, &patterns_of(&abstractions), &values);
        tasks.push((job.task, abstractions, states));
    }
    let vocabulary = Arc::new(builder.finish());
    config.network.input = vocabulary.num_features();
    let mut examples = Examples::default();
    for (task, abstractions, states) in tasks {
        let network = (&config.network, config.softmax);
        examples.add(&task, &abstractions, states, &vocabulary, network);
    }
    // States of different tasks, as in training.
    let mut items: Vec<Item> = examples.ids().map(|id| Item { id, reference: 1.0 }).collect();
    items.sort_by_key(|item| item.id.state);

    let weights = Weights::random(&config.network, &mut Random::seed_from_u64(1));
    let pass = Pass { weights: &weights, examples: &examples, loss: Loss::Bound };
    let mut gradient = Weights::zeros(&config.network);
    let mut native = Native(Cores::All);
    let start = Instant::now();
    let (mut states, mut tokens) = (0, 0);
    for (seed, items) in (0..).zip(items.chunks(BATCH).cycle()) {
        let one = |item: &Item| Part::new(&config.network, &examples, &[*item]);
        let parts = Cores::All.map(items, one);
        let loss = native.gradient(pass, &parts, (Dropout::PAPER, seed), &mut gradient);
        assert!(loss.is_finite());
        states += items.len();
        tokens += parts.iter().map(|part| part.batch.stages[1].tokens()).sum::<usize>();
        if start.elapsed().as_secs_f64() > SECONDS {
            break;
        }
    }
    println!(
        "| {domain} | {} | {} | {:.1} |",
        config.network.input,
        tokens / states,
        states as f64 / start.elapsed().as_secs_f64()
    );
}
