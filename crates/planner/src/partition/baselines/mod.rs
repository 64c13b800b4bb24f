//! Cost partitionings to compare with: uniform, and greedy zero-one.

mod gzocp;
mod uniform;

pub use gzocp::{ZeroOneConfig, zero_one_partitionings};
pub use uniform::Uniform;
