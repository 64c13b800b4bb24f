//! What computes scores and gradients: the hand-written passes of `lcp` on all cores, or the burn
//! network on a CPU or a GPU.
//!
//! Both sum gradients in a fixed order, so a run does not depend on the number of threads.

use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Tensor, TensorData};
use lcp::network::tokens::Batch;
use lcp::network::train_pass::Tape;
use lcp::network::weights::Weights;
use rayon::prelude::*;

use crate::config::{EngineKind, TrainConfig};
use crate::examples::{ExampleId, Examples};
use crate::gather::GatherBackend;
use crate::loss::{Loss, LossScratch, Scores};
use crate::network::{DeviceBatch, Dropout, Network};

/// A state of a step, with the h that its bound is measured against.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Item {
    /// The state.
    pub id: ExampleId,
    /// The reference.
    pub reference: f64,
}

/// The loss and h of one state.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StateValue {
    /// The loss.
    pub loss: f64,
    /// The bound of the predicted partitioning.
    pub h: f64,
}

/// Computes scores and gradients.
pub trait Engine {
    /// The mean loss over some states and its gradient; `seed` decides what is dropped out.
    fn gradient(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        items: &[Item],
        seed: u64,
    ) -> (f64, Vec<f32>);

    /// Loss and h of each state, without dropout.
    fn evaluate(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        items: &[Item],
    ) -> Vec<StateValue>;
}

/// The engine of a configuration; `None` if this build has none of that kind.
pub fn engine(config: &TrainConfig) -> Option<Box<dyn Engine>> {
    match config.engine {
        EngineKind::Native => Some(Box::new(Native { chunk: config.chunk })),
        EngineKind::Burn => Some(Box::new(OnDevice::<Autodiff<Flex>>::new(config))),
        #[cfg(feature = "cuda")]
        EngineKind::Cuda => Some(Box::new(OnDevice::<Autodiff<burn::backend::Cuda>>::new(config))),
        #[cfg(not(feature = "cuda"))]
        EngineKind::Cuda => None,
    }
}

/// Loss of all states of a batch; adds derivatives to `d_scores`.
fn total_loss(
    loss: Loss,
    examples: &Examples,
    items: &[Item],
    batch: &Batch,
    scores: &[f32],
    d_scores: &mut [f32],
    scratch: &mut LossScratch,
) -> f64 {
    let of_state = |(item, tokens): (&Item, &Vec<u32>)| {
        let (task, state) = examples.example(item.id);
        loss.of_state(task, state, item.reference, Scores { tokens, scores }, d_scores, scratch)
    };
    items.iter().zip(&batch.scored).map(of_state).sum()
}

/// Loss and h of each state of a batch.
fn state_values(
    loss: Loss,
    examples: &Examples,
    items: &[Item],
    batch: &Batch,
    scores: &[f32],
) -> Vec<StateValue> {
    let mut scratch = LossScratch::default();
    let mut ignored = vec![0.0; scores.len()];
    let of_state = |(item, tokens): (&Item, &Vec<u32>)| {
        let (task, state) = examples.example(item.id);
        let scores = Scores { tokens, scores };
        let loss = loss.of_state(task, state, item.reference, scores, &mut ignored, &mut scratch);
        StateValue { loss, h: scratch.value(task, &state.values, scores) }
    };
    items.iter().zip(&batch.scored).map(of_state).collect()
}

fn ids(items: &[Item]) -> Vec<ExampleId> {
    items.iter().map(|item| item.id).collect()
}

/// The hand-written passes, parallel over chunks of states.
struct Native {
    chunk: usize,
}

impl Engine for Native {
    fn gradient(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        items: &[Item],
        _seed: u64,
    ) -> (f64, Vec<f32>) {
        let parts: Vec<(f64, Weights)> = items
            .par_chunks(self.chunk.max(1))
            .map(|items| {
                let batch = examples.batch(&weights.config, &ids(items));
                let mut tape = Tape::default();
                tape.forward(weights, &examples.rows, &batch);
                let mut d_scores = vec![0.0; tape.scores.len()];
                let mut scratch = LossScratch::default();
                let scores = &tape.scores;
                let loss =
                    total_loss(loss, examples, items, &batch, scores, &mut d_scores, &mut scratch);
                let mut gradient = Weights::zeros(&weights.config);
                tape.backward(weights, &examples.rows, &batch, &d_scores, &mut gradient);
                (loss, gradient)
            })
            .collect();
        let mut parts = parts.into_iter();
        let (mut loss, mut gradient) =
            parts.next().unwrap_or_else(|| (0.0, Weights::zeros(&weights.config)));
        for (part_loss, part) in parts {
            loss += part_loss;
            gradient.data.iter_mut().zip(&part.data).for_each(|(sum, g)| *sum += g);
        }
        average(items.len(), loss, gradient.data)
    }

    fn evaluate(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        items: &[Item],
    ) -> Vec<StateValue> {
        items
            .par_chunks(self.chunk.max(1))
            .flat_map_iter(|items| {
                let batch = examples.batch(&weights.config, &ids(items));
                let mut tape = Tape::default();
                tape.forward(weights, &examples.rows, &batch);
                state_values(loss, examples, items, &batch, &tape.scores)
            })
            .collect()
    }
}

/// The burn network on a device.
struct OnDevice<B: AutodiffBackend> {
    device: B::Device,
    dropout: Dropout,
    batch: usize,
    scratch: LossScratch,
}

impl<B: AutodiffBackend> OnDevice<B> {
    fn new(config: &TrainConfig) -> OnDevice<B> {
        OnDevice {
            device: Default::default(),
            dropout: config.dropout,
            batch: config.batch,
            scratch: LossScratch::default(),
        }
    }
}

impl<B: AutodiffBackend + GatherBackend> Engine for OnDevice<B>
where
    B::InnerBackend: GatherBackend,
{
    fn gradient(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        items: &[Item],
        seed: u64,
    ) -> (f64, Vec<f32>) {
        B::seed(&self.device, seed);
        let batch = examples.batch(&weights.config, &ids(items));
        let network = Network::<B>::new(weights, true, &self.device);
        let on_device = DeviceBatch::new(&weights.config, &examples.rows, &batch, &self.device);
        let scores = network.forward(&on_device, &self.dropout);
        let values = floats(scores.clone().inner());
        let mut d_scores = vec![0.0; values.len()];
        let scratch = &mut self.scratch;
        let loss = total_loss(loss, examples, items, &batch, &values, &mut d_scores, scratch);
        // The gradient of Σ d_score·score with d_score fixed is that of the loss.
        let length = d_scores.len();
        let d_scores = Tensor::from_data(TensorData::new(d_scores, [length]), &self.device);
        let gradients = (scores * d_scores).sum().backward();
        let mut gradient = Vec::with_capacity(weights.data.len());
        for (tensor, (_, _, place)) in network.tensors().iter().zip(&weights.layout.named) {
            match tensor.grad(&gradients) {
                Some(g) => gradient.extend(floats(g)),
                None => gradient.resize(gradient.len() + place.size(), 0.0),
            }
        }
        average(items.len(), loss, gradient)
    }

    fn evaluate(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        items: &[Item],
    ) -> Vec<StateValue> {
        let network = Network::<B::InnerBackend>::new(weights, false, &self.device);
        let mut values = Vec::with_capacity(items.len());
        for items in items.chunks(self.batch.max(1)) {
            let batch = examples.batch(&weights.config, &ids(items));
            let on_device = DeviceBatch::new(&weights.config, &examples.rows, &batch, &self.device);
            let scores = floats(network.forward(&on_device, &Dropout::NONE));
            values.extend(state_values(loss, examples, items, &batch, &scores));
        }
        values
    }
}

fn floats<B: burn::tensor::backend::Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().to_vec().expect("the backend's floats have 32 bits")
}

fn average(states: usize, loss: f64, mut gradient: Vec<f32>) -> (f64, Vec<f32>) {
    let factor = 1.0 / states.max(1) as f64;
    gradient.iter_mut().for_each(|g| *g *= factor as f32);
    (loss * factor, gradient)
}
