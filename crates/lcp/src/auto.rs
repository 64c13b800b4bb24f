//! The strategy of `auto`: which partitionings to make for the store, and when to learn.
//!
//! Three sources compete: saturated cost partitioning, Lagrangian ascent from where the last one
//! ended, and ascent from the network's prediction.
//! The source of the next partitioning is the one that has raised the store's value most per
//! second of late; every `EXPLORE`th attempt goes to the one that was not tried for longest.
//!
//! A network comes from a model of the task's domain, or is trained on states of the task itself:
//! random walks and the states that the search asked about.
//! Training starts only when the search has lasted `PATIENCE`, so that easy tasks never wait for
//! it, and goes on in short slices that take no more than `TRAIN_SHARE` of the time.
//! A network that stays clearly below saturated cost partitioning is not used.
//!
//! Nothing here can make the search wrong: every source yields a checked cost partitioning.

use std::time::{Duration, Instant};

use planner::abstraction::Abstractions;
use planner::heuristic::Estimate;
use planner::partition::{
    CostPartitioning, Lagrangian, LagrangianConfig, PartitionScratch, Partitioner, Saturated, Start,
};
use planner::task::{Cost, Task, Value};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::model::Model;
use crate::network::TokenScope;
use crate::predict::{Predictor, Softmax};
use crate::self_training::walk::random_walk_states;
use crate::self_training::{SelfTraining, Session};

/// The search must have lasted this long before anything is learned.
const PATIENCE: Duration = Duration::from_millis(1500);
/// The share of the time that training may take.
const TRAIN_SHARE: f64 = 0.2;
/// The length of a slice of training.
const SLICE: Duration = Duration::from_millis(40);
/// Every so many attempts the source not tried for longest gets one.
const EXPLORE: u64 = 8;
/// How much a new figure counts in a source's record.
const WEIGHT: f64 = 0.2;
/// Steps of ascent from the last partitioning, and from a prediction.
const STEPS: usize = 100;
const REFINE: usize = 25;
/// Networks below this share of the saturated bound are not used.
const LEAST_RATIO: f64 = 0.9;
/// Tasks with more tokens than this in one state are too large to train on.
const MOST_TOKENS: usize = 4_000_000;
/// Tokens of all training states together.
const MOST_TRAINING_TOKENS: usize = 8_000_000;

/// What a source has been worth.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Smoothed gain and smoothed seconds of an attempt.
    gain: f64,
    seconds: f64,
    /// The number of the last attempt.
    last: u64,
    tries: u64,
}

impl Record {
    const NEW: Record = Record { gain: 0.0, seconds: 0.0, last: 0, tries: 0 };

    /// Gain per second; a source that was hardly tried is worth trying.
    fn worth(&self) -> f64 {
        if self.tries < 2 { f64::INFINITY } else { self.gain / self.seconds.max(1e-6) }
    }

    fn add(&mut self, gain: f64, seconds: f64, attempt: u64) {
        let weight = WEIGHT.max(1.0 / (self.tries + 1) as f64);
        self.gain += weight * (gain - self.gain);
        self.seconds += weight * (seconds - self.seconds);
        self.tries += 1;
        self.last = attempt;
    }
}

/// Where partitionings come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Saturated,
    Ascent,
    Network,
}

const SOURCES: [Source; 3] = [Source::Saturated, Source::Ascent, Source::Network];

/// Where the network is on its way.
enum Network {
    /// Nothing has been learned yet.
    Waiting,
    Training(Box<Session>),
    Ready(Box<Predictor>),
    /// There is none, and there will be none.
    None,
}

/// The partitioner of `auto`.
pub struct Auto<'t> {
    task: &'t Task,
    saturated: Saturated,
    ascent: Lagrangian,
    refinement: Lagrangian,
    network: Network,
    /// States that the search asked about.
    states: Vec<Vec<Value>>,
    records: [Record; 3],
    attempts: u64,
    started: Instant,
    trained_for: Duration,
    memory_limit: usize,
    seed: u64,
    scratch: PartitionScratch,
}

/// The settings of `auto`.
#[derive(Clone, Debug)]
pub struct AutoConfig {
    /// A model of the task's domain; without one a network is trained on the task.
    pub model: Option<Model>,
    /// Bytes that predictions may keep, and that ascents may keep.
    pub memory_limit: usize,
    /// The seed of everything random.
    pub seed: u64,
}

impl<'t> Auto<'t> {
    /// The strategy for a task and its projections.
    pub fn new(task: &'t Task, abstractions: &Abstractions, config: &AutoConfig) -> Auto<'t> {
        let lagrangian = |steps, start| {
            let max_bytes = config.memory_limit / 2;
            Lagrangian::new(abstractions, LagrangianConfig { steps, start, max_bytes })
        };
        let network = match &config.model {
            Some(model) => {
                let (softmax, memory_limit) = (Softmax::Masked, config.memory_limit);
                let predictor = Predictor::new(task, abstractions, model, softmax, memory_limit);
                Network::Ready(Box::new(predictor))
            }
            None => Network::Waiting,
        };
        Auto {
            task,
            saturated: Saturated::new(abstractions),
            ascent: lagrangian(STEPS, Start::Previous),
            refinement: lagrangian(REFINE, Start::Uniform),
            network,
            states: Vec::new(),
            records: [Record::NEW; 3],
            attempts: 0,
            started: Instant::now(),
            trained_for: Duration::ZERO,
            memory_limit: config.memory_limit,
            seed: config.seed,
            scratch: PartitionScratch::default(),
        }
    }

    /// The source of the next partitioning.
    fn choose(&self) -> Source {
        let has_network = matches!(self.network, Network::Ready(_));
        let sources = SOURCES.into_iter().filter(|&s| s != Source::Network || has_network);
        let record = |source: Source| &self.records[source as usize];
        let chosen = if self.attempts.is_multiple_of(EXPLORE) {
            sources.min_by_key(|&source| record(source).last)
        } else {
            // The first of equals: saturated partitionings are the cheapest.
            sources.rev().max_by(|&a, &b| record(a).worth().total_cmp(&record(b).worth()))
        };
        chosen.expect("there are sources that need no network")
    }

    /// Makes a partitioning, and keeps the record of its source; also its value at the state.
    fn attempt(
        &mut self,
        source: Source,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> (Option<CostPartitioning>, Cost) {
        self.attempts += 1;
        let started = Instant::now();
        let found = self.make(source, abstractions, state, beat);
        let h = match &found {
            Some(found) => found.evaluate(abstractions, state, &mut self.scratch),
            None => Estimate::AtLeast(0),
        };
        let Estimate::AtLeast(h) = h else { return (found, Cost::MAX) };
        let gain = h.saturating_sub(beat.unwrap_or(0)) as f64;
        let seconds = started.elapsed().as_secs_f64();
        self.records[source as usize].add(gain, seconds, self.attempts);
        (found, h)
    }

    fn make(
        &mut self,
        source: Source,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        match (source, &mut self.network) {
            (Source::Saturated, _) => self.saturated.partition(abstractions, state, beat),
            (Source::Network, Network::Ready(predictor)) => {
                let shares = predictor.shares(abstractions, state);
                self.refinement.partition_from(abstractions, state, shares, beat)
            }
            _ => self.ascent.partition(abstractions, state, beat),
        }
    }

    /// Trains for a slice if it is time to.
    fn learn(&mut self, abstractions: &Abstractions, state: &[Value]) {
        if matches!(self.network, Network::Ready(_) | Network::None) {
            return;
        }
        if matches!(self.network, Network::Waiting) && self.states.len() < 256 {
            self.states.push(state.to_vec());
        }
        let elapsed = self.started.elapsed();
        if elapsed < PATIENCE || self.trained_for > elapsed.mul_f64(TRAIN_SHARE) {
            return;
        }
        let slice = Instant::now();
        self.network = match std::mem::replace(&mut self.network, Network::None) {
            Network::Waiting => match self.begin_training(abstractions) {
                Some(session) => Network::Training(Box::new(session)),
                None => Network::None,
            },
            Network::Training(mut session) => {
                session.advance(abstractions, &mut || slice.elapsed() < SLICE);
                if session.is_done() {
                    session.finish(abstractions);
                    self.end_training(abstractions, &session)
                } else {
                    Network::Training(session)
                }
            }
            other => other,
        };
        self.trained_for += slice.elapsed();
    }

    fn begin_training(&mut self, abstractions: &Abstractions) -> Option<Session> {
        let mut settings = SelfTraining { seed: self.seed, ..SelfTraining::default() };
        settings.fit(abstractions);
        let tokens = match settings.network.tokens {
            TokenScope::All => abstractions.len() * abstractions.num_operators(),
            TokenScope::Relevant => abstractions.num_pairs(),
        };
        if tokens > MOST_TOKENS {
            return None;
        }
        let most = (MOST_TRAINING_TOKENS / tokens.max(1)).clamp(8, settings.states);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let walk = settings.longest_walk;
        // Half from random walks, half from the search, mixed so that both are held out.
        let mut walked = random_walk_states(self.task, abstractions, most / 2, walk, &mut rng);
        let step = self.states.len().div_ceil(most / 2).max(1);
        let mut asked = self.states.iter().step_by(step).cloned();
        let mut states = Vec::new();
        while let Some(state) = walked.pop() {
            states.push(state);
            states.extend(asked.next());
        }
        states.extend(asked);
        Some(Session::new(self.task, abstractions, &states, &settings))
    }

    fn end_training(&self, abstractions: &Abstractions, session: &Session) -> Network {
        let best = session.best();
        if best.bound < LEAST_RATIO * best.saturated {
            return Network::None;
        }
        let (vocabulary, weights) = (best.vocabulary.clone(), best.weights.clone());
        let predictor = Predictor::from_parts(
            self.task,
            abstractions,
            vocabulary,
            weights,
            Softmax::Masked,
            self.memory_limit,
        );
        Network::Ready(Box::new(predictor))
    }
}

impl Partitioner for Auto<'_> {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn partition(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        self.learn(abstractions, state);
        if self.attempts > 0 {
            return self.attempt(self.choose(), abstractions, state, beat).0;
        }
        // The first state decides most: take the best that any source has.
        let (saturated, low) = self.attempt(Source::Saturated, abstractions, state, beat);
        let (climbed, high) = self.attempt(Source::Ascent, abstractions, state, beat);
        if high >= low { climbed } else { saturated }
    }

    fn memory_bytes(&self) -> usize {
        let network = match &self.network {
            Network::Ready(predictor) => predictor.bytes(),
            _ => 0,
        };
        self.ascent.memory_bytes() + self.refinement.memory_bytes() + network
    }
}
