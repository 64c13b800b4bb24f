//! Self-training: a small network learns to split the costs of the very task being solved.
//!
//! The objective is the bound, so no labels, no generator and no other task are needed; the loop is
//! that of all training ([`crate::training`]).
//! States come from random walks; the vocabulary is that of these states.
//! Everything counts work, not seconds, so the same seed and budget give the same network.
//!
//! Two networks race, one with means and one with learned attention: which is better depends on
//! the task, and either may get stuck where the other does not.
//! The one with the higher bound after the same amount of work goes on alone.
//!
//! A quarter of the states is held out: training keeps the weights that are best there, stops when
//! they no longer improve, and says whether they beat saturated cost partitioning.
//!
//! Guarantees nothing about quality, and needs not: a bad network costs time, never optimality.

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::heuristic::Estimate;
use planner::partition::{PartitionScratch, Partitioner, Saturated, random_walk_states};
use planner::task::{Task, Value};
use planner::work::{Budget, SECOND, Work};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::graph::GraphKind;
use crate::network::dropout::Dropout;
use crate::network::pointwise::ln;
use crate::network::tokens::Sharing;
use crate::network::{Attention, NetworkConfig, TokenScope, Weights};
use crate::predict::{Softmax, patterns_of};
use crate::training::engine::{Cores, Item, Native, Part};
use crate::training::examples::{Examples, LabelledState};
use crate::training::loss::Loss;
use crate::training::optimiser::{AdamWConfig, LearningRateConfig};
use crate::training::{Settings, Trainer, TrainingSet};
use crate::wl::{Vocabulary, VocabularyBuilder};

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
    pub steps: u64,
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
    /// How the loop runs.
    fn loop_settings(&self, rate: f32) -> Settings {
        Settings {
            loss: Loss::LogBound,
            dropout: Dropout::NONE,
            sharing: Sharing::Equal,
            batch: self.batch.max(1),
            chunk: self.batch.max(1),
            fixed_batches: true,
            epoch_steps: 8,
            adamw: AdamWConfig {
                beta_2: 0.99,
                weight_decay: 0.0,
                max_norm: Some(1.0),
                ..AdamWConfig::default()
            },
            schedule: LearningRateConfig {
                learning_rate: rate,
                factor: 1.0,
                patience: usize::MAX,
                linear_steps: Some(self.steps),
                stop_after: PATIENCE,
                min_improvement: GAIN,
            },
            seed: self.seed,
        }
    }

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
    pub steps: u64,
}

/// Epochs without a better network after which training ends.
const PATIENCE: usize = 12;
/// The relative gain that counts as better.
const GAIN: f64 = 1e-3;

/// The steps of the first network that the race lasts.
const RACE: u64 = 150;
/// If they need more work than this, there is no race.
const MOST_RACE_WORK: Work = 2 * SECOND;

/// Units of work for preparing a place of a (pattern, abstract state) that is met for the first
/// time, and a pattern of a state: 0.5 to 2 ns a unit over eight tasks, 1.1 in the geometric mean
/// (`cargo bench -p lcp --bench self_training`).
const PLACE: Work = 150;
const PATTERN: Work = 1600;

/// Training that can be interrupted and continued.
pub struct Session {
    trainer: Trainer,
    /// The network with the other attention, while the race lasts.
    rival: Option<Trainer>,
    held_out: Arc<HeldOut>,
    best: Trained,
    /// The work of all steps so far, of the network and of its rival.
    work: [Work; 2],
    steps: u64,
}

/// States that are not trained on.
struct HeldOut {
    examples: Examples,
    parts: Vec<Part>,
    /// The work of looking at them.
    work: Work,
}

impl Session {
    /// Prepares training on states that are no dead ends; the last quarter is held out.
    pub fn new(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        states: &[Vec<Value>],
        settings: &SelfTraining,
        budget: &mut Budget,
    ) -> Session {
        let mut builder = VocabularyBuilder::new(settings.graph, settings.iterations)
            .distances(settings.distances);
        builder.observe(task, &patterns_of(abstractions), states);
        let vocabulary = Arc::new(builder.finish());
        let config = NetworkConfig { input: vocabulary.num_features(), ..settings.network.clone() };
        let weights = random_weights(&config, settings.seed);
        let start = (vocabulary, weights, settings.rate);
        let mut session = Session::begin(task, abstractions, states, start, settings, budget);
        let set = session.trainer.set().clone();
        if settings.race && RACE * set.mean_work() <= MOST_RACE_WORK {
            let attention = match config.attention {
                Attention::Mean => Attention::Learned,
                Attention::Learned => Attention::Mean,
            };
            let config = NetworkConfig { attention, ..config };
            let seed = settings.seed + 1;
            let settings = Settings { seed, ..session.trainer.settings().clone() };
            let weights = random_weights(&config, seed);
            session.rival = Some(trainer(settings, set, weights));
        }
        session
    }

    fn begin(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        states: &[Vec<Value>],
        (vocabulary, weights, rate): (Arc<Vocabulary>, Weights, f32),
        settings: &SelfTraining,
        budget: &mut Budget,
    ) -> Session {
        let examples = |states: &[Vec<Value>]| {
            let unlabelled = |values: &Vec<Value>| LabelledState::new(values.clone());
            let states = states.iter().map(unlabelled).collect();
            let mut examples = Examples::default();
            let network = (&weights.config, Softmax::Masked);
            examples.add(task, abstractions, states, &vocabulary, network);
            let items: Vec<Item> =
                examples.ids().map(|id| Item { id, reference: f64::NAN }).collect();
            (examples, items)
        };
        let settings_of_loop = settings.loop_settings(rate);
        let (train, held_out_states) = states.split_at(states.len() - states.len() / 4);
        let (examples_in_training, items) = examples(train);
        let (examples, held_out_items) = examples(held_out_states);
        let prepared = PLACE * (examples_in_training.places() + examples.places()) as Work
            + PATTERN * (abstractions.len() * states.len()) as Work;
        budget.spend(prepared);
        let config = &weights.config;
        let set = TrainingSet::new(examples_in_training, items, &settings_of_loop, config);
        let parts: Vec<Part> = held_out_items
            .chunks(settings_of_loop.batch)
            .map(|items| Part::new(config, &examples, items))
            .collect();
        let work = parts.iter().map(|part| part.work(config, &examples).evaluation()).sum();
        let best = Trained {
            vocabulary,
            weights: weights.clone(),
            bound: 0.0,
            saturated: saturated_bound(abstractions, held_out_states),
            steps: 0,
        };
        let mut session = Session {
            trainer: trainer(settings_of_loop, Arc::new(set), weights),
            rival: None,
            held_out: Arc::new(HeldOut { examples, parts, work }),
            best,
            work: [0; 2],
            steps: settings.steps,
        };
        session.look(budget);
        session
    }

    /// The best network so far.
    pub fn best(&self) -> &Trained {
        &self.best
    }

    /// The number of steps made.
    pub fn steps(&self) -> u64 {
        self.trainer.steps()
    }

    /// Whether the steps are used up or the network has stopped improving.
    pub fn is_done(&self) -> bool {
        let schedule = &self.trainer.settings().schedule;
        self.steps() >= self.steps || self.trainer.schedule.is_over(schedule)
    }

    /// Trains until it is done or the budget is spent; looks at the states held out after every
    /// epoch.
    pub fn advance(&mut self, budget: &mut Budget) {
        while !self.is_done() && !budget.is_spent() {
            match step(&mut self.trainer) {
                // With nothing to train on, the network stays as it began.
                None => self.steps = 0,
                Some(work) => {
                    self.work[0] += work;
                    budget.spend(work);
                }
            }
            if self.trainer.steps_left() == 0 {
                self.look(budget);
            }
            self.race(budget);
        }
    }

    /// While the race is on: lets the rival catch up, and decides when both have done enough.
    fn race(&mut self, budget: &mut Budget) {
        let Some(mut rival) = self.rival.take() else { return };
        while self.work[1] < self.work[0]
            && let Some(work) = step(&mut rival)
        {
            self.work[1] += work;
            budget.spend(work);
        }
        if self.steps() < RACE {
            self.rival = Some(rival);
        } else {
            self.decide(rival, budget);
        }
    }

    /// Goes on with the better of the two networks.
    fn decide(&mut self, mut rival: Trainer, budget: &mut Budget) {
        if self.held_out.bound(&mut rival, budget) > self.held_out.bound(&mut self.trainer, budget)
        {
            rival.schedule = self.trainer.schedule.clone();
            self.trainer = rival;
        }
    }

    /// Ends training: decides a race that was cut short, and looks a last time.
    pub fn finish(&mut self, budget: &mut Budget) {
        if let Some(rival) = self.rival.take() {
            self.decide(rival, budget);
        }
        self.look(budget);
    }

    /// Compares the network with the best one so far.
    fn look(&mut self, budget: &mut Budget) {
        let Session { trainer, held_out, best, .. } = self;
        let bound = held_out.bound(trainer, budget);
        // Relative gains of the bound are differences of its logarithm.
        let loss = if bound > 0.0 { -ln(bound) } else { f64::MAX };
        let schedule = trainer.settings().schedule;
        if trainer.schedule.observe(&schedule, loss) {
            best.bound = bound;
            best.weights = trainer.weights.clone();
        }
        best.steps = trainer.steps();
    }
}

/// A trainer on one core.
fn trainer(settings: Settings, set: Arc<TrainingSet>, weights: Weights) -> Trainer {
    Trainer::new(settings, set, weights, Box::new(Native(Cores::One)))
}

fn random_weights(config: &NetworkConfig, seed: u64) -> Weights {
    Weights::random(config, &mut Xoshiro256PlusPlus::seed_from_u64(seed))
}

/// One step, of the next epoch if this one is over; returns its work, or none if there are no
/// states.
fn step(trainer: &mut Trainer) -> Option<Work> {
    if trainer.steps_left() == 0 {
        trainer.begin_epoch();
    }
    trainer.step().map(|step| step.work)
}

impl HeldOut {
    /// The mean bound of a network, in units of cost.
    fn bound(&self, trainer: &mut Trainer, budget: &mut Budget) -> f64 {
        budget.spend(self.work);
        let values = trainer.evaluate(&self.examples, &self.parts);
        values.iter().map(|value| value.h).sum::<f64>() / values.len().max(1) as f64
    }
}

/// Trains on random-walk states of the task until the steps or the budget are used up or the
/// network stops improving.
/// With no states to train on, the network stays as it began.
pub fn train(
    task: &Task,
    abstractions: &Arc<Abstractions>,
    settings: &SelfTraining,
    budget: &mut Budget,
) -> Trained {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
    let states =
        random_walk_states(task, abstractions, settings.states, settings.longest_walk, &mut rng);
    let mut session = Session::new(task, abstractions, &states, settings, budget);
    session.advance(budget);
    session.finish(budget);
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
