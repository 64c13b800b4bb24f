//! Uniform cost partitioning: equal shares for all components where the operator is relevant.
//!
//! Computes one partitioning, the same for every state.

use std::sync::Arc;

use crate::abstraction::Abstractions;
use crate::partition::{CostPartitioning, Partitioner, Request};
use crate::work::{self, Work};

/// Makes the uniform partitioning.
#[derive(Clone, Debug)]
pub struct Uniform {
    abstractions: Arc<Abstractions>,
}

impl Uniform {
    /// The uniform partitioning of a collection.
    pub fn new(abstractions: &Arc<Abstractions>) -> Uniform {
        Uniform { abstractions: Arc::clone(abstractions) }
    }
}

impl Partitioner for Uniform {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        &self.abstractions
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let weights = vec![1.0f32; self.abstractions.num_pairs()];
        request.budget.spend(work::PAIR * weights.len() as Work);
        Some(CostPartitioning::from_weights(&self.abstractions, &weights))
    }
}
