//! Adam (Kingma and Ba 2015) with clipped gradients.

use crate::network::weights::Weights;

/// The optimiser's state for one network.
#[derive(Clone, Debug)]
pub struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.99;
const EPSILON: f32 = 1e-8;

impl Adam {
    /// An optimiser that has made no step.
    pub fn new(parameters: usize) -> Adam {
        Adam { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }

    /// One step against the gradient, which it sets to zero; the gradient's norm is first cut to
    /// `max_norm`.
    pub fn step(
        &mut self,
        weights: &mut Weights,
        gradient: &mut Weights,
        rate: f32,
        max_norm: f32,
    ) {
        self.steps += 1;
        let norm = gradient.data.iter().map(|g| g * g).sum::<f32>().sqrt();
        let clip = if norm > max_norm { max_norm / norm } else { 1.0 };
        let rate = rate * (1.0 - BETA_2.powi(self.steps)).sqrt() / (1.0 - BETA_1.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        let values = weights.data.iter_mut().zip(&mut gradient.data);
        for ((m, v), (x, g)) in moments.zip(values) {
            let clipped = *g * clip;
            *m = BETA_1 * *m + (1.0 - BETA_1) * clipped;
            *v = BETA_2 * *v + (1.0 - BETA_2) * clipped * clipped;
            *x -= rate * *m / (v.sqrt() + EPSILON);
            *g = 0.0;
        }
    }
}
