//! The network as the paper defines it, position by position, without any sharing.
//!
//! The reference that the computation on distinct tokens is compared with; it shares only the
//! matrix product with it.

use lcp::network::matrix::{Matrix, product};
use lcp::network::{AttentionTensors, TokenScope, Weights};
use lcp::wl::StateRows;
use planner::abstraction::Abstractions;
use planner::task::OpId;

/// The dense input of one state: features X[k, m, d] and which pairs are relevant, [k, m].
pub(crate) struct Input {
    pub(crate) patterns: usize,
    pub(crate) operators: usize,
    pub(crate) x: Vec<f32>,
    pub(crate) relevant: Vec<bool>,
    /// What is added to the scores, [k, m], before the gain; empty for nothing.
    pub(crate) prior: Vec<f32>,
}

impl Input {
    /// The dense input of a state given by its rows, with d features.
    #[allow(dead_code, reason = "not every program reads tasks")]
    pub(crate) fn new(abstractions: &Abstractions, rows: &StateRows, d: usize) -> Input {
        let (k, m) = (abstractions.len(), abstractions.num_operators());
        let mut x = vec![0.0; k * m * d];
        for p in 0..k {
            let pattern = rows.pattern(p);
            let distinct: Vec<_> = pattern.rows().map(|(row, _)| row).collect();
            for (o, row) in pattern.rows_of_operators().enumerate() {
                for &(colour, count) in rows.row_table().row(distinct[row]) {
                    x[(p * m + o) * d + colour as usize] = count as f32;
                }
            }
        }
        let mut relevant = vec![false; k * m];
        for o in (0..m).map(OpId::from) {
            for (p, _) in abstractions.operator_pairs(o) {
                relevant[p.index() * m + o.index()] = true;
            }
        }
        Input { patterns: k, operators: m, x, relevant, prior: Vec::new() }
    }
}

/// α[k, m]: the softmax over all tokens of an operator, or over its relevant ones.
pub(crate) fn forward(weights: &Weights, input: &Input, softmax: TokenScope) -> Vec<f32> {
    let (k, m, w) = (input.patterns, input.operators, weights.config.width());
    let layout = &weights.layout;
    let is_token =
        |p: usize, o: usize| weights.config.tokens == TokenScope::All || input.relevant[p * m + o];
    let mut t = match layout.input {
        Some(tensor) => product(
            Matrix::new(&input.x, k * m, weights.config.input),
            Matrix::new(&weights[tensor], tensor.rows, tensor.cols),
        ),
        None => input.x.clone(),
    };
    for (i, tensors) in layout.stages.iter().enumerate() {
        let groups: Vec<Vec<usize>> = if i % 2 == 0 {
            (0..k)
                .map(|p| (0..m).filter(|&o| is_token(p, o)).map(|o| p * m + o).collect())
                .collect()
        } else {
            (0..m)
                .map(|o| (0..k).filter(|&p| is_token(p, o)).map(|p| p * m + o).collect())
                .collect()
        };
        for group in groups {
            let rows: Vec<f32> =
                group.iter().flat_map(|&i| t[i * w..(i + 1) * w].iter().copied()).collect();
            let update = attention(weights, tensors, &rows);
            for (&i, update) in group.iter().zip(update.chunks(w)) {
                t[i * w..(i + 1) * w].iter_mut().zip(update).for_each(|(t, u)| *t += u);
            }
        }
    }
    let relu = |x: Vec<f32>, bias: &[f32]| -> Vec<f32> {
        x.iter().enumerate().map(|(i, x)| (x + bias[i % bias.len()]).max(0.0)).collect()
    };
    let linear = |x: &[f32], tensor: lcp::network::Tensor| {
        product(
            Matrix::new(x, x.len() / tensor.rows, tensor.rows),
            Matrix::new(&weights[tensor], tensor.rows, tensor.cols),
        )
    };
    let hidden = relu(linear(&t, layout.mlp_0.0), &weights[layout.mlp_0.1]);
    let hidden = relu(linear(&hidden, layout.mlp_1.0), &weights[layout.mlp_1.1]);
    let u = &weights[layout.score.0];
    let score: Vec<f64> = hidden
        .chunks(w)
        .map(|x| {
            x.iter().zip(u).map(|(x, u)| f64::from(x * u)).sum::<f64>()
                + f64::from(weights[layout.score.1][0])
        })
        .collect();
    let gain = weights.prior_gain().map_or(0.0, f64::from);
    let score: Vec<f64> = score
        .iter()
        .enumerate()
        .map(|(i, score)| score + gain * f64::from(input.prior.get(i).copied().unwrap_or(0.0)))
        .collect();
    let mut alpha = vec![0.0; k * m];
    for o in 0..m {
        let competing: Vec<usize> = (0..k)
            .filter(|&p| {
                is_token(p, o) && (softmax == TokenScope::All || input.relevant[p * m + o])
            })
            .map(|p| p * m + o)
            .collect();
        let max = competing.iter().map(|&i| score[i]).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = competing.iter().map(|&i| (score[i] - max).exp()).sum();
        competing.iter().for_each(|&i| alpha[i] = ((score[i] - max).exp() / sum) as f32);
    }
    alpha
}

/// attention(norm(x))·O + b for one group of rows.
fn attention(weights: &Weights, tensors: &AttentionTensors, x: &[f32]) -> Vec<f32> {
    let w = weights.config.width();
    let n = x.len() / w;
    let (gain, bias) = (&weights[tensors.norm_gain], &weights[tensors.norm_bias]);
    let mut normed = Vec::new();
    for row in x.chunks(w) {
        let mean = row.iter().sum::<f32>() / w as f32;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / w as f32;
        let sigma = (variance + 1e-5).sqrt();
        normed.extend((0..w).map(|i| (row[i] - mean) / sigma * gain[i] + bias[i]));
    }
    let times = |x: &[f32], tensor: lcp::network::Tensor| {
        product(Matrix::new(x, n, w), Matrix::new(&weights[tensor], w, w))
    };
    let v = times(&normed, tensors.v);
    let heads = weights.config.heads;
    let head = w / heads;
    let mut z = vec![0.0; n * w];
    let qk = tensors.qk.map(|(q, k)| (times(&normed, q), times(&normed, k)));
    for h in 0..heads {
        let columns = h * head..(h + 1) * head;
        let slice = |x: &[f32]| -> Vec<f32> {
            x.chunks(w).flat_map(|row| row[columns.clone()].iter().copied()).collect()
        };
        let logits = match &qk {
            Some((q, k)) => {
                let (q, k) = (slice(q), slice(k));
                product(Matrix::new(&q, n, head), Matrix::new(&k, n, head).transposed())
            }
            None => vec![0.0; n * n],
        };
        let mut a = logits;
        for row in a.chunks_mut(n.max(1)) {
            row.iter_mut().for_each(|x| *x /= (head as f32).sqrt());
            let max = row.iter().fold(f32::NEG_INFINITY, |max, &x| max.max(x));
            row.iter_mut().for_each(|x| *x = (*x - max).exp());
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|x| *x /= sum);
        }
        let v = slice(&v);
        let z_head = product(Matrix::new(&a, n, n), Matrix::new(&v, n, head));
        for (z, z_head) in z.chunks_mut(w).zip(z_head.chunks(head)) {
            z[columns.clone()].copy_from_slice(z_head);
        }
    }
    let mut out = times(&z, tensors.o);
    let bias = &weights[tensors.o_bias];
    out.chunks_mut(w).for_each(|row| row.iter_mut().zip(bias).for_each(|(x, b)| *x += b));
    out
}
