//! Predicted cost partitionings: the features of a state, through the network, onto the grid.
//!
//! A [`Predictor`] belongs to one task, its projections and one model.
//! It keeps the tokens of every (pattern, abstract state) it met, in bounded memory.
//! Whatever the network says, [`CostPartitioning`] makes an admissible partitioning of it.

use std::sync::Arc;
use std::time::Instant;

use planner::abstraction::{Abstractions, Pattern};
use planner::partition::{CostPartitioning, LearningTime};
use planner::task::{OpId, Task, Value};
use planner::work::Work;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::network::infer::Inference;
use crate::network::pointwise::SoftmaxSum;
use crate::network::tokens::Positions;
use crate::network::{FeatureRows, NetworkConfig, TokenScope, Weights};
use crate::prior::SaturatedPrior;
use crate::wl::{FeatureGenerator, RowId, RowTable, Vocabulary};

/// Who competes for an operator's cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Softmax {
    /// The patterns where the operator changes the abstract state; no cost is lost.
    #[default]
    Masked,
    /// All patterns, as in the paper: what a pattern cannot use is lost.
    Paper,
}

/// Multiplications of the network in a unit of work: they are made in vectors.
const PER_UNIT: u64 = 4;

/// The work for a token: finding it, and its share.
const TOKEN: Work = 10;

/// The work for the features of an operator in an abstract state seen for the first time.
const FEATURE: Work = 100;

/// Bytes of features and tokens that a predictor keeps unless told otherwise.
pub const MEMORY_LIMIT: usize = 512 << 20;

impl FeatureRows for RowTable {
    fn row(&self, row: u32) -> &[(u32, u32)] {
        RowTable::row(self, RowId(row))
    }
}

/// The places of a task's tokens, and which pair of the partitioning each belongs to.
#[derive(Clone, Debug)]
pub struct TaskPositions {
    /// The positions.
    pub positions: Positions,
    /// The operator of each position.
    operator: Vec<OpId>,
    /// The pair of each scored position; none where the operator is not relevant.
    pair: Vec<Option<u32>>,
}

impl TaskPositions {
    /// The positions of a network of this configuration on a task's projections.
    pub fn new(
        abstractions: &Abstractions,
        config: &NetworkConfig,
        softmax: Softmax,
    ) -> TaskPositions {
        let operators = || (0..abstractions.num_operators()).map(OpId::from);
        let relevant: Vec<Vec<u32>> = operators()
            .map(|o| abstractions.operator_pairs(o).iter().map(|(p, _)| p.0).collect())
            .collect();
        let scope = match softmax {
            Softmax::Masked => TokenScope::Relevant,
            Softmax::Paper => TokenScope::All,
        };
        let positions = Positions::new(abstractions.len(), &relevant, config.tokens, scope);
        let mut operator = Vec::with_capacity(positions.len());
        let mut pair = Vec::new();
        for o in operators() {
            let mut pairs = abstractions.operator_pairs(o).iter().peekable();
            for i in positions.of_operator(o.index()) {
                operator.push(o);
                let own = pairs.next_if(|(p, _)| p.0 == positions.pattern[i]);
                if positions.scored[i] {
                    pair.push(own.map(|&(_, pair)| pair));
                }
            }
        }
        TaskPositions { positions, operator, pair }
    }

    /// The feature row of each position of a pattern in a state.
    pub fn feature_rows(&self, rows: crate::wl::PatternRows, pattern: usize, out: &mut Vec<u32>) {
        let distinct: Vec<u32> = rows.rows().map(|(row, _)| row.0).collect();
        let of_pattern = self.positions.of_pattern(pattern);
        if of_pattern.len() == self.positions.operators() {
            out.extend(rows.rows_of_operators().map(|row| distinct[row]));
        } else {
            let row = |&i: &u32| distinct[rows.row_of_operator(self.operator[i as usize])];
            out.extend(of_pattern.iter().map(row));
        }
    }

    /// Turns scores into shares, operator by operator: the share of every pair, zero for none.
    pub fn shares(&self, scores: &[f32], share_of_pair: &mut [f32]) {
        share_of_pair.fill(0.0);
        let mut next = 0;
        for o in 0..self.positions.operators() {
            let range = self.positions.of_operator(o);
            let n = self.positions.scored[range].iter().filter(|scored| **scored).count();
            let (scores, pairs) = (&scores[next..next + n], &self.pair[next..next + n]);
            let softmax = SoftmaxSum::new(scores);
            for (&x, pair) in scores.iter().zip(pairs) {
                if let Some(pair) = pair {
                    share_of_pair[*pair as usize] = softmax.share(x);
                }
            }
            next += n;
        }
    }

    /// Adds the prior of its pair to the score of each position.
    pub fn add_prior(&self, prior: &[f32], gain: f32, scores: &mut [f32]) {
        for (score, pair) in scores.iter_mut().zip(&self.pair) {
            if let Some(pair) = pair {
                *score += gain * prior[*pair as usize];
            }
        }
    }

    /// The pair of each scored position, in order; none where the operator is not relevant.
    pub fn pairs(&self) -> &[Option<u32>] {
        &self.pair
    }
}

/// A model at work on one task.
pub struct Predictor {
    abstractions: Arc<Abstractions>,
    features: FeatureGenerator,
    inference: Inference,
    places: TaskPositions,
    softmax: Softmax,
    prior: Option<SaturatedPrior>,
    /// Where the tokens of a (pattern, abstract state) begin in `tokens`.
    known: FxHashMap<(u32, u32), u32>,
    /// Tokens after the first action attention, in the order of a pattern's positions.
    tokens: Vec<u32>,
    memory_limit: usize,
    /// The generation of the features that `known` is valid for.
    generation: u64,
    token: Vec<u32>,
    scores: Vec<f32>,
    shares: Vec<f32>,
    work: Work,
    time: LearningTime,
}

impl Predictor {
    /// What a (pattern, abstract state) takes in the table of known ones, roughly.
    const ENTRY_BYTES: usize = 24;

    /// Prepares a model for a task; it keeps about `memory_limit` bytes at most.
    pub fn new(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        model: &Model,
        softmax: Softmax,
        memory_limit: usize,
    ) -> Predictor {
        let (vocabulary, weights) = (model.vocabulary.clone(), model.weights.clone());
        Predictor::from_parts(task, abstractions, vocabulary, weights, softmax, memory_limit)
    }

    /// Prepares a network and its vocabulary for a task.
    pub fn from_parts(
        task: &Task,
        abstractions: &Arc<Abstractions>,
        vocabulary: Arc<Vocabulary>,
        weights: Weights,
        softmax: Softmax,
        memory_limit: usize,
    ) -> Predictor {
        let places = TaskPositions::new(abstractions, &weights.config, softmax);
        let features = FeatureGenerator::new(task, abstractions, vocabulary, memory_limit / 4);
        let prior = weights.prior_gain().is_some().then(|| SaturatedPrior::new(abstractions));
        Predictor {
            abstractions: Arc::clone(abstractions),
            generation: features.generation(),
            features,
            inference: Inference::new(weights, memory_limit / 2),
            token: vec![0; places.positions.len()],
            places,
            softmax,
            prior,
            known: FxHashMap::default(),
            tokens: Vec::new(),
            memory_limit: memory_limit / 4,
            scores: Vec::new(),
            shares: vec![0.0; abstractions.num_pairs()],
            work: 0,
            time: LearningTime::default(),
        }
    }

    /// The projections that it predicts for.
    pub fn abstractions(&self) -> &Arc<Abstractions> {
        &self.abstractions
    }

    /// Roughly the work done since this was asked last.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work) + self.inference.take_multiplications() / PER_UNIT
    }

    /// The time for features and network so far.
    pub fn time(&self) -> LearningTime {
        self.time
    }

    /// The share of its operator's cost that each pair receives in a state.
    pub fn shares(&mut self, state: &[Value]) -> &[f32] {
        let bytes = 4 * self.tokens.len() + Predictor::ENTRY_BYTES * self.known.len();
        if self.inference.is_full() || bytes > self.memory_limit {
            self.forget();
        }
        self.find_tokens(state);
        self.work += TOKEN * self.token.len() as Work;
        let positions = &self.places.positions;
        let started = Instant::now();
        self.inference.score(positions, &mut self.token, &mut self.scores);
        self.time.network += started.elapsed();
        if let (Some(prior), Some(gain)) = (&mut self.prior, self.inference.weights().prior_gain())
        {
            self.places.add_prior(prior.of_state(state), gain, &mut self.scores);
            self.work += prior.take_work();
        }
        self.places.shares(&self.scores, &mut self.shares);
        &self.shares
    }

    /// The shares of the state asked about last.
    pub fn last_shares(&self) -> &[f32] {
        &self.shares
    }

    /// The predicted partitioning for a state.
    pub fn predict(&mut self, state: &[Value]) -> CostPartitioning {
        self.shares(state);
        match self.softmax {
            Softmax::Masked => CostPartitioning::from_weights(&self.abstractions, &self.shares),
            Softmax::Paper => floor_shares(&self.abstractions, &self.shares),
        }
    }

    /// Bytes held between states, roughly.
    pub fn bytes(&self) -> usize {
        self.features.bytes()
            + self.inference.bytes()
            + 4 * self.tokens.len()
            + Predictor::ENTRY_BYTES * self.known.len()
    }

    fn forget(&mut self) {
        self.inference.clear_tokens();
        self.known.clear();
        self.tokens.clear();
    }

    /// Sets `token` to the tokens of the state's positions after the first action attention.
    fn find_tokens(&mut self, state: &[Value]) {
        let abstractions = Arc::clone(&self.abstractions);
        let ranks = || abstractions.components().iter().map(|p| p.abstract_state(state));
        let is_known = |(p, rank): (usize, u32)| self.known.contains_key(&(p as u32, rank));
        if !ranks().enumerate().all(is_known) {
            self.compute_tokens(state);
        }
        for (p, rank) in ranks().enumerate() {
            let start = self.known[&(p as u32, rank)] as usize;
            let of_pattern = self.places.positions.of_pattern(p);
            for (&i, &token) in of_pattern.iter().zip(&self.tokens[start..]) {
                self.token[i as usize] = token;
            }
        }
    }

    #[cold]
    fn compute_tokens(&mut self, state: &[Value]) {
        let abstractions = &self.abstractions;
        let started = Instant::now();
        let rows = self.features.state_rows(state);
        self.time.features += started.elapsed();
        let started = Instant::now();
        // The rows of this state are complete, but older row numbers may have become invalid.
        if rows.generation() != self.generation {
            self.generation = rows.generation();
            self.inference.clear();
            self.known.clear();
            self.tokens.clear();
        }
        for p in abstractions.ids() {
            let rank = abstractions.component(p).abstract_state(state);
            if self.known.contains_key(&(p.0, rank)) {
                continue;
            }
            let start = self.tokens.len();
            self.places.feature_rows(rows.pattern(p.index()), p.index(), &mut self.tokens);
            self.work += FEATURE * (self.tokens.len() - start) as Work;
            self.inference.attend_pattern(rows.row_table(), &mut self.tokens[start..]);
            self.known.insert((p.0, rank), start as u32);
        }
        self.time.network += started.elapsed();
    }
}

/// The patterns of a task's projections.
pub fn patterns_of(abstractions: &Abstractions) -> Vec<Pattern> {
    let pattern = |component: &planner::abstraction::Component| component.pattern().cloned();
    let patterns = abstractions.components().iter().map(pattern);
    patterns.collect::<Option<_>>().expect("predictions are for patterns")
}

/// The paper's partitioning: each share rounded down, the rest lost; if some share is not a number,
/// the operators concerned are divided uniformly.
fn floor_shares(abstractions: &Arc<Abstractions>, shares: &[f32]) -> CostPartitioning {
    if shares.iter().any(|share| !share.is_finite()) {
        return CostPartitioning::from_weights(abstractions, shares);
    }
    let mut costs = vec![0; shares.len()];
    for o in (0..abstractions.num_operators()).map(OpId::from) {
        let cost = f64::from(abstractions.scaled_cost(o));
        for &(_, pair) in abstractions.operator_pairs(o) {
            // Just below the share, so that rounding in 32 bits never adds up to more than cost.
            costs[pair as usize] = (cost * f64::from(shares[pair as usize]) * (1.0 - 1e-5)) as u32;
        }
    }
    CostPartitioning::new(abstractions, abstractions.scale(), costs)
        .unwrap_or_else(|_| CostPartitioning::from_weights(abstractions, shares))
}
