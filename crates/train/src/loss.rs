//! What training minimises, as a function of the scores S of one state's tokens.
//!
//! The shares are α(p,o) = softmax over p of S(p,o).
//!
//! * [`Loss::Kl`] (the paper): Σ_o KL(α*(·,o) ‖ α(·,o)) for operators with a cost, with α* an
//!   optimal partitioning; ∂/∂S = α − α*.
//! * [`Loss::Bound`]: 1 − h / h_ref with h = Σ_P h^P(s, α_P·c), which needs no labels.
//!   h^P is concave in the costs and the operator counts of one shortest path are a
//!   supergradient: ∂h/∂α(p,o) = c(o)·count_p(o), and
//!   ∂h/∂S(p,o) = α(p,o)·(∂h/∂α(p,o) − Σ_q α(q,o)·∂h/∂α(q,o)).
//!
//! Distances are those of the integer grid that search uses.
//! Cost: one shortest path per pattern and state for the bound, linear otherwise.

use std::fmt;
use std::str::FromStr;

use lcp::predict::TaskPositions;
use lcp::self_training::bound::Bound;
use planner::abstraction::{Abstractions, INFINITY};
use planner::partition::{CostPartitioning, PartitionScratch};
use planner::task::{OpId, Value};
use serde::{Deserialize, Serialize};

use crate::examples::{LabelledState, TaskExamples};

/// The loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Divergence from an optimal partitioning.
    Kl,
    /// The bound itself.
    Bound,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::Kl => "kl",
            Loss::Bound => "bound",
        })
    }
}

impl FromStr for Loss {
    type Err = String;

    fn from_str(name: &str) -> Result<Loss, String> {
        match name {
            "kl" => Ok(Loss::Kl),
            "bound" => Ok(Loss::Bound),
            _ => Err(format!("no loss `{name}` (there are: kl, bound)")),
        }
    }
}

/// Reusable memory for losses.
#[derive(Default)]
pub struct LossScratch {
    bound: Bound,
    scores: Vec<f32>,
    shares: Vec<f32>,
    d_shares: Vec<f32>,
}

/// A state's scores: which one each scored position has, and all of them.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// The token of each scored position.
    pub tokens: &'a [u32],
    /// The score of each token.
    pub scores: &'a [f32],
}

impl Loss {
    /// The loss of one state; adds its derivative by the score of each token to `d_scores`.
    /// `reference` is the h that the bound is measured against.
    pub fn of_state(
        self,
        task: &TaskExamples,
        state: &LabelledState,
        reference: f64,
        scores: Scores,
        d_scores: &mut [f32],
        scratch: &mut LossScratch,
    ) -> f64 {
        match self {
            Loss::Kl => {
                let target = state.shares.as_deref().expect("checked before training");
                scratch.spread(scores);
                kl(task, target, scores.tokens, &scratch.scores, d_scores)
            }
            Loss::Bound => {
                let h = scratch.value(task, &state.values, scores);
                // ∂(1 − h/h_ref) = −∂h / h_ref
                scratch.d_shares.iter_mut().for_each(|d| *d *= (-1.0 / reference) as f32);
                let LossScratch { shares, d_shares, .. } = scratch;
                task.places.shares_backward(shares, d_shares, scores.tokens, d_scores);
                1.0 - h / reference
            }
        }
    }
}

impl LossScratch {
    /// h of the partitioning that the scores of a state mean; leaves its derivatives by the
    /// shares in `d_shares`.
    pub fn value(&mut self, task: &TaskExamples, state: &[Value], scores: Scores) -> f64 {
        self.spread(scores);
        let pairs = task.abstractions.num_pairs();
        self.shares.resize(pairs, 0.0);
        task.places.shares(&self.scores, &mut self.shares);
        self.d_shares.clear();
        self.d_shares.resize(pairs, 0.0);
        self.bound.evaluate(&task.abstractions, state, &self.shares, &mut self.d_shares)
    }

    /// One score per position.
    fn spread(&mut self, scores: Scores) {
        self.scores.clear();
        self.scores.extend(scores.tokens.iter().map(|&token| scores.scores[token as usize]));
    }
}

/// The sum of the distances of a partitioning in units of cost, not rounded; `None` for a dead
/// end.
pub fn value_of(
    abstractions: &Abstractions,
    partitioning: &CostPartitioning,
    state: &[Value],
    scratch: &mut PartitionScratch,
) -> Option<f64> {
    let PartitionScratch { distances, label_costs, path, .. } = scratch;
    let mut sum = 0u64;
    for p in abstractions.ids() {
        let projection = abstractions.projection(p);
        projection.label_costs(partitioning.costs_of(abstractions, p), label_costs);
        let from = projection.abstract_state(state);
        match projection.shortest_path(from, label_costs, distances, path) {
            INFINITY => return None,
            distance => sum += u64::from(distance),
        }
    }
    Some(sum as f64 / f64::from(partitioning.scale()))
}

/// Σ_o KL(target ‖ softmax(scores)); adds the derivatives.
fn kl(
    task: &TaskExamples,
    target: &[f32],
    tokens: &[u32],
    scores: &[f32],
    d_scores: &mut [f32],
) -> f64 {
    let (abstractions, places) = (&task.abstractions, &task.places);
    let mut loss = 0.0;
    for (range, operator) in scored_ranges(places) {
        let pairs = &places.pairs()[range.clone()];
        let wanted = |pair: &Option<u32>| pair.map_or(0.0, |pair| target[pair as usize]);
        let mass: f32 = pairs.iter().map(wanted).sum();
        if abstractions.costs()[operator.index()] == 0 || mass <= 0.0 {
            continue;
        }
        let total = softmax_total(&scores[range.clone()]);
        for (i, pair) in range.zip(pairs) {
            let wanted = wanted(pair) / mass;
            if wanted > 0.0 {
                let log_share = f64::from(scores[i] - total.max) - f64::from(total.sum).ln();
                loss += f64::from(wanted) * (f64::from(wanted).ln() - log_share);
            }
            d_scores[tokens[i] as usize] += total.share(scores[i]) - wanted;
        }
    }
    loss
}

/// The denominator of a softmax.
struct SoftmaxTotal {
    max: f32,
    sum: f32,
}

impl SoftmaxTotal {
    fn share(&self, score: f32) -> f32 {
        (score - self.max).exp() / self.sum
    }
}

fn softmax_total(scores: &[f32]) -> SoftmaxTotal {
    let max = scores.iter().fold(f32::NEG_INFINITY, |max, &x| max.max(x));
    SoftmaxTotal { max, sum: scores.iter().map(|x| (x - max).exp()).sum() }
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
