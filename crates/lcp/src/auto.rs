//! The strategy of `auto`: which partitionings to make for the store, and when to learn.
//!
//! Four sources compete: saturated cost partitioning, Lagrangian ascent from where the last one
//! ended, optimal cost partitioning, and ascent from the network's prediction.
//! At each state they are tried one after another, best first by what they have gained per second
//! of late, until one raises the state's value or shows that none can; those that hardly gain are
//! left out, and one that has had less than `EXPLORE` of the time goes first.
//! At the first state the ascent begins at the best of the cheap ones, and the optimum is asked
//! for where that is not known to be one.
//!
//! A network comes from a model of the task's domain, or is trained on states of the task itself:
//! random walks and the states that the search asked about.
//! Training starts only when the search has lasted `PATIENCE`, so that easy tasks never wait for
//! it, and goes on in short slices that take no more than `TRAIN_SHARE` of the time.
//! A network that stays clearly below saturated cost partitioning is not used; a model that is
//! below it on the states of this task is trained further on them.
//!
//! Nothing here can make the search wrong: every source yields a checked cost partitioning.

use std::time::{Duration, Instant};

use planner::abstraction::Abstractions;
use planner::heuristic::Estimate;
use planner::partition::{
    CostPartitioning, Lagrangian, LagrangianConfig, Ocp, OcpConfig, PartitionScratch, Partitioner,
    Saturated, Start,
};
use planner::task::{Cost, OpId, Task, Value};
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
/// Every source gets this share of the time.
const EXPLORE: f64 = 0.1;
/// Tasks whose projections take more than this part of the memory limit are left to saturated
/// partitionings and ascent.
const LARGE: usize = 2;
/// With more pairs of a pattern and an operator than this a model's prediction takes too long.
const MOST_PAIRS: usize = 30_000;
/// An attempt takes at most this long at first, so that easy tasks never wait for it, …
const LONGEST_EARLY: Duration = Duration::from_millis(30);
/// … and this long when the search has lasted a second and attempts succeed.
const LONGEST: Duration = Duration::from_millis(400);
const SHORTEST: Duration = Duration::from_millis(100);
const EARLY: Duration = Duration::from_secs(1);
/// Sources worth less than this share of the best, or that hardly ever succeed of late, are tried
/// only to explore …
const LEAST_WORTH: f64 = 0.01;
const LEAST_SUCCESS: f64 = 0.02;
/// … unless they have had less than this: seconds, early and later.
const PROBATION: (f64, f64) = (0.02, 0.2);
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
    /// Smoothed gain, smoothed seconds and smoothed rate of success of an attempt.
    gain: f64,
    seconds: f64,
    success: f64,
    /// How long the next attempt may take: more after a success, less when time was short.
    longest: Duration,
    /// Seconds of all attempts.
    spent: f64,
    tries: u64,
}

impl Record {
    const NEW: Record =
        Record { gain: 0.0, seconds: 0.0, success: 0.0, longest: LONGEST, spent: 0.0, tries: 0 };

    /// Gain per second.
    fn worth(&self) -> f64 {
        self.gain / self.seconds.max(1e-6)
    }

    fn add(&mut self, gain: f64, seconds: f64) {
        let weight = WEIGHT.max(1.0 / (self.tries + 1) as f64);
        self.gain += weight * (gain - self.gain);
        self.seconds += weight * (seconds - self.seconds);
        self.success += weight * (f64::from(u8::from(gain > 0.0)) - self.success);
        if gain > 0.0 {
            self.longest = (2 * self.longest).min(LONGEST);
        } else if seconds >= self.longest.as_secs_f64() {
            self.longest = (self.longest / 2).max(SHORTEST);
        }
        self.spent += seconds;
        self.tries += 1;
    }
}

/// Where partitionings come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Saturated,
    Ascent,
    Optimal,
    Network,
}

const SOURCES: [Source; 4] = [Source::Saturated, Source::Ascent, Source::Optimal, Source::Network];

/// How far training on the task has come.
enum Training {
    /// It has not begun.
    Waiting,
    Running(Box<Session>),
    /// There will be none, or no more.
    Over,
}

/// The partitioner of `auto`.
pub struct Auto<'t> {
    task: &'t Task,
    saturated: Saturated,
    ascent: Lagrangian,
    /// None if the task is too large for it, as is the next.
    optimal: Option<Ocp>,
    refinement: Option<Lagrangian>,
    predictor: Option<Box<Predictor>>,
    training: Training,
    /// The model of the task's domain, which training begins with.
    model: Option<Model>,
    /// States that the search asked about.
    states: Vec<Vec<Value>>,
    records: [Record; 4],
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
            let max_bytes = config.memory_limit / 4;
            let time = LONGEST;
            Lagrangian::new(abstractions, LagrangianConfig { steps, start, time, max_bytes })
        };
        let optimal = OcpConfig { max_bytes: config.memory_limit / 4, ..OcpConfig::default() };
        // Each source keeps several times what the projections take.
        let is_large = abstractions.memory_bytes() > config.memory_limit / LARGE;
        let can_predict = !is_large && abstractions.num_pairs() <= MOST_PAIRS;
        let predictor = config.model.as_ref().filter(|_| can_predict).map(|model| {
            let softmax = Softmax::Masked;
            Box::new(Predictor::new(task, abstractions, model, softmax, config.memory_limit))
        });
        Auto {
            task,
            saturated: Saturated::new(abstractions),
            ascent: lagrangian(STEPS, Start::Previous),
            optimal: (!is_large).then(|| Ocp::with_config(abstractions, optimal)),
            refinement: (!is_large).then(|| lagrangian(REFINE, Start::Uniform)),
            predictor,
            training: match &config.model {
                None if !is_large => Training::Waiting,
                Some(_) if can_predict => Training::Waiting,
                _ => Training::Over,
            },
            model: config.model.clone(),
            states: Vec::new(),
            records: [Record::NEW; 4],
            attempts: 0,
            started: Instant::now(),
            trained_for: Duration::ZERO,
            memory_limit: config.memory_limit,
            seed: config.seed,
            scratch: PartitionScratch::default(),
        }
    }

    /// The sources to try at the next state, one after another until one succeeds: first one that
    /// is neglected, then those that have been worth it of late, best first, then those that had
    /// no time yet to show what they are worth.
    fn choose(&self) -> Vec<Source> {
        let sources = SOURCES.into_iter().filter(|source| match source {
            Source::Saturated | Source::Ascent => true,
            Source::Optimal => self.optimal.is_some(),
            Source::Network => self.predictor.is_some() && self.refinement.is_some(),
        });
        let record = |source: Source| &self.records[source as usize];
        let worth = |source: Source| record(source).worth();
        let probation = if self.is_early() { PROBATION.0 } else { PROBATION.1 };
        let total: f64 = self.records.iter().map(|record| record.spent).sum();
        let neglected = |&source: &Source| record(source).spent < EXPLORE * total;
        let first = sources.clone().find(neglected);
        let best = sources.clone().map(worth).fold(0.0, f64::max);
        let is_promising = |s: Source| {
            worth(s) > LEAST_WORTH * best && record(s).success > LEAST_SUCCESS
                || record(s).spent < probation
        };
        let mut rest: Vec<Source> =
            sources.filter(|&s| is_promising(s) && first != Some(s)).collect();
        // Stable: of equals the cheaper one is first.
        rest.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)));
        let mut chosen: Vec<Source> = first.into_iter().chain(rest).collect();
        if chosen.is_empty() {
            chosen.push(Source::Saturated);
        }
        chosen
    }

    /// Whether the task may still turn out to be easy.
    fn is_early(&self) -> bool {
        self.started.elapsed() < EARLY
    }

    /// Makes a partitioning if that raises the state's value; keeps the record of its source.
    fn attempt(
        &mut self,
        source: Source,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        self.attempts += 1;
        let started = Instant::now();
        let most = if self.is_early() { LONGEST_EARLY } else { LONGEST };
        let longest = self.records[source as usize].longest.min(most);
        self.ascent.set_time(longest);
        self.optimal.iter_mut().for_each(|optimal| optimal.set_time(longest));
        self.refinement.iter_mut().for_each(|refinement| refinement.set_time(longest));
        let found = self.make(source, abstractions, state, beat);
        let h = found.as_ref().map_or(Estimate::AtLeast(0), |found| {
            found.evaluate(abstractions, state, &mut self.scratch)
        });
        let Estimate::AtLeast(h) = h else { return found };
        let gain = h.saturating_sub(beat.unwrap_or(0));
        self.records[source as usize].add(gain as f64, started.elapsed().as_secs_f64());
        found.filter(|_| gain > 0)
    }

    /// Whether an attempt at a state has shown that no partitioning raises its value.
    fn is_hopeless(&self, source: Source, abstractions: &Abstractions, beat: Option<Cost>) -> bool {
        let Some(beat) = beat else { return false };
        let bounds = match source {
            Source::Saturated => return false,
            Source::Ascent => Some(self.ascent.bounds()),
            Source::Optimal => self.optimal.as_ref().map(Ocp::bounds),
            Source::Network => self.refinement.as_ref().map(Lagrangian::bounds),
        };
        bounds.is_some_and(|bounds| !bounds.may_exceed((beat / abstractions.divisor()) as f64))
    }

    /// The partitioning of the first state.
    fn first(&mut self, abstractions: &Abstractions, state: &[Value]) -> Option<CostPartitioning> {
        self.attempts += 1;
        let started = Instant::now();
        let found = self.saturated.partition(abstractions, state, None)?;
        self.records[Source::Saturated as usize].add(0.0, started.elapsed().as_secs_f64());
        let mut best = (found.evaluate(abstractions, state, &mut self.scratch), found);
        if let Some(predictor) = &mut self.predictor {
            let predicted = predictor.predict(abstractions, state);
            self.consider(Some(predicted), abstractions, state, &mut best);
        }
        let Estimate::AtLeast(h) = best.0 else { return Some(best.1) };
        self.ascent.set_time(LONGEST_EARLY);
        let weights = near(abstractions, &best.1);
        let climbed = self.ascent.partition_from(abstractions, state, &weights, Some(h));
        self.consider(climbed, abstractions, state, &mut best);
        let Estimate::AtLeast(h) = best.0 else { return Some(best.1) };
        if !self.ascent.bounds().are_closed()
            && let Some(optimal) = &mut self.optimal
        {
            optimal.set_time(LONGEST_EARLY);
            let optimal = optimal.partition(abstractions, state, Some(h));
            self.consider(optimal, abstractions, state, &mut best);
        }
        Some(best.1)
    }

    /// Keeps the better of two partitionings for a state.
    fn consider(
        &mut self,
        found: Option<CostPartitioning>,
        abstractions: &Abstractions,
        state: &[Value],
        best: &mut (Estimate, CostPartitioning),
    ) {
        let Some(found) = found else { return };
        let h = found.evaluate(abstractions, state, &mut self.scratch);
        if h > best.0 {
            *best = (h, found);
        }
    }

    fn make(
        &mut self,
        source: Source,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        match source {
            Source::Saturated => self.saturated.partition(abstractions, state, beat),
            Source::Ascent => self.ascent.partition(abstractions, state, beat),
            Source::Optimal => self.optimal.as_mut()?.partition(abstractions, state, beat),
            Source::Network => {
                let shares = self.predictor.as_mut()?.shares(abstractions, state);
                self.refinement.as_mut()?.partition_from(abstractions, state, shares, beat)
            }
        }
    }

    /// Trains for a slice if it is time to.
    fn learn(&mut self, abstractions: &Abstractions, state: &[Value]) {
        match self.training {
            Training::Over => return,
            Training::Waiting if self.states.len() < 256 => self.states.push(state.to_vec()),
            _ => {}
        }
        let elapsed = self.started.elapsed();
        if elapsed < PATIENCE || self.trained_for > elapsed.mul_f64(TRAIN_SHARE) {
            return;
        }
        let slice = Instant::now();
        self.training = match std::mem::replace(&mut self.training, Training::Over) {
            Training::Waiting => match self.begin_training(abstractions) {
                Some(session) => Training::Running(Box::new(session)),
                None => Training::Over,
            },
            Training::Running(mut session) => {
                session.advance(abstractions, &mut || slice.elapsed() < SLICE);
                if session.is_done() {
                    session.finish(abstractions);
                    self.end_training(abstractions, &session);
                    Training::Over
                } else {
                    Training::Running(session)
                }
            }
            Training::Over => Training::Over,
        };
        self.trained_for += slice.elapsed();
    }

    /// Chooses states and prepares to train on them, unless the task is too large or has a model
    /// that is better than saturated cost partitioning there.
    fn begin_training(&mut self, abstractions: &Abstractions) -> Option<Session> {
        let mut settings = SelfTraining { seed: self.seed, ..SelfTraining::default() };
        settings.fit(abstractions);
        let scope =
            self.model.as_ref().map_or(settings.network.tokens, |m| m.weights.config.tokens);
        let tokens = match scope {
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
        let Some(model) = &self.model else {
            return Some(Session::new(self.task, abstractions, &states, &settings));
        };
        let (vocabulary, weights) = (model.vocabulary.clone(), model.weights.clone());
        let session =
            Session::continued(self.task, abstractions, &states, vocabulary, weights, &settings);
        (session.best().bound < session.best().saturated).then_some(session)
    }

    /// Uses what was learned if it is any good.
    fn end_training(&mut self, abstractions: &Abstractions, session: &Session) {
        let best = session.best();
        if best.bound < LEAST_RATIO * best.saturated {
            return;
        }
        let (vocabulary, weights) = (best.vocabulary.clone(), best.weights.clone());
        self.predictor = Some(Box::new(Predictor::from_parts(
            self.task,
            abstractions,
            vocabulary,
            weights,
            Softmax::Masked,
            self.memory_limit,
        )));
    }
}

/// Shares near those of a partitioning, none of them zero.
fn near(abstractions: &Abstractions, partitioning: &CostPartitioning) -> Vec<f32> {
    let costs = partitioning.costs();
    let mut weights = vec![0.0; costs.len()];
    for o in (0..abstractions.num_operators()).map(OpId::from) {
        let pairs = abstractions.operator_pairs(o);
        let total: f32 = pairs.iter().map(|&(_, pair)| costs[pair as usize] as f32).sum();
        for &(_, pair) in pairs {
            let share = costs[pair as usize] as f32 / total.max(1.0);
            weights[pair as usize] = share + 1.0 / pairs.len() as f32;
        }
    }
    weights
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
        if self.attempts == 0 {
            return self.first(abstractions, state);
        }
        for source in self.choose() {
            let found = self.attempt(source, abstractions, state, beat);
            if found.is_some() || self.is_hopeless(source, abstractions, beat) {
                return found;
            }
        }
        None
    }

    fn memory_bytes(&self) -> usize {
        let network = self.predictor.as_ref().map_or(0, |predictor| predictor.bytes());
        let refinement = self.refinement.as_ref().map_or(0, Partitioner::memory_bytes);
        let optimal = self.optimal.as_ref().map_or(0, Partitioner::memory_bytes);
        self.ascent.memory_bytes() + refinement + optimal + network
    }
}
