//! What computes scores and gradients: the hand-written passes of `lcp` on all cores, or the burn
//! network on a CPU or a GPU.
//!
//! Both sum gradients in a fixed order, so a run does not depend on the number of threads.

use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Tensor, TensorData};
use lcp::network::NetworkConfig;
use lcp::network::tokens::Batch;
use lcp::network::train_pass::Tape;
use lcp::network::weights::Weights;
use rayon::prelude::*;

use crate::config::{EngineKind, TrainConfig};
use crate::device::DeviceBackend;
use crate::examples::{ExampleId, Examples};
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

/// The states of one step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The states.
    pub items: Vec<Item>,
    /// The distinct tokens of all of them, for engines that want them.
    pub batch: Option<Batch>,
}

/// Computes scores and gradients.
pub trait Engine {
    /// Whether steps come with their distinct tokens, which can be found ahead of time.
    fn wants_batches(&self) -> bool;

    /// The mean loss over some states and its gradient; `seed` decides what is dropped out.
    fn gradient(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        step: &Step,
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

impl Step {
    /// A step without its tokens.
    pub fn new(items: Vec<Item>) -> Step {
        Step { items, batch: None }
    }

    /// Finds the distinct tokens.
    pub fn find_tokens(&mut self, config: &NetworkConfig, examples: &Examples) {
        self.batch = Some(examples.batch(config, &ids(&self.items)));
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

/// The same, with the states in parallel; they are added up in their order.
fn total_loss_in_parallel(
    loss: Loss,
    examples: &Examples,
    items: &[Item],
    batch: &Batch,
    scores: &[f32],
) -> (f64, Vec<f32>) {
    let of_state = |scratch: &mut LossScratch, (item, tokens): (&Item, &Vec<u32>)| {
        let (task, state) = examples.example(item.id);
        let mut d_scores = vec![0.0; scores.len()];
        let scores = Scores { tokens, scores };
        let loss = loss.of_state(task, state, item.reference, scores, &mut d_scores, scratch);
        (loss, d_scores)
    };
    let states = items.par_iter().zip(&batch.scored);
    let states: Vec<_> = states.map_init(LossScratch::default, of_state).collect();
    let mut total = (0.0, vec![0.0; scores.len()]);
    for (loss, d_scores) in states {
        total.0 += loss;
        total.1.iter_mut().zip(d_scores).for_each(|(sum, d)| *sum += d);
    }
    total
}

/// Loss and h of each state of a batch.
fn state_values(
    loss: Loss,
    examples: &Examples,
    items: &[Item],
    batch: &Batch,
    scores: &[f32],
) -> Vec<StateValue> {
    let new = || (LossScratch::default(), vec![0.0; scores.len()]);
    let states = items.par_iter().zip(&batch.scored);
    let of_state = |(scratch, ignored): &mut (LossScratch, Vec<f32>),
                    (item, tokens): (&Item, &Vec<u32>)| {
        let (task, state) = examples.example(item.id);
        let scores = Scores { tokens, scores };
        let loss = loss.of_state(task, state, item.reference, scores, ignored, scratch);
        StateValue { loss, h: scratch.value(task, &state.values, scores) }
    };
    states.map_init(new, of_state).collect()
}

fn ids(items: &[Item]) -> Vec<ExampleId> {
    items.iter().map(|item| item.id).collect()
}

/// The hand-written passes, parallel over chunks of states.
struct Native {
    chunk: usize,
}

impl Engine for Native {
    fn wants_batches(&self) -> bool {
        false
    }

    fn gradient(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        Step { items, .. }: &Step,
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
}

impl<B: AutodiffBackend> OnDevice<B> {
    fn new(config: &TrainConfig) -> OnDevice<B> {
        OnDevice { device: Default::default(), dropout: config.dropout, batch: config.batch.max(1) }
    }
}

impl<B> Engine for OnDevice<B>
where
    B: AutodiffBackend + DeviceBackend<Plain = <B as AutodiffBackend>::InnerBackend>,
    B::InnerBackend: DeviceBackend<Plain = <B as AutodiffBackend>::InnerBackend>,
{
    fn wants_batches(&self) -> bool {
        true
    }

    fn gradient(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        step: &Step,
        seed: u64,
    ) -> (f64, Vec<f32>) {
        B::seed(&self.device, seed);
        let found;
        let batch = match &step.batch {
            Some(batch) => batch,
            None => {
                found = examples.batch(&weights.config, &ids(&step.items));
                &found
            }
        };
        let (config, padding) = (&weights.config, B::PADDING);
        let network = Network::<B>::new(weights, true, padding, &self.device);
        let on_device = DeviceBatch::new(config, &examples.rows, batch, padding, &self.device);
        let scores = network.forward(&on_device, &self.dropout);
        let values = floats(scores.clone().inner());
        let (loss, d_scores) = total_loss_in_parallel(loss, examples, &step.items, batch, &values);
        // The gradient of Σ d_score·score with d_score fixed is that of the loss.
        let length = d_scores.len();
        let d_scores = Tensor::from_data(TensorData::new(d_scores, [length]), &self.device);
        let gradients = (scores * d_scores).sum().backward();
        average(step.items.len(), loss, network.gradient(&gradients))
    }

    fn evaluate(
        &mut self,
        weights: &Weights,
        examples: &Examples,
        loss: Loss,
        items: &[Item],
    ) -> Vec<StateValue> {
        let (config, padding) = (&weights.config, B::PADDING);
        let network = Network::<B::InnerBackend>::new(weights, false, padding, &self.device);
        let mut values = Vec::with_capacity(items.len());
        for some in items.chunks(AHEAD * self.batch) {
            let steps = some.par_chunks(self.batch);
            let steps: Vec<(&[Item], Batch)> =
                steps.map(|items| (items, examples.batch(config, &ids(items)))).collect();
            for (items, batch) in &steps {
                let rows = &examples.rows;
                let on_device = DeviceBatch::new(config, rows, batch, padding, &self.device);
                let scores = floats(network.forward(&on_device, &Dropout::NONE));
                values.extend(state_values(loss, examples, items, batch, &scores));
            }
        }
        values
    }
}

/// Steps whose tokens are found at the same time.
pub(crate) const AHEAD: usize = 16;

fn floats<B: burn::tensor::backend::Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().to_vec().expect("the backend's floats have 32 bits")
}

fn average(states: usize, loss: f64, mut gradient: Vec<f32>) -> (f64, Vec<f32>) {
    let factor = 1.0 / states.max(1) as f64;
    gradient.iter_mut().for_each(|g| *g *= factor as f32);
    (loss * factor, gradient)
}
