//! What `auto` divides costs among when pairs of variables do not suffice.
//!
//! Cartesian abstractions join the projections, and stay if saturated cost partitioning over all
//! of them gives more at states of random walks than over the projections alone.

use std::sync::Arc;

use planner::abstraction::{Abstractions, CartesianConfig, cartesian_abstractions};
use planner::heuristic::{Estimate, Heuristic, ScheduleConfig, Stored, StoredConfig};
use planner::partition::{
    Lagrangian, LagrangianConfig, PartitionScratch, Partitioner, Portfolio, PortfolioConfig,
    Saturated, Saturator, Start, Walks,
};
use planner::task::{Task, Value};

/// How to go beyond projections.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ComponentsConfig {
    /// The Cartesian abstractions.
    pub cartesian: CartesianConfig,
    /// States at which collections are compared.
    pub samples: usize,
    /// By which factor the sum of values has to rise.
    pub gain: f64,
    /// Bytes that ascents may keep.
    pub max_bytes: usize,
    /// Steps of ascent.
    pub steps: usize,
}

impl Default for ComponentsConfig {
    fn default() -> ComponentsConfig {
        ComponentsConfig {
            cartesian: CartesianConfig::default(),
            samples: 30,
            gain: 1.02,
            max_bytes: 128 << 20,
            steps: 100,
        }
    }
}

/// A store over more components than the projections, if they are worth it.
pub fn with_more_components<'t>(
    task: &'t Task,
    projections: &Arc<Abstractions>,
    config: &ComponentsConfig,
    stored: StoredConfig,
) -> Option<Box<dyn Heuristic + 't>> {
    let more = cartesian_abstractions(task, &config.cartesian);
    if more.is_empty() {
        return None;
    }
    let all = Abstractions::of(task, [projections.components().to_vec(), more].concat());
    if value(task, projections, projections, config) * config.gain
        > value(task, projections, &all, config)
    {
        return None;
    }
    let ascent = LagrangianConfig {
        steps: config.steps,
        start: Start::Previous,
        max_bytes: config.max_bytes,
    };
    let both = Portfolio::new(&all, PortfolioConfig::default())
        .with(Saturated::new(&all).with_saturator(Saturator::Perimeter))
        .with(Lagrangian::new(&all, ascent));
    let schedule = ScheduleConfig { dive_after: 0, ..stored.schedule };
    Some(Box::new(Stored::new(both, StoredConfig { schedule, ..stored })))
}

/// The sum of values at states of random walks, the initial one among them.
fn value(
    task: &Task,
    projections: &Abstractions,
    abstractions: &Arc<Abstractions>,
    config: &ComponentsConfig,
) -> f64 {
    let mut saturated = Saturated::new(abstractions);
    let scratch = &mut PartitionScratch::default();
    let mut value_of = |state: &[Value]| match saturated.best_for(state)?.evaluate(state, scratch) {
        Estimate::AtLeast(h) => Some(h),
        Estimate::DeadEnd => None,
    };
    let Some(first) = value_of(&task.initial) else { return f64::INFINITY };
    let mut walks = Walks::new(task, projections);
    walks.expect(first);
    let mut sum = first as f64;
    for _ in 1..config.samples {
        let state = walks.state();
        if !abstractions.is_dead_end(&state) {
            sum += value_of(&state).unwrap_or(0) as f64;
        }
    }
    sum
}
