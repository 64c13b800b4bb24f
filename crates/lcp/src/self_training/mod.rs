//! Self-training: a small network learns to split the costs of the very task being solved.
//!
//! The objective is the bound ([`bound`]), so no labels, no generator and no other task are needed.
//! States come from random walks ([`walk`]); the vocabulary is that of these states.
//! Everything counts steps, not seconds, so that the same seed gives the same network; only a
//! caller that stops early because of the clock makes a difference.
//!
//! Two networks race, one with means and one with learned attention: which is better depends on
//! the task, and either may get stuck where the other does not.
//! The one with the higher bound after the same amount of work goes on alone.
//!
//! A quarter of the states is held out: training keeps the weights that are best there, stops when
//! they no longer improve, and says whether they beat saturated cost partitioning.
//!
//! Guarantees nothing about quality, and needs not: a bad network costs time, never optimality.

pub mod adam;
pub mod bound;
pub mod walk;

mod trainer;

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::heuristic::Estimate;
use planner::partition::{PartitionScratch, Partitioner, Saturated};
use planner::task::{Task, Value};
use planner::work::Budget;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::graph::GraphKind;
use crate::network::weights::Weights;
use crate::network::{Attention, NetworkConfig, TokenScope};
use crate::wl::Vocabulary;
pub use trainer::Trainer;
use walk::random_walk_states;

/// The settings of self-training.
#[derive(Clone, PartialEq, Debug)]
pub struct SelfTraining {
    /// The graph whose features are read.
    pub graph: GraphKind,
    /// L, the number of refinements.
    pub iterations: usize,
    /// Whether rows have distance features.
    pub distances: bool,
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
    /// Whether a network with the other attention competes in the beginning.
    pub race: bool,
    /// The seed of the first weights and of the order of batches.
    pub seed: u64,
}

impl Default for SelfTraining {
    fn default() -> SelfTraining {
        SelfTraining {
            graph: GraphKind::Flg,
            iterations: 3,
            distances: true,
            network: NetworkConfig::compact(1, 32),
            batch: 4,
            rate: 5e-3,
            steps: 1000,
            states: 80,
            longest_walk: 60,
            race: true,
            seed: 2011,
        }
    }
}

/// Up to this many positions in a state, all (pattern, operator) pairs are tokens.
const MOST_POSITIONS: usize = 200_000;

impl SelfTraining {
    /// Adapts the settings to the size of a task: on small ones every pair is a token, so that
    /// patterns and operators are told apart better; large ones keep to relevant pairs.
    pub fn fit(&mut self, abstractions: &Abstractions) {
        if abstractions.len() * abstractions.num_operators() <= MOST_POSITIONS {
            self.network.tokens = TokenScope::All;
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
/// A network that exists already is trained at this part of the learning rate.
const CONTINUED_RATE: f32 = 0.2;
/// The relative gain that counts as better.
const GAIN: f64 = 1e-3;

/// The steps of the first network that the race lasts.
const RACE: f64 = 150.0;
/// If they need more multiplications than this (some seconds), there is no race.
const MOST_RACE_WORK: f64 = 1e10;

/// Training that can be interrupted and continued.
pub struct Session {
    trainer: Trainer,
    /// The network with the other attention, while the race lasts.
    rival: Option<Trainer>,
    best: Trained,
    /// The bound that the next improvement is measured against, and epochs since the last one.
    reference: f64,
    since_best: usize,
    steps: usize,
}

impl Session {
    /// Prepares training on states that are no dead ends; the last quarter is held out.
    pub fn new(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        states: &[Vec<Value>],
        settings: &SelfTraining,
    ) -> Session {
        let trainer = Trainer::new(task, abstractions, states, settings.clone());
        let other = match settings.network.attention {
            Attention::Mean => Attention::Learned,
            Attention::Learned => Attention::Mean,
        };
        let rival = (settings.race && RACE * trainer.work() <= MOST_RACE_WORK)
            .then(|| trainer.rival(other, settings.seed + 1));
        Session::begin(trainer, rival, abstractions, states)
    }

    /// Prepares training from a network that exists already, as it is in a model.
    pub fn continued(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        states: &[Vec<Value>],
        vocabulary: Arc<Vocabulary>,
        weights: Weights,
        settings: &SelfTraining,
    ) -> Session {
        let settings = SelfTraining { rate: CONTINUED_RATE * settings.rate, ..settings.clone() };
        let trainer = Trainer::continued(task, abstractions, states, vocabulary, weights, settings);
        Session::begin(trainer, None, abstractions, states)
    }

    fn begin(
        mut trainer: Trainer,
        rival: Option<Trainer>,
        abstractions: &Arc<Abstractions>,
        states: &[Vec<Value>],
    ) -> Session {
        let held_out = &states[states.len() - states.len() / 4..];
        let best = Trained {
            vocabulary: trainer.vocabulary().clone(),
            weights: trainer.weights().clone(),
            bound: trainer.held_out_bound(abstractions),
            saturated: saturated_bound(abstractions, held_out),
            steps: 0,
        };
        let (reference, steps) = (best.bound, trainer.settings().steps);
        Session { trainer, rival, best, reference, since_best: 0, steps }
    }

    /// Whether the race is on: lets the rival catch up, and decides when both have done enough.
    fn race(&mut self, abstractions: &Abstractions) {
        let Some(mut rival) = self.rival.take() else { return };
        let work = self.trainer.steps() as f64 * self.trainer.work();
        while rival.steps() as f64 * rival.work() < work && rival.step(abstractions).is_some() {}
        if (self.trainer.steps() as f64) < RACE {
            self.rival = Some(rival);
        } else {
            self.decide(abstractions, rival);
        }
    }

    /// Goes on with the better of the two networks.
    fn decide(&mut self, abstractions: &Abstractions, mut rival: Trainer) {
        if rival.held_out_bound(abstractions) > self.trainer.held_out_bound(abstractions) {
            self.trainer = rival;
        }
    }

    /// The best network so far.
    pub fn best(&self) -> &Trained {
        &self.best
    }

    /// The number of steps made.
    pub fn steps(&self) -> usize {
        self.trainer.steps()
    }

    /// Whether the steps are used up or the network has stopped improving.
    pub fn is_done(&self) -> bool {
        self.trainer.steps() >= self.steps || self.since_best >= PATIENCE
    }

    /// Trains until it is done or the budget is spent; looks at the states held out after every
    /// epoch.
    pub fn advance(&mut self, abstractions: &Arc<Abstractions>, budget: &mut Budget) {
        let epoch = self.trainer.num_batches().max(8);
        while !self.is_done() {
            if self.trainer.step(abstractions).is_none() {
                self.since_best = PATIENCE;
            } else if self.trainer.steps().is_multiple_of(epoch) {
                self.since_best += 1;
                self.look(abstractions);
            }
            self.race(abstractions);
            budget.spend((self.trainer.work() / 4.0) as u64);
            if budget.is_spent() {
                break;
            }
        }
    }

    /// Ends training: decides a race that was cut short, and looks a last time.
    pub fn finish(&mut self, abstractions: &Abstractions) {
        if let Some(rival) = self.rival.take() {
            self.decide(abstractions, rival);
        }
        self.look(abstractions);
    }

    /// Compares the network with the best one so far.
    fn look(&mut self, abstractions: &Abstractions) {
        let bound = self.trainer.held_out_bound(abstractions);
        if bound > self.reference * (1.0 + GAIN) {
            (self.since_best, self.reference) = (0, bound);
        }
        if bound > self.best.bound {
            self.best.bound = bound;
            self.best.weights = self.trainer.weights().clone();
        }
        self.best.steps = self.trainer.steps();
    }
}

/// Trains on random-walk states of the task, from `start` or else from scratch, until the steps
/// are used up, the network stops improving or the budget is spent.
/// With no states to train on, the network stays as it began.
pub fn train(
    task: &Task,
    abstractions: &Arc<Abstractions>,
    start: Option<(Arc<Vocabulary>, Weights)>,
    settings: &SelfTraining,
    budget: &mut Budget,
) -> Trained {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
    let states =
        random_walk_states(task, abstractions, settings.states, settings.longest_walk, &mut rng);
    let mut session = match start {
        None => Session::new(task, abstractions, &states, settings),
        Some((vocabulary, weights)) => {
            Session::continued(task, abstractions, &states, vocabulary, weights, settings)
        }
    };
    session.advance(abstractions, budget);
    session.finish(abstractions);
    session.best
}

/// The mean bound of saturated cost partitioning, in units of cost.
fn saturated_bound(abstractions: &Arc<Abstractions>, states: &[Vec<Value>]) -> f64 {
    let mut saturated = Saturated::new(abstractions);
    let mut scratch = PartitionScratch::default();
    let mut total = 0.0;
    for state in states {
        let found = saturated.best_for(state);
        let h = found.map(|found| found.evaluate(state, &mut scratch));
        if let Some(Estimate::AtLeast(h)) = h {
            total += (h / abstractions.divisor()) as f64;
        }
    }
    total / states.len().max(1) as f64
}
