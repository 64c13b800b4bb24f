//! The forward pass on the distinct tokens of a batch, and its hand-written backward pass.
//!
//! [`Tape::forward`] keeps what the backward pass needs; [`Tape::backward`] takes ∂loss/∂score
//! for each distinct last token and adds ∂loss/∂weights to a gradient.
//! A token that stands for several positions gets the sum of their gradients.
//! Cost: O(tokens · w²) plus, with learned attention, O(Σ_groups members · new tokens · w).

use super::matrix::{Matrix, Write, multiply, multiply_strided, product};
use super::pointwise::{
    add_scaled, dot, gather, normalise, scale_and_shift, scatter, shift_and_rectify,
    softmax_with_multiplicity,
};
use super::tokens::{Batch, Stage};
use super::weights::{AttentionTensors, Tensor, Weights};

/// The sparse feature rows by number: (colour, count) pairs.
pub trait FeatureRows {
    /// The nonzero features of a row.
    fn row(&self, row: u32) -> &[(u32, u32)];
}

/// What the forward pass of one batch leaves for the backward pass.
#[derive(Debug, Default)]
pub struct Tape {
    stages: Vec<StageTape>,
    /// The tokens after the last stage, [n, w].
    last: Vec<f32>,
    /// The activations of the MLP, [n, h] and [n, w].
    hidden_0: Vec<f32>,
    hidden_1: Vec<f32>,
    /// The score of each last token.
    pub scores: Vec<f32>,
}

#[derive(Debug, Default)]
pub(super) struct StageTape {
    /// Normalised old tokens before and after scale and shift, [n, w], and 1/σ for each.
    normalised: Vec<f32>,
    scaled: Vec<f32>,
    inverse_deviation: Vec<f32>,
    /// What the output projection is applied to: per new token (learned) or per group (mean).
    attended: Vec<f32>,
    /// Mean attention: the mean of each group's scaled tokens, [groups, w].
    means: Vec<f32>,
    /// Learned attention: queries, keys and values of all old tokens, [n, w] each, and the
    /// attention weights, group after group, head after head.
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    attention: Vec<f32>,
}

impl Tape {
    /// Computes the scores of the last tokens of `batch`.
    pub fn forward(&mut self, weights: &Weights, rows: &dyn FeatureRows, batch: &Batch) {
        let w = weights.config.width();
        let mut tokens = embed(weights, rows, &batch.rows);
        self.stages.resize_with(batch.stages.len(), StageTape::default);
        for ((tape, stage), tensors) in
            self.stages.iter_mut().zip(&batch.stages).zip(&weights.layout.stages)
        {
            tokens = tape.forward(weights, tensors, stage, &tokens);
        }
        let n = tokens.len() / w;
        let layout = &weights.layout;
        self.hidden_0 = product(Matrix::new(&tokens, n, w), matrix(weights, layout.mlp_0.0));
        shift_and_rectify(&mut self.hidden_0, &weights[layout.mlp_0.1]);
        let hidden_0 = Matrix::new(&self.hidden_0, n, weights.config.hidden());
        self.hidden_1 = product(hidden_0, matrix(weights, layout.mlp_1.0));
        shift_and_rectify(&mut self.hidden_1, &weights[layout.mlp_1.1]);
        let (u, c) = (&weights[layout.score.0], weights[layout.score.1][0]);
        self.scores.clear();
        self.scores.extend(self.hidden_1.chunks_exact(w).map(|row| dot(row, u) + c));
        self.last = tokens;
    }

    /// Adds the gradient of Σ `d_scores`·score to `gradient`; `forward` came right before, with
    /// the same arguments.
    pub fn backward(
        &self,
        weights: &Weights,
        rows: &dyn FeatureRows,
        batch: &Batch,
        d_scores: &[f32],
        gradient: &mut Weights,
    ) {
        let (w, h, n) = (weights.config.width(), weights.config.hidden(), d_scores.len());
        let layout = &weights.layout;
        assert_eq!(n, self.scores.len(), "one derivative per score");

        // score = hidden_1·u + c
        let mut d_hidden_1 = vec![0.0; n * w];
        for (i, &d) in d_scores.iter().enumerate() {
            let row = &self.hidden_1[i * w..][..w];
            add_scaled(&mut gradient[layout.score.0], d, row);
            gradient[layout.score.1][0] += d;
            let u = &weights[layout.score.0];
            for ((d_x, &x), &u) in d_hidden_1[i * w..][..w].iter_mut().zip(row).zip(u) {
                *d_x = if x > 0.0 { d * u } else { 0.0 };
            }
        }
        // hidden_1 = relu(hidden_0·M₁ + b₁)
        let hidden_0 = Matrix::new(&self.hidden_0, n, h);
        let mut d_hidden_0 =
            linear_backward(weights, gradient, layout.mlp_1, hidden_0, &d_hidden_1);
        for (d_x, &x) in d_hidden_0.iter_mut().zip(&self.hidden_0) {
            if x <= 0.0 {
                *d_x = 0.0;
            }
        }
        // hidden_0 = relu(T·M₀ + b₀)
        let last = Matrix::new(&self.last, n, w);
        let mut d_tokens = linear_backward(weights, gradient, layout.mlp_0, last, &d_hidden_0);

        for ((tape, stage), tensors) in
            self.stages.iter().zip(&batch.stages).zip(&layout.stages).rev()
        {
            d_tokens = tape.backward(weights, tensors, stage, &d_tokens, gradient);
        }
        if let Some(input) = layout.input {
            let d_input = &mut gradient[input];
            for (&row, d_token) in batch.rows.iter().zip(d_tokens.chunks_exact(w)) {
                for &(colour, count) in rows.row(row) {
                    add_scaled(&mut d_input[colour as usize * w..][..w], count as f32, d_token);
                }
            }
        }
    }
}

/// The tokens before the first stage: X·W_in, or X itself.
pub fn embed(weights: &Weights, rows: &dyn FeatureRows, distinct: &[u32]) -> Vec<f32> {
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

/// A tensor as a matrix.
pub fn matrix(weights: &Weights, tensor: Tensor) -> Matrix<'_> {
    Matrix::new(&weights[tensor], tensor.rows, tensor.cols)
}

/// For y = x·W + b: adds ∂W and ∂b to the gradient and returns ∂x.
fn linear_backward(
    weights: &Weights,
    gradient: &mut Weights,
    (weight, bias): (Tensor, Tensor),
    x: Matrix,
    d_y: &[f32],
) -> Vec<f32> {
    let n = d_y.len() / weight.cols;
    let d_bias = &mut gradient[bias];
    d_y.chunks_exact(weight.cols).for_each(|d_y| add_scaled(d_bias, 1.0, d_y));
    let d_y = Matrix::new(d_y, n, weight.cols);
    multiply(&mut gradient[weight], x.transposed(), d_y, Write::Add);
    product(d_y, matrix(weights, weight).transposed())
}

impl StageTape {
    /// The new tokens of a stage, [n, w].
    pub(super) fn forward(
        &mut self,
        weights: &Weights,
        tensors: &AttentionTensors,
        stage: &Stage,
        tokens: &[f32],
    ) -> Vec<f32> {
        let w = weights.config.width();
        let n = tokens.len() / w;
        self.normalised.resize(tokens.len(), 0.0);
        self.inverse_deviation = normalise(tokens, w, &mut self.normalised);
        self.scaled.clone_from(&self.normalised);
        scale_and_shift(&mut self.scaled, &weights[tensors.norm_gain], &weights[tensors.norm_bias]);
        let scaled = Matrix::new(&self.scaled, n, w);

        if let Some((q, k)) = tensors.qk {
            self.q = product(scaled, matrix(weights, q));
            self.k = product(scaled, matrix(weights, k));
            self.v = product(scaled, matrix(weights, tensors.v));
            self.attend(weights.config.heads, w, stage);
        } else {
            self.means = group_means(stage, &self.scaled, w);
            let means = Matrix::new(&self.means, stage.groups(), w);
            self.attended = product(means, matrix(weights, tensors.v));
        }

        // new = old + attended·O + b
        let attended = Matrix::new(&self.attended, self.attended.len() / w, w);
        let update = product(attended, matrix(weights, tensors.o));
        let bias = &weights[tensors.o_bias];
        let per_group = tensors.qk.is_none();
        let mut new = vec![0.0; stage.tokens() * w];
        for group in 0..stage.groups() {
            for out in stage.outs(group) {
                let old = &tokens[stage.out_input[out] as usize * w..][..w];
                let update = &update[if per_group { group } else { out } * w..][..w];
                let new = &mut new[out * w..][..w];
                for (((new, old), update), bias) in new.iter_mut().zip(old).zip(update).zip(bias) {
                    *new = old + update + bias;
                }
            }
        }
        new
    }

    /// attended = softmax(q·kᵀ/√(w/heads))·v within each group, head by head.
    fn attend(&mut self, heads: usize, w: usize, stage: &Stage) {
        let head = w / heads;
        let scale = 1.0 / (head as f32).sqrt();
        self.attended.clear();
        self.attended.resize(stage.tokens() * w, 0.0);
        self.attention.clear();
        let (mut q, mut k, mut v, mut logits) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for group in 0..stage.groups() {
            let (members, outs) = (stage.members(group), stage.outs(group));
            let (n, n_out) = (members.len(), outs.len());
            if n_out == 0 {
                continue;
            }
            gather(&mut q, &self.q, w, &stage.out_input[outs.clone()]);
            gather(&mut k, &self.k, w, &stage.member[members.clone()]);
            gather(&mut v, &self.v, w, &stage.member[members.clone()]);
            for first in (0..w).step_by(head) {
                let q = Matrix::strided(&q[first..], n_out, head, w);
                let k = Matrix::strided(&k[first..], n, head, w);
                let v = Matrix::strided(&v[first..], n, head, w);
                logits.resize(n_out * n, 0.0);
                multiply(&mut logits, q, k.transposed(), Write::Set);
                for row in logits.chunks_exact_mut(n) {
                    row.iter_mut().for_each(|x| *x *= scale);
                    softmax_with_multiplicity(row, &stage.multiplicity[members.clone()]);
                }
                let attended = &mut self.attended[outs.start * w + first..];
                multiply_strided(attended, w, Matrix::new(&logits, n_out, n), v, Write::Set);
                self.attention.extend_from_slice(&logits);
            }
        }
    }

    fn backward(
        &self,
        weights: &Weights,
        tensors: &AttentionTensors,
        stage: &Stage,
        d_new: &[f32],
        gradient: &mut Weights,
    ) -> Vec<f32> {
        let w = weights.config.width();
        let n = self.inverse_deviation.len();
        let per_group = tensors.qk.is_none();

        // new = old + attended·O + b: the sum of the updates' gradients per row of `attended`.
        let mut d_update = Vec::new();
        if per_group {
            d_update.resize(stage.groups() * w, 0.0);
            for group in 0..stage.groups() {
                let sum = &mut d_update[group * w..][..w];
                stage.outs(group).for_each(|out| add_scaled(sum, 1.0, &d_new[out * w..][..w]));
            }
        } else {
            d_update.extend_from_slice(d_new);
        }
        let attended = Matrix::new(&self.attended, d_update.len() / w, w);
        let d_attended =
            linear_backward(weights, gradient, (tensors.o, tensors.o_bias), attended, &d_update);

        let mut d_scaled = vec![0.0; n * w];
        let scaled = Matrix::new(&self.scaled, n, w);
        if let Some((q, k)) = tensors.qk {
            let d_qkv = self.attend_backward(weights.config.heads, w, stage, &d_attended);
            for (tensor, d) in [q, k, tensors.v].into_iter().zip(&d_qkv) {
                let d = Matrix::new(d, n, w);
                multiply(&mut gradient[tensor], scaled.transposed(), d, Write::Add);
                multiply(&mut d_scaled, d, matrix(weights, tensor).transposed(), Write::Add);
            }
        } else {
            let d_attended = Matrix::new(&d_attended, stage.groups(), w);
            let means = Matrix::new(&self.means, stage.groups(), w);
            multiply(&mut gradient[tensors.v], means.transposed(), d_attended, Write::Add);
            let d_means = product(d_attended, matrix(weights, tensors.v).transposed());
            for group in 0..stage.groups() {
                let members = stage.members(group);
                let total: f32 = stage.multiplicity[members.clone()].iter().sum();
                let d_mean = &d_means[group * w..][..w];
                for i in members {
                    let d_scaled = &mut d_scaled[stage.member[i] as usize * w..][..w];
                    add_scaled(d_scaled, stage.multiplicity[i] / total, d_mean);
                }
            }
        }

        // scaled = normalised·gain + bias, normalised = (old − mean)/σ
        let mut d_old = vec![0.0; n * w];
        let gain = &weights[tensors.norm_gain];
        for i in 0..n {
            let (d_scaled, x) = (&d_scaled[i * w..][..w], &self.normalised[i * w..][..w]);
            let d_gain = &mut gradient[tensors.norm_gain];
            d_gain.iter_mut().zip(d_scaled).zip(x).for_each(|((d, d_y), x)| *d += d_y * x);
            add_scaled(&mut gradient[tensors.norm_bias], 1.0, d_scaled);
            let (mut mean, mut correlation) = (0.0, 0.0);
            for ((d_y, gain), x) in d_scaled.iter().zip(gain).zip(x) {
                mean += d_y * gain;
                correlation += d_y * gain * x;
            }
            mean /= w as f32;
            correlation /= w as f32;
            let d_old = d_old[i * w..][..w].iter_mut();
            for (((d_old, d_y), gain), x) in d_old.zip(d_scaled).zip(gain).zip(x) {
                *d_old = self.inverse_deviation[i] * (d_y * gain - mean - x * correlation);
            }
        }
        scatter(&mut d_old, d_new, w, &stage.out_input);
        d_old
    }

    /// The gradients of queries, keys and values.
    fn attend_backward(
        &self,
        heads: usize,
        w: usize,
        stage: &Stage,
        d_attended: &[f32],
    ) -> [Vec<f32>; 3] {
        let head = w / heads;
        let scale = 1.0 / (head as f32).sqrt();
        let (mut d_q, mut d_k, mut d_v) =
            (vec![0.0; self.q.len()], vec![0.0; self.k.len()], vec![0.0; self.v.len()]);
        let (mut q, mut k, mut v) = (Vec::new(), Vec::new(), Vec::new());
        let mut attention_start = 0;
        for group in 0..stage.groups() {
            let (members, outs) = (stage.members(group), stage.outs(group));
            let (n, n_out) = (members.len(), outs.len());
            if n_out == 0 {
                continue;
            }
            gather(&mut q, &self.q, w, &stage.out_input[outs.clone()]);
            gather(&mut k, &self.k, w, &stage.member[members.clone()]);
            gather(&mut v, &self.v, w, &stage.member[members.clone()]);
            let mut d_group = [vec![0.0; n_out * w], vec![0.0; n * w], vec![0.0; n * w]];
            for first in (0..w).step_by(head) {
                let attention = &self.attention[attention_start..][..n_out * n];
                attention_start += n_out * n;
                let d_z = Matrix::strided(&d_attended[outs.start * w + first..], n_out, head, w);
                let v = Matrix::strided(&v[first..], n, head, w);
                // z = A·v
                let a = Matrix::new(attention, n_out, n);
                let d_v = &mut d_group[2][first..];
                multiply_strided(d_v, w, a.transposed(), d_z, Write::Set);
                let mut d_logits = product(d_z, v.transposed());
                // A = softmax(logits)
                for (d, a) in d_logits.chunks_exact_mut(n).zip(attention.chunks_exact(n)) {
                    let mean = dot(d, a);
                    d.iter_mut().zip(a).for_each(|(d, a)| *d = scale * a * (*d - mean));
                }
                // logits = scale · q·kᵀ
                let d_logits = Matrix::new(&d_logits, n_out, n);
                let k = Matrix::strided(&k[first..], n, head, w);
                let q = Matrix::strided(&q[first..], n_out, head, w);
                multiply_strided(&mut d_group[0][first..], w, d_logits, k, Write::Set);
                multiply_strided(&mut d_group[1][first..], w, d_logits.transposed(), q, Write::Set);
            }
            scatter(&mut d_q, &d_group[0], w, &stage.out_input[outs]);
            scatter(&mut d_k, &d_group[1], w, &stage.member[members.clone()]);
            scatter(&mut d_v, &d_group[2], w, &stage.member[members]);
        }
        [d_q, d_k, d_v]
    }
}

/// The mean of the members' rows of each group, weighted by multiplicity, [groups, width].
pub fn group_means(stage: &Stage, rows: &[f32], width: usize) -> Vec<f32> {
    let mut means = vec![0.0; stage.groups() * width];
    for group in 0..stage.groups() {
        let members = stage.members(group);
        let total: f32 = stage.multiplicity[members.clone()].iter().sum();
        let mean = &mut means[group * width..][..width];
        for i in members {
            let row = &rows[stage.member[i] as usize * width..][..width];
            add_scaled(mean, stage.multiplicity[i] / total, row);
        }
    }
    means
}
