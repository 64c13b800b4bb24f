//! The training loop's engine on a GPU.

use burn::backend::Cuda;
use burn::tensor::TensorData;
use burn::tensor::backend::Backend;
use lcp::network::Weights;
use lcp::network::dropout::Dropout;
use lcp::training::engine::{Cores, Engine, Item, Part, Pass, StateValue, Update};
use lcp::training::loss::LossScratch;
use lcp::training::optimiser::AdamW;
use rayon::prelude::*;

use crate::network::{DeviceBatch, Network};
use crate::products::Products;
use crate::resident::Resident;
use crate::{Device, Matrix};

/// Computes on the first GPU.
pub struct Gpu {
    products: Products,
    device: Device,
    /// What whole steps have changed and nobody has asked for yet.
    resident: Option<Resident>,
}

impl Gpu {
    /// The first GPU, multiplying matrices so.
    pub fn new(products: Products) -> Gpu {
        Gpu { products, device: Device::default(), resident: None }
    }

    fn batch(&self, pass: Pass, part: &Part) -> DeviceBatch {
        let (config, rows) = (&pass.weights.config, &pass.examples.rows);
        DeviceBatch::new(config, rows, &part.batch, &self.device)
    }
}

impl Engine for Gpu {
    fn cores(&self) -> Cores {
        Cores::All
    }

    fn takes_whole_steps(&self) -> bool {
        true
    }

    fn gradient(
        &mut self,
        pass: Pass,
        parts: &[Part],
        (dropout, seed): (Dropout, u64),
        gradient: &mut Weights,
    ) -> f64 {
        let network = Network::new(pass.weights, self.products, &self.device);
        let mut total = 0.0;
        for (i, part) in (0..).zip(parts) {
            <Cuda as Backend>::seed(&self.device, seed.wrapping_add(i));
            let batch = self.batch(pass, part);
            let tape = network.forward(&batch, &dropout);
            let (loss, d_scores, d_gain) = losses(pass, part, &floats(&tape.scores));
            total += loss;
            if let Some(gain) = gradient.layout.prior {
                gradient[gain][0] += d_gain;
            }
            let shape = [d_scores.len(), 1];
            let d_scores = Matrix::from_data(TensorData::new(d_scores, shape), &self.device);
            network.backward(&tape, &batch, d_scores, gradient);
        }
        total
    }

    fn step(
        &mut self,
        pass: Pass,
        parts: &[Part],
        (dropout, seed): (Dropout, u64),
        adamw: &mut AdamW,
        update: Update,
    ) -> Option<f64> {
        let [part] = parts else { return None };
        if pass.weights.layout.prior.is_some() || update.config.max_norm.is_some() {
            return None;
        }
        <Cuda as Backend>::seed(&self.device, seed);
        let batch = self.batch(pass, part);
        let begin = || Resident::new(pass.weights, adamw, self.products, &self.device);
        let resident = self.resident.get_or_insert_with(begin);
        let tape = resident.network.forward(&batch, &dropout);
        let (loss, d_scores, _) = losses(pass, part, &floats(&tape.scores));
        let shape = [d_scores.len(), 1];
        let d_scores = Matrix::from_data(TensorData::new(d_scores, shape), &self.device);
        let gradient = resident.network.derivatives(&tape, &batch, d_scores);
        adamw.steps += 1;
        resident.update(gradient, adamw.steps, update);
        Some(loss)
    }

    fn bring_back(&mut self, weights: &mut Weights, adamw: &mut AdamW) {
        if let Some(resident) = self.resident.take() {
            resident.read(weights, adamw);
        }
    }

    fn evaluate(&mut self, pass: Pass, parts: &[Part]) -> Vec<StateValue> {
        let network = Network::new(pass.weights, self.products, &self.device);
        let scores = |part: &Part| {
            let tape = network.forward(&self.batch(pass, part), &Dropout::NONE);
            (part.clone(), floats(&tape.scores))
        };
        let scored: Vec<(Part, Vec<f32>)> = parts.iter().map(scores).collect();
        Cores::All.map(&scored, |(part, scores)| pass.values(part, scores)).concat()
    }
}

/// The sum of the losses of a part and the derivatives by its scores and by the gain of the prior,
/// with the states in parallel; they are added up in their order.
fn losses(pass: Pass, part: &Part, scores: &[f32]) -> (f64, Vec<f32>, f32) {
    let of_state = |scratch: &mut LossScratch, (item, tokens): (&Item, &Vec<u32>)| {
        let mut d_scores = vec![0.0; scores.len()];
        let of_item = pass.scores(item, tokens, scores);
        let (loss, _) = pass.loss_of(item, of_item, &mut d_scores, scratch);
        (loss, d_scores, scratch.take_d_gain())
    };
    let states = part.items.par_iter().zip(&part.batch.scored);
    let states: Vec<_> = states.map_init(LossScratch::default, of_state).collect();
    let mut total = (0.0, vec![0.0; scores.len()], 0.0);
    for (loss, d_scores, d_gain) in states {
        total.0 += loss;
        total.2 += d_gain;
        total.1.iter_mut().zip(d_scores).for_each(|(sum, d)| *sum += d);
    }
    total
}

fn floats(x: &Matrix) -> Vec<f32> {
    x.to_data().to_vec().expect("the GPU's floats have 32 bits")
}
