//! The learned partitioner of search: predict, optionally climb from the prediction.
//!
//! Without refinement this is the paper's h^LCP.
//! With it, a few steps of ascent by the learned rule begin at the predicted shares: a second look,
//! with the distances that the prediction leads to.

use std::sync::Arc;

use planner::abstraction::Abstractions;
use planner::partition::{
    CostPartitioning, Improved, ImprovedConfig, LearningTime, Partitioner, Request, StepRule,
};
use planner::task::Cost;

use crate::predict::Predictor;

/// Predicts partitionings and refines them.
pub struct Learned {
    predictor: Predictor,
    refinement: Option<Improved>,
}

impl Learned {
    /// Predictions with `refine` steps of ascent each, which keeps at most `max_bytes`.
    pub fn new(predictor: Predictor, refine: usize, max_bytes: usize) -> Learned {
        Learned::with_rule(predictor, refine, StepRule::trained(), max_bytes)
    }

    /// The same by another rule for steps.
    pub fn with_rule(
        predictor: Predictor,
        refine: usize,
        rule: StepRule,
        max_bytes: usize,
    ) -> Learned {
        let config = ImprovedConfig { steps: refine, rule, max_bytes, sparing: false };
        let refinement = (refine > 0).then(|| Improved::new(predictor.abstractions(), config));
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
        self.refinement.as_ref().and_then(Improved::ceiling)
    }

    fn memory_bytes(&self) -> usize {
        let refinement = self.refinement.as_ref().map_or(0, Improved::memory_bytes);
        self.predictor.bytes() + refinement
    }

    fn learning_time(&self) -> LearningTime {
        self.predictor.time()
    }
}
