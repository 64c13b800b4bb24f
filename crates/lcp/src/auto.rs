//! The strategy of `auto`: a portfolio of partitioners, and networks beside it if asked for.
//!
//! Saturated cost partitioning, Lagrangian ascent from where the last one ended, by the learned
//! rule, and optimal cost partitioning compete ([`Portfolio`]).
//! On request ascent from the prediction of a network competes, too, which comes from a model of the
//! task's domain or is trained while the search runs ([`Learning`]).
//! `experiments/learned.md` has the figures that say why the rule is there unasked and networks are
//! not.
//!
//! Nothing here can make the search wrong: every source yields a checked cost partitioning.

use std::sync::Arc;
use std::time::{Duration, Instant};

use planner::abstraction::Abstractions;
use planner::partition::{
    CostPartitioning, Lagrangian, LagrangianConfig, LearningTime, Ocp, OcpConfig, Partitioner,
    Portfolio, PortfolioConfig, Request, Saturated, Start, StepRule,
};
use planner::task::Task;

use crate::learning::{Learning, LearningConfig};
use crate::model::Model;
use crate::partitioner::Learned;
use crate::predict::Predictor;

/// The settings of `auto`.
#[derive(Clone, Debug)]
pub struct AutoConfig {
    /// A model of the task's domain, for learning; without one a network is trained on the task.
    pub model: Option<Model>,
    /// How steps of ascent from the last partitioning are made, but for the first ones.
    pub rule: StepRule,
    /// Bytes that predictions may keep, and that ascents may keep.
    pub memory_limit: usize,
    /// Tasks whose projections take more than this part of the memory limit are left to saturated
    /// partitionings and ascent: each of the others keeps several times what projections take.
    pub large: usize,
    /// Steps of ascent from the last partitioning.
    pub steps: usize,
    /// Steps of ascent from a prediction.
    pub refine: usize,
    /// Who is asked.
    pub portfolio: PortfolioConfig,
    /// When to learn; never without.
    pub learning: Option<LearningConfig>,
    /// The seed of everything random.
    pub seed: u64,
}

impl Default for AutoConfig {
    fn default() -> AutoConfig {
        AutoConfig {
            model: None,
            rule: StepRule::trained(),
            memory_limit: 512 << 20,
            large: 2,
            steps: 100,
            refine: 60,
            portfolio: PortfolioConfig::default(),
            learning: None,
            seed: 2011,
        }
    }
}

/// The partitioner of `auto`.
pub struct Auto<'t> {
    portfolio: Portfolio<'t>,
    learning: Option<Learning<'t>>,
    refine: usize,
    max_bytes: usize,
    training: Duration,
}

impl<'t> Auto<'t> {
    /// The strategy for a task and its projections.
    pub fn new(task: &'t Task, abstractions: &Arc<Abstractions>, config: AutoConfig) -> Auto<'t> {
        let max_bytes = config.memory_limit / 4;
        let is_large = abstractions.memory_bytes() > config.memory_limit / config.large;
        let AutoConfig { steps, rule, .. } = config;
        let ascent = LagrangianConfig { steps, rule, start: Start::Previous, max_bytes };
        let mut auto = Auto {
            portfolio: Portfolio::new(abstractions, config.portfolio)
                .with(Saturated::new(abstractions))
                .with(Lagrangian::new(abstractions, ascent)),
            learning: None,
            refine: config.refine,
            max_bytes,
            training: Duration::ZERO,
        };
        if is_large {
            return auto;
        }
        // Networks are for patterns.
        let has_patterns_only = abstractions.components().iter().all(|c| c.pattern().is_some());
        if let Some(learning) = config.learning.filter(|_| has_patterns_only) {
            let AutoConfig { model, memory_limit, seed, .. } = config;
            let learning = Learning::new(task, abstractions, model, learning, memory_limit, seed);
            if let Some(predictor) = learning.predictor() {
                auto.use_network(predictor);
            }
            auto.learning = Some(learning);
        }
        let optimal = OcpConfig { max_bytes, ..OcpConfig::default() };
        auto.portfolio.add(Ocp::with_config(abstractions, optimal));
        auto
    }

    fn use_network(&mut self, predictor: Predictor) {
        self.portfolio.add(Learned::new(predictor, self.refine, self.max_bytes));
    }
}

impl Partitioner for Auto<'_> {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        self.portfolio.abstractions()
    }

    fn scale(&self) -> u32 {
        self.abstractions().scale()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, beat, budget, elapsed, initial } = request;
        // What learning takes is not taken from the others.
        let mut own = budget.part(budget.left());
        if let Some(learning) = &mut self.learning {
            let started = Instant::now();
            let learned = learning.advance(state, elapsed, budget);
            self.training += started.elapsed();
            if let Some(predictor) = learned {
                self.use_network(predictor);
            }
        }
        let found =
            self.portfolio.partition(Request { state, beat, budget: &mut own, elapsed, initial });
        budget.spend(own.spent());
        found
    }

    fn memory_bytes(&self) -> usize {
        self.portfolio.memory_bytes()
    }

    fn learning_time(&self) -> LearningTime {
        LearningTime { training: self.training, ..self.portfolio.learning_time() }
    }
}
