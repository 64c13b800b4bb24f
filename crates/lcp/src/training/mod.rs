//! The training loop: of models on the states of many tasks, and of a network on the very task
//! that is being solved.
//!
//! [`examples`] are states with their features; [`loss`] is what is minimised, a function of the
//! network's scores; [`engine`] computes both and the gradient; [`optimiser`] changes the weights.
//! A [`Trainer`] takes one step after the other; its epochs are passes over all states in random
//! order.
//! When to look at other states, what to keep and when to stop is its owner's business.
//!
//! Random numbers come from the seed and the number of the epoch, sums have a fixed order: the same
//! states give the same weights, on any machine and with any number of threads, and a trainer whose
//! weights, optimiser and epoch are restored goes on as if nothing had happened.

pub mod bound;
pub mod engine;
pub mod examples;
pub mod loss;
pub mod optimiser;
mod shares;

use std::collections::VecDeque;
use std::sync::Arc;

use planner::work::Work;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::network::dropout::Dropout;
use crate::network::tokens::Sharing;
use crate::network::{NetworkConfig, Weights};
use engine::{Cores, Engine, Item, Part, Pass, StateValue, Update};
use examples::Examples;
use loss::Loss;
use optimiser::{AdamW, AdamWConfig, LearningRate, LearningRateConfig};

/// How a network is trained.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// What is minimised.
    pub loss: Loss,
    /// Shares of activations zeroed while training.
    pub dropout: Dropout,
    /// Which positions share a token while training, and with it what is zeroed.
    #[serde(default)]
    pub sharing: Sharing,
    /// States per step.
    pub batch: usize,
    /// States of one task that go into a batch together and share a pass; more share more
    /// computation.
    pub chunk: usize,
    /// Whether batches are the same in every epoch, so that their tokens are found once.
    pub fixed_batches: bool,
    /// Steps of an epoch at least; it passes over the states as often as that takes.
    pub epoch_steps: usize,
    /// The optimiser.
    pub adamw: AdamWConfig,
    /// The learning rate over time.
    pub schedule: LearningRateConfig,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// The states to train on.
pub struct TrainingSet {
    /// The states with their features.
    pub examples: Examples,
    /// Those that count.
    pub items: Vec<Item>,
    /// The steps of every epoch, if batches are fixed.
    steps: Vec<Arc<Step>>,
}

impl TrainingSet {
    /// All states that count; finds the tokens of all batches if these are fixed.
    pub fn new(
        examples: Examples,
        items: Vec<Item>,
        settings: &Settings,
        config: &NetworkConfig,
    ) -> TrainingSet {
        let mut set = TrainingSet { examples, items, steps: Vec::new() };
        if settings.fixed_batches {
            let batches = set.items.chunks(settings.batch.max(1));
            let step = |items| Arc::new(Step::new(config, &set.examples, items, settings));
            set.steps = batches.map(step).collect();
        }
        set
    }

    /// The work of an average step, if batches are fixed.
    pub fn mean_work(&self) -> Work {
        let total: Work = self.steps.iter().map(|step| step.work).sum();
        total / self.steps.len().max(1) as Work
    }
}

/// The states of one step, in parts.
struct Step {
    parts: Vec<Part>,
    work: Work,
}

impl Step {
    fn new(
        config: &NetworkConfig,
        examples: &Examples,
        items: &[Item],
        settings: &Settings,
    ) -> Step {
        let parts: Vec<Part> = items
            .chunk_by(|a, b| a.id.task == b.id.task)
            .flat_map(|of_task| of_task.chunks(settings.chunk.max(1)))
            .map(|items| Part::sharing(config, settings.sharing, examples, items))
            .collect();
        let work = parts.iter().map(|part| part.work(config, examples).gradient()).sum();
        Step { parts, work }
    }
}

/// What a step did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepDone {
    /// The mean loss of its states before the step.
    pub loss: f64,
    /// The number of its states.
    pub states: usize,
    /// The work it took.
    pub work: Work,
}

/// A network in training.
pub struct Trainer {
    settings: Settings,
    set: Arc<TrainingSet>,
    engine: Box<dyn Engine>,
    /// The network as it was when the epoch was over, or states were evaluated, last: an engine may
    /// keep it to itself in between.
    pub weights: Weights,
    /// The optimiser's state, likewise.
    pub adamw: AdamW,
    /// The schedule's state.
    pub schedule: LearningRate,
    /// Epochs begun.
    pub epoch: usize,
    gradient: Weights,
    random: Xoshiro256PlusPlus,
    /// The batches of this epoch whose tokens are not found yet, the next one last, …
    pending: Vec<Vec<Item>>,
    /// … and the steps that are ready.
    ready: VecDeque<Arc<Step>>,
}

/// Units of work for a parameter in a step.
const PARAMETER: Work = 3;

/// Steps whose tokens are found at the same time.
const AHEAD: usize = 16;

impl Trainer {
    /// A trainer that has made no step.
    pub fn new(
        settings: Settings,
        set: Arc<TrainingSet>,
        weights: Weights,
        engine: Box<dyn Engine>,
    ) -> Trainer {
        Trainer {
            engine,
            adamw: AdamW::new(weights.data.len()),
            schedule: LearningRate::new(&settings.schedule),
            epoch: 0,
            gradient: Weights::zeros(&weights.config),
            random: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            pending: Vec::new(),
            ready: VecDeque::new(),
            settings,
            set,
            weights,
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The states.
    pub fn set(&self) -> &Arc<TrainingSet> {
        &self.set
    }

    /// The cores that find tokens.
    pub fn cores(&self) -> Cores {
        self.engine.cores()
    }

    /// States that share a pass at most.
    pub fn part_size(&self) -> usize {
        match self.engine.takes_whole_steps() {
            true => self.settings.batch.max(1),
            false => self.settings.chunk.max(1),
        }
    }

    /// Steps made.
    pub fn steps(&self) -> u64 {
        self.adamw.steps
    }

    /// Steps that are left of this epoch.
    pub fn steps_left(&self) -> usize {
        self.pending.len() + self.ready.len()
    }

    /// Puts the steps of the next epoch in order.
    pub fn begin_epoch(&mut self) {
        self.epoch += 1;
        let seed = self.settings.seed.wrapping_add((self.epoch as u64) << 32);
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (self.pending, self.ready) = (Vec::new(), VecDeque::new());
        loop {
            if self.settings.fixed_batches {
                let mut steps = self.set.steps.clone();
                steps.shuffle(&mut self.random);
                self.ready.extend(steps);
            } else {
                let batches = self.random_batches();
                self.pending.extend(batches);
            }
            let steps = self.steps_left();
            if steps == 0 || steps >= self.settings.epoch_steps {
                return;
            }
        }
    }

    /// The states in random order, those of one task in chunks.
    fn random_batches(&mut self) -> Vec<Vec<Item>> {
        let mut items = self.set.items.clone();
        items.shuffle(&mut self.random);
        items.sort_by_key(|item| item.id.task); // Stable: random within a task.
        let mut chunks: Vec<&[Item]> = items
            .chunk_by(|a, b| a.id.task == b.id.task)
            .flat_map(|of_task| of_task.chunks(self.settings.chunk.max(1)))
            .collect();
        chunks.shuffle(&mut self.random);
        let mut batches: Vec<Vec<Item>> = Vec::new();
        for chunk in chunks {
            match batches.last_mut() {
                Some(last) if last.len() + chunk.len() <= self.settings.batch => {
                    last.extend_from_slice(chunk);
                }
                _ => batches.push(chunk.to_vec()),
            }
        }
        batches
    }

    /// One step of the epoch; none if it is over.
    ///
    /// The loss of a step is the mean over its states.
    pub fn step(&mut self) -> Option<StepDone> {
        if self.ready.is_empty() {
            let first = self.pending.len().saturating_sub(AHEAD);
            let mut batches = self.pending.split_off(first);
            batches.reverse();
            let (config, examples) = (&self.weights.config, &self.set.examples);
            let whole = self.engine.takes_whole_steps();
            let settings = &self.settings;
            let part = |items: &[Item]| Part::sharing(config, settings.sharing, examples, items);
            let steps = self.cores().map(&batches, |items| match whole {
                true => Step { parts: vec![part(items)], work: 0 },
                false => Step::new(config, examples, items, settings),
            });
            self.ready.extend(steps.into_iter().map(Arc::new));
        }
        let Some(step) = self.ready.pop_front() else {
            self.engine.bring_back(&mut self.weights, &mut self.adamw);
            return None;
        };
        let states: usize = step.parts.iter().map(|part| part.items.len()).sum();
        let Trainer { settings, set, weights, gradient, .. } = self;
        let pass = Pass { weights, examples: &set.examples, loss: settings.loss };
        let dropout = (settings.dropout, self.random.random());
        let factor = 1.0 / states as f32;
        let rate = self.schedule.rate(&settings.schedule, self.adamw.steps);
        let update = Update { config: settings.adamw, rate, factor };
        let adamw = &mut self.adamw;
        if let Some(loss) = self.engine.step(pass, &step.parts, dropout, adamw, update) {
            return Some(StepDone { loss: loss / states as f64, states, work: step.work });
        }
        gradient.data.fill(0.0);
        let loss = self.engine.gradient(pass, &step.parts, dropout, gradient);
        gradient.data.iter_mut().for_each(|g| *g *= factor);
        self.adamw.step(&settings.adamw, rate, &mut weights.data, &gradient.data);
        let work = step.work + PARAMETER * weights.data.len() as Work;
        Some(StepDone { loss: loss / states as f64, states, work })
    }

    /// Loss and h of other states as the network is now.
    pub fn evaluate(&mut self, examples: &Examples, parts: &[Part]) -> Vec<StateValue> {
        self.engine.bring_back(&mut self.weights, &mut self.adamw);
        let pass = Pass { weights: &self.weights, examples, loss: self.settings.loss };
        self.engine.evaluate(pass, parts)
    }
}
