//! The network's passes on an NVIDIA GPU, for `apportion train --engine cuda` and `cuda-full`.
//!
//! Shape, parameters and distinct tokens are those of [`lcp::network`]; `network` is its forward
//! and backward pass in operations of burn, and `Gpu` puts them to work in the training loop of
//! [`lcp::training`].
//! Losses are computed on the CPU; the optimiser, too, unless a step is one part, without a prior or
//! a limit on the gradient's norm, as the paper's are: then weights and moments stay on the GPU until
//! the epoch is over (`resident`).
//!
//! Matrices are multiplied in TF32 (10 bits of mantissa), everything else in 32 bits, so scores
//! differ from those of the CPU in the third digit and are not the same on every GPU; derivatives
//! may differ by some hundredths, as a hidden unit may be zero on one of the two alone, but the
//! gradient's direction is the same, which a test holds and is all that training needs.
//! With full products (`cuda-full`) both are the CPU's in five digits, which another test holds.
//!
//! Everything is behind the feature `burn`, which the program's feature `cuda` switches on.

#![cfg(feature = "burn")]

use burn::backend::Cuda;
use burn::tensor::Tensor;

mod engine;
mod groups;
pub mod network;
mod padding;
pub mod products;
pub mod resident;
mod sums;

pub use engine::Gpu;

/// A matrix on the GPU.
pub type Matrix = Tensor<Cuda, 2>;
/// The GPU.
pub type Device = burn::tensor::Device<Cuda>;
