//! Derivatives of the shares α(p,o) = softmax over p of S(p,o) by the scores S, and by the gain of
//! the prior that is added to them.
//!
//! ∂L/∂S(p,o) = α(p,o)·(∂L/∂α(p,o) − Σ_q α(q,o)·∂L/∂α(q,o)); cost linear in the positions.

use crate::predict::TaskPositions;

impl TaskPositions {
    /// The backward pass of [`TaskPositions::shares`]: adds ∂loss/∂score of each position to
    /// `d_scores[token]`, where `token` names the score that each position used.
    pub(super) fn shares_backward(
        &self,
        shares: &[f32],
        d_shares: &[f32],
        token: &[u32],
        d_scores: &mut [f32],
    ) {
        let mut next = 0;
        for o in 0..self.positions.operators() {
            let range = self.positions.of_operator(o);
            let n = self.positions.scored[range].iter().filter(|scored| **scored).count();
            let (pairs, token) = (&self.pairs()[next..next + n], &token[next..next + n]);
            next += n;
            let pairs = || pairs.iter().map(|pair| pair.map(|pair| pair as usize));
            // A pair without a share in the bound has no derivative of its own.
            let mean: f32 = pairs().flatten().map(|i| shares[i] * d_shares[i]).sum();
            for (pair, &token) in pairs().zip(token) {
                if let Some(i) = pair {
                    d_scores[token as usize] += shares[i] * (d_shares[i] - mean);
                }
            }
        }
    }

    /// ∂loss/∂gain of the prior, given ∂loss/∂share of each pair.
    pub(super) fn gain_backward(&self, shares: &[f32], d_shares: &[f32], prior: &[f32]) -> f32 {
        let (mut next, mut d_gain) = (0, 0.0);
        for o in 0..self.positions.operators() {
            let range = self.positions.of_operator(o);
            let n = self.positions.scored[range].iter().filter(|scored| **scored).count();
            let pairs = || self.pairs()[next..next + n].iter().flatten().map(|&pair| pair as usize);
            let mean: f32 = pairs().map(|i| shares[i] * d_shares[i]).sum();
            d_gain += pairs().map(|i| shares[i] * (d_shares[i] - mean) * prior[i]).sum::<f32>();
            next += n;
        }
        d_gain
    }
}
