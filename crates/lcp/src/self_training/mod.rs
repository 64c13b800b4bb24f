//! Self-training: a small network learns to split the costs of the very task being solved.
//!
//! The objective is the bound ([`bound`]), so no labels, no generator and no other task are needed.
//! States come from random walks ([`walk`]); the vocabulary is that of these states.
//! Everything counts steps, not seconds, so that the same seed gives the same network; only a
//! caller that stops early because of the clock makes a difference.
//!
//! Guarantees nothing about quality, and needs not: a bad network costs time, never optimality.

pub mod adam;
pub mod bound;
pub mod walk;

use std::sync::Arc;

use planner::abstraction::Abstractions;
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
    /// The number of steps.
    pub steps: usize,
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
            seed: 2011,
        }
    }
}

/// A network in training on the states of one task.
pub struct Trainer<'a> {
    settings: SelfTraining,
    abstractions: &'a Abstractions,
    vocabulary: Arc<Vocabulary>,
    places: TaskPositions,
    rows: RowTable,
    batches: Vec<StateBatch>,
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
    /// Prepares training on `states`, none of which is a dead end.
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

    /// Prepares training on `states` from weights that exist already.
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
        let batches: Vec<StateBatch> = states
            .chunks(settings.batch.max(1))
            .map(|states| {
                let rows: Vec<Vec<u32>> = states
                    .iter()
                    .map(|state| {
                        let mut row_of_position = vec![0; places.positions.len()];
                        let mut rows = Vec::new();
                        let state_rows = features.state_rows(state);
                        for p in 0..abstractions.len() {
                            rows.clear();
                            places.feature_rows(state_rows.pattern(p), p, &mut rows);
                            let of_pattern = places.positions.of_pattern(p);
                            for (&i, &row) in of_pattern.iter().zip(&rows) {
                                row_of_position[i as usize] = row;
                            }
                        }
                        row_of_position
                    })
                    .collect();
                let rows = rows.iter().map(Vec::as_slice);
                let tokens = Batch::new(&weights.config, &places.positions, rows);
                StateBatch { states: states.to_vec(), tokens }
            })
            .collect();
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
