//! The training loop: epochs of steps, validation after each, schedule, early stopping.
//!
//! After every epoch the run's directory holds `checkpoint.safetensors`, `metrics.jsonl` (one
//! line per epoch) and `learning-curve.svg`; at the end `model.safetensors`, the network of the
//! epoch with the least validation loss.
//! A run that is started again in the same directory continues after its last epoch and ends
//! with the same model as one that was never interrupted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lcp::model::{Model, ModelError, Provenance, Signature};
use lcp::network::weights::Weights;
use lcp::network::{ConfigError, NetworkConfig};
use lcp::wl::Vocabulary;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::baseline::{Baselines, baselines};
use crate::chart::{Curve, Panel, svg};
use crate::checkpoint::{Checkpoint, CheckpointError, Progress};
use crate::config::TrainConfig;
use crate::engine::{AHEAD, Engine, Item, StateValue, Step, engine};
use crate::examples::{Examples, TaskStates, vocabulary};
use crate::generate::Random;
use crate::loss::Loss;
use crate::optimiser::{AdamW, Schedule};

/// Figures of one epoch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EpochMetrics {
    /// The number of the epoch, from 1.
    pub epoch: usize,
    /// The mean loss over the training states, while training.
    pub train_loss: f64,
    /// The mean loss over the validation states.
    pub validation_loss: f64,
    /// The mean of h / h_OCP over the validation states.
    pub ratio: f64,
    /// The same for uniform partitioning.
    pub ratio_uniform: f64,
    /// The same for saturated partitioning.
    pub ratio_scp: f64,
    /// The learning rate.
    pub learning_rate: f32,
    /// Seconds of training since the start of the run.
    pub seconds: f64,
    /// Training states per second in this epoch.
    pub states_per_s: f64,
}

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

/// Why training failed.
#[derive(Debug, Error)]
pub enum TrainError {
    /// There is no usable state.
    #[error("no {0} states (dead ends and goal states do not count)")]
    NoStates(&'static str),
    /// The loss needs labels.
    #[error(
        "the loss kl needs labels, but {0} has states without; sample with labels or use the loss bound"
    )]
    NoLabels(String),
    /// This build has no such engine.
    #[error("this build cannot train on a GPU; build with the feature `cuda`")]
    NoEngine,
    /// Only burn knows dropout.
    #[error("the native engine has no dropout; use the engine burn or no dropout")]
    NoDropout,
    /// Only an input projection can ignore colours.
    #[error("ignoring rare colours needs an input projection; set a width or a support of 1")]
    NoProjection,
    /// A validation task is of another domain.
    #[error("the validation task {0} is of another domain than the training tasks")]
    OtherDomain(String),
    /// The loss is not a number any more.
    #[error("training diverged in epoch {0}: the loss is not finite; use a smaller learning rate")]
    Diverged(usize),
    /// The configuration is impossible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The checkpoint is unusable.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The model cannot be written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Where a run came from, for the model's provenance.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The domain's name.
    pub domain: String,
    /// Settings to be kept with the model, by name.
    pub settings: BTreeMap<String, String>,
}

/// Trains a model in `directory`; `stop` ends it cleanly after the current epoch's step, to be
/// resumed later (no model is returned then).
pub fn train(
    mut config: TrainConfig,
    training: Vec<TaskStates>,
    validation: Vec<TaskStates>,
    directory: &Path,
    origin: Origin,
    stop: &AtomicBool,
    show: &mut dyn FnMut(Event),
) -> Result<Option<Model>, TrainError> {
    check(&config, &training, &validation)?;
    let mut signature = Signature::default();
    training.iter().for_each(|task| signature.extend(&task.task));
    for task in &validation {
        let covered = signature.covers(&Signature::of_task(&task.task));
        covered.map_err(|_| TrainError::OtherDomain(task.name.clone()))?;
    }
    let data = fingerprint(training.iter().chain(&validation));
    let tasks = training.len();
    let vocabulary = Arc::new(vocabulary(&config, &training));
    config.network = NetworkConfig { input: vocabulary.num_features(), ..config.network };
    config.network.check()?;
    let engine = engine(&config).ok_or(TrainError::NoEngine)?;
    let mut training = Examples::new(training, &vocabulary, &config.network, config.softmax);
    let mut validation = Examples::new(validation, &vocabulary, &config.network, config.softmax);
    let support = training.support(vocabulary.num_features());
    let keep: Vec<bool> = support.iter().map(|&tasks| tasks >= config.min_support).collect();
    training.retain_features(&keep);
    validation.retain_features(&keep);
    let parts = Parts {
        engine,
        training: Part::new(training, "training")?,
        validation: Part::new(validation, "validation")?,
    };
    let states = parts.training.items.len();
    let mut run = Run::start(config, parts, &keep, data, directory)?;
    show(Event::Ready {
        training: states,
        validation: run.parts.validation.items.len(),
        features: keep.iter().filter(|keep| **keep).count(),
        parameters: run.weights.data.len(),
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

fn check(
    config: &TrainConfig,
    training: &[TaskStates],
    validation: &[TaskStates],
) -> Result<(), TrainError> {
    let native = config.engine == crate::config::EngineKind::Native;
    if native && config.dropout != crate::network::Dropout::NONE {
        return Err(TrainError::NoDropout);
    }
    if config.min_support > 1 && config.network.width.is_none() {
        return Err(TrainError::NoProjection);
    }
    if config.loss == Loss::Kl {
        let mut tasks = training.iter().chain(validation);
        let lacks = |task: &&TaskStates| task.states.iter().any(|s| s.shares.is_none());
        if let Some(task) = tasks.find(lacks) {
            return Err(TrainError::NoLabels(task.name.clone()));
        }
    }
    Ok(())
}

/// States with features and references.
struct Part {
    examples: Examples,
    items: Vec<Item>,
    baselines: Baselines,
}

impl Part {
    fn new(examples: Examples, what: &'static str) -> Result<Part, TrainError> {
        let (items, baselines) = baselines(&examples);
        if items.is_empty() {
            return Err(TrainError::NoStates(what));
        }
        Ok(Part { examples, items, baselines })
    }
}

struct Parts {
    engine: Box<dyn Engine>,
    training: Part,
    validation: Part,
}

struct Run<'a> {
    config: TrainConfig,
    parts: Parts,
    data: u64,
    directory: &'a Path,
    weights: Weights,
    best: Vec<f32>,
    adamw: AdamW,
    schedule: Schedule,
    metrics: Vec<EpochMetrics>,
}

impl<'a> Run<'a> {
    fn start(
        config: TrainConfig,
        parts: Parts,
        keep: &[bool],
        data: u64,
        directory: &'a Path,
    ) -> Result<Run<'a>, TrainError> {
        std::fs::create_dir_all(directory)
            .map_err(|source| TrainError::Io { path: directory.to_owned(), source })?;
        let mut random = Random::seed_from_u64(config.seed);
        let mut weights = Weights::random(&config.network, &mut random);
        if let Some(input) = weights.layout.input {
            let rows = weights[input].chunks_exact_mut(input.cols);
            rows.zip(keep).filter(|(_, keep)| !**keep).for_each(|(row, _)| row.fill(0.0));
        }
        let mut run = Run {
            best: weights.data.clone(),
            adamw: AdamW::new(weights.data.len()),
            schedule: Schedule::new(&config.schedule),
            metrics: Vec::new(),
            config,
            parts,
            data,
            directory,
            weights,
        };
        let path = run.path("checkpoint.safetensors");
        if path.exists() {
            let checkpoint = Checkpoint::load(&path, &run.config, data)?;
            if checkpoint.weights.len() != run.weights.data.len() {
                return Err(CheckpointError::Other { path, what: "network" }.into());
            }
            run.weights.data = checkpoint.weights;
            run.best = checkpoint.best;
            run.adamw = checkpoint.adamw;
            run.schedule = checkpoint.progress.schedule;
            run.metrics = checkpoint.progress.metrics;
        }
        Ok(run)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn seconds(&self) -> f64 {
        self.metrics.last().map_or(0.0, |epoch| epoch.seconds)
    }

    fn is_over(&self) -> bool {
        self.metrics.len() >= self.config.epochs
            || self.schedule.is_over(&self.config.schedule)
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
        let mut random = Random::seed_from_u64(self.config.seed.wrapping_add((epoch as u64) << 32));
        let mut steps = self.steps(&mut random);
        let number = steps.len();
        let Parts { engine, training, .. } = &mut self.parts;
        let (examples, ahead) = (&training.examples, engine.wants_batches());
        let network = &self.config.network;
        let (mut sum, mut states) = (0.0, 0);
        // The tokens of later steps are found while the engine computes.
        let finished = std::thread::scope(|scope| {
            let (sender, steps_in_order) = std::sync::mpsc::sync_channel(AHEAD);
            scope.spawn(move || {
                while !steps.is_empty() {
                    let mut some: Vec<Step> = steps.drain(..AHEAD.min(steps.len())).collect();
                    if ahead {
                        some.par_iter_mut().for_each(|step| step.find_tokens(network, examples));
                    }
                    // The receiver is gone when training stops early.
                    if some.into_iter().any(|step| sender.send(step).is_err()) {
                        return;
                    }
                }
            });
            for (number_so_far, step) in (1..).zip(steps_in_order) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                let seed = random.random();
                let (loss, gradient) =
                    engine.gradient(&self.weights, examples, self.config.loss, &step, seed);
                if !loss.is_finite() {
                    return Err(TrainError::Diverged(epoch));
                }
                let rate = self.schedule.learning_rate;
                self.adamw.step(&self.config.adamw, rate, &mut self.weights.data, &gradient);
                sum += loss * step.items.len() as f64;
                states += step.items.len();
                let loss = sum / states as f64;
                show(Event::Step { epoch, step: number_so_far, steps: number, loss });
            }
            Ok(true)
        })?;
        if !finished {
            return Ok(false);
        }
        let states_per_s = states as f64 / start.elapsed().as_secs_f64();
        let Parts { engine, validation, .. } = &mut self.parts;
        let values = engine.evaluate(
            &self.weights,
            &validation.examples,
            self.config.loss,
            &validation.items,
        );
        let n = values.len() as f64;
        let validation_loss = values.iter().map(|v| v.loss).sum::<f64>() / n;
        let ratio = |(v, item): (&StateValue, &Item)| v.h / item.reference;
        let learning_rate = self.schedule.learning_rate;
        if self.schedule.observe(&self.config.schedule, validation_loss) {
            self.best.clone_from(&self.weights.data);
        }
        self.metrics.push(EpochMetrics {
            epoch,
            train_loss: sum / states as f64,
            validation_loss,
            ratio: values.iter().zip(&validation.items).map(ratio).sum::<f64>() / n,
            ratio_uniform: validation.baselines.uniform,
            ratio_scp: validation.baselines.scp,
            learning_rate,
            seconds: self.seconds() + start.elapsed().as_secs_f64(),
            states_per_s,
        });
        Ok(true)
    }

    /// The training states in random order, those of one task in chunks.
    fn steps(&self, random: &mut Random) -> Vec<Step> {
        let mut items = self.parts.training.items.clone();
        items.shuffle(random);
        items.sort_by_key(|item| item.id.task); // Stable: random within a task.
        let mut chunks: Vec<&[Item]> = items
            .chunk_by(|a, b| a.id.task == b.id.task)
            .flat_map(|of_task| of_task.chunks(self.config.chunk.max(1)))
            .collect();
        chunks.shuffle(random);
        let mut batches = vec![Vec::new()];
        for chunk in chunks {
            let full = batches.last().is_some_and(|batch: &Vec<Item>| {
                !batch.is_empty() && batch.len() + chunk.len() > self.config.batch
            });
            if full {
                batches.push(Vec::new());
            }
            batches.last_mut().expect("there is one").extend_from_slice(chunk);
        }
        batches.into_iter().map(Step::new).collect()
    }

    /// Writes checkpoint, metrics and learning curve.
    fn write(&self, show: &mut dyn FnMut(Event)) -> Result<(), TrainError> {
        let checkpoint = Checkpoint {
            weights: self.weights.data.clone(),
            best: self.best.clone(),
            adamw: self.adamw.clone(),
            progress: Progress {
                config: self.config.clone(),
                data: self.data,
                schedule: self.schedule.clone(),
                steps: self.adamw.steps,
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
        self.write_file("learning-curve.svg", &self.learning_curve())?;
        if let Some(epoch) = self.metrics.last() {
            show(Event::Epoch(epoch));
        }
        Ok(())
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), TrainError> {
        let path = self.path(name);
        std::fs::write(&path, text).map_err(|source| TrainError::Io { path, source })
    }

    fn learning_curve(&self) -> String {
        let curve = |name, colour, value: fn(&EpochMetrics) -> f64| Curve {
            name,
            colour,
            values: self.metrics.iter().map(value).collect(),
        };
        let losses = vec![
            curve("training", "#888", |m| m.train_loss),
            curve("validation", "#06c", |m| m.validation_loss),
        ];
        let ratios = vec![
            curve("learned", "#06c", |m| m.ratio),
            curve("scp", "#c60", |m| m.ratio_scp),
            curve("uniform", "#393", |m| m.ratio_uniform),
        ];
        let title = format!(
            "{} L={}, loss {}",
            self.config.graph.name(),
            self.config.iterations,
            self.config.loss
        );
        let panels = [
            Panel { title: "loss", curves: losses },
            Panel { title: "h / h_OCP on validation states", curves: ratios },
        ];
        svg(&title, &panels)
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
            validation.extend([
                ("epochs".to_string(), self.metrics.len() as f64),
                ("epoch".to_string(), best.epoch as f64),
                ("loss".to_string(), best.validation_loss),
                ("h/h_ocp".to_string(), best.ratio),
                ("h/h_ocp uniform".to_string(), best.ratio_uniform),
                ("h/h_ocp scp".to_string(), best.ratio_scp),
                ("states".to_string(), self.parts.validation.items.len() as f64),
                ("seconds".to_string(), self.seconds()),
            ]);
        }
        let config = serde_json::to_string(&self.config).expect("numbers and names only");
        let mut settings = origin.settings;
        settings.insert("config".to_string(), config);
        let mut weights = self.weights;
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
                loss: self.config.loss.to_string(),
                seed: self.config.seed,
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
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |word: u64| hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    for task in tasks {
        add(task.task.operators.len() as u64);
        for state in &task.states {
            state.values.iter().for_each(|&value| add(u64::from(value)));
            add(state.h_ocp.unwrap_or(-1.0).to_bits());
            let shares = state.shares.iter().flat_map(|shares| shares.iter());
            shares.for_each(|share| add(u64::from(share.to_bits())));
        }
    }
    hash
}
