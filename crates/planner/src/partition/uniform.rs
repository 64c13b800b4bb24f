//! Uniform cost partitioning: equal shares for all patterns where the operator is relevant.
//!
//! Computes one partitioning, the same for every state.

use super::{CostPartitioning, Partitioner};
use crate::abstraction::Abstractions;
use crate::task::{Cost, Value};

/// Makes the uniform partitioning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl Partitioner for Uniform {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn partition(
        &mut self,
        abstractions: &Abstractions,
        _state: &[Value],
        _beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        let weights = vec![1.0f32; abstractions.num_pairs()];
        Some(CostPartitioning::from_weights(abstractions, &weights))
    }
}
