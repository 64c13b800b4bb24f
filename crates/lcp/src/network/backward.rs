//! The derivatives of the forward pass, line by line in reverse.
//!
//! [`Tape::backward`] takes ∂loss/∂S for each distinct last token and adds ∂loss/∂weights to a
//! gradient; d_x stands for ∂loss/∂x.
//! A token that stands for several positions gets the sum of their derivatives.
//! Cost: twice that of the forward pass, O(tokens · w²) plus, with learned attention,
//! O(Σ_groups members · new tokens · w).

use super::matrix::{Matrix, Write, multiply, multiply_strided, product};
use super::pointwise::{add_scaled, dot, gather, scatter};
use super::tokens::{Batch, Stage};
use super::{AttentionTensors, FeatureRows, NetworkConfig, StageTape, Tape, Tensor, Weights};

impl Tape {
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

        // S = dropped(hidden_1)·u + c
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
        self.hidden_mask.apply(&mut d_hidden_1, 0);
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
        let t = Matrix::new(&self.t, n, w);
        let mut d_t = linear_backward(weights, gradient, layout.mlp_0, t, &d_hidden_0);

        for ((tape, stage), tensors) in
            self.stages.iter().zip(&batch.stages).zip(&layout.stages).rev()
        {
            d_t = tape.backward(weights, tensors, stage, &d_t, gradient);
        }
        // T = X·W_in
        if let Some(input) = layout.input {
            let d_input = &mut gradient[input];
            for (&row, d_token) in batch.rows.iter().zip(d_t.chunks_exact(w)) {
                for &(colour, count) in rows.row(row) {
                    add_scaled(&mut d_input[colour as usize * w..][..w], count as f32, d_token);
                }
            }
        }
    }
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
    product(d_y, weights.matrix(weight).transposed())
}

impl StageTape {
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

        // new = old + dropped(attended·O + b); the updates of a group are the same for means.
        let mut d_update = d_new.to_vec();
        self.residual_mask.apply(&mut d_update, 0);
        if per_group {
            let mut sums = vec![0.0; stage.groups() * w];
            for (group, sum) in sums.chunks_exact_mut(w).enumerate() {
                stage.outs(group).for_each(|out| add_scaled(sum, 1.0, &d_update[out * w..][..w]));
            }
            d_update = sums;
        }
        let attended = Matrix::new(&self.attended, d_update.len() / w, w);
        let d_attended =
            linear_backward(weights, gradient, (tensors.o, tensors.o_bias), attended, &d_update);

        let mut d_z = vec![0.0; n * w];
        let z = Matrix::new(&self.z, n, w);
        if let Some((q, k)) = tensors.qk {
            let d_qkv = self.attend_learned_backward(&weights.config, stage, &d_attended);
            for (tensor, d) in [q, k, tensors.v].into_iter().zip(&d_qkv) {
                let d = Matrix::new(d, n, w);
                multiply(&mut gradient[tensor], z.transposed(), d, Write::Add);
                multiply(&mut d_z, d, weights.matrix(tensor).transposed(), Write::Add);
            }
        } else {
            let d_attended = Matrix::new(&d_attended, stage.groups(), w);
            let means = Matrix::new(&self.means, stage.groups(), w);
            multiply(&mut gradient[tensors.v], means.transposed(), d_attended, Write::Add);
            let d_means = product(d_attended, weights.matrix(tensors.v).transposed());
            for (group, d_mean) in d_means.chunks_exact(w).enumerate() {
                for (i, share) in stage.shares(group) {
                    let d_z = &mut d_z[stage.member[i] as usize * w..][..w];
                    add_scaled(d_z, share, d_mean);
                }
            }
        }

        // z = normalised·gain + bias, normalised = (old − mean)/σ
        let mut d_old = vec![0.0; n * w];
        let gain = &weights[tensors.norm_gain];
        for i in 0..n {
            let (d_z, x) = (&d_z[i * w..][..w], &self.normalised[i * w..][..w]);
            let d_gain = &mut gradient[tensors.norm_gain];
            d_gain.iter_mut().zip(d_z).zip(x).for_each(|((d, d_y), x)| *d += d_y * x);
            add_scaled(&mut gradient[tensors.norm_bias], 1.0, d_z);
            let (mut mean, mut correlation) = (0.0, 0.0);
            for ((d_y, gain), x) in d_z.iter().zip(gain).zip(x) {
                mean += d_y * gain;
                correlation += d_y * gain * x;
            }
            mean /= w as f32;
            correlation /= w as f32;
            let d_old = d_old[i * w..][..w].iter_mut();
            for (((d_old, d_y), gain), x) in d_old.zip(d_z).zip(gain).zip(x) {
                *d_old = self.inverse_deviation[i] * (d_y * gain - mean - x * correlation);
            }
        }
        scatter(&mut d_old, d_new, w, &stage.out_input);
        d_old
    }

    /// The derivatives of Q, K and V, [old, w] each.
    fn attend_learned_backward(
        &self,
        config: &NetworkConfig,
        stage: &Stage,
        d_attended: &[f32],
    ) -> [Vec<f32>; 3] {
        let (w, head) = (config.width(), config.head());
        let scale = 1.0 / (head as f32).sqrt();
        let mut d_qkv = [(); 3].map(|()| vec![0.0; self.q.len()]);
        let (mut q, mut k, mut v) = (Vec::new(), Vec::new(), Vec::new());
        let mut start = 0;
        for group in 0..stage.groups() {
            let (members, outs) = (stage.members(group), stage.outs(group));
            let (n, n_out) = (members.len(), outs.len());
            if n_out == 0 {
                continue;
            }
            let (member, out) = (&stage.member[members], &stage.out_input[outs.clone()]);
            gather(&mut q, &self.q, w, out);
            gather(&mut k, &self.k, w, member);
            gather(&mut v, &self.v, w, member);
            let mut d_group = [vec![0.0; n_out * w], vec![0.0; n * w], vec![0.0; n * w]];
            for first in (0..w).step_by(head) {
                let d_out = Matrix::strided(&d_attended[outs.start * w + first..], n_out, head, w);
                let q = Matrix::strided(&q[first..], n_out, head, w);
                let k = Matrix::strided(&k[first..], n, head, w);
                let v = Matrix::strided(&v[first..], n, head, w);
                // attended = dropped(A)·v
                let a = &self.attention[start..][..n_out * n];
                let mut dropped = a.to_vec();
                self.attention_mask.apply(&mut dropped, start);
                let mut d_a = product(d_out, v.transposed());
                self.attention_mask.apply(&mut d_a, start);
                start += n_out * n;
                let dropped = Matrix::new(&dropped, n_out, n).transposed();
                multiply_strided(&mut d_group[2][first..], w, dropped, d_out, Write::Set);
                // A = softmax(logits), logits = scale·q·kᵀ
                for (d, a) in d_a.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
                    let mean = dot(d, a);
                    d.iter_mut().zip(a).for_each(|(d, a)| *d = scale * a * (*d - mean));
                }
                let d_logits = Matrix::new(&d_a, n_out, n);
                multiply_strided(&mut d_group[0][first..], w, d_logits, k, Write::Set);
                multiply_strided(&mut d_group[1][first..], w, d_logits.transposed(), q, Write::Set);
            }
            for ((to, rows), indices) in d_qkv.iter_mut().zip(&d_group).zip([out, member, member]) {
                scatter(to, rows, w, indices);
            }
        }
        d_qkv
    }
}
