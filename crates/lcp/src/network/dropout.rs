//! Dropout: while training, a share of the activations is zeroed and the others are scaled up.
//!
//! What is dropped depends on the seed only, not on threads or machines.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Shares of activations that are zeroed while training.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Dropout {
    /// Of the attention weights.
    pub attention: f64,
    /// Of what an attention adds to its input.
    pub residual: f64,
    /// Of the MLP's output.
    pub mlp: f64,
}

impl Dropout {
    /// The paper's rates.
    pub const PAPER: Dropout = Dropout { attention: 0.1, residual: 0.2, mlp: 0.3 };
    /// No dropout, as in inference.
    pub const NONE: Dropout = Dropout { attention: 0.0, residual: 0.0, mlp: 0.0 };
}

/// Drops activations of one forward pass.
#[derive(Clone, Debug)]
pub struct Dropper {
    pub(super) rates: Dropout,
    random: Xoshiro256PlusPlus,
}

impl Dropper {
    /// Drops at these rates.
    pub fn new(rates: Dropout, seed: u64) -> Dropper {
        Dropper { rates, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Drops nothing.
    pub fn none() -> Dropper {
        Dropper::new(Dropout::NONE, 0)
    }

    /// Zeroes a share of the values and scales the others up.
    pub(super) fn drop(&mut self, share: f64, x: &mut [f32]) -> Mask {
        if share <= 0.0 {
            return Mask::default();
        }
        let dropped_below = (share * f64::from(u32::MAX)) as u32;
        let scale = (1.0 / (1.0 - share)) as f32;
        let mut factor = || if self.random.next_u32() < dropped_below { 0.0 } else { scale };
        let mask = Mask((0..x.len()).map(|_| factor()).collect());
        mask.apply(x, 0);
        mask
    }
}

/// What each activation was multiplied with; empty if nothing was dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Mask(Vec<f32>);

impl Mask {
    /// Multiplies the activations from `start` on, or their derivatives.
    pub(super) fn apply(&self, x: &mut [f32], start: usize) {
        if !self.0.is_empty() {
            x.iter_mut().zip(&self.0[start..]).for_each(|(x, factor)| *x *= factor);
        }
    }

    /// Appends the mask of the next activations.
    pub(super) fn append(&mut self, next: Mask) {
        self.0.extend(next.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_kept_and_so_is_the_mean() {
        let rates = Dropout { mlp: 0.3, ..Dropout::NONE };
        let mut x = vec![1.0f32; 100_000];
        let mask = Dropper::new(rates, 5).drop(rates.mlp, &mut x);
        let zeros = x.iter().filter(|&&x| x == 0.0).count();
        assert!((29_500..30_500).contains(&zeros), "{zeros}");
        let mean = x.iter().sum::<f32>() / x.len() as f32;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let mut same = vec![1.0; 3];
        mask.apply(&mut same, 7);
        assert_eq!(same, x[7..10]);
        let mut again = vec![1.0f32; 100_000];
        Dropper::new(rates, 5).drop(rates.mlp, &mut again);
        assert_eq!(x, again);
        assert!(Dropper::none().drop(0.0, &mut again).0.is_empty());
    }
}
