//! The forward and backward pass of [`lcp::network`] in operations of burn.
//!
//! The lines are those of the definition there, on padded matrices; d_x stands for ∂loss/∂x.

use std::collections::BTreeMap;

use burn::backend::Cuda;
use burn::tensor::activation::relu;
use burn::tensor::{Tensor, TensorData, Transaction};
use lcp::network::dropout::Dropout;
use lcp::network::pointwise::NORM_EPSILON;
use lcp::network::tokens::{Batch, Stage};
use lcp::network::{self as definition, Attention, FeatureRows, NetworkConfig, Weights};

use crate::groups::{Attended, Groups, Settings, dropped, kept};
use crate::padding::{Axes, Axis, add_stripped, any_padding, padded_rows, put};
use crate::products::Products;
use crate::sums::RowIndex;
use crate::{Device, Matrix};

/// A parameter on the GPU; vectors are one row.
pub(crate) struct Parameter {
    pub(crate) place: definition::Tensor,
    pub(crate) axes: [Axis; 2],
    pub(crate) value: Matrix,
    products: Products,
}

/// The parameters of an attention.
struct AttentionParameters {
    norm_gain: Parameter,
    norm_bias: Parameter,
    qk: Option<[Parameter; 2]>,
    v: Parameter,
    o: Linear,
    /// 1 in true columns, 0 in padding, [1, w].
    columns: Matrix,
}

/// y = x·W + b.
struct Linear {
    weight: Parameter,
    bias: Parameter,
}

/// A network on the GPU.
pub struct Network {
    config: NetworkConfig,
    input: Option<Parameter>,
    stages: Vec<AttentionParameters>,
    mlp_0: Linear,
    mlp_1: Linear,
    score: Linear,
}

/// What the forward pass leaves for the backward pass.
pub struct Tape {
    stages: Vec<StageTape>,
    /// T after the last stage, [n, w].
    t: Matrix,
    hidden_0: Matrix,
    hidden_1: Matrix,
    hidden_kept: Option<Matrix>,
    /// The score of each distinct last token, and of padding, [n, 1].
    pub scores: Matrix,
}

struct StageTape {
    normalised: Matrix,
    inverse_deviation: Matrix,
    z: Matrix,
    attended: Matrix,
    /// With learned attention.
    weights: Option<Attended>,
    /// With means.
    means: Option<Matrix>,
    residual_kept: Option<Matrix>,
}

/// Derivatives with respect to parameters; zero in padding.
#[derive(Default)]
pub struct Gradient(Vec<(definition::Tensor, [Axis; 2], Matrix)>);

impl Gradient {
    fn add(&mut self, parameter: &Parameter, d: Matrix) {
        self.0.push((parameter.place, parameter.axes, d));
    }

    /// Adds all to a gradient in memory.
    pub fn read(self, gradient: &mut Weights) {
        for (place, axes, values) in self.values() {
            add_stripped(&mut gradient[place], &values, axes);
        }
    }

    /// The parameters with a derivative in padding that is not zero.
    /// Were there one, an optimiser that keeps padded weights would make a wider network.
    pub fn in_padding(self) -> Vec<definition::Tensor> {
        let leaks =
            self.values().into_iter().filter(|(_, axes, values)| any_padding(values, *axes));
        leaks.map(|(place, ..)| place).collect()
    }

    /// All derivatives, padded, by where their parameter begins.
    pub(crate) fn by_place(self) -> BTreeMap<usize, Matrix> {
        self.0.into_iter().map(|(place, _, d)| (place.start, d)).collect()
    }

    /// All derivatives, padded, in memory.
    fn values(self) -> Vec<(definition::Tensor, [Axis; 2], Vec<f32>)> {
        let register = |transaction: Transaction<Cuda>,
                        (.., d): &(definition::Tensor, [Axis; 2], Matrix)| {
            transaction.register(d.clone())
        };
        let read = self.0.iter().fold(Transaction::default(), register).execute();
        let of = |((place, axes, _), data): ((_, _, _), TensorData)| {
            (place, axes, data.to_vec().expect("the GPU's floats have 32 bits"))
        };
        self.0.into_iter().zip(read).map(of).collect()
    }
}

/// n copies of one row.
fn spread(row: &Matrix, n: usize) -> Matrix {
    let width = row.dims()[1];
    row.clone().expand([n, width])
}

/// 1 where x is positive, else 0.
fn is_positive(x: &Matrix) -> Matrix {
    x.clone().greater_elem(0.0).float()
}

/// xᵀ·y; of many rows as a sum of products, which a GPU computes side by side.
fn product_of_columns(x: Matrix, y: Matrix, products: Products) -> Matrix {
    const PARTS: usize = 8;
    let ([n, a], [_, b]) = (x.dims(), y.dims());
    if n < 2048 || !n.is_multiple_of(PARTS) {
        return products.of(x.transpose(), y);
    }
    let x = x.reshape([PARTS, n / PARTS, a]);
    let y = y.reshape([PARTS, n / PARTS, b]);
    products.of(x.swap_dims(1, 2), y).sum_dim(0).reshape([a, b])
}

/// The sum of all rows; of many in two steps, which a GPU computes side by side.
fn sum_of_rows(x: Matrix) -> Matrix {
    const PART: usize = 64;
    let [n, width] = x.dims();
    if n < 4 * PART || !n.is_multiple_of(PART) {
        return x.sum_dim(0);
    }
    x.reshape([n / PART, PART, width]).sum_dim(1).reshape([n / PART, width]).sum_dim(0)
}

impl Parameter {
    /// x·W.
    fn times(&self, x: &Matrix) -> Matrix {
        self.products.of(x.clone(), self.value.clone())
    }

    /// Notes the derivative of W, given that of x·W.
    fn derivative(&self, x: &Matrix, d_y: &Matrix, gradient: &mut Gradient) {
        gradient.add(self, product_of_columns(x.clone(), d_y.clone(), self.products));
    }

    /// The derivative of x, given that of x·W; notes that of W.
    fn times_backward(&self, x: &Matrix, d_y: &Matrix, gradient: &mut Gradient) -> Matrix {
        self.derivative(x, d_y, gradient);
        self.products.of(d_y.clone(), self.value.clone().transpose())
    }
}

impl Linear {
    fn forward(&self, x: &Matrix) -> Matrix {
        self.weight.times(x) + spread(&self.bias.value, x.dims()[0])
    }

    fn backward(&self, x: &Matrix, d_y: &Matrix, gradient: &mut Gradient) -> Matrix {
        gradient.add(&self.bias, sum_of_rows(d_y.clone()));
        self.weight.times_backward(x, d_y, gradient)
    }
}

impl Network {
    /// Puts weights on the GPU.
    pub fn new(weights: &Weights, products: Products, device: &Device) -> Network {
        let Axes { input, width, hidden } = Axes::new(&weights.config);
        let parameter = |place: definition::Tensor, axes: [Axis; 2]| Parameter {
            place,
            axes,
            value: put(&weights[place], axes, device),
            products,
        };
        let linear = |(weight, bias), [rows, cols]: [Axis; 2]| Linear {
            weight: parameter(weight, [rows, cols]),
            bias: parameter(bias, [Axis::ONE, cols]),
        };
        let columns = put(&vec![1.0; weights.config.width()], [Axis::ONE, width], device);
        let layout = &weights.layout;
        Network {
            config: weights.config.clone(),
            input: layout.input.map(|place| parameter(place, [input, width])),
            stages: layout
                .stages
                .iter()
                .map(|tensors| AttentionParameters {
                    norm_gain: parameter(tensors.norm_gain, [Axis::ONE, width]),
                    norm_bias: parameter(tensors.norm_bias, [Axis::ONE, width]),
                    qk: tensors.qk.map(|(q, k)| [q, k].map(|place| parameter(place, [width; 2]))),
                    v: parameter(tensors.v, [width; 2]),
                    o: linear((tensors.o, tensors.o_bias), [width; 2]),
                    columns: columns.clone(),
                })
                .collect(),
            mlp_0: linear(layout.mlp_0, [width, hidden]),
            mlp_1: linear(layout.mlp_1, [hidden, width]),
            // The score's u is a row, as it is stored.
            score: Linear {
                weight: parameter(layout.score.0, [Axis::ONE, width]),
                bias: parameter(layout.score.1, [Axis::ONE; 2]),
            },
        }
    }

    /// The parameters, in a fixed order.
    pub(crate) fn parameters(&mut self) -> Vec<&mut Parameter> {
        let mut all: Vec<&mut Parameter> = self.input.iter_mut().collect();
        for stage in &mut self.stages {
            all.extend([&mut stage.norm_gain, &mut stage.norm_bias]);
            all.extend(stage.qk.iter_mut().flatten());
            all.extend([&mut stage.v, &mut stage.o.weight, &mut stage.o.bias]);
        }
        for linear in [&mut self.mlp_0, &mut self.mlp_1, &mut self.score] {
            all.extend([&mut linear.weight, &mut linear.bias]);
        }
        all
    }

    /// The scores of a batch.
    pub fn forward(&self, batch: &DeviceBatch, dropout: &Dropout) -> Tape {
        let mut t = match &self.input {
            Some(input) => input.times(&batch.x), // [rows, w]
            None => batch.x.clone(),              // [rows, d]
        };
        let mut stages = Vec::new();
        for (parameters, stage) in self.stages.iter().zip(&batch.stages) {
            let (new, tape) = parameters.forward(&self.config, stage, t, dropout); // [new, w]
            t = new;
            stages.push(tape);
        }
        let hidden_0 = relu(self.mlp_0.forward(&t)); // [n, h]
        let hidden_1 = relu(self.mlp_1.forward(&hidden_0)); // [n, w]
        let hidden_kept = kept(hidden_1.dims(), dropout.mlp, &hidden_1.device());
        let hidden_1 = dropped(hidden_1, &hidden_kept);
        let n = hidden_1.dims()[0];
        let scores = (hidden_1.clone() * spread(&self.score.weight.value, n)).sum_dim(1)
            + spread(&self.score.bias.value, n); // [n, 1]
        Tape { stages, t, hidden_0, hidden_1, hidden_kept, scores }
    }

    /// Adds the gradient of Σ `d_scores`·score, where padding has derivative zero, [n, 1].
    pub fn backward(
        &self,
        tape: &Tape,
        batch: &DeviceBatch,
        d_scores: Matrix,
        gradient: &mut Weights,
    ) {
        self.derivatives(tape, batch, d_scores).read(gradient);
    }

    /// The same, left on the GPU.
    pub fn derivatives(&self, tape: &Tape, batch: &DeviceBatch, d_scores: Matrix) -> Gradient {
        let mut found = Gradient::default();
        let n = d_scores.dims()[0];
        let width = tape.t.dims()[1];
        // S = dropped(hidden_1)·u + c
        found.add(&self.score.bias, sum_of_rows(d_scores.clone()));
        let d_scores = d_scores.expand([n, width]);
        found.add(&self.score.weight, sum_of_rows(d_scores.clone() * tape.hidden_1.clone()));
        let d_hidden_1 = d_scores * spread(&self.score.weight.value, n);
        let d_hidden_1 = dropped(d_hidden_1 * is_positive(&tape.hidden_1), &tape.hidden_kept);
        // hidden_1 = relu(hidden_0·M₁ + b₁), hidden_0 = relu(T·M₀ + b₀)
        let d_hidden_0 = self.mlp_1.backward(&tape.hidden_0, &d_hidden_1, &mut found);
        let d_hidden_0 = d_hidden_0 * is_positive(&tape.hidden_0);
        let mut d_t = self.mlp_0.backward(&tape.t, &d_hidden_0, &mut found);
        for ((parameters, stage), tape) in
            self.stages.iter().zip(&batch.stages).zip(&tape.stages).rev()
        {
            d_t = parameters.backward(&self.config, stage, tape, d_t, &mut found);
        }
        if let Some(input) = &self.input {
            input.derivative(&batch.x, &d_t, &mut found);
        }
        found
    }
}

impl AttentionParameters {
    /// T + attention(norm(T))·O + b.
    fn forward(
        &self,
        config: &NetworkConfig,
        stage: &DeviceStage,
        t: Matrix,
        dropout: &Dropout,
    ) -> (Matrix, StageTape) {
        let (normalised, inverse_deviation) = normalise(config.width(), t.clone());
        let rows = normalised.dims()[0];
        let z = normalised.clone() * spread(&self.norm_gain.value, rows)
            + spread(&self.norm_bias.value, rows); // [old, w]
        let (attended, weights, means, update) = match (&self.qk, &stage.group_of) {
            (Some([q, k]), None) => {
                let qkv = [q.times(&z), k.times(&z), self.v.times(&z)]; // [old, w]
                let settings = Settings {
                    heads: config.heads,
                    scale: 1.0 / (config.head() as f64).sqrt(),
                    dropout: dropout.attention,
                    products: self.v.products,
                };
                let (attended, tape) = stage.groups.attend(qkv, settings); // [new, w]
                let update = self.o.forward(&attended);
                (attended, Some(tape), None, update)
            }
            (None, Some(group_of)) => {
                let means = stage.groups.means(z.clone(), self.v.products); // [groups, w]
                let attended = self.v.times(&means);
                let update = group_of.gather(self.o.forward(&attended)); // [new, w]
                (attended, None, Some(means), update)
            }
            _ => unreachable!("network and batch have the same configuration"),
        };
        let residual_kept = kept(update.dims(), dropout.residual, &update.device());
        let new = stage.inputs.gather(t) + dropped(update, &residual_kept);
        let tape =
            StageTape { normalised, inverse_deviation, z, attended, weights, means, residual_kept };
        (new, tape)
    }

    fn backward(
        &self,
        config: &NetworkConfig,
        stage: &DeviceStage,
        tape: &StageTape,
        d_new: Matrix,
        gradient: &mut Gradient,
    ) -> Matrix {
        let d_update = dropped(d_new.clone(), &tape.residual_kept);
        let d_z = match (&tape.weights, &self.qk, &tape.means, &stage.group_of) {
            (Some(weights), Some([q, k]), ..) => {
                let d_attended = self.o.backward(&tape.attended, &d_update, gradient);
                let d_qkv = stage.groups.attend_backward(weights, d_attended);
                let parameters = [q, k, &self.v].into_iter().zip(&d_qkv);
                let of_each = parameters.map(|(p, d)| p.times_backward(&tape.z, d, gradient));
                of_each.reduce(|sum, d| sum + d).expect("there are three")
            }
            (.., Some(means), Some(group_of)) => {
                let d_update = group_of.backward(d_update); // [groups, w]
                let d_attended = self.o.backward(&tape.attended, &d_update, gradient);
                let d_means = self.v.times_backward(means, &d_attended, gradient);
                stage.groups.means_backward(d_means)
            }
            _ => unreachable!("network and batch have the same configuration"),
        };
        let rows = d_z.dims()[0];
        gradient.add(&self.norm_gain, sum_of_rows(d_z.clone() * tape.normalised.clone()));
        gradient.add(&self.norm_bias, sum_of_rows(d_z.clone()));
        // normalised = (old − mean)/σ; sums are over true columns, as others are zero.
        let d = d_z * spread(&self.norm_gain.value, rows);
        let w = config.width() as f64;
        let mean = d.clone().sum_dim(1) / w;
        let correlation = (d.clone() * tape.normalised.clone()).sum_dim(1) / w;
        let d_old =
            (d - mean - tape.normalised.clone() * correlation) * tape.inverse_deviation.clone();
        // In padding that is not zero, and the update before would pass it on to its parameters.
        let d_old = d_old * spread(&self.columns, rows);
        d_old + stage.inputs.backward(d_new)
    }
}

/// Layer norm over the first `width` columns before scale and shift, and 1/σ of each row.
/// What it leaves in other columns is multiplied with zero.
fn normalise(width: usize, t: Matrix) -> (Matrix, Matrix) {
    let padded = t.dims()[1];
    let mean = t.clone().sum_dim(1) / width as f64;
    let centred = t - mean.clone();
    // Each added column was centred to −mean.
    let squares = (centred.clone() * centred.clone()).sum_dim(1)
        - mean.clone() * mean * (padded - width) as f64;
    let inverse = (squares / width as f64 + f64::from(NORM_EPSILON)).sqrt().recip();
    (centred * inverse.clone(), inverse)
}

/// A batch of distinct tokens on the GPU.
pub struct DeviceBatch {
    /// The distinct feature rows, [rows, d].
    x: Matrix,
    stages: Vec<DeviceStage>,
}

/// One attention on the GPU.
struct DeviceStage {
    groups: Groups,
    /// For each new token its group; none with learned attention.
    group_of: Option<RowIndex>,
    /// For each new token the old token it comes from.
    inputs: RowIndex,
}

/// The least number of rows.
const ROWS: usize = 256;

impl DeviceBatch {
    /// Pads a batch and puts it on the GPU.
    pub fn new(
        config: &NetworkConfig,
        rows: &dyn FeatureRows,
        batch: &Batch,
        device: &Device,
    ) -> DeviceBatch {
        let columns = Axes::new(config).input;
        let place: Vec<usize> = columns.places().collect();
        let mut old = padded_rows(batch.rows.len(), ROWS);
        let mut x = vec![0.0f32; old * columns.len()];
        for (&row, features) in batch.rows.iter().zip(x.chunks_exact_mut(columns.len())) {
            for &(colour, count) in rows.row(row) {
                features[place[colour as usize]] = count as f32;
            }
        }
        let x = Tensor::from_data(TensorData::new(x, [old, columns.len()]), device);
        let mut stages = Vec::new();
        for stage in &batch.stages {
            let new = padded_rows(stage.tokens(), ROWS);
            stages.push(DeviceStage::new(config.attention, stage, [old, new], device));
            old = new;
        }
        DeviceBatch { x, stages }
    }
}

impl DeviceStage {
    fn new(
        attention: Attention,
        stage: &Stage,
        [old, new]: [usize; 2],
        device: &Device,
    ) -> DeviceStage {
        let (groups, group_of) = Groups::new(attention, stage, [old, new], device);
        let group_of = (attention == Attention::Mean)
            .then(|| RowIndex::new(&group_of, groups.count(), device));
        let mut inputs: Vec<_> = stage.out_input.iter().map(|&old| Some(old)).collect();
        inputs.resize(new, None);
        DeviceStage { groups, group_of, inputs: RowIndex::new(&inputs, old, device) }
    }
}
