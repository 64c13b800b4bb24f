//! The network that splits costs: axial attention over operators and patterns, one family.
//!
//! For one state, X[k, m, d] holds the action-centric features of k patterns and m operators.
//! With T the tokens (one vector of width w per pattern and operator), the network computes
//!
//! ```text
//! T ← X·W_in                                (absent in the paper's preset: T ← X, w = d)
//! for each block:
//!   for each pattern p:   T[p,·] ← T[p,·] + attention(norm(T[p,·]))   over the operators
//!   for each operator o:  T[·,o] ← T[·,o] + attention(norm(T[·,o]))   over the patterns
//! score[p,o] = relu(relu(T[p,o]·M₀ + b₀)·M₁ + b₁)·u + c
//! α[·,o]     = softmax over the patterns of score[·,o]
//! ```
//!
//! The paper's network and the compact one of self-training differ by [`NetworkConfig`] only.
//!
//! Everything is computed on *distinct* tokens with multiplicities ([`tokens`]), which is exact:
//! the network knows no positions, so equal tokens stay equal.
//! [`weights`] holds the parameters, [`train_pass`] the forward pass with its hand-written
//! backward pass, [`infer`] the forward pass with caches and folded maps for search.

use serde::{Deserialize, Serialize};
use thiserror::Error;

mod contexts;
pub mod infer;
pub mod matrix;
pub mod pointwise;
mod score;
pub mod tokens;
pub mod train_pass;
pub mod weights;

/// How a token attends to the others of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Scaled dot products of learned queries and keys (the paper).
    Learned,
    /// Every token of the group counts the same; there are no queries and keys.
    Mean,
}

/// Which (pattern, operator) pairs are tokens of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenScope {
    /// All of them (the paper).
    All,
    /// Those where the operator changes the abstract state of the pattern.
    Relevant,
}

/// The shape of a network: everything that fixes its tensors and its forward pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// The number of input features d, that is colours of the vocabulary.
    pub input: usize,
    /// The width w of the tokens; `None` is the paper: w = d and no input projection.
    pub width: Option<usize>,
    /// The number of blocks of two attentions each.
    pub layers: usize,
    /// The number of attention heads; it divides the width.
    pub heads: usize,
    /// How tokens attend.
    pub attention: Attention,
    /// The hidden width of the MLP as a share of the width.
    pub mlp_ratio: f64,
    /// Which pairs are tokens.
    pub tokens: TokenScope,
}

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
    /// The paper's network on `input` colours: one block, one head, the width of the input.
    pub fn paper(input: usize) -> NetworkConfig {
        NetworkConfig {
            input,
            width: None,
            layers: 1,
            heads: 1,
            attention: Attention::Learned,
            mlp_ratio: 0.4,
            tokens: TokenScope::All,
        }
    }

    /// The compact network of self-training: projected to `width`, means instead of attention,
    /// and only pairs that need a weight.
    pub fn compact(input: usize, width: usize) -> NetworkConfig {
        NetworkConfig {
            input,
            width: Some(width),
            layers: 1,
            heads: 1,
            attention: Attention::Mean,
            mlp_ratio: 1.0,
            tokens: TokenScope::Relevant,
        }
    }

    /// The width w of the tokens.
    pub fn width(&self) -> usize {
        self.width.unwrap_or(self.input)
    }

    /// The hidden width of the MLP, ⌈mlp_ratio · w⌉.
    pub fn hidden(&self) -> usize {
        // PERF: none. The product is rounded to 1e-9 first so that 0.4 · 5 is 2 and not 3.
        let product = self.mlp_ratio * self.width() as f64;
        ((product - 1e-9).ceil() as usize).max(1)
    }

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
