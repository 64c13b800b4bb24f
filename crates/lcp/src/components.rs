//! What `auto` divides costs among when pairs of variables do not suffice.
//!
//! Cartesian abstractions join the projections, and stay if saturated cost partitioning over all
//! of them gives more at states of random walks than over the projections alone.

use std::sync::Arc;

use planner::abstraction::{Abstractions, CartesianConfig, cartesian_abstractions};
use planner::heuristic::{Estimate, Heuristic, ScheduleConfig, Stored, StoredConfig};
use planner::partition::{
    Lagrangian, LagrangianConfig, PartitionScratch, Partitioner, Request, Saturated, Saturator,
    Start, Walks,
};
use planner::task::{Cost, Task, Value};
use planner::work::{Budget, SECOND, Work};

/// How to go beyond projections.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ComponentsConfig {
    /// The Cartesian abstractions.
    pub cartesian: CartesianConfig,
    /// States at which collections are compared, …
    pub samples: usize,
    /// … as far as this much work goes.
    pub work: Work,
    /// Steps of ascent by which projections are judged.
    pub steps: usize,
    /// By which factor the sum of values has to rise.
    pub gain: f64,
    /// How many operators of average cost values have to mean: on openstacks, where it is one or
    /// two, tables of trees take twice the time for the same expansions.
    pub least_steps: f64,
}

impl Default for ComponentsConfig {
    fn default() -> ComponentsConfig {
        // With 100,000 states ferry p15 takes 12.1 s, with 20,000 6.6 s, with 5,000 4.2 s (p18: 16.5,
        // 12.1, 7.8; termes p11: more than 20, more than 20, 19.3): partitionings are cheaper and
        // there are more of them.
        let cartesian = CartesianConfig { states: 5_000, ..CartesianConfig::default() };
        ComponentsConfig {
            cartesian,
            samples: 30,
            work: SECOND,
            steps: 25,
            gain: 1.02,
            least_steps: 3.0,
        }
    }
}

/// What `auto` goes on with: a store over more components if they are worth it, else the one so
/// far.
pub fn go_on<'t, P: Partitioner + 't>(
    task: &'t Task,
    first: Stored<P>,
    config: &ComponentsConfig,
    stored: StoredConfig,
) -> Box<dyn Heuristic + 't> {
    match with_more_components(task, first.abstractions(), config, stored) {
        Some(second) => Box::new(second),
        None => Box::new(first),
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
    let mut budget = Budget::new(config.work);
    let mut states = samples(task, projections, config.samples, &mut budget);
    states.retain(|state| !all.is_dead_end(state));
    // What the store over projections reaches is ascent's or that of greedy orders.
    let ascent = LagrangianConfig {
        steps: config.steps,
        start: Start::Saturated,
        ..LagrangianConfig::default()
    };
    let mut ascent = Lagrangian::new(projections, ascent);
    let mut orders = Saturated::new(projections);
    let mut orders_of_all = Saturated::new(&all);
    let (mut before, mut after, mut compared) = (0, 0, 0);
    for state in &states {
        if budget.is_spent() {
            break;
        }
        let ascended = value(&mut ascent, state, &mut budget);
        before += ascended.max(value(&mut orders, state, &mut budget));
        after += value(&mut orders_of_all, state, &mut budget);
        compared += 1;
    }
    let positive: Vec<Cost> = task.operators.iter().map(|o| o.cost).filter(|&c| c > 0).collect();
    let average = positive.iter().sum::<Cost>() as f64 / positive.len().max(1) as f64;
    let steps = after as f64 / (f64::from(compared.max(1)) * average.max(1.0));
    if (after as f64) < before as f64 * config.gain || steps < config.least_steps {
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

/// States of random walks, the initial one first.
fn samples(
    task: &Task,
    projections: &Arc<Abstractions>,
    count: usize,
    budget: &mut Budget,
) -> Vec<Vec<Value>> {
    let mut walks = Walks::new(task, projections);
    walks.expect(value(&mut Saturated::new(projections), &task.initial, budget));
    std::iter::once(task.initial.clone()).chain((1..count).map(|_| walks.state())).collect()
}

/// The value that a partitioner gives to a state that is no dead end.
fn value(partitioner: &mut dyn Partitioner, state: &[Value], budget: &mut Budget) -> Cost {
    let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
    let Some(found) = partitioner.partition(request) else { return 0 };
    match found.evaluate(state, &mut PartitionScratch::default()) {
        Estimate::AtLeast(h) => h,
        Estimate::DeadEnd => 0,
    }
}
