//! The parameters of a network: one flat vector with named tensors in it.
//!
//! A flat vector makes the optimiser, the gradient and the file one loop each.
//! Matrices are row-major and act on row vectors: y = x·W.

use std::ops::{Index, IndexMut};

use rand::{Rng, RngExt};

use super::{Attention, NetworkConfig};

/// A tensor's place in the flat vector: a matrix, or a vector as one row.
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
    /// Queries and keys, `[w, w]` each; none for [`Attention::Mean`].
    pub qk: Option<(Tensor, Tensor)>,
    /// Values, `[w, w]`.
    pub v: Tensor,
    /// The output projection, `[w, w]`.
    pub o: Tensor,
    /// Its bias, `[w]`.
    pub o_bias: Tensor,
}

/// Where each tensor of a configuration lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The input projection, `[d, w]`; none in the paper's preset.
    pub input: Option<Tensor>,
    /// Action attention, abstraction attention, action attention of the next block, ….
    pub stages: Vec<AttentionTensors>,
    /// The MLP's first layer, `[w, h]` and `[h]`.
    pub mlp_0: (Tensor, Tensor),
    /// The MLP's second layer, `[h, w]` and `[w]`.
    pub mlp_1: (Tensor, Tensor),
    /// The score, `[w]` and `[1]`.
    pub score: (Tensor, Tensor),
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
        Layout { input, stages, mlp_0, mlp_1, score, named, size }
    }
}

/// The parameters of one network, or a gradient with respect to them.
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
        let named = weights.layout.named.clone();
        for (name, shape, tensor) in named {
            let scale = match name.as_str() {
                "score.weight" => 0.3 * (3.0 / shape[0] as f32).sqrt(),
                _ if name.ends_with("o.weight") => 0.5 * (3.0 / shape[0] as f32).sqrt(),
                _ => (3.0 / shape[0] as f32).sqrt(),
            };
            let values = &mut weights[tensor];
            if name.ends_with("norm.gain") {
                values.fill(1.0);
            } else if !name.ends_with("bias") {
                values.fill_with(|| scale * (2.0 * rng.random::<f32>() - 1.0));
            }
        }
        weights
    }

    /// Rounds every parameter to the nearest BF16 number (8 bits of mantissa; ties to even), which
    /// halves the size of a model file.
    pub fn round(&mut self) {
        for x in self.data.iter_mut().filter(|x| x.is_finite()) {
            let bits = x.to_bits();
            let half = 0x7fff + (bits >> 16 & 1);
            *x = f32::from_bits((bits + half) & 0xffff_0000);
        }
    }

    /// Whether every parameter is a finite number.
    pub fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.is_finite())
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
