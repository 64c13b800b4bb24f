//! What `auto` divides costs among when pairs of variables do not suffice.
//!
//! Cartesian abstractions join the projections, and stay if saturated cost partitioning over all
//! of them gives more at states of random walks than over the projections alone.

use std::sync::Arc;

use planner::abstraction::{Abstractions, CartesianConfig, cartesian_abstractions};
use planner::heuristic::{
    Estimate, Heuristic, ScheduleConfig, SecondOpinion, SecondOpinionConfig, Stored, StoredConfig,
};
use planner::partition::{
    Lagrangian, LagrangianConfig, PartitionScratch, Partitioner, Saturated, Saturator, Start, Walks,
};
use planner::task::{Task, Value};

/// How to go beyond projections.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ComponentsConfig {
    /// The Cartesian abstractions.
    pub cartesian: CartesianConfig,
    /// States at which collections are compared.
    pub samples: usize,
    /// Steps of ascent by which projections are judged.
    pub steps: usize,
    /// By which factor the sum of values has to rise.
    pub gain: f64,
}

impl Default for ComponentsConfig {
    fn default() -> ComponentsConfig {
        // With 100,000 states ferry p15 takes 12.1 s, with 20,000 6.6 s, with 5,000 4.2 s (p18: 16.5,
        // 12.1, 7.8; termes p11: more than 20, more than 20, 19.3): partitionings are cheaper and
        // there are more of them.
        let cartesian = CartesianConfig { states: 5_000, ..CartesianConfig::default() };
        ComponentsConfig { cartesian, samples: 30, steps: 25, gain: 1.02 }
    }
}

/// What `auto` goes on with: a store over more components if they are worth it, else the one so
/// far; with LM-cut as a second opinion.
pub fn go_on<'t, P: Partitioner + 't>(
    task: &'t Task,
    first: Stored<P>,
    config: &ComponentsConfig,
    stored: StoredConfig,
) -> Box<dyn Heuristic + 't> {
    let opinion = SecondOpinionConfig::default();
    match with_more_components(task, first.abstractions(), config, stored) {
        Some(second) => Box::new(SecondOpinion::new(task, second, opinion)),
        None => Box::new(SecondOpinion::new(task, first, opinion)),
    }
}

fn with_more_components(
    task: &Task,
    projections: &Arc<Abstractions>,
    config: &ComponentsConfig,
    stored: StoredConfig,
) -> Option<Stored<Saturated>> {
    let more = cartesian_abstractions(task, &config.cartesian);
    if more.is_empty() {
        return None;
    }
    let all = Abstractions::of(task, [projections.components().to_vec(), more].concat());
    // What the store over projections reaches is ascent's, not that of greedy orders.
    let ascent = LagrangianConfig {
        steps: config.steps,
        start: Start::Saturated,
        ..LagrangianConfig::default()
    };
    let before = value(task, projections, Lagrangian::new(projections, ascent), config);
    let after = value(task, projections, Saturated::new(&all), config);
    if after < before * config.gain {
        return None;
    }
    // Ascent takes too long on components of this size: on ferry p15 and p18 it made the search
    // more than twice as long.
    let saturated = Saturated::new(&all).with_saturator(Saturator::Perimeter);
    // Half of the usual shares: termes p11 in 14.4 s instead of 19.3 s, ferry about the same.
    let schedule = ScheduleConfig {
        dive_after: 0,
        min_share: stored.schedule.min_share / 2.0,
        max_share: stored.schedule.max_share * 0.6,
        ..stored.schedule
    };
    Some(Stored::new(saturated, StoredConfig { schedule, ..stored }))
}

/// The sum of the values that a partitioner gives to states of random walks, the initial one among
/// them.
fn value(
    task: &Task,
    projections: &Abstractions,
    mut partitioner: impl Partitioner,
    config: &ComponentsConfig,
) -> f64 {
    let abstractions = Arc::clone(partitioner.abstractions());
    let scratch = &mut PartitionScratch::default();
    let mut value_of = |state: &[Value]| match partitioner.best_for(state)?.evaluate(state, scratch)
    {
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
