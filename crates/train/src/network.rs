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
//! Groups of similar size are padded to rectangles (`Bucket`); a padded place has logit −10⁹.
//! The softmax of S over the patterns of an operator is the loss's business.
//!
//! Deviates from the paper only where dropout is on: equal tokens share one dropout mask.

use burn::tensor::activation::{relu, softmax};
use burn::tensor::backend::Backend;
use burn::tensor::{Distribution, Int, Tensor, TensorData};
use lcp::network::tokens::{Batch, Stage};
use lcp::network::train_pass::FeatureRows;
use lcp::network::weights::{self, Weights};
use lcp::network::{Attention, NetworkConfig};
use serde::{Deserialize, Serialize};

use crate::gather::{GatherBackend, RowIndex, gather};

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

/// The network's tensors on a device, [rows, cols] each; vectors are one row.
pub struct Network<B: Backend> {
    config: NetworkConfig,
    input: Option<Tensor<B, 2>>,
    stages: Vec<AttentionTensors<B>>,
    mlp_0: Linear<B>,
    mlp_1: Linear<B>,
    score: Linear<B>,
    /// All of them in the order of the flat vector.
    all: Vec<Tensor<B, 2>>,
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

impl<B: Backend> Linear<B> {
    fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        x.matmul(self.weight.clone()) + self.bias.clone()
    }
}

impl<B: GatherBackend> Network<B> {
    /// Puts weights on a device; `tracked` makes gradients flow to them.
    pub fn new(weights: &Weights, tracked: bool, device: &B::Device) -> Network<B> {
        let on_device = |tensor: weights::Tensor| {
            let values = weights[tensor].to_vec();
            let data = TensorData::new(values, [tensor.rows, tensor.cols]);
            let tensor = Tensor::<B, 2>::from_data(data, device);
            if tracked { tensor.require_grad() } else { tensor }
        };
        let layout = &weights.layout;
        let all: Vec<Tensor<B, 2>> =
            layout.named.iter().map(|(_, _, tensor)| on_device(*tensor)).collect();
        let find = |wanted: weights::Tensor| {
            let found = layout.named.iter().position(|(_, _, tensor)| *tensor == wanted);
            all[found.expect("the layout names all its tensors")].clone()
        };
        let linear = |(weight, bias)| Linear { weight: find(weight), bias: find(bias) };
        let stage = |tensors: &weights::AttentionTensors| AttentionTensors {
            norm_gain: find(tensors.norm_gain),
            norm_bias: find(tensors.norm_bias),
            qk: tensors.qk.map(|(q, k)| (find(q), find(k))),
            v: find(tensors.v),
            o: linear((tensors.o, tensors.o_bias)),
        };
        Network {
            config: weights.config.clone(),
            input: layout.input.map(find),
            stages: layout.stages.iter().map(stage).collect(),
            mlp_0: linear(layout.mlp_0),
            mlp_1: linear(layout.mlp_1),
            // The score's weight is a vector [w]; as a matrix it is a column.
            score: Linear { weight: find(layout.score.0).transpose(), bias: find(layout.score.1) },
            all,
        }
    }

    /// All tensors in the order of the flat vector of weights.
    pub fn tensors(&self) -> &[Tensor<B, 2>] {
        &self.all
    }

    /// The score of each distinct last token, `[n]`.
    pub fn forward(&self, batch: &DeviceBatch<B>, dropout: &Dropout) -> Tensor<B, 1> {
        let mut t = match &self.input {
            Some(input) => batch.x.clone().matmul(input.clone()), // [rows, w]
            None => batch.x.clone(),                              // [rows, d]
        };
        for (attention, stage) in self.stages.iter().zip(&batch.stages) {
            t = attention.forward(&self.config, stage, t, dropout); // [tokens of the stage, w]
        }
        let hidden = relu(self.mlp_0.forward(t)); // [n, h]
        let hidden = relu(self.mlp_1.forward(hidden)); // [n, w]
        let hidden = drop(hidden, dropout.mlp);
        self.score.forward(hidden).squeeze_dim(1) // [n]
    }
}

impl<B: GatherBackend> AttentionTensors<B> {
    fn forward(
        &self,
        config: &NetworkConfig,
        stage: &DeviceStage<B>,
        t: Tensor<B, 2>,
        dropout: &Dropout,
    ) -> Tensor<B, 2> {
        let z = self.norm(t.clone()); // [old, w]
        let update = match &self.qk {
            Some((q, k)) => {
                let q = z.clone().matmul(q.clone()); // [old, w]
                let k = z.clone().matmul(k.clone());
                let v = z.matmul(self.v.clone());
                let attend = |bucket| attend(config.heads, bucket, &q, &k, &v, dropout.attention);
                let attended: Vec<_> = stage.buckets.iter().map(attend).collect();
                self.o.forward(gather(Tensor::cat(attended, 0), &stage.places)) // [new, w]
            }
            None => {
                let means: Vec<_> = stage.buckets.iter().map(|b| mean(b, &z)).collect();
                let means = Tensor::cat(means, 0); // [groups, w]
                gather(self.o.forward(means.matmul(self.v.clone())), &stage.places)
            }
        };
        gather(t, &stage.inputs) + drop(update, dropout.residual)
    }

    /// Layer norm.
    fn norm(&self, t: Tensor<B, 2>) -> Tensor<B, 2> {
        const EPSILON: f64 = 1e-5;
        let centred = t.clone() - t.mean_dim(1);
        let variance = (centred.clone() * centred.clone()).mean_dim(1);
        let normalised = centred / (variance + EPSILON).sqrt();
        normalised * self.norm_gain.clone() + self.norm_bias.clone()
    }
}

/// softmax(q·kᵀ / √(w/heads) + ln n)·v in each group of the bucket: [groups·queries, w].
fn attend<B: GatherBackend>(
    heads: usize,
    bucket: &Bucket<B>,
    q: &Tensor<B, 2>,
    k: &Tensor<B, 2>,
    v: &Tensor<B, 2>,
    dropout: f64,
) -> Tensor<B, 2> {
    let [groups, places, queries] = bucket.shape;
    let width = v.dims()[1];
    let head = width / heads;
    let split = |x: Tensor<B, 2>, n: usize| x.reshape([groups, n, heads, head]).swap_dims(1, 2);
    let q = split(gather(q.clone(), &bucket.queries), queries); // [groups, heads, queries, head]
    let k = split(gather(k.clone(), &bucket.members), places); // [groups, heads, places, head]
    let v = split(gather(v.clone(), &bucket.members), places);
    let logits = q.matmul(k.transpose()) / (head as f64).sqrt(); // [groups, heads, queries, places]
    let weights = softmax(logits + bucket.log_multiplicity.clone().unsqueeze_dim::<4>(1), 3);
    let attended = drop(weights, dropout).matmul(v); // [groups, heads, queries, head]
    attended.swap_dims(1, 2).reshape([groups * queries, width])
}

/// The mean of each group's tokens: [groups, w].
fn mean<B: GatherBackend>(bucket: &Bucket<B>, z: &Tensor<B, 2>) -> Tensor<B, 2> {
    let [groups, places, _] = bucket.shape;
    let width = z.dims()[1];
    let members = gather(z.clone(), &bucket.members).reshape([groups, places, width]);
    softmax(bucket.log_multiplicity.clone(), 2).matmul(members).reshape([groups, width])
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
    buckets: Vec<Bucket<B>>,
    /// For each new token its place among the buckets' outputs: of its own (learned attention)
    /// or of its group (mean).
    places: RowIndex<B>,
    /// For each new token the old token it comes from.
    inputs: RowIndex<B>,
}

/// Groups of similar size, padded to a rectangle.
struct Bucket<B: Backend> {
    /// Groups, places a group, queries a group.
    shape: [usize; 3],
    /// The old token of each place, [groups·places].
    members: RowIndex<B>,
    /// The old token of each query, [groups·queries].
    queries: RowIndex<B>,
    /// ln of the multiplicity of each place, −10⁹ for padding, [groups, 1, places].
    log_multiplicity: Tensor<B, 3>,
}

const PADDING: f32 = -1e9;

impl<B: GatherBackend> DeviceBatch<B> {
    /// Pads a batch and puts it on a device.
    pub fn new(
        config: &NetworkConfig,
        rows: &dyn FeatureRows,
        batch: &Batch,
        device: &B::Device,
    ) -> DeviceBatch<B> {
        let mut x = vec![0.0f32; batch.rows.len() * config.input];
        for (&row, features) in batch.rows.iter().zip(x.chunks_exact_mut(config.input)) {
            for &(colour, count) in rows.row(row) {
                features[colour as usize] = count as f32;
            }
        }
        let x = TensorData::new(x, [batch.rows.len(), config.input]);
        let mut old_tokens = batch.rows.len();
        let mut stages = Vec::new();
        for stage in &batch.stages {
            stages.push(DeviceStage::new(config.attention, stage, old_tokens, device));
            old_tokens = stage.tokens();
        }
        DeviceBatch { x: Tensor::from_data(x, device), stages }
    }
}

impl<B: GatherBackend> DeviceStage<B> {
    fn new(
        attention: Attention,
        stage: &Stage,
        old_tokens: usize,
        device: &B::Device,
    ) -> DeviceStage<B> {
        // Groups by size, rounded up to a power of two.
        let mut order: Vec<usize> = (0..stage.groups()).collect();
        let size = |group: usize| stage.members(group).len().next_power_of_two();
        order.sort_by_key(|&group| size(group));
        let mut places = vec![0i32; stage.tokens()];
        let mut buckets = Vec::new();
        let mut outputs = 0;
        for groups in order.chunk_by(|&a, &b| size(a) == size(b)) {
            let bucket = Bucket::new(stage, groups, old_tokens, device);
            for (g, &group) in groups.iter().enumerate() {
                for (i, out) in stage.outs(group).enumerate() {
                    places[out] = (outputs
                        + match attention {
                            Attention::Learned => g * bucket.shape[2] + i,
                            Attention::Mean => g,
                        }) as i32;
                }
            }
            outputs += match attention {
                Attention::Learned => bucket.shape[0] * bucket.shape[2],
                Attention::Mean => bucket.shape[0],
            };
            buckets.push(bucket);
        }
        let inputs = stage.out_input.iter().map(|&old| old as i32).collect();
        DeviceStage {
            buckets,
            places: RowIndex::new(places, outputs, device),
            inputs: RowIndex::new(inputs, old_tokens, device),
        }
    }
}

impl<B: GatherBackend> Bucket<B> {
    fn new(stage: &Stage, groups: &[usize], old_tokens: usize, device: &B::Device) -> Bucket<B> {
        let most = |sizes: &mut dyn Iterator<Item = usize>| sizes.max().unwrap_or(0).max(1);
        let places = most(&mut groups.iter().map(|&g| stage.members(g).len()));
        let queries = most(&mut groups.iter().map(|&g| stage.outs(g).len()));
        let mut members = vec![0i32; groups.len() * places];
        let mut log_multiplicity = vec![PADDING; groups.len() * places];
        let mut query = vec![0i32; groups.len() * queries];
        for (g, &group) in groups.iter().enumerate() {
            for (i, member) in stage.members(group).enumerate() {
                members[g * places + i] = stage.member[member] as i32;
                log_multiplicity[g * places + i] = stage.multiplicity[member].ln();
            }
            for (i, out) in stage.outs(group).enumerate() {
                query[g * queries + i] = stage.out_input[out] as i32;
            }
        }
        let log_multiplicity = TensorData::new(log_multiplicity, [groups.len(), 1, places]);
        Bucket {
            shape: [groups.len(), places, queries],
            members: RowIndex::new(members, old_tokens, device),
            queries: RowIndex::new(query, old_tokens, device),
            log_multiplicity: Tensor::from_data(log_multiplicity, device),
        }
    }
}

/// An integer tensor of indices.
pub(crate) fn int_tensor<B: Backend>(indices: Vec<i32>, device: &B::Device) -> Tensor<B, 1, Int> {
    let length = indices.len();
    Tensor::from_data(TensorData::new(indices, [length]), device)
}
