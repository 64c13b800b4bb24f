//! Self-training: a small network learns to split the costs of the very task being solved.
//!
//! The objective is the bound ([`bound`]), so no labels, no generator and no other task are needed.
//! States come from random walks ([`walk`]); the vocabulary is that of these states.
//! Everything counts steps, not seconds, so that the same seed gives the same network; only a
//! caller that stops early because of the clock makes a difference.
//!
//! A quarter of the states is held out: training keeps the weights that are best there, stops when
//! they no longer improve, and says whether they beat saturated cost partitioning.
//!
//! Guarantees nothing about quality, and needs not: a bad network costs time, never optimality.

pub mod adam;
pub mod bound;
pub mod walk;

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::heuristic::Estimate;
use planner::partition::{PartitionScratch, Partitioner, Saturated};
use planner::task::{Task, Value};
use rand::RngExt;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::graph::GraphKind;
use crate::network::NetworkConfig;
use crate::network::tokens::Batch;
use crate::network::train_pass::Tape;
use crate::network::weights::Weights;
use crate::predict::{Softmax, TaskPositions, feature_generator, patterns_of};
use crate::wl::{FeatureError, RowTable, Vocabulary, VocabularyBuilder};
use adam::Adam;
use bound::Bound;
use walk::random_walk_states;

/// The settings of self-training.
#[derive(Clone, PartialEq, Debug)]
pub struct SelfTraining {
    /// The graph whose features are read.
    pub graph: GraphKind,
    /// L, the number of refinements.
    pub iterations: usize,
    /// The shape of the network; its input is set by the vocabulary.
    pub network: NetworkConfig,
    /// States per step.
    pub batch: usize,
    /// The learning rate at the beginning; it falls linearly to a tenth over `steps`.
    pub rate: f32,
    /// The most steps.
    pub steps: usize,
    /// The number of states to train on and to hold out.
    pub states: usize,
    /// The longest random walk.
    pub longest_walk: usize,
    /// The seed of the first weights and of the order of batches.
    pub seed: u64,
}

impl Default for SelfTraining {
    fn default() -> SelfTraining {
        SelfTraining {
            graph: GraphKind::Flg,
            iterations: 3,
            network: NetworkConfig::compact(1, 32),
            batch: 4,
            rate: 5e-3,
            steps: 1000,
            states: 80,
            longest_walk: 60,
            seed: 2011,
        }
    }
}

/// What self-training leaves behind.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The features that the network reads.
    pub vocabulary: Arc<Vocabulary>,
    /// The best network by the mean bound on the states held out.
    pub weights: Weights,
    /// Its mean bound there, in units of cost.
    pub bound: f64,
    /// The mean bound there of saturated cost partitioning.
    pub saturated: f64,
    /// The number of steps made.
    pub steps: usize,
}

/// Epochs without a better network after which training ends.
const PATIENCE: usize = 12;
/// The relative gain that counts as better.
const GAIN: f64 = 1e-3;

/// Trains on random-walk states of the task until the steps are used up, the network stops
/// improving or `go_on` (asked after every step) says no.
/// With no states to train on, the network stays as it began.
pub fn train(
    task: &Task,
    abstractions: &Abstractions,
    settings: &SelfTraining,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Trained, FeatureError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
    let states =
        random_walk_states(task, abstractions, settings.states, settings.longest_walk, &mut rng);
    let held_out = &states[states.len() - states.len() / 4..];
    let mut saturated = Saturated::new(abstractions);
    let mut scratch = PartitionScratch::default();
    let mut baseline = 0.0;
    for state in held_out {
        let found = saturated.partition(abstractions, state, None);
        let h = found.map(|found| found.evaluate(abstractions, state, &mut scratch));
        if let Some(Estimate::AtLeast(h)) = h {
            baseline += (h / abstractions.divisor()) as f64 / held_out.len() as f64;
        }
    }
    let mut trainer = Trainer::new(task, abstractions, &states, settings.clone())?;
    let mut best = trainer.trained(baseline);
    let (mut reference, mut since_best, mut going) = (best.bound, 0, true);
    while going && trainer.steps_done < settings.steps && since_best < PATIENCE {
        for _ in 0..trainer.batches.len().max(8) {
            going = trainer.step().is_some() && go_on();
            if !going {
                break;
            }
        }
        let now = trainer.trained(baseline);
        since_best += 1;
        if now.bound > reference * (1.0 + GAIN) {
            (since_best, reference) = (0, now.bound);
        }
        if now.bound > best.bound {
            best = now;
        }
    }
    best.steps = trainer.steps_done;
    Ok(best)
}

/// A network in training on the states of one task.
pub struct Trainer<'a> {
    settings: SelfTraining,
    abstractions: &'a Abstractions,
    vocabulary: Arc<Vocabulary>,
    places: TaskPositions,
    rows: RowTable,
    batches: Vec<StateBatch>,
    /// States that are not trained on.
    held_out: Vec<StateBatch>,
    weights: Weights,
    gradient: Weights,
    adam: Adam,
    tape: Tape,
    bound: Bound,
    rng: Xoshiro256PlusPlus,
    /// The order in which the batches are visited, and how far it is done.
    order: Vec<usize>,
    next: usize,
    steps_done: usize,
    shares: Vec<f32>,
    d_shares: Vec<f32>,
    d_scores: Vec<f32>,
}

/// States that share a step, with their distinct tokens.
struct StateBatch {
    states: Vec<Vec<Value>>,
    tokens: Batch,
}

impl<'a> Trainer<'a> {
    /// Prepares training on `states`, none of which is a dead end; the last quarter is held out.
    pub fn new(
        task: &Task,
        abstractions: &'a Abstractions,
        states: &[Vec<Value>],
        settings: SelfTraining,
    ) -> Result<Trainer<'a>, FeatureError> {
        let mut builder = VocabularyBuilder::new(settings.graph, settings.iterations);
        builder.observe(task, &patterns_of(abstractions), states);
        let vocabulary = Arc::new(builder.finish());
        let config = NetworkConfig { input: vocabulary.num_features(), ..settings.network.clone() };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
        let weights = Weights::random(&config, &mut rng);
        Trainer::continued(task, abstractions, states, vocabulary, weights, settings)
    }

    /// Prepares training on `states` from weights that exist already; the last quarter is held
    /// out.
    pub fn continued(
        task: &Task,
        abstractions: &'a Abstractions,
        states: &[Vec<Value>],
        vocabulary: Arc<Vocabulary>,
        weights: Weights,
        settings: SelfTraining,
    ) -> Result<Trainer<'a>, FeatureError> {
        let places = TaskPositions::new(abstractions, &weights.config, Softmax::Masked);
        let mut features = feature_generator(task, abstractions, vocabulary.clone(), usize::MAX)?;
        let mut batch_of = |states: &[Vec<Value>]| {
            let mut rows = vec![vec![0; places.positions.len()]; states.len()];
            let mut of_pattern = Vec::new();
            for (state, row_of_position) in states.iter().zip(&mut rows) {
                let state_rows = features.state_rows(state);
                for p in 0..abstractions.len() {
                    of_pattern.clear();
                    places.feature_rows(state_rows.pattern(p), p, &mut of_pattern);
                    let positions = places.positions.of_pattern(p);
                    for (&i, &row) in positions.iter().zip(&of_pattern) {
                        row_of_position[i as usize] = row;
                    }
                }
            }
            let rows = rows.iter().map(Vec::as_slice);
            let tokens = Batch::new(&weights.config, &places.positions, rows);
            StateBatch { states: states.to_vec(), tokens }
        };
        let (train, held_out) = states.split_at(states.len() - states.len() / 4);
        let batches: Vec<StateBatch> =
            train.chunks(settings.batch.max(1)).map(&mut batch_of).collect();
        let held_out = held_out.chunks(settings.batch.max(1)).map(&mut batch_of).collect();
        Ok(Trainer {
            rng: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            settings,
            abstractions,
            vocabulary,
            places,
            rows: features.row_table().clone(),
            order: (0..batches.len()).collect(),
            next: 0,
            batches,
            held_out,
            gradient: Weights::zeros(&weights.config),
            adam: Adam::new(weights.data.len()),
            weights,
            tape: Tape::default(),
            bound: Bound::default(),
            steps_done: 0,
            shares: vec![0.0; abstractions.num_pairs()],
            d_shares: vec![0.0; abstractions.num_pairs()],
            d_scores: Vec::new(),
        })
    }

    /// The network as it is now.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The features it reads.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The number of steps made.
    pub fn steps(&self) -> usize {
        self.steps_done
    }

    /// The number of states.
    pub fn num_states(&self) -> usize {
        self.batches.iter().map(|batch| batch.states.len()).sum()
    }

    fn trained(&mut self, saturated: f64) -> Trained {
        Trained {
            vocabulary: self.vocabulary.clone(),
            weights: self.weights.clone(),
            bound: self.held_out_bound(),
            saturated,
            steps: self.steps_done,
        }
    }

    /// The mean bound on the states held out, in units of cost.
    pub fn held_out_bound(&mut self) -> f64 {
        let Trainer { weights, rows, tape, shares, d_shares, .. } = self;
        let (mut total, mut states) = (0.0, 0);
        for batch in &self.held_out {
            tape.forward(weights, rows, &batch.tokens);
            for (state, scored) in batch.states.iter().zip(&batch.tokens.scored) {
                let scores: Vec<f32> = scored.iter().map(|&t| tape.scores[t as usize]).collect();
                self.places.shares(&scores, shares);
                total += self.bound.evaluate(self.abstractions, state, shares, d_shares);
                states += 1;
            }
        }
        if states == 0 { 0.0 } else { total / states as f64 }
    }

    /// One step of training on the next batch.
    /// Returns the mean bound of its states before the step; none if there are no states.
    pub fn step(&mut self) -> Option<f64> {
        if self.batches.is_empty() {
            return None;
        }
        if self.next == 0 {
            // Fisher–Yates.
            for i in (1..self.order.len()).rev() {
                self.order.swap(i, self.rng.random_range(0..=i));
            }
        }
        let batch = self.order[self.next];
        self.next = (self.next + 1) % self.order.len();
        let bound = self.accumulate(batch);
        let progress = (self.steps_done as f32 / self.settings.steps.max(1) as f32).min(1.0);
        let rate = self.settings.rate * (1.0 - 0.9 * progress);
        self.adam.step(&mut self.weights, &mut self.gradient, rate, 1.0);
        self.steps_done += 1;
        Some(bound)
    }

    /// Forward and backward pass of one batch.
    ///
    /// loss = −Σ_s log bound(s) / states, so that states near the goal count as much as others.
    fn accumulate(&mut self, batch: usize) -> f64 {
        let StateBatch { states, tokens } = &self.batches[batch];
        let Trainer { weights, rows, tape, shares, d_shares, d_scores, .. } = self;
        tape.forward(weights, rows, tokens);
        d_scores.clear();
        d_scores.resize(tape.scores.len(), 0.0);
        let mut total = 0.0;
        for (state, scored) in states.iter().zip(&tokens.scored) {
            let scores: Vec<f32> = scored.iter().map(|&t| tape.scores[t as usize]).collect();
            self.places.shares(&scores, shares);
            d_shares.fill(0.0);
            let bound = self.bound.evaluate(self.abstractions, state, shares, d_shares);
            total += bound;
            if bound > 0.0 {
                let scale = -1.0 / (bound * states.len() as f64) as f32;
                d_shares.iter_mut().for_each(|d| *d *= scale);
                self.places.shares_backward(shares, d_shares, scored, d_scores);
            }
        }
        tape.backward(weights, rows, tokens, d_scores, &mut self.gradient);
        total / states.len() as f64
    }
}
