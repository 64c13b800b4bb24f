//! What computes losses and gradients: the network's own passes on one core or on all, or a device.
//!
//! A step's states are divided into parts, each with its distinct tokens; a part is one forward and
//! one backward pass.
//! Gradients of parts are summed in their order, so nothing depends on the number of threads.

use planner::work::Work;
use rayon::prelude::*;

use super::examples::{ExampleId, Examples};
use super::loss::{Loss, LossScratch, Scores};
use super::optimiser::{AdamW, AdamWConfig};
use crate::network::dropout::{Dropout, Dropper};
use crate::network::tokens::{Batch, Sharing};
use crate::network::{Attention, NetworkConfig, Weights, forward};

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

/// States that share a pass.
#[derive(Clone, Debug)]
pub struct Part {
    /// The states.
    pub items: Vec<Item>,
    /// Their tokens.
    pub batch: Batch,
}

/// What a pass reads.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    /// The network.
    pub weights: &'a Weights,
    /// The states.
    pub examples: &'a Examples,
    /// What is minimised.
    pub loss: Loss,
}

/// How a step changes weights.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// The optimiser.
    pub config: AdamWConfig,
    /// The learning rate.
    pub rate: f32,
    /// What the sum of the gradients is multiplied with.
    pub factor: f32,
}

/// Computes losses and gradients.
pub trait Engine {
    /// The cores that it leaves for finding tokens.
    fn cores(&self) -> Cores;

    /// Whether it takes the states of a step as one part.
    fn takes_whole_steps(&self) -> bool;

    /// The sum of the losses of all states; adds their derivatives to `gradient`.
    /// `seed` decides what is dropped out.
    fn gradient(
        &mut self,
        pass: Pass,
        parts: &[Part],
        dropout: (Dropout, u64),
        gradient: &mut Weights,
    ) -> f64;

    /// A whole step with weights and moments that the engine keeps: the sum of the losses. None if
    /// it keeps none.
    /// The first such step begins with the weights of `pass` and the moments of `adamw`; later ones
    /// read neither, until they are brought back.
    fn step(
        &mut self,
        pass: Pass,
        parts: &[Part],
        dropout: (Dropout, u64),
        adamw: &mut AdamW,
        update: Update,
    ) -> Option<f64> {
        let _ = (pass, parts, dropout, adamw, update);
        None
    }

    /// Brings back what whole steps have changed.
    fn bring_back(&mut self, weights: &mut Weights, adamw: &mut AdamW) {
        let _ = (weights, adamw);
    }

    /// Loss and h of each state, without dropout.
    fn evaluate(&mut self, pass: Pass, parts: &[Part]) -> Vec<StateValue>;
}

impl Part {
    /// Finds the distinct tokens of some states.
    pub fn new(config: &NetworkConfig, examples: &Examples, items: &[Item]) -> Part {
        Part::sharing(config, Sharing::Equal, examples, items)
    }

    /// Finds the tokens of some states.
    pub fn sharing(
        config: &NetworkConfig,
        sharing: Sharing,
        examples: &Examples,
        items: &[Item],
    ) -> Part {
        let ids: Vec<ExampleId> = items.iter().map(|item| item.id).collect();
        Part { items: items.to_vec(), batch: examples.batch(config, sharing, &ids) }
    }

    /// The work of a forward pass and the losses; a backward pass is twice a forward pass.
    ///
    /// The constants below make a unit a nanosecond of one core of a Xeon with AVX-512: 0.5 to 1.8
    /// over eight tasks, 1.1 in the geometric mean (`cargo bench -p lcp --bench self_training`
    /// prints both).
    pub fn work(&self, config: &NetworkConfig, examples: &Examples) -> PartWork {
        let (w, h) = (config.width() as u64, config.hidden() as u64);
        let mut multiplications = 0;
        let mut old = self.batch.rows.len() as u64;
        for stage in &self.batch.stages {
            let (members, groups) = (stage.member.len() as u64, stage.groups() as u64);
            multiplications += match config.attention {
                Attention::Mean => 2 * groups * w * w + members * w,
                Attention::Learned => {
                    let of_group =
                        |g| (stage.members(g).len() * stage.outs(g).len()) as u64 * 2 * w;
                    let pairs: u64 = (0..stage.groups()).map(of_group).sum();
                    (3 * old + stage.tokens() as u64) * w * w + pairs
                }
            };
            multiplications += OTHER * (stage.tokens() as u64 + members) * w;
            old = stage.tokens() as u64;
        }
        multiplications += 2 * old * w * h;
        let of_state = |item: &Item| {
            let positions = &examples.example(item.id).0.places.positions;
            PATH * positions.patterns() as u64 + SHARE * positions.len() as u64
        };
        PartWork {
            forward: multiplications * MULTIPLICATIONS.0 / MULTIPLICATIONS.1,
            losses: self.items.iter().map(of_state).sum(),
        }
    }
}

/// The work of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartWork {
    /// Of a forward pass.
    pub forward: Work,
    /// Of the losses.
    pub losses: Work,
}

impl PartWork {
    /// Forward pass, losses and backward pass.
    pub fn gradient(self) -> Work {
        3 * self.forward + self.losses
    }

    /// Forward pass and losses.
    pub fn evaluation(self) -> Work {
        self.forward + self.losses
    }
}

/// Units for multiplications: so many for so many.
const MULTIPLICATIONS: (u64, u64) = (1, 16);
/// What else happens to each number of a token, in multiplications.
const OTHER: u64 = 20;
/// Units for a shortest path in one projection, and for a share.
const PATH: u64 = 2_000;
const SHARE: u64 = 8;

impl Pass<'_> {
    /// The scores of a state with those of all tokens of its part.
    pub fn scores<'b>(&'b self, item: &Item, tokens: &'b [u32], scores: &'b [f32]) -> Scores<'b> {
        let prior = self.examples.prior(item.id).zip(self.weights.prior_gain());
        Scores { tokens, scores, prior }
    }

    /// The loss of one state of a part, and h if the loss needs it; adds the derivatives by the
    /// scores.
    pub fn loss_of(
        &self,
        item: &Item,
        scores: Scores,
        d_scores: &mut [f32],
        scratch: &mut LossScratch,
    ) -> (f64, Option<f64>) {
        let (task, state) = self.examples.example(item.id);
        self.loss.of_state(task, state, item.reference, scores, d_scores, scratch)
    }

    /// Loss and h of each state of a part, given the scores of its tokens.
    pub fn values(&self, part: &Part, scores: &[f32]) -> Vec<StateValue> {
        let mut scratch = LossScratch::default();
        let mut ignored = vec![0.0; scores.len()];
        let of_state = |(item, tokens): (&Item, &Vec<u32>)| {
            let scores = self.scores(item, tokens, scores);
            let (loss, h) = self.loss_of(item, scores, &mut ignored, &mut scratch);
            let (task, state) = self.examples.example(item.id);
            let h = h.unwrap_or_else(|| scratch.value(task, &state.values, scores));
            StateValue { loss, h }
        };
        part.items.iter().zip(&part.batch.scored).map(of_state).collect()
    }

    /// Adds the gradient of one part; returns the sum of its losses.
    fn part_gradient(&self, part: &Part, dropper: &mut Dropper, gradient: &mut Weights) -> f64 {
        let (rows, batch) = (&self.examples.rows, &part.batch);
        let tape = forward(self.weights, rows, batch, dropper);
        let mut d_scores = vec![0.0; tape.scores.len()];
        let mut scratch = LossScratch::default();
        let of_state = |(item, tokens): (&Item, &Vec<u32>)| {
            let scores = self.scores(item, tokens, &tape.scores);
            self.loss_of(item, scores, &mut d_scores, &mut scratch).0
        };
        let loss = part.items.iter().zip(&batch.scored).map(of_state).sum();
        tape.backward(self.weights, rows, batch, &d_scores, gradient);
        if let Some(gain) = gradient.layout.prior {
            gradient[gain][0] += scratch.take_d_gain();
        }
        loss
    }
}

/// How many cores compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cores {
    /// The caller's.
    One,
    /// All there are.
    All,
}

impl Cores {
    /// Maps items, in their order.
    pub fn map<T: Sync, R: Send>(self, items: &[T], map: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
        match self {
            Cores::One => items.iter().map(map).collect(),
            Cores::All => items.par_iter().map(map).collect(),
        }
    }
}

/// The network's own passes.
pub struct Native(pub Cores);

impl Engine for Native {
    fn cores(&self) -> Cores {
        self.0
    }

    fn takes_whole_steps(&self) -> bool {
        false
    }

    fn gradient(
        &mut self,
        pass: Pass,
        parts: &[Part],
        (rates, seed): (Dropout, u64),
        gradient: &mut Weights,
    ) -> f64 {
        if let [part] = parts {
            return pass.part_gradient(part, &mut Dropper::new(rates, seed), gradient);
        }
        let numbered: Vec<(u64, &Part)> = (0..).zip(parts).collect();
        let of_parts = self.0.map(&numbered, |&(i, part)| {
            let mut gradient = Weights::zeros(&pass.weights.config);
            let mut dropper = Dropper::new(rates, seed.wrapping_add(i));
            (pass.part_gradient(part, &mut dropper, &mut gradient), gradient)
        });
        let mut total = 0.0;
        for (loss, part) in of_parts {
            total += loss;
            gradient.data.iter_mut().zip(&part.data).for_each(|(sum, g)| *sum += g);
        }
        total
    }

    fn evaluate(&mut self, pass: Pass, parts: &[Part]) -> Vec<StateValue> {
        let of_parts = self.0.map(parts, |part| {
            let (rows, batch) = (&pass.examples.rows, &part.batch);
            let tape = forward(pass.weights, rows, batch, &mut Dropper::none());
            pass.values(part, &tape.scores)
        });
        of_parts.concat()
    }
}
