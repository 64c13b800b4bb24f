//! The burn network: equal to the dense computation, to the inference of `lcp`, and to finite
//! differences.

use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};
use lcp::network::tokens::{Batch, Positions};
use lcp::network::train_pass::{FeatureRows, Tape};
use lcp::network::weights::{self, Weights};
use lcp::network::{Attention, NetworkConfig, TokenScope};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;
use train::dense::dense_batch;
use train::device::Padding;
use train::network::{DeviceBatch, Dropout, Network};

type Train = Autodiff<Flex>;

/// A random task: few distinct rows, so that tokens repeat.
struct Instance {
    config: NetworkConfig,
    positions: Positions,
    rows: Rows,
    /// The row of each position, for each state.
    states: Vec<Vec<u32>>,
    weights: Weights,
}

struct Rows(Vec<Vec<(u32, u32)>>);

impl FeatureRows for Rows {
    fn row(&self, row: u32) -> &[(u32, u32)] {
        &self.0[row as usize]
    }
}

fn instance(config: NetworkConfig, seed: u64) -> Instance {
    let mut random = Random::seed_from_u64(seed);
    let (patterns, operators) = (5, 7);
    let relevant: Vec<Vec<u32>> = (0..operators)
        .map(|_| (0..patterns).filter(|_| random.random_bool(0.6)).collect())
        .collect();
    let positions = Positions::new(patterns as usize, &relevant, config.tokens, config.tokens);
    let row = |random: &mut Random| {
        let colours = 0..config.input as u32;
        colours.filter(|_| random.random_bool(0.4)).map(|c| (c, 1 + c % 3)).collect()
    };
    let rows: Vec<_> = (0..4).map(|_| row(&mut random)).collect();
    let mut state = || (0..positions.len()).map(|_| random.random_range(0..4)).collect();
    let (one, other): (Vec<u32>, Vec<u32>) = (state(), state());
    let states = vec![one.clone(), other, one];
    let mut weights = Weights::random(&config, &mut random);
    // Biases and gains that matter.
    weights.data.iter_mut().for_each(|w| *w += 0.1 * (random.random::<f32>() - 0.5));
    Instance { config, positions, rows: Rows(rows), states, weights }
}

fn configs() -> Vec<NetworkConfig> {
    let paper = NetworkConfig::paper(6);
    vec![
        paper.clone(),
        NetworkConfig { tokens: TokenScope::Relevant, heads: 2, ..paper.clone() },
        NetworkConfig { width: Some(4), layers: 2, ..paper.clone() },
        NetworkConfig { width: Some(5), attention: Attention::Mean, ..paper.clone() },
        NetworkConfig::compact(6, 4),
    ]
}

impl Instance {
    fn batch(&self) -> Batch {
        Batch::new(&self.config, &self.positions, self.states.iter().map(Vec::as_slice))
    }

    /// The batch in which every position of every state is a token of its own.
    fn dense_batch(&self) -> Batch {
        dense_batch(&self.config, self.states.iter().map(|s| (&self.positions, s.as_slice())))
    }

    /// Scores of all positions of all states, and the gradient of Σ weight·score.
    fn burn(&self, batch: &Batch, padding: Padding) -> (Vec<f32>, Vec<f32>) {
        let device = Default::default();
        let network = Network::<Train>::new(&self.weights, true, padding, &device);
        let on_device = DeviceBatch::new(&self.config, &self.rows, batch, padding, &device);
        let scores = network.forward(&on_device, &Dropout::NONE);
        let values: Vec<f32> = scores.to_data().to_vec().unwrap();
        let data = TensorData::new(position_weights(batch, values.len()), [values.len()]);
        let loss = (scores * Tensor::<Train, 1>::from_data(data, &device)).sum();
        let gradients = loss.backward();
        (of_positions(batch, &values), network.gradient(&gradients))
    }

    fn native(&self, batch: &Batch) -> (Vec<f32>, Vec<f32>) {
        let mut tape = Tape::default();
        tape.forward(&self.weights, &self.rows, batch);
        let mut gradient = Weights::zeros(&self.config);
        let d_scores = position_weights(batch, tape.scores.len());
        tape.backward(&self.weights, &self.rows, batch, &d_scores, &mut gradient);
        (of_positions(batch, &tape.scores), gradient.data)
    }

    /// Σ weight·score by the definition, in 64 bits.
    fn definition(&self, state: usize) -> Vec<f64> {
        let (w, positions) = (self.config.width(), &self.positions);
        let data = |tensor: weights::Tensor| -> Vec<f64> {
            self.weights[tensor].iter().map(|&x| f64::from(x)).collect()
        };
        let times = |x: &[f64], tensor: weights::Tensor| -> Vec<f64> {
            let m = data(tensor);
            let column = |c: usize| (0..x.len()).map(|r| x[r] * m[r * tensor.cols + c]).sum();
            (0..tensor.cols).map(column).collect()
        };
        let mut tokens: Vec<Vec<f64>> = self.states[state]
            .iter()
            .map(|&row| {
                let mut x = vec![0.0; self.config.input];
                self.rows.row(row).iter().for_each(|&(c, n)| x[c as usize] = f64::from(n));
                match self.weights.layout.input {
                    Some(input) => times(&x, input),
                    None => x,
                }
            })
            .collect();
        for (i, tensors) in self.weights.layout.stages.iter().enumerate() {
            let groups: Vec<Vec<usize>> = if i % 2 == 0 {
                let group = |p| positions.of_pattern(p).iter().map(|&i| i as usize).collect();
                (0..positions.patterns()).map(group).collect()
            } else {
                (0..positions.operators()).map(|o| positions.of_operator(o).collect()).collect()
            };
            let old = tokens.clone();
            let normalised: Vec<Vec<f64>> = old
                .iter()
                .map(|x| {
                    let mean = x.iter().sum::<f64>() / w as f64;
                    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / w as f64;
                    let (gain, bias) = (data(tensors.norm_gain), data(tensors.norm_bias));
                    let scaled = |c: usize| (x[c] - mean) / (variance + 1e-5).sqrt() * gain[c];
                    (0..w).map(|c| scaled(c) + bias[c]).collect()
                })
                .collect();
            let head = w / self.config.heads;
            for group in groups {
                for &query in &group {
                    let mut attended = vec![0.0; w];
                    for h in 0..self.config.heads {
                        let logit = |other: usize| match tensors.qk {
                            None => 0.0,
                            Some((q, k)) => {
                                let q = times(&normalised[query], q);
                                let k = times(&normalised[other], k);
                                let of_head = h * head..(h + 1) * head;
                                of_head.map(|c| q[c] * k[c]).sum::<f64>() / (head as f64).sqrt()
                            }
                        };
                        let weights: Vec<f64> = group.iter().map(|&o| logit(o).exp()).collect();
                        let total: f64 = weights.iter().sum();
                        for (weight, &other) in weights.iter().zip(&group) {
                            let v = times(&normalised[other], tensors.v);
                            for c in h * head..(h + 1) * head {
                                attended[c] += weight / total * v[c];
                            }
                        }
                    }
                    let update = times(&attended, tensors.o);
                    let bias = data(tensors.o_bias);
                    for c in 0..w {
                        tokens[query][c] = old[query][c] + update[c] + bias[c];
                    }
                }
            }
        }
        let relu = |x: Vec<f64>, bias: weights::Tensor| -> Vec<f64> {
            x.iter().zip(data(bias)).map(|(x, b)| (x + b).max(0.0)).collect()
        };
        let layout = &self.weights.layout;
        tokens
            .iter()
            .map(|token| {
                let hidden = relu(times(token, layout.mlp_0.0), layout.mlp_0.1);
                let hidden = relu(times(&hidden, layout.mlp_1.0), layout.mlp_1.1);
                let u = data(layout.score.0);
                hidden.iter().zip(u).map(|(x, u)| x * u).sum::<f64>() + data(layout.score.1)[0]
            })
            .collect()
    }
}

/// The weight of position i of a state in the sum that is differentiated.
fn weight(i: usize) -> f32 {
    ((i * 7) % 5) as f32 - 1.5
}

/// The weight of each last token: the sum over its positions.
fn position_weights(batch: &Batch, tokens: usize) -> Vec<f32> {
    let mut weights = vec![0.0; tokens];
    for tokens in &batch.scored {
        tokens.iter().enumerate().for_each(|(i, &token)| weights[token as usize] += weight(i));
    }
    weights
}

fn of_positions(batch: &Batch, scores: &[f32]) -> Vec<f32> {
    batch.scored.iter().flatten().map(|&token| scores[token as usize]).collect()
}

fn assert_close(what: &str, a: &[f32], b: &[f32], tolerance: f32) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "{what}, {i}: {x} != {y}");
    }
}

#[test]
fn deduplicated_equals_dense_forward_and_backward() {
    for (seed, config) in configs().into_iter().enumerate() {
        let instance = instance(config, seed as u64);
        let (batch, dense) = (instance.batch(), instance.dense_batch());
        assert!(batch.stages[1].tokens() < dense.stages[1].tokens(), "nothing was deduplicated");
        let (scores, gradient) = instance.burn(&batch, Padding::NONE);
        let (dense_scores, dense_gradient) = instance.burn(&dense, Padding::NONE);
        assert_close("scores", &scores, &dense_scores, 1e-5);
        assert_close("gradient", &gradient, &dense_gradient, 1e-4);
    }
}

#[test]
fn padding_changes_nothing() {
    for (seed, config) in configs().into_iter().enumerate() {
        let instance = instance(config, 40 + seed as u64);
        for batch in [instance.batch(), instance.dense_batch()] {
            let (scores, gradient) = instance.burn(&batch, Padding::NONE);
            let (padded_scores, padded_gradient) = instance.burn(&batch, Padding::GPU);
            assert_close("scores", &padded_scores, &scores, 1e-5);
            assert_close("gradient", &padded_gradient, &gradient, 1e-4);
        }
    }
}

#[test]
fn the_network_is_the_definition() {
    for (seed, config) in configs().into_iter().enumerate() {
        let instance = instance(config, 10 + seed as u64);
        let (scores, _) = instance.burn(&instance.batch(), Padding::NONE);
        let expected: Vec<f32> = (0..instance.states.len())
            .flat_map(|state| instance.definition(state))
            .map(|score| score as f32)
            .collect();
        assert_close("scores", &scores, &expected, 1e-5);
    }
}

#[test]
fn burn_equals_the_native_network_forward_and_backward() {
    for (seed, config) in configs().into_iter().enumerate() {
        let instance = instance(config, 20 + seed as u64);
        let batch = instance.batch();
        let (scores, gradient) = instance.burn(&batch, Padding::NONE);
        let (native_scores, native_gradient) = instance.native(&batch);
        assert_close("scores", &scores, &native_scores, 1e-5);
        assert_close("gradient", &gradient, &native_gradient, 1e-4);
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for (seed, config) in configs().into_iter().enumerate() {
        let mut instance = instance(config, 30 + seed as u64);
        let (_, gradient) = instance.burn(&instance.batch(), Padding::NONE);
        let sum = |instance: &Instance| -> f64 {
            let of_state = |state: usize| {
                let scores = instance.definition(state);
                scores.iter().enumerate().map(|(i, s)| f64::from(weight(i)) * s).sum::<f64>()
            };
            (0..instance.states.len()).map(of_state).sum()
        };
        let mut random = Random::seed_from_u64(seed as u64);
        let mut misses = 0;
        for _ in 0..40 {
            let i = random.random_range(0..gradient.len());
            let before = instance.weights.data[i];
            let (high, low) = (before + 1e-4, before - 1e-4);
            instance.weights.data[i] = high;
            let above = sum(&instance);
            instance.weights.data[i] = low;
            let below = sum(&instance);
            instance.weights.data[i] = before;
            let slope = (above - below) / (f64::from(high) - f64::from(low));
            let error = (slope - f64::from(gradient[i])).abs();
            misses += usize::from(error > 1e-3 * (1.0 + slope.abs()));
        }
        // A step across the kink of a ReLU has another slope.
        assert!(misses <= 2, "{misses} of 40 derivatives are wrong");
    }
}
