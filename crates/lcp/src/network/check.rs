//! Which shapes of a network can be built, and the rounding of its weights.

use thiserror::Error;

use super::{NetworkConfig, Weights};

/// A configuration that no network has.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ConfigError {
    /// A size that must be positive is zero, or one is beyond all reason.
    #[error("the network's {what} is {value}, which is not between 1 and {most}")]
    Size {
        /// The size in question.
        what: &'static str,
        /// The value given.
        value: usize,
        /// The largest value allowed.
        most: usize,
    },
    /// The heads do not divide the width.
    #[error("{heads} attention heads do not divide the width {width}")]
    Heads {
        /// The number of heads.
        heads: usize,
        /// The width.
        width: usize,
    },
    /// The ratio is not a positive number.
    #[error("the MLP ratio {0} is not between 0 and 16")]
    MlpRatio(f64),
}

impl NetworkConfig {
    /// Refuses shapes that cannot be built or that no machine could hold.
    pub fn check(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("input", self.input, 1 << 16),
            ("width", self.width(), 1 << 13),
            ("number of blocks", self.layers, 64),
            ("number of heads", self.heads, 1 << 10),
        ];
        for (what, value, most) in sizes {
            if value == 0 || value > most {
                return Err(ConfigError::Size { what, value, most });
            }
        }
        if !self.width().is_multiple_of(self.heads) {
            return Err(ConfigError::Heads { heads: self.heads, width: self.width() });
        }
        if !(self.mlp_ratio > 0.0 && self.mlp_ratio <= 16.0) {
            return Err(ConfigError::MlpRatio(self.mlp_ratio));
        }
        Ok(())
    }
}

impl Weights {
    /// Rounds every parameter to the nearest BF16 number (8 bits of mantissa; ties to even), which
    /// halves the size of a model file.
    pub fn round(&mut self) {
        for x in self.data.iter_mut().filter(|x| x.is_finite()) {
            let bits = x.to_bits();
            let half = 0x7fff + (bits >> 16 & 1);
            *x = f32::from_bits((bits + half) & 0xffff_0000);
        }
    }
}
