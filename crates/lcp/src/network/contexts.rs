//! The first action attention of a network with one block and one head, prepared for the last.
//!
//! A token after it is y = x + Σⱼ aⱼ·vⱼ + b, where x is a feature row, vⱼ are the values of the
//! rows of its pattern and aⱼ the attention paid to them.
//! What the last stage wants of y is linear in y but for the mean and deviation of layer norm:
//! with G = diag(gain), norm(y)·W = (y·G·W − mean·(1·G·W)) / deviation + bias·W.
//! So x and v are multiplied with all those matrices once per distinct feature row, and a context
//! of n rows takes one product with its attention weights: n²·(3w + 2h) operations instead of
//! about 7·n·w², and n is far below w.

use rustc_hash::FxHashMap;

use super::matrix::{Matrix, Write, multiply, multiply_strided, product};
use super::pointwise::{gather, mean_and_inverse_deviation, normalise, scale_and_shift, softmax};
use super::{Attention, FeatureRows, NetworkConfig, Weights, embed};

/// What the network computes of feature rows, once for each.
pub(super) struct Contexts {
    /// [G·Q | G·K | G·V·O·M₀ | M₀] of the last stage, `[w, 2w + 2h]`.
    map: Vec<f32>,
    /// The sums of its columns but the last h, and what layer norm's bias gives them.
    column_sums: Vec<f32>,
    offset: Vec<f32>,
    /// What the first stage's bias gives, and the last h columns' own bias: `[3w + 2h]`.
    constant: Vec<f32>,
    slot: FxHashMap<u32, u32>,
    /// Queries (divided by √w) and keys of the first stage, `[rows, w]`.
    q: Vec<f32>,
    k: Vec<f32>,
    /// Of each row x and value v: itself and its product with the map, `[rows, 3w + 2h]`.
    own: Vec<f32>,
    values: Vec<f32>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    slots: Vec<u32>,
    new: Vec<u32>,
    q: Vec<f32>,
    k: Vec<f32>,
    values: Vec<f32>,
    attention: Vec<f32>,
    out: Vec<f32>,
}

/// What the last stage needs of a token: its query, key, values and own share.
pub(super) struct PreparedToken<'a> {
    pub(super) q: &'a [f32],
    pub(super) k: &'a [f32],
    pub(super) values: &'a [f32],
    pub(super) own: &'a [f32],
}

impl Contexts {
    /// Whether a network is of the kind that this is for.
    pub(super) fn apply_to(config: &NetworkConfig) -> bool {
        config.layers == 1 && config.heads == 1 && config.attention == Attention::Learned
    }

    /// Prepares the maps; `folded_values` is V·O·M₀ of the last stage, `[w, h]`, and `folded_bias`
    /// the bias of a token's own share, `[h]`.
    pub(super) fn new(weights: &Weights, folded_values: &[f32], folded_bias: &[f32]) -> Contexts {
        let (w, h) = (weights.config.width(), weights.config.hidden());
        let tensors = weights.layout.stages.last().expect("a network has stages");
        let (q, k) = tensors.qk.expect("its attention is learned");
        let scale = 1.0 / (w as f32).sqrt();
        let normed = 2 * w + h;
        let columns = normed + h;
        let (gain, bias) = (&weights[tensors.norm_gain], &weights[tensors.norm_bias]);
        let mut map = Vec::with_capacity(w * columns);
        let mut column_sums = vec![0.0; normed];
        let mut offset = vec![0.0; normed];
        for i in 0..w {
            let start = map.len();
            map.extend(weights[q][i * w..][..w].iter().map(|x| x * scale));
            map.extend_from_slice(&weights[k][i * w..][..w]);
            map.extend_from_slice(&folded_values[i * h..][..h]);
            let row = &mut map[start..];
            for ((x, sum), offset) in row.iter_mut().zip(&mut column_sums).zip(&mut offset) {
                *offset += bias[i] * *x;
                *x *= gain[i];
                *sum += *x;
            }
            map.extend_from_slice(&weights[weights.layout.mlp_0.0][i * h..][..h]);
        }
        let first_bias = &weights[weights.layout.stages[0].o_bias];
        let mut constant = first_bias.to_vec();
        constant.extend(product(Matrix::new(first_bias, 1, w), Matrix::new(&map, w, columns)));
        constant[w + normed..].iter_mut().zip(folded_bias).for_each(|(x, bias)| *x += bias);
        Contexts {
            map,
            column_sums,
            offset,
            constant,
            slot: FxHashMap::default(),
            q: Vec::new(),
            k: Vec::new(),
            own: Vec::new(),
            values: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.slot.clear();
        self.q.clear();
        self.k.clear();
        self.own.clear();
        self.values.clear();
    }

    /// Bytes held for rows, roughly.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.q.len() + self.k.len() + self.own.len() + self.values.len())
    }

    /// Computes what is wanted of rows seen for the first time.
    fn add(&mut self, weights: &Weights, rows: &dyn FeatureRows) {
        let w = weights.config.width();
        let new = &self.scratch.new;
        for &row in new {
            self.slot.insert(row, self.slot.len() as u32);
        }
        let n = new.len();
        let tensors = weights.layout.stages[0];
        let (q, k) = tensors.qk.expect("its attention is learned");
        let x = embed(weights, rows, new);
        let mut scaled = vec![0.0; x.len()];
        normalise(&x, w, &mut scaled);
        scale_and_shift(&mut scaled, &weights[tensors.norm_gain], &weights[tensors.norm_bias]);
        let scaled = Matrix::new(&scaled, n, w);
        let scale = 1.0 / (w as f32).sqrt();
        self.q.extend(product(scaled, weights.matrix(q)).iter().map(|x| x * scale));
        self.k.extend(product(scaled, weights.matrix(k)));
        let v = product(scaled, weights.matrix(tensors.v));
        let v = product(Matrix::new(&v, n, w), weights.matrix(tensors.o));
        extend_with_map(&mut self.own, &x, &self.map, w);
        extend_with_map(&mut self.values, &v, &self.map, w);
    }

    /// Hands out the tokens of one context, given by its distinct rows and how often they occur.
    pub(super) fn attend(
        &mut self,
        weights: &Weights,
        rows: &dyn FeatureRows,
        (members, multiplicity): (&[u32], &[f32]),
        mut token: impl FnMut(PreparedToken),
    ) {
        self.scratch.new.clear();
        let is_new = |row: &&u32| !self.slot.contains_key(row);
        self.scratch.new.extend(members.iter().filter(is_new));
        if !self.scratch.new.is_empty() {
            self.add(weights, rows);
        }
        let (w, h, n) = (weights.config.width(), weights.config.hidden(), members.len());
        let width = self.constant.len();
        let Scratch { slots, q, k, values, attention, out, .. } = &mut self.scratch;
        slots.clear();
        slots.extend(members.iter().map(|row| self.slot[row]));
        gather(q, &self.q, w, slots);
        gather(k, &self.k, w, slots);
        gather(values, &self.values, width, slots);
        gather(out, &self.own, width, slots);
        attention.clear();
        attention.resize(n * n, 0.0);
        let k = Matrix::new(k, n, w).transposed();
        multiply(attention, Matrix::new(q, n, w), k, Write::Set);
        for row in attention.chunks_exact_mut(n) {
            softmax(row, multiplicity);
        }
        for row in out.chunks_exact_mut(width) {
            row.iter_mut().zip(&self.constant).for_each(|(x, c)| *x += c);
        }
        let values = Matrix::new(values, n, width);
        multiply(out, Matrix::new(attention, n, n), values, Write::Add);
        for row in out.chunks_exact_mut(width) {
            let (y, rest) = row.split_at_mut(w);
            let (mean, scale) = mean_and_inverse_deviation(y);
            for ((x, sum), offset) in rest.iter_mut().zip(&self.column_sums).zip(&self.offset) {
                *x = (*x - mean * sum) * scale + offset;
            }
            let (q, rest) = rest.split_at(w);
            let (k, rest) = rest.split_at(w);
            let (values, own) = rest.split_at(h);
            token(PreparedToken { q, k, values, own });
        }
    }
}

/// Appends each row of `x` and its product with the map.
fn extend_with_map(to: &mut Vec<f32>, x: &[f32], map: &[f32], w: usize) {
    let (n, columns) = (x.len() / w, map.len() / w);
    let (start, width) = (to.len(), w + columns);
    to.resize(start + n * width, 0.0);
    for (row, x) in to[start..].chunks_exact_mut(width).zip(x.chunks_exact(w)) {
        row[..w].copy_from_slice(x);
    }
    let map = Matrix::new(map, w, columns);
    multiply_strided(&mut to[start + w..], width, Matrix::new(x, n, w), map, Write::Set);
}
