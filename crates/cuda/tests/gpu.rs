//! The passes on a GPU against those of the definition.
//!
//! Needs an NVIDIA GPU: `scripts/check-cuda` runs these where there is one.

#![cfg(feature = "burn")]

use cuda::network::{DeviceBatch, Network};
use cuda::products::Products;
use cuda::resident::Resident;
use cuda::{Device, Matrix};
use lcp::network::dropout::{Dropout, Dropper};
use lcp::network::tokens::{Batch, Positions, Sharing};
use lcp::network::{Attention, FeatureRows, NetworkConfig, TokenScope, Weights, forward};
use lcp::training::engine::Update;
use lcp::training::optimiser::{AdamW, AdamWConfig};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

/// TF32 keeps 10 bits of the mantissa: a product is wrong by a thousandth at most, and sums of
/// products by less of what their terms add up to.
const TOLERANCE: f32 = 5e-3;

/// Derivatives in TF32, all together: a hidden unit near zero may be on one side of it here and on
/// the other there, which changes a few of them by some hundredths of the largest, and the
/// gradient's direction hardly.
const COSINE: f64 = 0.999;

/// The same with full products, where no error of TF32 decides which hidden units are zero.
const FULL_TOLERANCE: f32 = 5e-5;

struct Rows(Vec<Vec<(u32, u32)>>);

impl FeatureRows for Rows {
    fn row(&self, row: u32) -> &[(u32, u32)] {
        &self.0[row as usize]
    }
}

/// A random task with few distinct rows, so that tokens repeat, and three states of it.
struct Instance {
    rows: Rows,
    batch: Batch,
    weights: Weights,
}

fn instance(config: &NetworkConfig, seed: u64) -> Instance {
    sharing(config, Sharing::Equal, seed)
}

fn sharing(config: &NetworkConfig, sharing: Sharing, seed: u64) -> Instance {
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
    let mut state =
        || -> Vec<u32> { (0..positions.len()).map(|_| random.random_range(0..4)).collect() };
    let states = [state(), state(), state()];
    let states = states.iter().map(|rows| (&positions, rows.as_slice()));
    let batch = Batch::of_tasks(config, sharing, states);
    let mut weights = Weights::random(config, &mut random);
    // Biases and gains that matter.
    weights.data.iter_mut().for_each(|w| *w += 0.1 * (random.random::<f32>() - 0.5));
    Instance { rows: Rows(rows), batch, weights }
}

fn configs() -> Vec<NetworkConfig> {
    let paper = NetworkConfig::paper(6);
    vec![
        paper.clone(),
        NetworkConfig { tokens: TokenScope::Relevant, heads: 2, ..paper.clone() },
        NetworkConfig { width: Some(4), layers: 2, ..paper.clone() },
        NetworkConfig { width: Some(5), attention: Attention::Mean, ..paper.clone() },
        NetworkConfig::compact(6, 4),
        NetworkConfig::paper(200),
    ]
}

/// The largest difference, as a share of the largest number.
fn difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(0.0f32, |max, x| max.max(x.abs()));
    let error = |(x, y): (&f32, &f32)| (x - y).abs();
    found.iter().zip(expected).map(error).fold(0.0, f32::max) / size
}

/// The cosine of the angle between two vectors.
fn cosine(x: &[f32], y: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| -> f64 {
        x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
    };
    dot(x, y) / (dot(x, x) * dot(y, y)).sqrt()
}

/// How far the GPU is from the definition.
struct Differences {
    scores: f32,
    /// Of each parameter's derivatives.
    derivatives: Vec<(String, f32)>,
    cosine: f64,
}

fn differences(products: Products, config: &NetworkConfig, instance: Instance) -> Differences {
    let device = Device::default();
    let Instance { rows, batch, weights } = instance;
    let tape = forward(&weights, &rows, &batch, &mut Dropper::none());
    let d_scores: Vec<f32> = (0..tape.scores.len()).map(|i| (i * 7 % 5) as f32 - 1.5).collect();
    let mut expected = Weights::zeros(config);
    tape.backward(&weights, &rows, &batch, &d_scores, &mut expected);

    let network = Network::new(&weights, products, &device);
    let on_device = DeviceBatch::new(config, &rows, &batch, &device);
    let found = network.forward(&on_device, &Dropout::NONE);
    let scores: Vec<f32> = found.scores.to_data().to_vec().unwrap();
    let mut padded = d_scores.clone();
    padded.resize(scores.len(), 0.0);
    let shape = [padded.len(), 1];
    let padded = Matrix::from_data(burn::tensor::TensorData::new(padded, shape), &device);
    let mut gradient = Weights::zeros(config);
    network.backward(&found, &on_device, padded, &mut gradient);

    let derivatives = expected.layout.named.iter().map(|(name, _, tensor)| {
        (name.clone(), difference(&gradient[*tensor], &expected[*tensor]))
    });
    Differences {
        scores: difference(&scores[..tape.scores.len()], &tape.scores),
        derivatives: derivatives.collect(),
        cosine: cosine(&gradient.data, &expected.data),
    }
}

/// The differences of all networks, with equal tokens shared and not.
fn all_differences(products: Products) -> Vec<(String, Differences)> {
    let mut all = Vec::new();
    for (seed, config) in (0..).zip(configs()) {
        for each in [Sharing::Equal, Sharing::Apart] {
            let found = differences(products, &config, sharing(&config, each, seed));
            let most = found.derivatives.iter().map(|&(_, error)| error).fold(0.0, f32::max);
            println!(
                "{products:?} {each:?} width {}: scores {:.1e}, derivatives {most:.1e}, 1 − cosine {:.1e}",
                config.width(),
                found.scores,
                1.0 - found.cosine
            );
            all.push((format!("{each:?} {config:?}"), found));
        }
    }
    all
}

/// What training needs of products in TF32: scores in the third digit, and the gradient's direction.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn scores_and_gradients_are_those_of_the_definition() {
    for (what, found) in all_differences(Products::Tf32) {
        assert!(found.scores <= TOLERANCE, "{what}: scores differ by {}", found.scores);
        assert!(found.cosine >= COSINE, "{what}: gradients have cosine {}", found.cosine);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn with_full_products_they_are_in_five_digits() {
    for (what, found) in all_differences(Products::Full) {
        assert!(found.scores <= FULL_TOLERANCE, "{what}: scores differ by {}", found.scores);
        for (name, error) in found.derivatives {
            assert!(error <= FULL_TOLERANCE, "{what}: {name} differ by {error}");
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn derivatives_of_padding_are_zero() {
    let device = Device::default();
    for (seed, config) in (0..).zip(configs()) {
        let Instance { rows, batch, weights } = instance(&config, seed);
        let network = Network::new(&weights, Products::Tf32, &device);
        let on_device = DeviceBatch::new(&config, &rows, &batch, &device);
        for dropout in [Dropout::NONE, Dropout::PAPER] {
            let tape = network.forward(&on_device, &dropout);
            let scores = forward(&weights, &rows, &batch, &mut Dropper::none()).scores.len();
            let shape = tape.scores.dims();
            let d_scores = (0..shape[0]).map(|i| if i < scores { i as f32 - 1.5 } else { 0.0 });
            let d_scores = burn::tensor::TensorData::new(d_scores.collect::<Vec<_>>(), shape);
            let d_scores = Matrix::from_data(d_scores, &device);
            let leaks = network.derivatives(&tape, &on_device, d_scores).in_padding();
            assert!(leaks.is_empty(), "{config:?}: {leaks:?}");
        }
    }
}

/// Mean and standard deviation of each score over passes.
fn moments(passes: &[Vec<f32>]) -> Vec<[f64; 2]> {
    let n = passes.len() as f64;
    let of = |i: usize| {
        let values = || passes.iter().map(|scores| f64::from(scores[i]));
        let mean = values().sum::<f64>() / n;
        [mean, (values().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()]
    };
    (0..passes[0].len()).map(of).collect()
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn scores_under_dropout_are_spread_as_those_of_the_definition() {
    use burn::tensor::backend::Backend;
    const PASSES: u64 = 1000;
    let device = Device::default();
    let dropout = Dropout::PAPER;
    for (seed, config) in (0..).zip(configs()) {
        let Instance { rows, batch, weights } = instance(&config, seed);
        let network = Network::new(&weights, Products::Tf32, &device);
        let on_device = DeviceBatch::new(&config, &rows, &batch, &device);
        let pass = |seed: u64| forward(&weights, &rows, &batch, &mut Dropper::new(dropout, seed));
        let expected: Vec<Vec<f32>> = (0..PASSES).map(|seed| pass(seed).scores).collect();
        let on_gpu = |seed: u64| -> Vec<f32> {
            <burn::backend::Cuda as Backend>::seed(&device, seed);
            let scores = network.forward(&on_device, &dropout).scores;
            scores.to_data().to_vec::<f32>().unwrap()[..expected[0].len()].to_vec()
        };
        let found: Vec<Vec<f32>> = (0..PASSES).map(on_gpu).collect();
        let size = expected.iter().flatten().fold(0.0f32, |max, x| max.max(x.abs()));
        let mut most = [0.0f64; 2];
        for ([mean, deviation], [expected, spread]) in
            moments(&found).into_iter().zip(moments(&expected))
        {
            let error = spread * (2.0 / PASSES as f64).sqrt() + f64::from(TOLERANCE * size) / 5.0;
            most[0] = most[0].max((mean - expected).abs() / error);
            most[1] = most[1].max((deviation / spread - 1.0).abs());
        }
        println!("{config:?}: means {:.1} errors apart, deviations {:.3}", most[0], most[1]);
        assert!(most[0] < 5.0, "{config:?}: means are {} standard errors apart", most[0]);
        assert!(most[1] < 0.25, "{config:?}: deviations differ by a share of {}", most[1]);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn steps_are_those_of_the_optimiser() {
    const STEPS: usize = 20;
    let device = Device::default();
    for config in configs() {
        let Instance { rows, batch, weights } = instance(&config, 5);
        let on_device = DeviceBatch::new(&config, &rows, &batch, &device);
        let update = Update { config: AdamWConfig::default(), rate: 1e-3, factor: 0.25 };
        let mut adamw = AdamW::new(weights.data.len());
        // Moments of steps that were made before.
        let mut random = Random::seed_from_u64(6);
        adamw.first.iter_mut().for_each(|m| *m = random.random_range(-0.1..0.1));
        adamw.second.iter_mut().for_each(|v| *v = random.random_range(0.1..0.2));
        adamw.steps = 3;
        let (mut on_gpu, mut gpu_adamw) = (weights.clone(), adamw.clone());
        let mut resident = Resident::new(&on_gpu, &gpu_adamw, Products::Tf32, &device);
        let mut weights = weights;
        for _ in 0..STEPS {
            // Both by the derivatives at the GPU's weights, so that only the optimisers are compared.
            let tape = resident.network.forward(&on_device, &Dropout::NONE);
            let ones = Matrix::ones(tape.scores.dims(), &device);
            let derivatives = || resident.network.derivatives(&tape, &on_device, ones.clone());
            let (mut gradient, on_device) = (Weights::zeros(&config), derivatives());
            derivatives().read(&mut gradient);
            gradient.data.iter_mut().for_each(|g| *g *= update.factor);
            adamw.step(&update.config, update.rate, &mut weights.data, &gradient.data);
            gpu_adamw.steps += 1;
            resident.update(on_device, gpu_adamw.steps, update);
        }
        resident.read(&mut on_gpu, &mut gpu_adamw);
        assert_eq!(gpu_adamw.steps, adamw.steps);
        for (what, found, expected) in [
            ("weights", &on_gpu.data, &weights.data),
            ("first moments", &gpu_adamw.first, &adamw.first),
            ("second moments", &gpu_adamw.second, &adamw.second),
        ] {
            let error = difference(found, expected);
            println!("  {what}: {error:.1e}");
            assert!(error < 1e-5, "{config:?}: {what} differ by {error}");
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn dropout_keeps_the_mean_of_the_scores() {
    use burn::tensor::backend::Backend;
    let device = Device::default();
    let config = NetworkConfig::paper(40);
    let Instance { rows, batch, weights } = instance(&config, 3);
    let network = Network::new(&weights, Products::Tf32, &device);
    let on_device = DeviceBatch::new(&config, &rows, &batch, &device);
    let dropout = Dropout { mlp: 0.3, ..Dropout::NONE };
    let scores = |seed: u64, dropout: &Dropout| -> Vec<f32> {
        <burn::backend::Cuda as Backend>::seed(&device, seed);
        network.forward(&on_device, dropout).scores.to_data().to_vec().unwrap()
    };
    let plain = scores(0, &Dropout::NONE);
    let mean = (0..400).map(|seed| scores(seed, &dropout)[0]).sum::<f32>() / 400.0;
    assert_ne!(scores(1, &dropout), plain);
    assert!((mean - plain[0]).abs() < 0.1 * plain[0].abs(), "{mean} instead of {}", plain[0]);
}
