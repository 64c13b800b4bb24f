//! What training minimises, as a function of the scores S of one state's tokens.
//!
//! The shares are α(p,o) = softmax over p of S(p,o), and h = Σ_P h^P(s, α_P·c) is the bound.
//!
//! * [`Loss::Kl`] (the paper): Σ_o KL(α*(·,o) ‖ α(·,o)) for operators with a cost, with α* an
//!   optimal partitioning; ∂/∂S = α − α*.
//! * [`Loss::Bound`]: 1 − h / h_ref, and [`Loss::LogBound`]: −ln h, which need no labels;
//!   ∂h/∂S(p,o) = α(p,o)·(∂h/∂α(p,o) − Σ_q α(q,o)·∂h/∂α(q,o)).
//! * [`Loss::KlAndBound`] (what the paper leaves for later): for each operator with a cost its
//!   divergence and the bound's shortfall, so that neither outweighs the other on large tasks.
//!
//! Cost: one shortest path per pattern and state for the bound, linear otherwise.

use std::fmt;
use std::str::FromStr;

use planner::task::{OpId, Value};
use serde::{Deserialize, Serialize};

use super::bound::Bound;
use super::examples::{LabelledState, TaskExamples};
use crate::network::pointwise::{SoftmaxSum, ln};
use crate::predict::TaskPositions;

/// The loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Divergence from an optimal partitioning.
    Kl,
    /// The bound's shortfall from a reference.
    Bound,
    /// The bound's logarithm: states near the goal count as much as others, and no reference is
    /// needed.
    LogBound,
    /// The divergence, and the bound's shortfall once for each operator.
    #[serde(rename = "kl+bound")]
    KlAndBound,
}

const NAMES: [(Loss, &str); 4] = [
    (Loss::Kl, "kl"),
    (Loss::Bound, "bound"),
    (Loss::LogBound, "log-bound"),
    (Loss::KlAndBound, "kl+bound"),
];

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(loss, _)| loss == self).map(|(_, name)| *name);
        f.write_str(name.expect("every loss has a name"))
    }
}

impl FromStr for Loss {
    type Err = String;

    fn from_str(name: &str) -> Result<Loss, String> {
        let found = NAMES.iter().find(|(_, known)| *known == name).map(|(loss, _)| *loss);
        found.ok_or_else(|| {
            format!("no loss `{name}` (there are: {})", NAMES.map(|n| n.1).join(", "))
        })
    }
}

/// Reusable memory for losses.
#[derive(Default)]
pub struct LossScratch {
    bound: Bound,
    scores: Vec<f32>,
    shares: Vec<f32>,
    d_shares: Vec<f32>,
    d_gain: f32,
}

/// A state's scores: which one each scored position has, and all of them.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// The token of each scored position.
    pub tokens: &'a [u32],
    /// The score of each token.
    pub scores: &'a [f32],
    /// The prior of each pair and its gain, if there is one.
    pub prior: Option<(&'a [f32], f32)>,
}

impl Loss {
    /// Whether it needs an optimal partitioning of every state.
    pub fn needs_labels(self) -> bool {
        matches!(self, Loss::Kl | Loss::KlAndBound)
    }

    /// The loss of one state, and its h unless the loss does without; adds the derivative by the
    /// score of each token to `d_scores`, and that by the gain to what [`LossScratch::take_d_gain`]
    /// gives.
    /// `reference` is the h that the bound's shortfall is measured against.
    pub fn of_state(
        self,
        task: &TaskExamples,
        state: &LabelledState,
        reference: f64,
        scores: Scores,
        d_scores: &mut [f32],
        scratch: &mut LossScratch,
    ) -> (f64, Option<f64>) {
        let (mut divergence, mut operators) = (0.0, 0.0);
        if self.needs_labels() {
            let target = state.shares.as_deref().expect("checked before training");
            scratch.spread(task, scores);
            (divergence, operators) = kl(task, target, scores, scratch, d_scores);
        }
        if self == Loss::Kl {
            return (divergence, None);
        }
        let h = scratch.value(task, &state.values, scores);
        let (loss, slope) = match self {
            Loss::LogBound if h > 0.0 => (-ln(h), -1.0 / h),
            // No partitioning is known to be worth anything here, so nothing can be learned.
            Loss::LogBound => (0.0, 0.0),
            Loss::KlAndBound => {
                (divergence + operators * (1.0 - h / reference), -operators / reference)
            }
            _ => (1.0 - h / reference, -1.0 / reference),
        };
        scratch.d_shares.iter_mut().for_each(|d| *d *= slope as f32);
        let LossScratch { shares, d_shares, d_gain, .. } = scratch;
        task.places.shares_backward(shares, d_shares, scores.tokens, d_scores);
        if let Some((prior, _)) = scores.prior {
            *d_gain += task.places.gain_backward(shares, d_shares, prior);
        }
        (loss, Some(h))
    }
}

impl LossScratch {
    /// h of the partitioning that the scores of a state mean; leaves its derivatives by the
    /// shares in `d_shares`.
    pub fn value(&mut self, task: &TaskExamples, state: &[Value], scores: Scores) -> f64 {
        self.spread(task, scores);
        let pairs = task.abstractions.num_pairs();
        self.shares.resize(pairs, 0.0);
        task.places.shares(&self.scores, &mut self.shares);
        self.d_shares.clear();
        self.d_shares.resize(pairs, 0.0);
        self.bound.evaluate(&task.abstractions, state, &self.shares, &mut self.d_shares)
    }

    /// The derivative by the gain of the prior, summed since this was asked last.
    pub fn take_d_gain(&mut self) -> f32 {
        std::mem::take(&mut self.d_gain)
    }

    /// One score per position, with the prior.
    fn spread(&mut self, task: &TaskExamples, scores: Scores) {
        self.scores.clear();
        self.scores.extend(scores.tokens.iter().map(|&token| scores.scores[token as usize]));
        if let Some((prior, gain)) = scores.prior {
            task.places.add_prior(prior, gain, &mut self.scores);
        }
    }
}

/// Σ_o KL(target ‖ softmax(scores)) and the number of its summands; adds the derivatives.
fn kl(
    task: &TaskExamples,
    target: &[f32],
    Scores { tokens, prior, .. }: Scores,
    LossScratch { scores, d_gain, .. }: &mut LossScratch,
    d_scores: &mut [f32],
) -> (f64, f64) {
    let (abstractions, places) = (&task.abstractions, &task.places);
    let (mut loss, mut operators) = (0.0, 0.0);
    for (range, operator) in scored_ranges(places) {
        let pairs = &places.pairs()[range.clone()];
        let wanted = |pair: &Option<u32>| pair.map_or(0.0, |pair| target[pair as usize]);
        let mass: f32 = pairs.iter().map(wanted).sum();
        if abstractions.costs()[operator.index()] == 0 || mass <= 0.0 {
            continue;
        }
        operators += 1.0;
        let softmax = SoftmaxSum::new(&scores[range.clone()]);
        for (i, pair) in range.zip(pairs) {
            let wanted = wanted(pair) / mass;
            if wanted > 0.0 {
                let wanted = f64::from(wanted);
                loss += wanted * (ln(wanted) - softmax.ln_share(scores[i]));
            }
            let d = softmax.share(scores[i]) - wanted;
            d_scores[tokens[i] as usize] += d;
            if let (Some((prior, _)), Some(pair)) = (prior, pair) {
                *d_gain += d * prior[*pair as usize];
            }
        }
    }
    (loss, operators)
}

/// The scored positions of each operator, as indices among all scored positions.
fn scored_ranges(places: &TaskPositions) -> impl Iterator<Item = (std::ops::Range<usize>, OpId)> {
    let positions = &places.positions;
    let mut next = 0;
    (0..positions.operators()).map(move |o| {
        let scored = &positions.scored[positions.of_operator(o)];
        let start = next;
        next += scored.iter().filter(|scored| **scored).count();
        (start..next, OpId::from(o))
    })
}
