//! From a domain and a folder of tasks to a model, on a domain without a generator: gripper.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lcp::model::Model;
use lcp::network::dropout::Dropout;
use lcp::network::{Attention, Prior, Weights};
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax, patterns_of};
use lcp::training::bound::value_of;
use lcp::training::engine::{Cores, Engine, Item, Native, Part, Pass};
use lcp::training::examples::Examples;
use lcp::training::loss::Loss;
use lcp::wl::VocabularyBuilder;
use planner::partition::{CostPartitioning, PartitionScratch};
use planner::task::Value;
use rand::SeedableRng;
use train::dataset::config::{Labels, SampleConfig, StateSource};
use train::dataset::tasks::{TaskStates, load_samples, load_states, load_tasks};
use train::dataset::{Dataset, Header, Parts};
use train::generate::Random;
use train::judge::{Judgement, judge, leave_out_seen};
use train::sample::{Division, sample, sample_task, solver};
use train::training::config::TrainConfig;
use train::training::{EpochMetrics, Event, Inputs, Origin, TrainError, train};

/// Writes the gripper domain and tasks with these numbers of balls.
fn gripper(folder: &Path, balls: &[usize]) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("domain.pddl"), include_str!("gripper/domain.pddl")).unwrap();
    for &n in balls {
        let names: Vec<String> = (1..=n).map(|i| format!("b{i}")).collect();
        let all = |room: &str| -> String {
            names.iter().map(|ball| format!("(at {ball} {room}) ")).collect()
        };
        let text = format!(
            "(define (problem g{n}) (:domain gripper)\n\
             (:objects a b - room l r - gripper {} - ball)\n\
             (:init (at-robby a) (free l) (free r) {})\n(:goal (and {})))\n",
            names.join(" "),
            all("a"),
            all("b")
        );
        std::fs::write(folder.join(format!("g{n}.pddl")), text).unwrap();
    }
}

fn sampled(folder: &Path, name: &str, balls: &[usize], states: StateSource) -> PathBuf {
    let tasks = folder.join(name);
    gripper(&tasks, balls);
    let set = load_tasks(None, &[tasks]).unwrap();
    assert_eq!(set.domain, "gripper");
    let config = SampleConfig {
        states,
        per_task: 12,
        labels: Labels::Ocp,
        pattern_size: 2,
        work_s: 60.0,
        at_least: 0,
        seed: 3,
    };
    let header = Header {
        domain: set.domain,
        domain_text: set.domain_text,
        config: config.clone(),
        solver: solver(Labels::Ocp),
    };
    let path = folder.join(format!("{name}.samples"));
    let names = set.jobs.iter().map(|job| job.name.clone()).collect();
    let parts = Parts::open(&path, &header, names).unwrap();
    let never = AtomicBool::new(false);
    assert!(sample(&set.jobs, &config, &parts, Division::WHOLE, &never, &|_| {}).unwrap());
    assert!(parts.join().unwrap());
    path
}

struct Samples {
    folder: tempfile::TempDir,
    training: Vec<PathBuf>,
    validation: Vec<PathBuf>,
}

fn samples() -> Samples {
    let folder = tempfile::tempdir().unwrap();
    let training = vec![sampled(folder.path(), "train", &[2, 3, 4], StateSource::Walk)];
    let validation = vec![sampled(folder.path(), "validation", &[5], StateSource::Search)];
    Samples { folder, training, validation }
}

/// Trains in a folder of this name; returns the model and the epochs that were run.
fn train_in(
    samples: &Samples,
    name: &str,
    config: TrainConfig,
    (training, validation): (Vec<TaskStates>, Vec<TaskStates>),
    cores: Cores,
) -> Result<(Model, Vec<EpochMetrics>), TrainError> {
    let directory = &samples.folder.path().join(name);
    let origin = Origin { domain: "gripper".to_string(), ..Origin::default() };
    let inputs = Inputs { config, training, validation, directory, origin };
    let mut epochs = Vec::new();
    let never = AtomicBool::new(false);
    let model = train(inputs, Box::new(Native(cores)), &never, &mut |event| {
        if let Event::Epoch(metrics) = event {
            epochs.push(metrics.clone());
        }
    })?;
    Ok((model.expect("it is not stopped"), epochs))
}

/// Trains on all cores.
fn run(samples: &Samples, config: TrainConfig, name: &str) -> (Model, Vec<EpochMetrics>) {
    train_in(samples, name, config, samples.load(), Cores::All).unwrap()
}

impl Samples {
    fn load(&self) -> (Vec<TaskStates>, Vec<TaskStates>) {
        (load_samples(&self.training).unwrap().1, load_samples(&self.validation).unwrap().1)
    }
}

fn short(epochs: usize) -> TrainConfig {
    TrainConfig { epochs, min_support: 1, ..TrainConfig::compact() }
}

#[test]
fn labels_are_optimal_partitionings_that_give_out_everything() {
    let samples = samples();
    let (headers, tasks) = load_samples(&samples.training).unwrap();
    assert!(headers[0].solver.contains("Clarabel"));
    for task in &tasks {
        assert!(task.states.len() > 3, "{}", task.name);
        for state in &task.states {
            let shares = state.shares.as_deref().unwrap();
            for o in task.task.operator_ids() {
                let pairs = task.abstractions.operator_pairs(o);
                let sum: f32 = pairs.iter().map(|&(_, pair)| shares[pair as usize]).sum();
                assert!(pairs.is_empty() || (sum - 1.0).abs() < 1e-3, "{sum}");
            }
            let partitioning = CostPartitioning::from_weights(&task.abstractions, shares);
            let h = value_of(&partitioning, &state.values, &mut PartitionScratch::default());
            let (h, optimum) = (h.unwrap(), state.h_ocp.unwrap());
            assert!(h <= optimum + 1e-6 && h >= 0.99 * optimum, "{h} of {optimum}");
        }
    }
}

#[test]
fn sampling_gives_the_same_file_however_it_is_divided() {
    let samples = samples();
    let bytes = std::fs::read(&samples.training[0]).unwrap();
    let header = Dataset::load(&samples.training[0]).unwrap().header;
    let set = load_tasks(None, &[samples.folder.path().join("train")]).unwrap();
    let path = samples.folder.path().join("divided.samples");
    let open = || {
        let names = set.jobs.iter().map(|job| job.name.clone()).collect();
        Parts::open(&path, &header, names).unwrap()
    };
    let never = AtomicBool::new(false);
    let part = |division| {
        assert!(sample(&set.jobs, &header.config, &open(), division, &never, &|_| {}).unwrap());
    };
    part(Division { remainder: 1, divisor: 3 });
    assert!(!open().join().unwrap());
    let left = open().left();
    assert!(!left.contains(&1) && left.contains(&0) && left.contains(&2), "{left:?}");
    let stop = AtomicBool::new(true);
    let stopped = sample(&set.jobs, &header.config, &open(), Division::WHOLE, &stop, &|_| {});
    assert!(!stopped.unwrap());
    assert_eq!(open().left(), left);
    part(Division::WHOLE);
    assert!(open().join().unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

/// Work bounds the labels of a task from above, a number from below, whatever the machine.
#[test]
fn a_task_has_as_many_labels_as_asked_for_even_without_work() {
    let folder = tempfile::tempdir().unwrap();
    gripper(&folder.path().join("tasks"), &[3]);
    let set = load_tasks(None, &[folder.path().join("tasks")]).unwrap();
    let states = |work_s, at_least| {
        let config = SampleConfig { per_task: 40, work_s, at_least, ..SampleConfig::default() };
        sample_task(&set.jobs[0], &config, &AtomicBool::new(false)).states.len()
    };
    assert_eq!(states(0.0, 7), 7);
    assert_eq!(states(0.0, 0), 0);
    let all = states(1800.0, 0);
    assert!(all > 10, "{all}");
    let some = (1..100).map(|i| states(1e-4 * f64::from(i), 0)).find(|&n| n > 1 && n < all);
    assert!(some.is_some());
}

#[test]
fn a_model_from_nothing_but_a_domain_and_tasks() {
    let samples = samples();
    // Means get no further than saturated partitionings here (0.66); attention finds the optimum.
    let mut config = short(60);
    config.network.attention = Attention::Learned;
    config.training.schedule.patience = 15;
    config.training.schedule.stop_after = 60;
    let (model, epochs) = run(&samples, config, "run");
    let last = epochs.last().unwrap();
    assert!(last.ratio > 0.95 && last.ratio > last.ratio_scp, "{last:?}");
    for name in ["metrics.jsonl", "learning-curve.svg", "checkpoint.safetensors"] {
        assert!(samples.folder.path().join("run").join(name).exists(), "{name}");
    }

    // Saved and loaded, it is the same model bit by bit, and it says the same as in training.
    let path = samples.folder.path().join("run/model.safetensors");
    let loaded = Model::load(&path).unwrap();
    assert_eq!(loaded.weights, model.weights);
    assert_eq!(loaded.to_bytes().unwrap(), std::fs::read(&path).unwrap());
    let (_, tasks) = load_samples(&samples.validation).unwrap();
    let mut ratios = Vec::new();
    for task in &tasks {
        loaded.check_task(&task.task).unwrap();
        let softmax = Softmax::Masked;
        let mut predictor =
            Predictor::new(&task.task, &task.abstractions, &loaded, softmax, MEMORY_LIMIT);
        for state in &task.states {
            let partitioning = predictor.predict(&state.values);
            let h = value_of(&partitioning, &state.values, &mut PartitionScratch::default());
            ratios.push(h.unwrap() / state.h_ocp.unwrap());
        }
    }
    let ratio = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((ratio - model.validation["h/h_ocp"]).abs() < 1e-3, "{ratio} {:?}", model.validation);
}

#[test]
fn a_model_is_judged_on_states_that_it_never_saw() {
    let samples = samples();
    let (model, _) = run(&samples, short(2), "run");
    let (training, validation) = samples.load();
    for (tasks, how) in [(training, "trained on"), (validation, "chosen by")] {
        let error = judge(&model, &tasks, Softmax::Masked, 0).unwrap_err().to_string();
        assert!(error.contains(how), "{error}");
    }
    let test = sampled(samples.folder.path(), "test", &[6], StateSource::Both);
    let (_, tasks) = load_samples(&[test]).unwrap();
    let judgement = judge(&model, &tasks, Softmax::Masked, 0).unwrap();
    assert!(judgement.proved_unseen && judgement.states >= 6, "{judgement:?}");
    assert!(judgement.scp > 0.0 && judgement.scp <= 1.0 && judgement.model <= 1.0);
    let refined = judge(&model, &tasks, Softmax::Masked, 25).unwrap();
    assert_eq!(Judgement { refined: None, ..refined.clone() }, judgement);
    let refined = refined.refined.unwrap();
    assert!(refined.model > judgement.model && refined.model <= 1.001, "{refined:?}");
    assert!(refined.scp >= judgement.scp && refined.scp <= 1.001, "{refined:?}");
    let (training, _) = samples.load();
    let mut both: Vec<TaskStates> = training.into_iter().chain(tasks).collect();
    assert!(judge(&model, &both, Softmax::Masked, 0).is_err());
    leave_out_seen(&model, &mut both);
    assert_eq!(judge(&model, &both, Softmax::Masked, 0).unwrap(), judgement);
    let tasks = both;
    let mut silent = model.clone();
    silent.provenance.settings.clear();
    assert!(!judge(&silent, &tasks, Softmax::Masked, 0).unwrap().proved_unseen);
}

#[test]
fn canonical_labels_do_not_depend_on_order_or_on_other_states() {
    let samples = samples();
    let (mut header, mut set) = load_states(&samples.training[0]).unwrap();
    header.config.labels = Labels::Canonical;
    let mut label = |backwards: bool| {
        let path = samples.folder.path().join(format!("canonical-{backwards}.samples"));
        let names = set.jobs.iter().map(|job| job.name.clone()).collect();
        let parts = Parts::open(&path, &header, names).unwrap();
        for job in &mut set.jobs {
            job.states.as_mut().unwrap().reverse();
        }
        let never = AtomicBool::new(false);
        let all = Division::WHOLE;
        assert!(sample(&set.jobs, &header.config, &parts, all, &never, &|_| {}).unwrap());
        assert!(parts.join().unwrap());
        let mut dataset = Dataset::load(&path).unwrap();
        if backwards {
            dataset.tasks.iter_mut().for_each(|task| task.states.reverse());
        }
        dataset
    };
    let (backwards, forwards) = (label(true), label(false));
    assert_eq!(backwards.tasks, forwards.tasks);
    let (_, before) = load_samples(&samples.training).unwrap();
    assert_eq!(forwards.tasks.len(), before.len());
    for (task, before) in forwards.tasks.iter().zip(&before) {
        assert_eq!(task.states.len(), before.states.len());
        for (state, before) in task.states.iter().zip(&before.states) {
            let (h, optimum) = (state.h_ocp.unwrap(), before.h_ocp.unwrap());
            assert!((h - optimum).abs() <= 5e-3 * optimum, "{h} and {optimum}");
        }
    }
}

/// The compact preset, and the paper's loss and dropout.
fn two_kinds() -> [(&'static str, TrainConfig); 2] {
    let mut dropout = short(4);
    dropout.training.dropout = Dropout::PAPER;
    dropout.training.loss = Loss::Kl;
    dropout.network.attention = Attention::Learned;
    [("bound", short(6)), ("dropout", dropout)]
}

/// The prior is a function of the state and the gain is trained: the derivative by it is what the
/// loss does when the gain moves, and a few steps move it.
#[test]
fn the_gain_of_a_prior_is_trained() {
    let samples = samples();
    let mut config = short(3);
    config.network.prior = Prior::Saturated;
    let (model, epochs) = run(&samples, config.clone(), "prior");
    let gain = model.weights.prior_gain().expect("the network has a prior");
    assert!(gain != 1.0 && gain.is_finite(), "{gain}");
    assert!(epochs.last().unwrap().ratio > 0.6, "{epochs:?}");
    let (again, _) = run(&samples, config, "prior-again");
    assert_eq!(model.weights, again.weights);
}

#[test]
fn the_derivative_by_the_gain_is_that_of_the_loss() {
    let samples = samples();
    let mut config = short(1);
    config.network.prior = Prior::Saturated;
    let (tasks, _) = samples.load();
    let task = &tasks[0];
    let mut builder = VocabularyBuilder::new(config.graph, 1);
    let states: Vec<&[Value]> = task.states.iter().map(|s| s.values.as_slice()).collect();
    builder.observe(&task.task, &patterns_of(&task.abstractions), &states);
    let vocabulary = Arc::new(builder.finish());
    config.network.input = vocabulary.num_features();
    let mut examples = Examples::default();
    let network = (&config.network, Softmax::Masked);
    examples.add(&task.task, &task.abstractions, task.states.clone(), &vocabulary, network);
    let mut weights = Weights::random(&config.network, &mut Random::seed_from_u64(3));
    let items: Vec<Item> = examples
        .ids()
        .filter(|&id| examples.example(id).1.h_ocp.is_some_and(|h| h > 0.0))
        .map(|id| Item { id, reference: examples.example(id).1.h_ocp.unwrap() })
        .collect();
    let part = Part::new(&config.network, &examples, &items);
    let gain = weights.layout.prior.unwrap();
    for (loss, tolerance) in
        [(Loss::Kl, 0.01), (Loss::Bound, 0.1), (Loss::LogBound, 0.1), (Loss::KlAndBound, 0.1)]
    {
        let value = |weights: &Weights| -> f64 {
            let pass = Pass { weights, examples: &examples, loss };
            let values = Native(Cores::One).evaluate(pass, std::slice::from_ref(&part));
            values.iter().map(|value| value.loss).sum()
        };
        let mut gradient = Weights::zeros(&config.network);
        let pass = Pass { weights: &weights, examples: &examples, loss };
        let dropout = (Dropout::NONE, 0);
        Native(Cores::One).gradient(pass, std::slice::from_ref(&part), dropout, &mut gradient);
        let expected = f64::from(gradient[gain][0]);
        let step = 2e-3;
        weights[gain][0] = 1.0 + step;
        let above = value(&weights);
        weights[gain][0] = 1.0 - step;
        let below = value(&weights);
        weights[gain][0] = 1.0;
        let found = (above - below) / f64::from(2.0 * step);
        let error = (found - expected).abs();
        assert!(error <= tolerance * expected.abs().max(0.1), "{loss}: {found}, {expected}");
    }
}

#[test]
fn a_run_that_is_interrupted_ends_like_one_that_is_not() {
    let samples = samples();
    for (name, config) in two_kinds() {
        let (whole, _) = run(&samples, config.clone(), &format!("{name}-whole"));
        let interrupted = format!("{name}-interrupted");
        let first = TrainConfig { epochs: 2, ..config.clone() };
        run(&samples, first, &interrupted);
        let (resumed, epochs) = run(&samples, config, &interrupted);
        assert_eq!(epochs[0].epoch, 3);
        assert_eq!(whole.weights, resumed.weights, "{name}");
    }
}

#[test]
fn the_number_of_cores_makes_no_difference() {
    let samples = samples();
    for (name, config) in two_kinds() {
        let config = TrainConfig { epochs: 2, ..config };
        let [one, all] = [("one", Cores::One), ("all", Cores::All)].map(|(count, cores)| {
            let name = format!("{name}-{count}");
            train_in(&samples, &name, config.clone(), samples.load(), cores).unwrap().0
        });
        assert_eq!(one.weights, all.weights, "{name}");
    }
}

/// Four states of one task.
fn few(samples: &Samples) -> Vec<TaskStates> {
    let (_, mut tasks) = load_samples(&samples.training).unwrap();
    tasks.truncate(1);
    tasks[0].states.truncate(4);
    tasks
}

#[test]
fn every_loss_overfits_a_few_states() {
    let samples = samples();
    let operators = few(&samples)[0].task.operators.len() as f64;
    // The divergence is a sum over operators; the best bounds are those of the labels.
    let log_bounds = few(&samples)[0].states.iter().map(|s| -s.h_ocp.unwrap().ln()).sum::<f64>();
    for (loss, limit) in [
        (Loss::Bound, 0.005),
        (Loss::LogBound, log_bounds / 4.0 + 0.005),
        (Loss::Kl, 0.05 * operators),
        (Loss::KlAndBound, 0.05 * operators),
    ] {
        let mut config = short(400);
        config.training.loss = loss;
        config.training.schedule.stop_after = 400;
        config.training.schedule.patience = 60;
        config.training.adamw.weight_decay = 0.0;
        let states = (few(&samples), few(&samples));
        let model = train_in(&samples, &loss.to_string(), config, states, Cores::All);
        let found = model.unwrap().0.validation["loss"];
        assert!(found < limit, "{loss}: {found}");
    }
}

#[test]
fn what_cannot_be_trained_is_refused_by_name() {
    let samples = samples();
    let refuse = |config| {
        let (training, mut validation) = samples.load();
        validation[0].states.iter_mut().for_each(|state| state.shares = None);
        let states = (training, validation);
        train_in(&samples, "refused", config, states, Cores::All).unwrap_err().to_string()
    };
    for loss in [Loss::Kl, Loss::KlAndBound] {
        let mut labelled = short(1);
        labelled.training.loss = loss;
        assert!(refuse(labelled).contains("needs labels"), "{loss}");
    }
    let mut paper_width = TrainConfig { min_support: 2, ..TrainConfig::paper() };
    paper_width.training.loss = Loss::Bound;
    assert!(refuse(paper_width).contains("projection"));
}
