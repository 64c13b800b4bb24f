//! Steps of training: forward pass, bound, backward pass, Adam.
//!
//! The distinct tokens of every batch are numbered once, before the first step; batches are the
//! same in every epoch, only their order changes.

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::task::{Task, Value};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::SelfTraining;
use super::adam::Adam;
use super::bound::Bound;
use crate::network::tokens::Batch;
use crate::network::train_pass::Tape;
use crate::network::weights::Weights;
use crate::network::{Attention, NetworkConfig};
use crate::predict::{Softmax, TaskPositions, patterns_of};
use crate::wl::{FeatureGenerator, RowTable, Vocabulary, VocabularyBuilder};

/// A network in training on the states of one task.
pub struct Trainer {
    settings: SelfTraining,
    set: Arc<TrainingSet>,
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

/// What training reads: the same for networks that differ in attention, width or first weights.
struct TrainingSet {
    vocabulary: Arc<Vocabulary>,
    places: TaskPositions,
    rows: RowTable,
    batches: Vec<StateBatch>,
    /// States that are not trained on.
    held_out: Vec<StateBatch>,
}

/// States that share a step, with their distinct tokens.
struct StateBatch {
    states: Vec<Vec<Value>>,
    tokens: Batch,
}

impl Trainer {
    /// Prepares training on `states`, none of which is a dead end; the last quarter is held out.
    pub fn new(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        states: &[Vec<Value>],
        settings: SelfTraining,
    ) -> Trainer {
        let mut builder = VocabularyBuilder::new(settings.graph, settings.iterations)
            .distances(settings.distances);
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
        abstractions: &Arc<Abstractions>,
        states: &[Vec<Value>],
        vocabulary: Arc<Vocabulary>,
        weights: Weights,
        settings: SelfTraining,
    ) -> Trainer {
        let places = TaskPositions::new(abstractions, &weights.config, Softmax::Masked);
        let mut features =
            FeatureGenerator::new(task, abstractions, vocabulary.clone(), usize::MAX);
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
        let rows = features.row_table().clone();
        let set = Arc::new(TrainingSet { vocabulary, places, rows, batches, held_out });
        Trainer::on(set, weights, settings, abstractions.num_pairs())
    }

    fn on(
        set: Arc<TrainingSet>,
        weights: Weights,
        settings: SelfTraining,
        num_pairs: usize,
    ) -> Trainer {
        Trainer {
            rng: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            settings,
            order: (0..set.batches.len()).collect(),
            next: 0,
            set,
            gradient: Weights::zeros(&weights.config),
            adam: Adam::new(weights.data.len()),
            weights,
            tape: Tape::default(),
            bound: Bound::default(),
            steps_done: 0,
            shares: vec![0.0; num_pairs],
            d_shares: vec![0.0; num_pairs],
            d_scores: Vec::new(),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &SelfTraining {
        &self.settings
    }

    /// A network with another attention and other first weights, to be trained on the same states.
    pub fn rival(&self, attention: Attention, seed: u64) -> Trainer {
        let config = NetworkConfig { attention, ..self.weights.config.clone() };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let weights = Weights::random(&config, &mut rng);
        let settings = SelfTraining { seed, ..self.settings.clone() };
        Trainer::on(self.set.clone(), weights, settings, self.shares.len())
    }

    /// Roughly how many multiplications an average step takes; distances count a few thousand per
    /// pattern.
    pub fn work(&self) -> f64 {
        let w = self.weights.config.width() as f64;
        let tokens = |batch: &StateBatch| -> f64 {
            let stages = batch.tokens.stages.iter().map(|stage| {
                let linear = match self.weights.config.attention {
                    Attention::Mean => stage.groups() as f64 * 2.0 * w * w,
                    Attention::Learned => (stage.member.len() + stage.tokens()) as f64 * w * w,
                };
                let pairs: f64 = match self.weights.config.attention {
                    Attention::Mean => stage.member.len() as f64,
                    Attention::Learned => (0..stage.groups())
                        .map(|g| (stage.members(g).len() * stage.outs(g).len()) as f64 * 2.0)
                        .sum(),
                };
                linear + pairs * w
            });
            let last = batch.tokens.stages.last().map_or(0, |stage| stage.tokens()) as f64;
            let hidden = self.weights.config.hidden() as f64;
            3.0 * (stages.sum::<f64>() + 2.0 * last * w * hidden)
                + batch.states.len() as f64 * self.set.places.positions.patterns() as f64 * 4e3
        };
        let total: f64 = self.set.batches.iter().map(tokens).sum();
        total / self.set.batches.len().max(1) as f64
    }

    /// The network as it is now.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The features it reads.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.set.vocabulary
    }

    /// The number of steps made.
    pub fn steps(&self) -> usize {
        self.steps_done
    }

    /// The number of states.
    pub fn num_states(&self) -> usize {
        self.set.batches.iter().map(|batch| batch.states.len()).sum()
    }

    /// The number of batches that an epoch visits.
    pub fn num_batches(&self) -> usize {
        self.set.batches.len()
    }

    /// The mean bound on the states held out, in units of cost.
    pub fn held_out_bound(&mut self, abstractions: &Abstractions) -> f64 {
        let Trainer { set, weights, tape, shares, d_shares, .. } = self;
        let (mut total, mut states) = (0.0, 0);
        for batch in &set.held_out {
            tape.forward(weights, &set.rows, &batch.tokens);
            for (state, scored) in batch.states.iter().zip(&batch.tokens.scored) {
                let scores: Vec<f32> = scored.iter().map(|&t| tape.scores[t as usize]).collect();
                set.places.shares(&scores, shares);
                total += self.bound.evaluate(abstractions, state, shares, d_shares);
                states += 1;
            }
        }
        if states == 0 { 0.0 } else { total / states as f64 }
    }

    /// One step of training on the next batch.
    /// Returns the mean bound of its states before the step; none if there are no states.
    pub fn step(&mut self, abstractions: &Abstractions) -> Option<f64> {
        if self.set.batches.is_empty() {
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
        let bound = self.accumulate(abstractions, batch);
        let progress = (self.steps_done as f32 / self.settings.steps.max(1) as f32).min(1.0);
        let rate = self.settings.rate * (1.0 - 0.9 * progress);
        self.adam.step(&mut self.weights, &mut self.gradient, rate, 1.0);
        self.steps_done += 1;
        Some(bound)
    }

    /// Forward and backward pass of one batch.
    ///
    /// loss = −Σ_s log bound(s) / states, so that states near the goal count as much as others.
    fn accumulate(&mut self, abstractions: &Abstractions, batch: usize) -> f64 {
        let Trainer { set, weights, tape, shares, d_shares, d_scores, .. } = self;
        let StateBatch { states, tokens } = &set.batches[batch];
        tape.forward(weights, &set.rows, tokens);
        d_scores.clear();
        d_scores.resize(tape.scores.len(), 0.0);
        let mut total = 0.0;
        for (state, scored) in states.iter().zip(&tokens.scored) {
            let scores: Vec<f32> = scored.iter().map(|&t| tape.scores[t as usize]).collect();
            set.places.shares(&scores, shares);
            d_shares.fill(0.0);
            let bound = self.bound.evaluate(abstractions, state, shares, d_shares);
            total += bound;
            if bound > 0.0 {
                let scale = -1.0 / (bound * states.len() as f64) as f32;
                d_shares.iter_mut().for_each(|d| *d *= scale);
                set.places.shares_backward(shares, d_shares, scored, d_scores);
            }
        }
        tape.backward(weights, &set.rows, tokens, d_scores, &mut self.gradient);
        total / states.len() as f64
    }
}
