//! The network that splits costs: axial attention over operators and patterns.
//!
//! For one state, X[k, m, d] holds the action-centric features of k patterns and m operators.
//! T holds the tokens, one vector of width w for each pattern and operator:
//!
//! ```text
//! T ← X·W_in                                      (the paper: T ← X and w = d)
//! in each block:
//!   for each pattern p:   T[p,·] ← T[p,·] + attention(norm(T[p,·]))·O + b    over the operators
//!   for each operator o:  T[·,o] ← T[·,o] + attention(norm(T[·,o]))·O + b    over the patterns
//! S[p,o] = relu(relu(T[p,o]·M₀ + b₀)·M₁ + b₁)·u + c
//! α[·,o] = softmax over the patterns of S[·,o]    (with a prior: of S[·,o] + g·prior[·,o])
//!
//! attention(Z) = softmax(Z·Q·(Z·K)ᵀ / √(w/heads))·(Z·V), head by head; or the mean of Z·V
//! ```
//!
//! This file is the whole definition: its shape ([`NetworkConfig`]), its parameters ([`Layout`],
//! [`Weights`]) and the pass from features to the scores S ([`forward`]).
//!
//! The pass runs on *distinct* tokens with multiplicities ([`tokens`]), which is exact: the network
//! knows no positions, so equal tokens stay equal, and n equal ones in an attention are one whose
//! weight counts n times.
//! Beside it stand its derivatives ([`backward`]) and the pass for search, which keeps what it
//! computed and folds linear maps ([`infer`]); tests hold both to it, and it to a dense network
//! written position by position.
//!
//! Deviates from the paper where dropout is on: equal tokens share what is dropped.

use std::ops::{Index, IndexMut};

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

pub mod backward;
mod check;
mod contexts;
pub mod dropout;
pub mod infer;
pub mod matrix;
pub mod pointwise;
mod score;
pub mod tokens;

pub use check::ConfigError;
use dropout::{Dropper, Mask};
use matrix::{Matrix, Write, multiply, multiply_strided, product};
use pointwise::{add_scaled, dot, gather, normalise, scale_and_shift, shift_and_rectify, softmax};
use tokens::{Batch, Stage};

/// How a token attends to the others of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Scaled dot products of learned queries and keys (the paper).
    Learned,
    /// Every token of the group counts the same; there are no queries and keys.
    Mean,
}

/// Which (pattern, operator) pairs are tokens of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenScope {
    /// All of them (the paper).
    All,
    /// Those where the operator changes the abstract state of the pattern.
    Relevant,
}

/// What the scores of the network are added to before the softmax.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prior {
    /// Nothing (the paper).
    #[default]
    None,
    /// The logarithms of the saturated shares, times a learned gain ([`crate::prior`]).
    Saturated,
}

/// The shape of a network: everything that fixes its tensors and its forward pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// The number of input features d, that is colours of the vocabulary.
    pub input: usize,
    /// The width w of the tokens; `None` is the paper: w = d and no input projection.
    pub width: Option<usize>,
    /// The number of blocks of two attentions each.
    pub layers: usize,
    /// The number of attention heads; it divides the width.
    pub heads: usize,
    /// How tokens attend.
    pub attention: Attention,
    /// The hidden width h of the MLP as a share of the width.
    pub mlp_ratio: f64,
    /// Which pairs are tokens.
    pub tokens: TokenScope,
    /// What its scores are added to.
    #[serde(default)]
    pub prior: Prior,
}

impl NetworkConfig {
    /// The paper's network on `input` colours: one block, one head, the width of the input.
    pub fn paper(input: usize) -> NetworkConfig {
        NetworkConfig {
            input,
            width: None,
            layers: 1,
            heads: 1,
            attention: Attention::Learned,
            mlp_ratio: 0.4,
            tokens: TokenScope::All,
            prior: Prior::None,
        }
    }

    /// The compact network of self-training: projected to `width`, means instead of attention,
    /// and only pairs that need a weight.
    pub fn compact(input: usize, width: usize) -> NetworkConfig {
        NetworkConfig {
            width: Some(width),
            attention: Attention::Mean,
            mlp_ratio: 1.0,
            tokens: TokenScope::Relevant,
            ..NetworkConfig::paper(input)
        }
    }

    /// The width w of the tokens.
    pub fn width(&self) -> usize {
        self.width.unwrap_or(self.input)
    }

    /// The width of an attention head, w / heads.
    pub fn head(&self) -> usize {
        self.width() / self.heads
    }

    /// The hidden width h of the MLP, ⌈mlp_ratio · w⌉; rounded to 1e-9 first, so that 0.4 · 5 is 2.
    pub fn hidden(&self) -> usize {
        let product = self.mlp_ratio * self.width() as f64;
        ((product - 1e-9).ceil() as usize).max(1)
    }
}

/// A tensor's place among the parameters: a row-major matrix that acts on row vectors, y = x·W, or
/// a vector as one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// Where it begins.
    pub start: usize,
    /// Rows (1 for a vector).
    pub rows: usize,
    /// Columns.
    pub cols: usize,
}

impl Tensor {
    /// The number of parameters.
    pub fn size(self) -> usize {
        self.rows * self.cols
    }
}

/// The tensors of one attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttentionTensors {
    /// Layer norm's scale, `[w]`.
    pub norm_gain: Tensor,
    /// Layer norm's shift, `[w]`.
    pub norm_bias: Tensor,
    /// Queries Q and keys K, `[w, w]` each; none for [`Attention::Mean`].
    pub qk: Option<(Tensor, Tensor)>,
    /// Values V, `[w, w]`.
    pub v: Tensor,
    /// The output projection O, `[w, w]`.
    pub o: Tensor,
    /// Its bias b, `[w]`.
    pub o_bias: Tensor,
}

/// Where each tensor of a configuration lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The input projection W_in, `[d, w]`; none in the paper's preset.
    pub input: Option<Tensor>,
    /// Action attention, abstraction attention, action attention of the next block, ….
    pub stages: Vec<AttentionTensors>,
    /// The MLP's first layer M₀, `[w, h]`, and b₀, `[h]`.
    pub mlp_0: (Tensor, Tensor),
    /// The MLP's second layer M₁, `[h, w]`, and b₁, `[w]`.
    pub mlp_1: (Tensor, Tensor),
    /// The score u, `[w]`, and c, `[1]`.
    pub score: (Tensor, Tensor),
    /// The gain g of the prior, `[1]`, if there is one.
    pub prior: Option<Tensor>,
    /// Name, shape and place of every tensor, in the order of the flat vector.
    pub named: Vec<(String, Vec<usize>, Tensor)>,
    /// The number of parameters.
    pub size: usize,
}

impl Layout {
    /// The layout of a configuration.
    pub fn new(config: &NetworkConfig) -> Layout {
        let (d, w, h) = (config.input, config.width(), config.hidden());
        let mut named = Vec::new();
        let mut size = 0;
        let mut place = |name: String, shape: &[usize]| {
            let rows = if shape.len() == 1 { 1 } else { shape[0] };
            let tensor = Tensor { start: size, rows, cols: shape[shape.len() - 1] };
            size += tensor.size();
            named.push((name, shape.to_vec(), tensor));
            tensor
        };
        let input = config.width.map(|_| place("input.weight".into(), &[d, w]));
        let mut stages = Vec::new();
        for block in 0..config.layers {
            for kind in ["action", "abstraction"] {
                let mut tensor = |name: &str, shape: &[usize]| {
                    place(format!("blocks.{block}.{kind}.{name}"), shape)
                };
                stages.push(AttentionTensors {
                    norm_gain: tensor("norm.gain", &[w]),
                    norm_bias: tensor("norm.bias", &[w]),
                    qk: match config.attention {
                        Attention::Learned => Some((tensor("q", &[w, w]), tensor("k", &[w, w]))),
                        Attention::Mean => None,
                    },
                    v: tensor("v", &[w, w]),
                    o: tensor("o.weight", &[w, w]),
                    o_bias: tensor("o.bias", &[w]),
                });
            }
        }
        let mlp_0 = (place("mlp.0.weight".into(), &[w, h]), place("mlp.0.bias".into(), &[h]));
        let mlp_1 = (place("mlp.1.weight".into(), &[h, w]), place("mlp.1.bias".into(), &[w]));
        let score = (place("score.weight".into(), &[w]), place("score.bias".into(), &[1]));
        let prior = (config.prior == Prior::Saturated).then(|| place("prior.gain".into(), &[1]));
        Layout { input, stages, mlp_0, mlp_1, score, prior, named, size }
    }
}

/// The parameters of one network, or a gradient with respect to them, as one flat vector: the
/// optimiser, the gradient and the file are one loop each.
#[derive(Clone, PartialEq, Debug)]
pub struct Weights {
    /// The shape of the network.
    pub config: NetworkConfig,
    /// Where each tensor lies in `data`.
    pub layout: Layout,
    /// All parameters.
    pub data: Vec<f32>,
}

impl Weights {
    /// All zeros, as a gradient begins.
    pub fn zeros(config: &NetworkConfig) -> Weights {
        let layout = Layout::new(config);
        let data = vec![0.0; layout.size];
        Weights { config: config.clone(), layout, data }
    }

    /// Random weights to begin training from: matrices uniform with variance 1/rows (the score
    /// and the output projections smaller, so that the first partition is nearly uniform),
    /// scales 1, biases 0.
    pub fn random(config: &NetworkConfig, rng: &mut impl Rng) -> Weights {
        let mut weights = Weights::zeros(config);
        for (name, shape, tensor) in weights.layout.named.clone() {
            let factor = match name.as_str() {
                "score.weight" => 0.3,
                _ if name.ends_with("o.weight") => 0.5,
                _ => 1.0,
            };
            let scale = factor * (3.0 / shape[0] as f32).sqrt();
            let values = &mut weights[tensor];
            if name.ends_with(".gain") {
                values.fill(1.0);
            } else if !name.ends_with("bias") {
                values.fill_with(|| scale * (2.0 * rng.random::<f32>() - 1.0));
            }
        }
        weights
    }

    /// The gain of the prior, if there is one.
    pub fn prior_gain(&self) -> Option<f32> {
        self.layout.prior.map(|gain| self[gain][0])
    }

    /// A tensor as a matrix.
    pub fn matrix(&self, tensor: Tensor) -> Matrix<'_> {
        Matrix::new(&self[tensor], tensor.rows, tensor.cols)
    }
}

impl Index<Tensor> for Weights {
    type Output = [f32];

    fn index(&self, tensor: Tensor) -> &[f32] {
        &self.data[tensor.start..tensor.start + tensor.size()]
    }
}

impl IndexMut<Tensor> for Weights {
    fn index_mut(&mut self, tensor: Tensor) -> &mut [f32] {
        &mut self.data[tensor.start..tensor.start + tensor.size()]
    }
}

/// The sparse feature rows by number: (colour, count) pairs.
pub trait FeatureRows: Sync {
    /// The nonzero features of a row.
    fn row(&self, row: u32) -> &[(u32, u32)];
}

/// What the forward pass leaves for the backward pass.
#[derive(Debug, Default)]
pub struct Tape {
    stages: Vec<StageTape>,
    /// T after the last stage, [n, w].
    t: Vec<f32>,
    /// The activations of the MLP, [n, h] and [n, w].
    hidden_0: Vec<f32>,
    hidden_1: Vec<f32>,
    hidden_mask: Mask,
    /// S, the score of each last token, `[n]`.
    pub scores: Vec<f32>,
}

/// The same for one attention over groups of old tokens.
#[derive(Debug, Default)]
struct StageTape {
    /// norm(T) before scale and shift and after, [old, w], and 1/σ, [old].
    normalised: Vec<f32>,
    z: Vec<f32>,
    inverse_deviation: Vec<f32>,
    /// Q, K and V of all old tokens, [old, w] each; empty for means.
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    /// The attention weights, [new tokens, members] for each head of each group.
    attention: Vec<f32>,
    attention_mask: Mask,
    /// For means: the mean of Z in each group, [groups, w].
    means: Vec<f32>,
    /// What O is applied to: [new, w], for means [groups, w].
    attended: Vec<f32>,
    residual_mask: Mask,
}

/// The scores of the last tokens of a batch.
pub fn forward(
    weights: &Weights,
    rows: &dyn FeatureRows,
    batch: &Batch,
    dropper: &mut Dropper,
) -> Tape {
    let (w, h, layout) = (weights.config.width(), weights.config.hidden(), &weights.layout);
    let mut tape = Tape { t: embed(weights, rows, &batch.rows), ..Tape::default() }; // [rows, w]
    for (tensors, stage) in layout.stages.iter().zip(&batch.stages) {
        let (t, stage_tape) = attend(weights, tensors, stage, &tape.t, dropper); // [new, w]
        tape.t = t;
        tape.stages.push(stage_tape);
    }
    let n = tape.t.len() / w;
    tape.hidden_0 = product(Matrix::new(&tape.t, n, w), weights.matrix(layout.mlp_0.0)); // [n, h]
    shift_and_rectify(&mut tape.hidden_0, &weights[layout.mlp_0.1]);
    let hidden_0 = Matrix::new(&tape.hidden_0, n, h);
    tape.hidden_1 = product(hidden_0, weights.matrix(layout.mlp_1.0)); // [n, w]
    shift_and_rectify(&mut tape.hidden_1, &weights[layout.mlp_1.1]);
    tape.hidden_mask = dropper.drop(dropper.rates.mlp, &mut tape.hidden_1);
    let (u, c) = (&weights[layout.score.0], weights[layout.score.1][0]);
    tape.scores = tape.hidden_1.chunks_exact(w).map(|x| dot(x, u) + c).collect(); // [n]
    tape
}

/// The tokens before the first stage, X·W_in or X itself, of some feature rows: [rows, w].
fn embed(weights: &Weights, rows: &dyn FeatureRows, distinct: &[u32]) -> Vec<f32> {
    let w = weights.config.width();
    let mut tokens = vec![0.0; distinct.len() * w];
    for (&row, token) in distinct.iter().zip(tokens.chunks_exact_mut(w)) {
        for &(colour, count) in rows.row(row) {
            match weights.layout.input {
                Some(input) => {
                    let embedding = &weights[input][colour as usize * w..][..w];
                    add_scaled(token, count as f32, embedding);
                }
                None => token[colour as usize] = count as f32,
            }
        }
    }
    tokens
}

/// One stage, T + attention(norm(T))·O + b within each group: the new tokens, [new, w].
fn attend(
    weights: &Weights,
    tensors: &AttentionTensors,
    stage: &Stage,
    t: &[f32],
    dropper: &mut Dropper,
) -> (Vec<f32>, StageTape) {
    let w = weights.config.width();
    let old = t.len() / w;
    let mut tape = StageTape { normalised: vec![0.0; t.len()], ..StageTape::default() };
    tape.inverse_deviation = normalise(t, w, &mut tape.normalised);
    tape.z.clone_from(&tape.normalised);
    scale_and_shift(&mut tape.z, &weights[tensors.norm_gain], &weights[tensors.norm_bias]);
    let z = Matrix::new(&tape.z, old, w); // [old, w]
    if let Some((q, k)) = tensors.qk {
        tape.q = product(z, weights.matrix(q)); // [old, w]
        tape.k = product(z, weights.matrix(k));
        tape.v = product(z, weights.matrix(tensors.v));
        tape.attend_learned(&weights.config, stage, dropper); // attended: [new, w]
    } else {
        tape.means = stage.means(&tape.z, w); // [groups, w]
        let means = Matrix::new(&tape.means, stage.groups(), w);
        tape.attended = product(means, weights.matrix(tensors.v)); // [groups, w]
    }
    let attended = Matrix::new(&tape.attended, tape.attended.len() / w, w);
    let update = product(attended, weights.matrix(tensors.o)); // [new or groups, w]
    let per_group = tensors.qk.is_none();
    let mut new = Vec::with_capacity(stage.tokens() * w);
    for group in 0..stage.groups() {
        for out in stage.outs(group) {
            let update = &update[if per_group { group } else { out } * w..][..w];
            new.extend(update.iter().zip(&weights[tensors.o_bias]).map(|(x, b)| x + b));
        }
    }
    tape.residual_mask = dropper.drop(dropper.rates.residual, &mut new);
    for (new, &old) in new.chunks_exact_mut(w).zip(&stage.out_input) {
        add_scaled(new, 1.0, &t[old as usize * w..][..w]);
    }
    (new, tape)
}

impl StageTape {
    /// attended = softmax(q·kᵀ/√(w/heads))·v in each group, head by head.
    fn attend_learned(&mut self, config: &NetworkConfig, stage: &Stage, dropper: &mut Dropper) {
        let (w, head) = (config.width(), config.head());
        let scale = 1.0 / (head as f32).sqrt();
        self.attended.resize(stage.tokens() * w, 0.0);
        let (mut q, mut k, mut v, mut a) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for group in 0..stage.groups() {
            let (members, outs) = (stage.members(group), stage.outs(group));
            let (n, n_out) = (members.len(), outs.len());
            if n_out == 0 {
                continue;
            }
            gather(&mut q, &self.q, w, &stage.out_input[outs.clone()]); // [n_out, w]
            gather(&mut k, &self.k, w, &stage.member[members.clone()]); // [n, w]
            gather(&mut v, &self.v, w, &stage.member[members.clone()]); // [n, w]
            for first in (0..w).step_by(head) {
                let q = Matrix::strided(&q[first..], n_out, head, w);
                let k = Matrix::strided(&k[first..], n, head, w);
                let v = Matrix::strided(&v[first..], n, head, w);
                a.resize(n_out * n, 0.0);
                multiply(&mut a, q, k.transposed(), Write::Set); // [n_out, n]
                for row in a.chunks_exact_mut(n) {
                    row.iter_mut().for_each(|x| *x *= scale);
                    softmax(row, &stage.multiplicity[members.clone()]);
                }
                self.attention.extend_from_slice(&a);
                self.attention_mask.append(dropper.drop(dropper.rates.attention, &mut a));
                let attended = &mut self.attended[outs.start * w + first..];
                multiply_strided(attended, w, Matrix::new(&a, n_out, n), v, Write::Set);
            }
        }
    }
}
