//! The learned partitioner of search: predict, optionally climb from the prediction.
//!
//! Without refinement this is the paper's h^LCP.
//! With it, a few steps of Lagrangian ascent begin at the predicted shares instead of at equal
//! ones, which is most of the way.

use planner::abstraction::Abstractions;
use planner::partition::{CostPartitioning, Lagrangian, LagrangianConfig, Partitioner, Start};
use planner::task::{Cost, Value};

use crate::predict::Predictor;

/// Predicts partitionings and refines them.
pub struct Learned {
    predictor: Predictor,
    refinement: Option<Lagrangian>,
}

impl Learned {
    /// Predictions with `refine` steps of ascent each, which keeps at most `max_bytes`.
    pub fn new(
        abstractions: &Abstractions,
        predictor: Predictor,
        refine: usize,
        max_bytes: usize,
    ) -> Learned {
        let (steps, start) = (refine, Start::Uniform);
        let config = LagrangianConfig { steps, start, max_bytes, ..LagrangianConfig::default() };
        let refinement = (refine > 0).then(|| Lagrangian::new(abstractions, config));
        Learned { predictor, refinement }
    }
}

impl Partitioner for Learned {
    fn name(&self) -> &'static str {
        "lcp"
    }

    fn partition(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        match &mut self.refinement {
            None => Some(self.predictor.predict(abstractions, state)),
            Some(ascent) => {
                let shares = self.predictor.shares(abstractions, state);
                ascent.partition_from(abstractions, state, shares, beat)
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        let refinement = self.refinement.as_ref().map_or(0, Lagrangian::memory_bytes);
        self.predictor.bytes() + refinement
    }
}
