//! The paper's network in burn: axial self-attention, MLP, one score per (pattern, operator).
//!
//! ```text
//! T ← X·W_in                                        (paper: T ← X, the width is d)
//! per block:
//!   action attention:       T[p,·] ← T[p,·] + attention(norm(T[p,·]))·O + b   for each pattern p
//!   abstraction attention:  T[·,o] ← T[·,o] + attention(norm(T[·,o]))·O + b   for each operator o
//! S[p,o] = relu(relu(T[p,o]·M₀ + b₀)·M₁ + b₁)·u + c
//! ```
//!
//! It runs on the distinct tokens of a batch with multiplicities: n equal tokens in an attention
//! are one token whose logit is raised by ln n, which is exact.
//! Rows and columns may be padded ([`Padding`]): added columns of tokens are zero, because so are
//! the added rows and columns of the weights, and added rows are never gathered.
//! The softmax of S over the patterns of an operator is the loss's business.
//!
//! Deviates from the paper only where dropout is on: equal tokens share one dropout mask.

use std::sync::Arc;

use burn::tensor::activation::relu;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Distribution, Tensor, TensorData, Transaction};
use lcp::network::tokens::{Batch, Stage};
use lcp::network::train_pass::FeatureRows;
use lcp::network::weights::{self, Weights};
use lcp::network::{Attention, NetworkConfig};
use serde::{Deserialize, Serialize};

use crate::attend::{Groups, Settings};
use crate::device::{DeviceBackend, Padding};
use crate::gather::RowIndex;

/// Shares of activations that are zeroed while training.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Dropout {
    /// Of the attention weights.
    pub attention: f64,
    /// Of what an attention adds to its input.
    pub residual: f64,
    /// Of the MLP's output.
    pub mlp: f64,
}

impl Dropout {
    /// The paper's rates.
    pub const PAPER: Dropout = Dropout { attention: 0.1, residual: 0.2, mlp: 0.3 };
    /// No dropout, as in inference.
    pub const NONE: Dropout = Dropout { attention: 0.0, residual: 0.0, mlp: 0.0 };
}

/// Indices of one side of a matrix, in parts of equal size, each padded at its end.
#[derive(Clone, Copy, Debug)]
struct Axis {
    parts: usize,
    size: usize,
    padded: usize,
}

impl Axis {
    fn new(length: usize, parts: usize, padding: Padding) -> Axis {
        let size = length / parts;
        Axis { parts, size, padded: size.next_multiple_of(padding.columns) }
    }

    /// A side of length 1.
    const ONE: Axis = Axis { parts: 1, size: 1, padded: 1 };

    /// The padded length.
    fn len(self) -> usize {
        self.parts * self.padded
    }

    /// The indices with padding in between.
    fn places(self) -> impl Iterator<Item = usize> {
        (0..self.parts).flat_map(move |p| (0..self.size).map(move |i| p * self.padded + i))
    }

    /// Takes the padding out of a row.
    fn strip(self, to: &mut [f32], from: &[f32]) {
        let parts = to.chunks_exact_mut(self.size).zip(from.chunks_exact(self.padded));
        parts.for_each(|(to, from)| to.copy_from_slice(&from[..self.size]));
    }

    /// Puts padding into a row.
    fn pad(self, to: &mut [f32], from: &[f32]) {
        let parts = to.chunks_exact_mut(self.padded).zip(from.chunks_exact(self.size));
        parts.for_each(|(to, from)| to[..self.size].copy_from_slice(from));
    }
}

/// The padded sides of a network's matrices.
#[derive(Clone, Copy, Debug)]
struct Axes {
    input: Axis,
    width: Axis,
    hidden: Axis,
}

impl Axes {
    fn new(config: &NetworkConfig, padding: Padding) -> Axes {
        let width = Axis::new(config.width(), config.heads, padding);
        Axes {
            input: config.width.map_or(width, |_| Axis::new(config.input, 1, padding)),
            width,
            hidden: Axis::new(config.hidden(), 1, padding),
        }
    }
}

/// The network's tensors on a device, [rows, cols] each; vectors are one row.
pub struct Network<B: Backend> {
    config: NetworkConfig,
    input: Option<Tensor<B, 2>>,
    stages: Vec<AttentionTensors<B>>,
    mlp_0: Linear<B>,
    mlp_1: Linear<B>,
    score: Linear<B>,
    /// All of them, with their place among the weights and their padded sides.
    all: Vec<(weights::Tensor, [Axis; 2], Tensor<B, 2>)>,
}

struct Linear<B: Backend> {
    weight: Tensor<B, 2>,
    bias: Tensor<B, 2>,
}

struct AttentionTensors<B: Backend> {
    norm_gain: Tensor<B, 2>,
    norm_bias: Tensor<B, 2>,
    /// None if tokens attend to the mean of their group.
    qk: Option<(Tensor<B, 2>, Tensor<B, 2>)>,
    v: Tensor<B, 2>,
    o: Linear<B>,
}

impl<B: DeviceBackend> Linear<B> {
    fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let rows = x.dims()[0];
        B::times(x, self.weight.clone()) + B::spread(self.bias.clone(), rows)
    }
}

impl<B: DeviceBackend> Network<B> {
    /// Puts weights on a device; `tracked` makes gradients flow to them.
    pub fn new(
        weights: &Weights,
        tracked: bool,
        padding: Padding,
        device: &B::Device,
    ) -> Network<B> {
        let Axes { input, width, hidden } = Axes::new(&weights.config, padding);
        let mut all = Vec::new();
        let mut put = |tensor: weights::Tensor, [rows, cols]: [Axis; 2]| {
            let mut values = vec![0.0; rows.len() * cols.len()];
            for (row, from) in rows.places().zip(weights[tensor].chunks_exact(tensor.cols)) {
                cols.pad(&mut values[row * cols.len()..][..cols.len()], from);
            }
            let data = TensorData::new(values, [rows.len(), cols.len()]);
            let on_device = Tensor::<B, 2>::from_data(data, device);
            let on_device = if tracked { on_device.require_grad() } else { on_device };
            all.push((tensor, [rows, cols], on_device.clone()));
            on_device
        };
        let layout = &weights.layout;
        Network {
            config: weights.config.clone(),
            input: layout.input.map(|tensor| put(tensor, [input, width])),
            stages: layout
                .stages
                .iter()
                .map(|tensors| AttentionTensors {
                    norm_gain: put(tensors.norm_gain, [Axis::ONE, width]),
                    norm_bias: put(tensors.norm_bias, [Axis::ONE, width]),
                    qk: tensors.qk.map(|(q, k)| (put(q, [width; 2]), put(k, [width; 2]))),
                    v: put(tensors.v, [width; 2]),
                    o: Linear {
                        weight: put(tensors.o, [width; 2]),
                        bias: put(tensors.o_bias, [Axis::ONE, width]),
                    },
                })
                .collect(),
            mlp_0: Linear {
                weight: put(layout.mlp_0.0, [width, hidden]),
                bias: put(layout.mlp_0.1, [Axis::ONE, hidden]),
            },
            mlp_1: Linear {
                weight: put(layout.mlp_1.0, [hidden, width]),
                bias: put(layout.mlp_1.1, [Axis::ONE, width]),
            },
            score: Linear {
                weight: put(layout.score.0, [Axis::ONE, width]),
                bias: put(layout.score.1, [Axis::ONE; 2]),
            },
            all,
        }
    }

    /// The score of each distinct last token, and of padding, `[rows]`.
    pub fn forward(&self, batch: &DeviceBatch<B::Plain>, dropout: &Dropout) -> Tensor<B, 1> {
        let x = B::constant(batch.x.clone());
        let mut t = match &self.input {
            Some(input) => B::times(x, input.clone()), // [rows, w]
            None => x,                                 // [rows, d]
        };
        for (attention, stage) in self.stages.iter().zip(&batch.stages) {
            t = attention.forward(&self.config, stage, t, dropout); // [tokens of the stage, w]
        }
        let hidden = relu(self.mlp_0.forward(t)); // [n, h]
        let hidden = relu(self.mlp_1.forward(hidden)); // [n, w]
        let hidden = drop(hidden, dropout.mlp);
        let n = hidden.dims()[0];
        let score = (hidden * B::spread(self.score.weight.clone(), n)).sum_dim(1);
        (score + B::spread(self.score.bias.clone(), n)).squeeze_dim(1) // [n]
    }
}

impl<B: AutodiffBackend> Network<B> {
    /// The gradient with respect to all weights, as one flat vector.
    pub fn gradient(&self, gradients: &B::Gradients) -> Vec<f32> {
        let mut transaction = Transaction::default();
        let mut tracked = Vec::new();
        for (tensor, axes, on_device) in &self.all {
            if let Some(gradient) = on_device.grad(gradients) {
                transaction = transaction.register(gradient);
                tracked.push((tensor, axes));
            }
        }
        let size = self.all.iter().map(|(tensor, ..)| tensor.start + tensor.size()).max();
        let mut flat = vec![0.0; size.unwrap_or(0)];
        for ((tensor, [rows, cols]), data) in tracked.into_iter().zip(transaction.execute()) {
            let values = data.as_slice::<f32>().expect("the backend's floats have 32 bits");
            let to = &mut flat[tensor.start..][..tensor.size()];
            for (row, to) in rows.places().zip(to.chunks_exact_mut(tensor.cols)) {
                cols.strip(to, &values[row * cols.len()..][..cols.len()]);
            }
        }
        flat
    }
}

impl<B: DeviceBackend> AttentionTensors<B> {
    fn forward(
        &self,
        config: &NetworkConfig,
        stage: &DeviceStage<B::Plain>,
        t: Tensor<B, 2>,
        dropout: &Dropout,
    ) -> Tensor<B, 2> {
        let z = self.norm(config.width(), t.clone()); // [old, w]
        let update = match (&self.qk, &stage.group_of) {
            (Some((q, k)), None) => {
                let q = B::times(z.clone(), q.clone()); // [old, w]
                let k = B::times(z.clone(), k.clone());
                let v = B::times(z, self.v.clone());
                let head = (config.width() / config.heads) as f64;
                let settings = Settings {
                    heads: config.heads,
                    scale: 1.0 / head.sqrt(),
                    dropout: dropout.attention,
                };
                self.o.forward(B::attend([q, k, v], &stage.groups, settings)) // [new, w]
            }
            (None, Some(group_of)) => {
                let means = B::mean(z, &stage.groups); // [groups, w]
                B::gather(self.o.forward(B::times(means, self.v.clone())), group_of)
            }
            _ => unreachable!("network and batch have the same configuration"),
        };
        B::gather(t, &stage.inputs) + drop(update, dropout.residual)
    }

    /// Layer norm over the first `width` columns; the others are zero before and after.
    fn norm(&self, width: usize, t: Tensor<B, 2>) -> Tensor<B, 2> {
        const EPSILON: f64 = 1e-5;
        let [rows, padded] = t.dims();
        let mean = t.clone().sum_dim(1) / width as f64;
        let centred = t - mean.clone();
        let mut squares = (centred.clone() * centred.clone()).sum_dim(1);
        if padded > width {
            // Each added column was centred to −mean.
            squares = squares - mean.clone() * mean * (padded - width) as f64;
        }
        let normalised = centred / (squares / width as f64 + EPSILON).sqrt();
        let gain = B::spread(self.norm_gain.clone(), rows);
        normalised * gain + B::spread(self.norm_bias.clone(), rows)
    }
}

/// Zeroes a share of the values and scales the others up.
fn drop<B: Backend, const D: usize>(x: Tensor<B, D>, share: f64) -> Tensor<B, D> {
    if share == 0.0 {
        return x;
    }
    let keep = 1.0 - share;
    let mask = Tensor::random(x.dims(), Distribution::Bernoulli(keep), &x.device());
    x * mask / keep
}

/// A batch of distinct tokens on a device.
pub struct DeviceBatch<B: Backend> {
    /// The distinct feature rows, [rows, d].
    x: Tensor<B, 2>,
    stages: Vec<DeviceStage<B>>,
}

/// One attention on a device.
struct DeviceStage<B: Backend> {
    groups: Arc<Groups<B>>,
    /// For each new token its group; none with learned attention.
    group_of: Option<Arc<RowIndex<B>>>,
    /// For each new token the old token it comes from.
    inputs: Arc<RowIndex<B>>,
}

impl<B: Backend> DeviceBatch<B> {
    /// Pads a batch and puts it on a device.
    pub fn new(
        config: &NetworkConfig,
        rows: &dyn FeatureRows,
        batch: &Batch,
        padding: Padding,
        device: &B::Device,
    ) -> DeviceBatch<B> {
        let columns = Axes::new(config, padding).input;
        let place: Vec<usize> = columns.places().collect();
        let mut old = padding.rows(batch.rows.len(), ROWS);
        let mut x = vec![0.0f32; old * columns.len()];
        for (&row, features) in batch.rows.iter().zip(x.chunks_exact_mut(columns.len())) {
            for &(colour, count) in rows.row(row) {
                features[place[colour as usize]] = count as f32;
            }
        }
        let x = TensorData::new(x, [old, columns.len()]);
        let mut stages = Vec::new();
        for stage in &batch.stages {
            let new = padding.rows(stage.tokens(), ROWS);
            stages.push(DeviceStage::new(config.attention, stage, [old, new], padding, device));
            old = new;
        }
        DeviceBatch { x: Tensor::from_data(x, device), stages }
    }
}

/// The least number of rows where rows are padded.
const ROWS: usize = 256;

impl<B: Backend> DeviceStage<B> {
    fn new(
        attention: Attention,
        stage: &Stage,
        [old, new]: [usize; 2],
        padding: Padding,
        device: &B::Device,
    ) -> DeviceStage<B> {
        let (groups, group_of) = Groups::new(attention, stage, [old, new], padding, device);
        let group_of = (attention == Attention::Mean)
            .then(|| Arc::new(RowIndex::new(&group_of, groups.count(), padding, device)));
        let mut inputs: Vec<_> = stage.out_input.iter().map(|&old| Some(old)).collect();
        inputs.resize(new, None);
        DeviceStage {
            groups: Arc::new(groups),
            group_of,
            inputs: Arc::new(RowIndex::new(&inputs, old, padding, device)),
        }
    }
}
