//! The learned partitioner of search: predict, optionally climb from the prediction.
//!
//! Without refinement this is the paper's h^LCP.
//! With it, a few steps of ascent begin at the predicted shares: a second look, with the distances
//! that the prediction leads to.

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::partition::{
    Ascent, AscentConfig, CostPartitioning, LearningTime, Partitioner, Request, StepRule,
};
use planner::task::Cost;

use crate::predict::Predictor;

/// Predicts partitionings and refines them.
pub struct Learned {
    predictor: Predictor,
    refinement: Option<Ascent>,
}

impl Learned {
    /// Predictions with some steps of ascent each, which keeps at most `max_bytes`.
    pub fn new(predictor: Predictor, rule: StepRule, steps: usize, max_bytes: usize) -> Learned {
        let config = AscentConfig { steps, max_bytes, ..AscentConfig::every_state(rule) };
        let refinement = (steps > 0).then(|| Ascent::new(predictor.abstractions(), config));
        Learned { predictor, refinement }
    }
}

impl Partitioner for Learned {
    fn name(&self) -> &'static str {
        "lcp"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        self.predictor.abstractions()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Some(ascent) = &mut self.refinement else {
            let found = self.predictor.predict(request.state);
            request.budget.spend(self.predictor.take_work());
            return Some(found);
        };
        self.predictor.shares(request.state);
        request.budget.spend(self.predictor.take_work());
        ascent.partition_from(self.predictor.last_shares(), request)
    }

    fn ceiling(&self) -> Option<Cost> {
        self.refinement.as_ref().and_then(Ascent::ceiling)
    }

    fn memory_bytes(&self) -> usize {
        let refinement = self.refinement.as_ref().map_or(0, Ascent::memory_bytes);
        self.predictor.bytes() + refinement
    }

    fn learning_time(&self) -> LearningTime {
        self.predictor.time()
    }
}
