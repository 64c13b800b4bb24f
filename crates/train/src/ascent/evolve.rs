//! Evolution strategies for the rule of steps (Salimans et al. 2017): antithetic pairs of
//! perturbations, ranks instead of values, Adam.
//!
//! The score of a candidate is the mean over a batch of states of h / h_OCP after some numbers of
//! steps, each state normalised over the candidates so that none counts more than another.
//! Everything random comes from the number of the generation, so a training that was interrupted
//! goes on as if it had not been.

use std::path::Path;

use planner::partition::{Ascent, CostPartitioning, StepRule};
use planner::task::Value;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::{AscentError, io, read};

/// A state to climb at.
pub(super) struct Case {
    pub(super) state: Vec<Value>,
    pub(super) saturated: CostPartitioning,
    pub(super) value: f64,
    pub(super) optimum: f64,
}

/// The states of one task.
pub(super) struct Ground {
    pub(super) fold: usize,
    pub(super) climber: Ascent,
    pub(super) cases: Vec<Case>,
}

/// After how many steps values count.
const ROUNDS: [usize; 4] = [4, 8, 16, 32];
const PAIRS: usize = 12;
const BATCH: usize = 24;
const SIGMA: f32 = 0.1;
const RATE: f32 = 0.03;

/// How far a training has come.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Evolution {
    pub(super) generation: u64,
    pub(super) parameters: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Evolution {
    /// What a file holds, or the beginning: hidden units at random, none of them used.
    pub(super) fn resume(file: &Path) -> Result<Evolution, AscentError> {
        if let Some(text) = read(file)? {
            let foreign = AscentError::Foreign { path: file.to_owned(), what: "a checkpoint" };
            let found: Evolution = serde_json::from_str(&text).map_err(|_| foreign)?;
            let lengths = [found.parameters.len(), found.first.len(), found.second.len()];
            let what = "a checkpoint of a rule of this shape";
            let is_whole = lengths == [StepRule::PARAMETERS; 3];
            return is_whole
                .then_some(found)
                .ok_or(AscentError::Foreign { path: file.into(), what });
        }
        let n = StepRule::PARAMETERS;
        let mut normal = normals(0);
        let outputs = n - 8..n;
        let parameter = |k: usize| if k < 2 || outputs.contains(&k) { 0.0 } else { 0.5 * normal() };
        let parameters = (0..n).map(parameter).collect();
        Ok(Evolution { generation: 0, parameters, first: vec![0.0; n], second: vec![0.0; n] })
    }

    /// Writes where it stands.
    pub(super) fn save(&self, file: &Path) -> Result<(), AscentError> {
        let text = serde_json::to_string(self).expect("plain data");
        std::fs::write(file, text).map_err(io(file))
    }

    /// The rule so far.
    pub(super) fn rule(&self) -> StepRule {
        StepRule::learned(&self.parameters)
    }

    /// One generation on these tasks; `generations` is how many there will be.
    pub(super) fn advance(&mut self, grounds: &mut [&mut Ground], generations: u64) {
        self.generation += 1;
        let mut normal = normals(self.generation);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(!self.generation);
        let batch: Vec<(usize, usize)> = (0..BATCH)
            .map(|_| {
                let g = rng.random_range(0..grounds.len());
                (g, rng.random_range(0..grounds[g].cases.len()))
            })
            .collect();
        let noises: Vec<Vec<f32>> =
            (0..PAIRS).map(|_| self.parameters.iter().map(|_| normal()).collect()).collect();
        let mut scores: Vec<Vec<f64>> = Vec::new();
        let mut values = Vec::new();
        for noise in &noises {
            for sign in [SIGMA, -SIGMA] {
                let moved = self.parameters.iter().zip(noise).map(|(p, e)| p + sign * e);
                let rule = StepRule::learned(&moved.collect::<Vec<f32>>());
                let of_case = |&(g, c): &(usize, usize)| {
                    let Ground { climber, cases, .. } = &mut *grounds[g];
                    let case = &cases[c];
                    climber.set_rule(rule.clone(), 0);
                    climber.trace(&case.saturated, &case.state, &ROUNDS, &mut values);
                    values.iter().map(|v| v.max(case.value) / case.optimum).sum()
                };
                scores.push(batch.iter().map(of_case).collect());
            }
        }
        let ranks = ranks(&normalised(&scores));
        let decay = 1.0 - self.generation as f32 / (generations + 1) as f32;
        let (b1, b2) = (0.9f32, 0.99f32);
        let t = self.generation as i32;
        let Evolution { parameters, first, second, .. } = self;
        let moments = first.iter_mut().zip(second);
        for (k, (parameter, (first, second))) in parameters.iter_mut().zip(moments).enumerate() {
            let difference = |i: usize| (ranks[2 * i] - ranks[2 * i + 1]) * noises[i][k];
            let gradient: f32 = (0..PAIRS).map(difference).sum::<f32>() / PAIRS as f32;
            *first = b1 * *first + (1.0 - b1) * gradient;
            *second = b2 * *second + (1.0 - b2) * gradient * gradient;
            let mean = *first / (1.0 - b1.powi(t));
            let deviation = (*second / (1.0 - b2.powi(t))).sqrt();
            *parameter += RATE * decay * mean / (deviation + 1e-6);
        }
    }
}

/// Roughly normal numbers, the same on every machine.
fn normals(seed: u64) -> impl FnMut() -> f32 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    move || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0
}

/// The mean score of each candidate, every state normalised; states where rules hardly differ count
/// less.
fn normalised(scores: &[Vec<f64>]) -> Vec<f64> {
    let n = scores.len() as f64;
    let mut sums = vec![0.0; scores.len()];
    for c in 0..scores[0].len() {
        let mean = scores.iter().map(|of| of[c]).sum::<f64>() / n;
        let variance = scores.iter().map(|of| (of[c] - mean).powi(2)).sum::<f64>() / n;
        for (sum, of) in sums.iter_mut().zip(scores) {
            *sum += (of[c] - mean) / (variance.sqrt() + 0.005);
        }
    }
    sums
}

/// The place of each score among all, from -1/2 to 1/2.
fn ranks(scores: &[f64]) -> Vec<f32> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&i, &j| scores[i].total_cmp(&scores[j]));
    let mut ranks = vec![0.0; scores.len()];
    for (place, &i) in order.iter().enumerate() {
        ranks[i] = place as f32 / (scores.len() - 1) as f32 - 0.5;
    }
    ranks
}
