//! The forward pass for search: one state after another, on one core.
//!
//! Four facts save work, and none changes the result:
//! - The tokens after the first action attention depend on the multiset of feature rows of a
//!   pattern only; they are computed once for each multiset and kept. In a network of one block
//!   they are put together from what was computed once per row (`contexts.rs`).
//! - The last stage's output projection and the MLP's first layer are linear in the attended
//!   values: (T + A·V·O + b)·M₀ + b₀ = (T·M₀ + b·M₀ + b₀) + A·(V·O·M₀).
//!   Both terms are computed once per token (`Prepared`), not once per operator it occurs in.
//! - How much one token attends to another before normalisation depends on the two only; while
//!   there are few tokens, these logits are computed when first needed and kept in a table.
//! - The scores of an operator's tokens depend on the multiset of them only; they are kept, too.
//!
//! Requires that row numbers keep their meaning until [`Inference::clear`].
//! Memory is bounded: what is kept is forgotten all at once when it grows past the limit, between
//! states.
//! Cost per state, with n tokens of an operator of which r need a score: O(n·r·w + r·h·w) for
//! each distinct operator with learned attention.

use super::contexts::{Contexts, PreparedToken};
use super::dropout::Dropper;
use super::matrix::{Matrix, Write, multiply, multiply_strided, product};
use super::pointwise::{add_scaled, dot, gather, normalise, scale_and_shift, softmax};
use super::score::ScoreLayers;
use super::tokens::{Positions, Stage, StageBuilder, attend_operators, attend_patterns};
use super::{FeatureRows, Weights, attend, embed};

/// Rows of hidden activations that go through the MLP's second layer at once.
/// PERF: 256 rows of the paper's width (175 of 4 bytes) stay in the second-level cache.
const CHUNK: usize = 256;

/// A network ready to score the states of one task.
pub struct Inference {
    weights: Weights,
    folded: Folded,
    /// The MLP's second layer and the score.
    layers: ScoreLayers,
    /// The first action attention: its groups are multisets of feature rows.
    patterns: StageBuilder,
    /// What is computed once per feature row for it; for networks with one block.
    contexts: Option<Contexts>,
    /// The tokens after it, [n, w]; kept for networks with more than one block.
    tokens: Vec<f32>,
    /// The same, prepared for the last stage; kept for networks with one block.
    prepared: Prepared,
    /// The last abstraction attention: its groups are multisets of tokens.
    operators: StageBuilder,
    /// The score of each of its new tokens.
    scores: Vec<f32>,
    memory_limit: usize,
    scratch: Scratch,
    /// Multiplications since they were asked for last, roughly.
    multiplications: u64,
}

/// The weights of the last stage multiplied with those of the MLP's first layer.
struct Folded {
    /// For each head the map from a normalised token to its value's share of the hidden layer,
    /// V_head·O_head·M₀, side by side: [w, heads·h].
    values: Vec<f32>,
    /// b·M₀ + b₀, [h].
    bias: Vec<f32>,
}

/// What the last stage needs of each token.
#[derive(Default)]
struct Prepared {
    /// Queries (divided by √(w/heads)) and keys, [n, w]; empty for mean attention.
    q: Vec<f32>,
    k: Vec<f32>,
    /// The share of the hidden layer that a token gives to those that attend to it, [n, heads·h].
    values: Vec<f32>,
    /// The share that it gives to itself, [n, h].
    own: Vec<f32>,
    /// Attention logits of all pairs of tokens, for one head and up to [`MAX_TABLE`] tokens.
    logits: Option<LogitTable>,
}

/// Most tokens whose pairwise logits are kept (4 bytes each).
const MAX_TABLE: usize = 4096;

/// q·k of pairs of tokens: row i holds how much token i attends to each, NaN where nobody asked.
#[derive(Default)]
struct LogitTable {
    stride: usize,
    data: Vec<f32>,
}

impl LogitTable {
    /// Extends the table to `size` tokens.
    fn grow(&mut self, size: usize) {
        if size <= self.stride {
            return;
        }
        let stride = size.next_power_of_two().max(256);
        let mut data = vec![f32::NAN; stride * stride];
        let old = self.data.chunks_exact(self.stride.max(1));
        for (new, row) in data.chunks_exact_mut(stride).zip(old) {
            new[..row.len()].copy_from_slice(row);
        }
        *self = LogitTable { stride, data };
    }

    /// Appends how much `token` attends to each of `to`; q and k have width `w`.
    fn append(
        &mut self,
        out: &mut Vec<f32>,
        token: u32,
        to: &[u32],
        (q, k, w): (&[f32], &[f32], usize),
    ) {
        let row = &mut self.data[token as usize * self.stride..][..self.stride];
        let q = &q[token as usize * w..][..w];
        out.extend(to.iter().map(|&token| {
            let logit = &mut row[token as usize];
            if logit.is_nan() {
                *logit = dot(q, &k[token as usize * w..][..w]);
            }
            *logit
        }));
    }
}

#[derive(Default)]
struct Scratch {
    rows: Vec<u32>,
    q: Vec<f32>,
    k: Vec<f32>,
    values: Vec<f32>,
    attention: Vec<f32>,
    hidden: Vec<f32>,
}

impl Inference {
    /// Prepares a network; what it keeps between states stays below about `memory_limit` bytes.
    pub fn new(weights: Weights, memory_limit: usize) -> Inference {
        let folded = Folded::new(&weights);
        let contexts = Contexts::apply_to(&weights.config)
            .then(|| Contexts::new(&weights, &folded.values, &folded.bias));
        let layout = &weights.layout;
        let (m, bias, u) =
            (&weights[layout.mlp_1.0], &weights[layout.mlp_1.1], &weights[layout.score.0]);
        let layers = ScoreLayers::new(m, bias, u, weights[layout.score.1][0]);
        Inference {
            folded,
            layers,
            weights,
            patterns: StageBuilder::new(),
            contexts,
            tokens: Vec::new(),
            prepared: Prepared::default(),
            operators: StageBuilder::new(),
            scores: Vec::new(),
            memory_limit,
            scratch: Scratch::default(),
            multiplications: 0,
        }
    }

    /// Roughly the multiplications made since this was asked last.
    pub fn take_multiplications(&mut self) -> u64 {
        std::mem::take(&mut self.multiplications)
    }

    /// The weights it computes with.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Bytes held between states, roughly.
    pub fn bytes(&self) -> usize {
        let prepared = &self.prepared;
        let floats = self.tokens.len()
            + prepared.q.len()
            + prepared.k.len()
            + prepared.values.len()
            + prepared.own.len()
            + prepared.logits.as_ref().map_or(0, |table| table.data.len())
            + self.scores.len();
        let rows = self.contexts.as_ref().map_or(0, Contexts::bytes);
        4 * floats + rows + self.patterns.bytes() + self.operators.bytes()
    }

    /// Whether more is kept than the limit allows; the caller then clears everything, the tokens
    /// it was given included, before the next state.
    pub fn is_full(&self) -> bool {
        self.bytes() > self.memory_limit
    }

    /// Forgets all tokens, so that those given out before lose their meaning, but nothing about
    /// feature rows unless that is much.
    pub fn clear_tokens(&mut self) {
        let rows = self.contexts.take_if(|rows| rows.bytes() <= self.memory_limit / 4);
        self.clear();
        if rows.is_some() {
            self.contexts = rows;
        }
    }

    /// Forgets everything kept between states, feature rows included.
    pub fn clear(&mut self) {
        self.patterns = StageBuilder::new();
        self.tokens.clear();
        self.prepared = Prepared::default();
        if let Some(rows) = &mut self.contexts {
            rows.clear();
        }
        self.clear_operators();
    }

    fn clear_operators(&mut self) {
        self.operators = StageBuilder::new();
        self.scores.clear();
    }

    /// Replaces the feature row of each position of one pattern by its token after the first
    /// action attention.
    pub fn attend_pattern(&mut self, rows: &dyn FeatureRows, token: &mut [u32]) {
        let known = self.patterns.stage.groups();
        let group = self.patterns.group(token.iter().map(|&row| (row, true))) as usize;
        if group == known {
            self.compute_context(rows, group);
        }
        token.iter_mut().for_each(|token| *token = self.patterns.new_token(*token));
    }

    fn compute_context(&mut self, rows: &dyn FeatureRows, group: usize) {
        let stage = &self.patterns.stage;
        let (w, n) = (self.weights.config.width() as u64, stage.members(group).len() as u64);
        self.multiplications += n * w * (4 * w + 2 * n);
        if let Some(contexts) = &mut self.contexts {
            let members = stage.members(group);
            let members = (&stage.member[members.clone()], &stage.multiplicity[members]);
            contexts.attend(&self.weights, rows, members, |token| self.prepared.push(token));
            self.prepared.prepare_logits(&self.weights);
            return;
        }
        self.scratch.rows.clear();
        self.scratch.rows.extend_from_slice(&stage.member[stage.members(group)]);
        let n = self.scratch.rows.len();
        let alone = Stage {
            member_start: vec![0, n as u32],
            member: (0..n as u32).collect(),
            multiplicity: stage.multiplicity[stage.members(group)].to_vec(),
            out_start: vec![0, n as u32],
            out_input: (0..n as u32).collect(),
        };
        let tokens = embed(&self.weights, rows, &self.scratch.rows);
        let tensors = self.weights.layout.stages[0];
        let tokens = attend(&self.weights, &tensors, &alone, &tokens, &mut Dropper::none()).0;
        if self.weights.config.layers == 1 {
            self.prepared.add(&self.weights, &self.folded, &tokens);
        } else {
            self.tokens.extend_from_slice(&tokens);
        }
    }

    /// The score of each scored position, in order, from the tokens after the first action
    /// attention, which it overwrites.
    pub fn score(&mut self, positions: &Positions, token: &mut [u32], scores: &mut Vec<f32>) {
        let layers = self.weights.config.layers;
        if layers > 1 {
            // Tokens after further stages mean something for this state only.
            self.clear_operators();
            self.prepared = Prepared::default();
            let mut tokens = None;
            for (i, tensors) in self.weights.layout.stages[1..2 * layers - 1].iter().enumerate() {
                let mut builder = StageBuilder::new();
                if i % 2 == 0 {
                    attend_patterns(&mut builder, positions, token, false);
                } else {
                    attend_operators(&mut builder, positions, token);
                }
                let old = tokens.as_ref().unwrap_or(&self.tokens);
                let mut dropper = Dropper::none();
                tokens = Some(attend(&self.weights, tensors, &builder.stage, old, &mut dropper).0);
            }
            let tokens = tokens.expect("there are stages between the first and the last");
            self.prepared.add(&self.weights, &self.folded, &tokens);
        } else if self.operators.bytes() > self.memory_limit / 4 {
            self.clear_operators();
        }
        let known = self.operators.stage.groups();
        attend_patterns(&mut self.operators, positions, token, true);
        self.score_groups(known);
        scores.clear();
        scores.extend(
            token
                .iter()
                .zip(&positions.scored)
                .filter(|(_, scored)| **scored)
                .map(|(&token, _)| self.scores[token as usize]),
        );
    }

    /// Scores the new tokens of the groups from `first` on.
    fn score_groups(&mut self, first: usize) {
        let hidden = self.weights.config.hidden();
        let groups = self.operators.stage.groups();
        self.scratch.hidden.clear();
        for group in first..groups {
            let stage = &self.operators.stage;
            let (n, n_out) = (stage.members(group).len(), stage.outs(group).len());
            self.multiplications += (n_out * (2 * n * hidden + hidden * hidden)) as u64;
            if self.weights.layout.stages[0].qk.is_some() {
                self.attend_learned(group);
            } else {
                self.attend_mean(group);
            }
            if self.scratch.hidden.len() >= CHUNK * hidden || group + 1 == groups {
                self.layers.append(&self.scratch.hidden, &mut self.scores);
                self.scratch.hidden.clear();
            }
        }
    }

    /// Appends own + mean(values) for each new token of a group to the hidden activations.
    fn attend_mean(&mut self, group: usize) {
        let h = self.weights.config.hidden();
        let stage = &self.operators.stage;
        let Scratch { values: mean, hidden, .. } = &mut self.scratch;
        mean.clear();
        mean.resize(h, 0.0);
        for (i, share) in stage.shares(group) {
            add_scaled(mean, share, &self.prepared.values[stage.member[i] as usize * h..][..h]);
        }
        for out in stage.outs(group) {
            let own = &self.prepared.own[stage.out_input[out] as usize * h..][..h];
            hidden.extend(own.iter().zip(&*mean).map(|(own, mean)| (own + mean).max(0.0)));
        }
    }

    /// Appends own + softmax(q·kᵀ)·values for each new token of a group.
    fn attend_learned(&mut self, group: usize) {
        let (w, h, heads) =
            (self.weights.config.width(), self.weights.config.hidden(), self.weights.config.heads);
        let stage = &self.operators.stage;
        let (members, outs) = (stage.members(group), stage.outs(group));
        let (n, n_out) = (members.len(), outs.len());
        if n_out == 0 {
            return;
        }
        let Scratch { q, k, values, attention, hidden, .. } = &mut self.scratch;
        let (member, out) = (&stage.member[members.clone()], &stage.out_input[outs]);
        gather(values, &self.prepared.values, heads * h, member);
        let start = hidden.len();
        for &token in out {
            hidden.extend_from_slice(&self.prepared.own[token as usize * h..][..h]);
        }
        let head = w / heads;
        let Prepared { q: all_q, k: all_k, logits, .. } = &mut self.prepared;
        if logits.is_none() {
            gather(q, all_q, w, out);
            gather(k, all_k, w, member);
        }
        for i in 0..heads {
            attention.clear();
            if let Some(table) = logits {
                for &token in out {
                    table.append(attention, token, member, (all_q, all_k, w));
                }
            } else {
                attention.resize(n_out * n, 0.0);
                let q = Matrix::strided(&q[i * head..], n_out, head, w);
                let k = Matrix::strided(&k[i * head..], n, head, w);
                multiply(attention, q, k.transposed(), Write::Set);
            }
            for row in attention.chunks_exact_mut(n) {
                softmax(row, &stage.multiplicity[members.clone()]);
            }
            let values = Matrix::strided(&values[i * h..], n, h, heads * h);
            let attention = Matrix::new(attention, n_out, n);
            multiply(&mut hidden[start..], attention, values, Write::Add);
        }
        hidden[start..].iter_mut().for_each(|x| *x = x.max(0.0));
    }
}

impl Folded {
    fn new(weights: &Weights) -> Folded {
        let (w, h, heads) = (weights.config.width(), weights.config.hidden(), weights.config.heads);
        let tensors = weights.layout.stages.last().expect("a network has stages");
        let mlp = weights.matrix(weights.layout.mlp_0.0);
        let head = w / heads;
        let mut values = vec![0.0; w * heads * h];
        for i in 0..heads {
            let v = Matrix::strided(&weights[tensors.v][i * head..], w, head, w);
            let o = Matrix::new(&weights[tensors.o][i * head * w..], head, w);
            let vo = product(v, o);
            let vo = Matrix::new(&vo, w, w);
            multiply_strided(&mut values[i * h..], heads * h, vo, mlp, Write::Set);
        }
        let mut bias = weights[weights.layout.mlp_0.1].to_vec();
        multiply(&mut bias, Matrix::new(&weights[tensors.o_bias], 1, w), mlp, Write::Add);
        // Mean attention has one set of attention weights for all heads.
        if tensors.qk.is_none() && heads > 1 {
            let sum = |row: &[f32]| -> Vec<f32> {
                (0..h).map(|j| row.iter().skip(j).step_by(h).sum()).collect()
            };
            values = values.chunks_exact(heads * h).flat_map(sum).collect();
        }
        Folded { values, bias }
    }
}

impl Prepared {
    /// Appends a token that is prepared.
    fn push(&mut self, token: PreparedToken) {
        self.q.extend_from_slice(token.q);
        self.k.extend_from_slice(token.k);
        self.values.extend_from_slice(token.values);
        self.own.extend_from_slice(token.own);
    }

    /// Makes room for the logits of all tokens, unless there are too many.
    fn prepare_logits(&mut self, weights: &Weights) {
        let size = self.k.len() / weights.config.width();
        if weights.config.heads > 1 || size > MAX_TABLE {
            self.logits = None;
        } else if size > 0 {
            self.logits.get_or_insert_default().grow(size);
        }
    }

    /// Appends tokens, [n, w].
    fn add(&mut self, weights: &Weights, folded: &Folded, tokens: &[f32]) {
        let (w, h) = (weights.config.width(), weights.config.hidden());
        let n = tokens.len() / w;
        let tensors = weights.layout.stages.last().expect("a network has stages");
        let mut scaled = vec![0.0; tokens.len()];
        normalise(tokens, w, &mut scaled);
        scale_and_shift(&mut scaled, &weights[tensors.norm_gain], &weights[tensors.norm_bias]);
        let scaled = Matrix::new(&scaled, n, w);
        if let Some((q, k)) = tensors.qk {
            let scale = 1.0 / ((w / weights.config.heads) as f32).sqrt();
            let q = product(scaled, weights.matrix(q));
            self.q.extend(q.iter().map(|x| x * scale));
            self.k.extend(product(scaled, weights.matrix(k)));
        }
        self.prepare_logits(weights);
        let columns = folded.values.len() / w;
        self.values.extend(product(scaled, Matrix::new(&folded.values, w, columns)));
        let mut own = folded.bias.repeat(n);
        let mlp = weights.matrix(weights.layout.mlp_0.0);
        multiply(&mut own, Matrix::new(tokens, n, w), mlp, Write::Add);
        debug_assert_eq!(own.len(), n * h);
        self.own.extend(own);
    }
}
