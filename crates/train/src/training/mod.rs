//! The training loop: epochs of steps, validation after each, schedule, early stopping.
//!
//! After every epoch the run's directory holds `checkpoint.safetensors`, `metrics.jsonl` (one
//! line per epoch) and `learning-curve.svg`; at the end `model.safetensors`, the network of the
//! epoch with the least validation loss.
//! A run that is started again in the same directory continues after its last epoch and ends
//! with the same model as one that was never interrupted.

mod baseline;
mod chart;
pub mod checkpoint;
pub mod config;
mod error;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lcp::model::{Model, Provenance, Signature};
use lcp::network::{NetworkConfig, Weights};
use lcp::predict::patterns_of;
use lcp::training::engine::{Engine, Item, Part, StateValue};
use lcp::training::examples::Examples;
use lcp::training::{Trainer, TrainingSet};
use lcp::wl::{Vocabulary, VocabularyBuilder};
use planner::fnv::Fnv;
use planner::task::Value;
use rand::SeedableRng;
use rayon::prelude::*;

use crate::dataset::tasks::TaskStates;
use crate::generate::Random;
use baseline::{Baselines, baselines};
use chart::learning_curve;
pub use chart::{EpochMetrics, Reference};
use checkpoint::{Checkpoint, CheckpointError, Progress};
use config::TrainConfig;
pub use error::TrainError;

/// What happens, for whoever shows it.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The states are ready.
    Ready {
        /// Training states.
        training: usize,
        /// Validation states.
        validation: usize,
        /// Features, that is colours.
        features: usize,
        /// Parameters.
        parameters: usize,
        /// Epochs already done by an earlier run.
        epochs_done: usize,
    },
    /// A step was taken.
    Step {
        /// The epoch, from 1.
        epoch: usize,
        /// Steps of this epoch so far.
        step: usize,
        /// Steps of an epoch.
        steps: usize,
        /// The mean loss of the epoch so far.
        loss: f64,
    },
    /// An epoch is over.
    Epoch(&'a EpochMetrics),
}

/// Parts of validation states whose tokens are found at the same time.
const VALIDATE: usize = 64;

/// Where a run came from, for the model's provenance.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The domain's name.
    pub domain: String,
    /// Settings to be kept with the model, by name.
    pub settings: BTreeMap<String, String>,
}

/// What a model is made of.
pub struct Inputs<'a> {
    /// The choices.
    pub config: TrainConfig,
    /// States to train on.
    pub training: Vec<TaskStates>,
    /// States to judge by.
    pub validation: Vec<TaskStates>,
    /// The directory of the run.
    pub directory: &'a Path,
    /// Where the states came from.
    pub origin: Origin,
}

/// Trains a model; `stop` ends it cleanly after the current step, to be resumed later (no model is
/// returned then).
pub fn train(
    inputs: Inputs,
    engine: Box<dyn Engine>,
    stop: &AtomicBool,
    show: &mut dyn FnMut(Event),
) -> Result<Option<Model>, TrainError> {
    let Inputs { mut config, training, validation, directory, mut origin } = inputs;
    check(&config, &training, &validation)?;
    let mut signature = Signature::default();
    training.iter().for_each(|task| signature.extend(&task.task));
    for task in &validation {
        let covered = signature.knows(&Signature::of_task(&task.task));
        covered.map_err(|_| TrainError::OtherDomain(task.name.clone()))?;
    }
    let data = fingerprint(training.iter().chain(&validation));
    let tasks = training.len();
    for (name, tasks) in [(TRAINED_ON, &training), (VALIDATED_ON, &validation)] {
        origin.settings.insert(name.to_string(), hash_list(tasks));
    }
    let vocabulary = Arc::new(vocabulary(&config, &training));
    config.network = NetworkConfig { input: vocabulary.num_features(), ..config.network };
    config.network.check()?;
    let mut training = examples(training, &vocabulary, &config);
    let mut validation = examples(validation, &vocabulary, &config);
    let support = training.support(vocabulary.num_features());
    let keep: Vec<bool> = support.iter().map(|&tasks| tasks >= config.min_support).collect();
    training.retain_features(&keep);
    validation.retain_features(&keep);
    let (items, _) = some_states(&training, "training")?;
    let (validation_items, baselines) = some_states(&validation, "validation")?;
    let states = items.len();
    let set = TrainingSet::new(training, items, &config.training, &config.network);
    let weights = first_weights(&config, &keep);
    let mut run = TrainingRun {
        best: weights.data.clone(),
        trainer: Trainer::new(config.training.clone(), Arc::new(set), weights, engine),
        validation: Validation { examples: validation, items: validation_items, baselines },
        metrics: Vec::new(),
        config,
        data,
        directory,
    };
    run.resume()?;
    show(Event::Ready {
        training: states,
        validation: run.validation.items.len(),
        features: keep.iter().filter(|keep| **keep).count(),
        parameters: run.best.len(),
        epochs_done: run.metrics.len(),
    });
    while !run.is_over() {
        if !run.epoch(stop, show)? {
            return Ok(None);
        }
        run.write(show)?;
    }
    let model = run.model(signature, vocabulary, origin, tasks, states);
    model.save(&directory.join("model.safetensors"))?;
    Ok(Some(model))
}

/// The settings of a model that list the states it was trained on, and those it was chosen by.
pub const TRAINED_ON: &str = "states.training";
/// See [`TRAINED_ON`].
pub const VALIDATED_ON: &str = "states.validation";

/// The hashes of all states, ascending, in twelve hexadecimal digits each.
pub fn hash_list(tasks: &[TaskStates]) -> String {
    let mut hashes: Vec<u64> = tasks.par_iter().flat_map_iter(TaskStates::state_hashes).collect();
    hashes.sort_unstable();
    hashes.iter().map(|hash| format!("{hash:012x}")).collect()
}

fn check(
    config: &TrainConfig,
    training: &[TaskStates],
    validation: &[TaskStates],
) -> Result<(), TrainError> {
    if config.min_support > 1 && config.network.width.is_none() {
        return Err(TrainError::NoProjection);
    }
    if config.training.loss.needs_labels() {
        let mut tasks = training.iter().chain(validation);
        let lacks = |task: &&TaskStates| task.states.iter().any(|s| s.shares.is_none());
        if let Some(task) = tasks.find(lacks) {
            return Err(TrainError::NoLabels(task.name.clone()));
        }
    }
    Ok(())
}

/// The colours of all states of all tasks, and the distance features if there are to be any.
fn vocabulary(config: &TrainConfig, tasks: &[TaskStates]) -> Vocabulary {
    let mut builder =
        VocabularyBuilder::new(config.graph, config.iterations).distances(config.distances);
    for task in tasks {
        let states: Vec<&[Value]> = task.states.iter().map(|s| s.values.as_slice()).collect();
        builder.observe(&task.task, &patterns_of(&task.abstractions), &states);
    }
    builder.finish()
}

/// The features of all states.
fn examples(
    tasks: Vec<TaskStates>,
    vocabulary: &Arc<Vocabulary>,
    config: &TrainConfig,
) -> Examples {
    let mut examples = Examples::default();
    for TaskStates { task, abstractions, states, .. } in tasks {
        let network = (&config.network, config.softmax);
        examples.add(&task, &abstractions, states, vocabulary, network);
    }
    examples
}

/// The states that count and the baselines there.
fn some_states(
    examples: &Examples,
    what: &'static str,
) -> Result<(Vec<Item>, Baselines), TrainError> {
    let (items, baselines) = baselines(examples);
    if items.is_empty() {
        return Err(TrainError::NoStates(what));
    }
    Ok((items, baselines))
}

/// Random weights, zero for features that are ignored.
fn first_weights(config: &TrainConfig, keep: &[bool]) -> Weights {
    let mut random = Random::seed_from_u64(config.training.seed);
    let mut weights = Weights::random(&config.network, &mut random);
    if let Some(input) = weights.layout.input {
        let rows = weights[input].chunks_exact_mut(input.cols);
        rows.zip(keep).filter(|(_, keep)| !**keep).for_each(|(row, _)| row.fill(0.0));
    }
    weights
}

/// The states that training is judged by.
struct Validation {
    examples: Examples,
    items: Vec<Item>,
    baselines: Baselines,
}

impl Validation {
    /// What h is divided by: the optimum if every state has it as a label.
    fn reference(&self) -> Reference {
        let is_labelled = |item: &Item| self.examples.example(item.id).1.h_ocp.is_some();
        if self.items.iter().all(is_labelled) { Reference::HOcp } else { Reference::Scp }
    }
}

/// A trainer with what belongs to its directory.
struct TrainingRun<'a> {
    config: TrainConfig,
    trainer: Trainer,
    validation: Validation,
    data: u64,
    directory: &'a Path,
    best: Vec<f32>,
    metrics: Vec<EpochMetrics>,
}

impl TrainingRun<'_> {
    /// Goes on where the checkpoint in the directory ends, if there is one.
    fn resume(&mut self) -> Result<(), TrainError> {
        std::fs::create_dir_all(self.directory)
            .map_err(|source| TrainError::Io { path: self.directory.to_owned(), source })?;
        let path = self.path("checkpoint.safetensors");
        if !path.exists() {
            return Ok(());
        }
        let checkpoint = Checkpoint::load(&path, &self.config, self.data)?;
        if checkpoint.weights.len() != self.best.len() {
            return Err(CheckpointError::Other { path, what: "network" }.into());
        }
        self.trainer.weights.data = checkpoint.weights;
        self.trainer.adamw = checkpoint.adamw;
        self.trainer.schedule = checkpoint.progress.schedule;
        self.trainer.epoch = checkpoint.progress.metrics.len();
        self.best = checkpoint.best;
        self.metrics = checkpoint.progress.metrics;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn seconds(&self) -> f64 {
        self.metrics.last().map_or(0.0, |epoch| epoch.seconds)
    }

    fn is_over(&self) -> bool {
        self.metrics.len() >= self.config.epochs
            || self.trainer.schedule.is_over(&self.config.training.schedule)
            || self.config.time_limit_s.is_some_and(|limit| self.seconds() >= limit)
    }

    /// One pass over the training states and one over the validation states; false if stopped.
    fn epoch(
        &mut self,
        stop: &AtomicBool,
        show: &mut dyn FnMut(Event),
    ) -> Result<bool, TrainError> {
        let epoch = self.metrics.len() + 1;
        let start = Instant::now();
        self.trainer.begin_epoch();
        let steps = self.trainer.steps_left();
        let (mut sum, mut states) = (0.0, 0);
        while let Some(done) = self.trainer.step() {
            if !done.loss.is_finite() {
                return Err(TrainError::Diverged(epoch));
            }
            sum += done.loss * done.states as f64;
            states += done.states;
            let step = steps - self.trainer.steps_left();
            show(Event::Step { epoch, step, steps, loss: sum / states as f64 });
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
        let states_per_s = states as f64 / start.elapsed().as_secs_f64();
        let (validation_loss, ratio) = self.validate();
        let learning_rate = self.trainer.schedule.learning_rate;
        if self.trainer.schedule.observe(&self.config.training.schedule, validation_loss) {
            self.best.clone_from(&self.trainer.weights.data);
        }
        self.metrics.push(EpochMetrics {
            epoch,
            train_loss: sum / states as f64,
            validation_loss,
            reference: self.validation.reference(),
            ratio,
            ratio_uniform: self.validation.baselines.uniform,
            ratio_scp: self.validation.baselines.scp,
            learning_rate,
            seconds: self.seconds() + start.elapsed().as_secs_f64(),
            states_per_s,
        });
        Ok(true)
    }

    /// The mean loss and the mean of h / reference over the validation states.
    fn validate(&mut self) -> (f64, f64) {
        let TrainingRun { trainer, validation: Validation { examples, items, .. }, config, .. } =
            self;
        let size = trainer.part_size();
        let (mut loss, mut ratio) = (0.0, 0.0);
        for some in items.chunks(VALIDATE * size) {
            let chunks: Vec<&[Item]> = some.chunks(size).collect();
            let find = |items: &&[Item]| Part::new(&config.network, examples, items);
            let parts = trainer.cores().map(&chunks, find);
            let values = trainer.evaluate(examples, &parts);
            for (StateValue { loss: of_state, h }, item) in values.into_iter().zip(some) {
                loss += of_state;
                ratio += h / item.reference;
            }
        }
        (loss / items.len() as f64, ratio / items.len() as f64)
    }

    /// Writes checkpoint, metrics and learning curve.
    fn write(&self, show: &mut dyn FnMut(Event)) -> Result<(), TrainError> {
        let checkpoint = Checkpoint {
            weights: self.trainer.weights.data.clone(),
            best: self.best.clone(),
            adamw: self.trainer.adamw.clone(),
            progress: Progress {
                config: self.config.clone(),
                data: self.data,
                schedule: self.trainer.schedule.clone(),
                steps: self.trainer.steps(),
                metrics: self.metrics.clone(),
            },
        };
        checkpoint.save(&self.path("checkpoint.safetensors"))?;
        let mut lines = String::new();
        for epoch in &self.metrics {
            lines += &serde_json::to_string(epoch).expect("numbers and names only");
            lines.push('\n');
        }
        self.write_file("metrics.jsonl", &lines)?;
        let TrainConfig { graph, iterations, training, .. } = &self.config;
        let title = format!("{} L={iterations}, loss {}", graph.name(), training.loss);
        self.write_file("learning-curve.svg", &learning_curve(&title, &self.metrics))?;
        if let Some(epoch) = self.metrics.last() {
            show(Event::Epoch(epoch));
        }
        Ok(())
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), TrainError> {
        let path = self.path(name);
        std::fs::write(&path, text).map_err(|source| TrainError::Io { path, source })
    }

    fn model(
        self,
        signature: Signature,
        vocabulary: Arc<Vocabulary>,
        origin: Origin,
        tasks: usize,
        states: usize,
    ) -> Model {
        let best =
            self.metrics.iter().min_by(|a, b| a.validation_loss.total_cmp(&b.validation_loss));
        let mut validation = BTreeMap::new();
        if let Some(best) = best {
            let name = best.reference.ratio();
            validation.extend([
                ("epochs".to_string(), self.metrics.len() as f64),
                ("epoch".to_string(), best.epoch as f64),
                ("loss".to_string(), best.validation_loss),
                (name.to_string(), best.ratio),
                (format!("{name} uniform"), best.ratio_uniform),
                (format!("{name} scp"), best.ratio_scp),
                ("states".to_string(), self.validation.items.len() as f64),
                ("seconds".to_string(), self.seconds()),
            ]);
        }
        let config = serde_json::to_string(&self.config).expect("numbers and names only");
        let mut settings = origin.settings;
        settings.insert("config".to_string(), config);
        let mut weights = self.trainer.weights;
        weights.data = self.best;
        if self.config.bfloat16 {
            weights.round();
        }
        Model {
            signature,
            vocabulary,
            weights,
            provenance: Provenance {
                domain: origin.domain,
                loss: self.config.training.loss.to_string(),
                seed: self.config.training.seed,
                tasks,
                states,
                settings,
            },
            validation,
        }
    }
}

/// A number that depends on all states and labels (FNV-1a).
fn fingerprint<'a>(tasks: impl Iterator<Item = &'a TaskStates>) -> u64 {
    let mut hash = Fnv::new();
    let mut add = |word: u64| hash.add(word);
    for task in tasks {
        add(task.task.operators.len() as u64);
        for state in &task.states {
            state.values.iter().for_each(|&value| add(u64::from(value)));
            add(state.h_ocp.unwrap_or(-1.0).to_bits());
            let shares = state.shares.iter().flat_map(|shares| shares.iter());
            shares.for_each(|share| add(u64::from(share.to_bits())));
        }
    }
    hash.get()
}
