//! AdamW (Loshchilov and Hutter 2019), the learning rate over time and early stopping.
//!
//! Parameters are one flat vector, so the optimiser is one loop and its state two more vectors:
//! a checkpoint holds everything, and a resumed run continues bit by bit.

use serde::{Deserialize, Serialize};

use crate::network::pointwise::dot;

/// Settings of AdamW.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct AdamWConfig {
    /// Decay of the first moment.
    pub beta_1: f32,
    /// Decay of the second moment.
    pub beta_2: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// How much of each parameter decays per step, times the learning rate.
    pub weight_decay: f32,
    /// What the gradient's norm is cut to.
    #[serde(default)]
    pub max_norm: Option<f32>,
}

impl Default for AdamWConfig {
    fn default() -> AdamWConfig {
        AdamWConfig {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            max_norm: None,
        }
    }
}

/// First and second moments of the gradient and the number of steps taken.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AdamW {
    /// Running mean of the gradient.
    pub first: Vec<f32>,
    /// Running mean of its square.
    pub second: Vec<f32>,
    /// Steps taken.
    pub steps: u64,
}

impl AdamW {
    /// The state before the first step.
    pub fn new(parameters: usize) -> AdamW {
        AdamW { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }

    /// One step:
    /// m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², w ← w − η(m̂ / (√v̂ + ε) + λw).
    pub fn step(
        &mut self,
        config: &AdamWConfig,
        learning_rate: f32,
        weights: &mut [f32],
        gradient: &[f32],
    ) {
        assert_eq!(weights.len(), self.first.len());
        assert_eq!(gradient.len(), self.first.len());
        self.steps += 1;
        let correction = |beta: f32| (1.0 - power(f64::from(beta), self.steps)) as f32;
        let (correct_1, correct_2) = (correction(config.beta_1), correction(config.beta_2));
        let clip = match config.max_norm {
            Some(most) => (most / dot(gradient, gradient).sqrt()).min(1.0),
            None => 1.0,
        };
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((w, &g), (m, v)) in weights.iter_mut().zip(gradient).zip(moments) {
            let g = clip * g;
            *m = config.beta_1 * *m + (1.0 - config.beta_1) * g;
            *v = config.beta_2 * *v + (1.0 - config.beta_2) * g * g;
            let direction = (*m / correct_1) / ((*v / correct_2).sqrt() + config.epsilon);
            *w -= learning_rate * (direction + config.weight_decay * *w);
        }
    }
}

/// xⁿ by squaring; the library's may differ between machines.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut power = 1.0;
    while n > 0 {
        if n % 2 == 1 {
            power *= x;
        }
        x *= x;
        n /= 2;
    }
    power
}

/// When the learning rate falls and when training ends, judged by the validation loss.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LearningRateConfig {
    /// The learning rate at the start.
    pub learning_rate: f32,
    /// What it is multiplied with on a plateau.
    pub factor: f32,
    /// Epochs without a new minimum that make a plateau.
    pub patience: usize,
    /// Whether it also falls to a tenth in equal steps, and in how many.
    #[serde(default)]
    pub linear_steps: Option<u64>,
    /// Epochs without an improvement that end training.
    pub stop_after: usize,
    /// The least decrease that counts as an improvement.
    pub min_improvement: f64,
}

/// The learning rate and early stopping.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LearningRate {
    /// The current learning rate.
    pub learning_rate: f32,
    /// The least validation loss so far.
    minimum: f64,
    since_minimum: usize,
    /// The validation loss that the next improvement is measured against.
    reference: f64,
    since_improvement: usize,
}

impl LearningRate {
    /// The schedule before the first epoch.
    pub fn new(config: &LearningRateConfig) -> LearningRate {
        LearningRate {
            learning_rate: config.learning_rate,
            minimum: f64::INFINITY,
            since_minimum: 0,
            reference: f64::INFINITY,
            since_improvement: 0,
        }
    }

    /// The learning rate of a step.
    pub fn rate(&self, config: &LearningRateConfig, step: u64) -> f32 {
        let progress = config.linear_steps.map_or(0.0, |all| step as f32 / all.max(1) as f32);
        self.learning_rate * (1.0 - 0.9 * progress.min(1.0))
    }

    /// Takes note of an epoch's validation loss; returns whether it is a new minimum.
    pub fn observe(&mut self, config: &LearningRateConfig, loss: f64) -> bool {
        let is_minimum = loss < self.minimum;
        if is_minimum {
            self.minimum = loss;
            self.since_minimum = 0;
        } else {
            self.since_minimum += 1;
            if self.since_minimum >= config.patience {
                self.learning_rate *= config.factor;
                self.since_minimum = 0;
            }
        }
        if loss < self.reference - config.min_improvement {
            self.reference = loss;
            self.since_improvement = 0;
        } else {
            self.since_improvement += 1;
        }
        is_minimum
    }

    /// Whether training should end.
    pub fn is_over(&self, config: &LearningRateConfig) -> bool {
        self.since_improvement >= config.stop_after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULE: LearningRateConfig = LearningRateConfig {
        learning_rate: 1.0,
        factor: 0.1,
        patience: 2,
        linear_steps: None,
        stop_after: 4,
        min_improvement: 0.01,
    };

    #[test]
    fn adamw_finds_the_minimum_of_a_parabola() {
        let config = AdamWConfig { weight_decay: 0.0, ..AdamWConfig::default() };
        let mut adam = AdamW::new(2);
        let mut weights = vec![3.0, -2.0];
        for _ in 0..2000 {
            let gradient = [2.0 * (weights[0] - 1.0), 20.0 * (weights[1] - 0.5)];
            adam.step(&config, 0.01, &mut weights, &gradient);
        }
        assert!((weights[0] - 1.0).abs() < 1e-3 && (weights[1] - 0.5).abs() < 1e-3, "{weights:?}");
    }

    #[test]
    fn the_first_step_has_the_length_of_the_learning_rate() {
        let mut adam = AdamW::new(1);
        let mut weights = vec![2.0];
        adam.step(&AdamWConfig::default(), 0.1, &mut weights, &[1e-3]);
        // w − η(g/|g| + λw) = 2 − 0.1·(1 + 0.01·2)
        assert!((weights[0] - 1.898).abs() < 1e-4, "{weights:?}");
    }

    #[test]
    fn long_gradients_are_cut() {
        let config = AdamWConfig { max_norm: Some(1.0), ..AdamWConfig::default() };
        let (mut adam, mut weights) = (AdamW::new(2), vec![0.0; 2]);
        adam.step(&config, 0.1, &mut weights, &[30.0, 40.0]);
        assert!((adam.first[0] - 0.06).abs() < 1e-6 && (adam.first[1] - 0.08).abs() < 1e-6);
        assert!((power(0.9, 5) - 0.59049).abs() < 1e-12);
    }

    #[test]
    fn the_learning_rate_falls_on_plateaus_and_small_gains_do_not_prolong_training() {
        let mut schedule = LearningRate::new(&SCHEDULE);
        assert!(schedule.observe(&SCHEDULE, 1.0));
        assert!(schedule.observe(&SCHEDULE, 0.999));
        assert!(!schedule.observe(&SCHEDULE, 0.999));
        assert_eq!(schedule.learning_rate, 1.0);
        assert!(!schedule.observe(&SCHEDULE, 0.999));
        assert!((schedule.learning_rate - 0.1).abs() < 1e-6);
        assert!(!schedule.is_over(&SCHEDULE));
        assert!(schedule.observe(&SCHEDULE, 0.998));
        assert!(schedule.is_over(&SCHEDULE));
    }
}
