//! The bound of the default: partitionings from several sources in a store, in two stages.
//!
//! The first stage divides costs among projections to pairs of variables, which are there at once.
//! The second has more components, if they are worth it (collections.rs), or dives (stages.rs).
//! In both, saturated partitionings and ascent by the learned rule compete.

use std::sync::Arc;

use super::collections::{Interrupt, Worth, larger_collection};
use super::components::{Source, components};
use super::memory::MemoryPlan;
use super::stages::Stages;
use super::without::{Feature, Without};
use crate::abstraction::Abstractions;
use crate::heuristic::{Blind, HMax, Heuristic, ScheduleConfig, Stored, StoredConfig, Why};
use crate::partition::{
    Ascent, AscentConfig, Ocp, OcpConfig, Portfolio, Saturated, Saturator, StepRule,
};
use crate::task::Task;

/// The default's bound; without `sources` it begins with pairs and may grow.
///
/// Where projections say nothing it is h^max, and blind where nothing fits into the memory.
pub fn usual_bound<'t>(
    task: &'t Task,
    sources: Option<&[Source]>,
    memory: MemoryPlan,
    without: Without,
    note: &mut dyn FnMut(String),
    interrupt: Interrupt<'t>,
) -> Box<dyn Heuristic + 't> {
    match first_components(task, sources, &memory, note) {
        Ok(first) if sources.is_some() => Box::new(stages(&first, &memory, &without)),
        Ok(first) => Box::new(growing(task, &first, memory, without, Worth::default(), interrupt)),
        Err(instead) => instead,
    }
}

/// The default's bound in its second stage; none where no more components are worth it.
pub fn later_bound<'t>(
    task: &'t Task,
    memory: MemoryPlan,
    without: Without,
) -> Option<Box<dyn Heuristic + 't>> {
    let first = first_components(task, None, &memory, &mut |_| {}).ok()?;
    let interrupt = Box::new(|| false);
    let mut stages = growing(task, &first, memory, without, Worth::default(), interrupt);
    stages.begin(&task.initial, Why::First);
    (stages.go_on() == Some(Why::MoreComponents)).then(|| Box::new(stages) as Box<dyn Heuristic>)
}

/// The components that a run begins with, or the bound of a task where they say nothing.
pub fn first_components<'t>(
    task: &'t Task,
    sources: Option<&[Source]>,
    memory: &MemoryPlan,
    note: &mut dyn FnMut(String),
) -> Result<Arc<Abstractions>, Box<dyn Heuristic + 't>> {
    if task.goal.iter().all(|fact| task.is_derived(fact.var)) {
        note("All goals are derived, so projections give no bound; h^max is used.".into());
        return Err(Box::new(HMax::new(task)));
    }
    let first = components(task, sources.unwrap_or(&Source::USUAL), memory, note);
    if first.is_empty() {
        note("No component fits into memory or gives a bound, so the search is blind.".into());
        return Err(Box::new(Blind::new(task)));
    }
    Ok(first)
}

/// The store of the first stage, which dives when the search takes longer.
pub fn stages<'t>(
    first: &Arc<Abstractions>,
    memory: &MemoryPlan,
    without: &Without,
) -> Stages<'t, Portfolio<'static>> {
    let store = Stored::new(first_portfolio(first, memory, without), stored_config(memory));
    let stages = Stages::new(store);
    if without.has(Feature::Dive) { stages.without_dive() } else { stages }
}

/// The same, but when the search takes longer it looks for more components first.
pub fn growing<'t>(
    task: &'t Task,
    first: &Arc<Abstractions>,
    memory: MemoryPlan,
    without: Without,
    worth: Worth,
    interrupt: Interrupt<'t>,
) -> Stages<'t, Portfolio<'static>> {
    let stages = stages(first, &memory, &without);
    if without.has(Feature::Growth) {
        return stages;
    }
    stages.growing(Box::new(move |first| {
        let all =
            larger_collection(task, first.abstractions(), &memory, &without, worth, &interrupt)?;
        let portfolio = second_portfolio(&all, &memory, &without);
        Some(Stored::new(portfolio, second_config(&memory)))
    }))
}

/// Who divides costs among the first components.
fn first_portfolio(
    abstractions: &Arc<Abstractions>,
    memory: &MemoryPlan,
    without: &Without,
) -> Portfolio<'static> {
    let max_bytes = memory.portfolio / 4;
    let mut portfolio = portfolio(abstractions, without).with(Saturated::new(abstractions));
    if !without.has(Feature::Ascent) {
        portfolio.add(ascent(abstractions, max_bytes, without));
    }
    // What an optimal partitioning needs is several times what the components take.
    let is_small = abstractions.memory_bytes() <= memory.portfolio / 2;
    if is_small && !without.has(Feature::Ocp) {
        let optimal = OcpConfig { max_bytes, ..OcpConfig::default() };
        portfolio.add(Ocp::with_config(abstractions, optimal));
    }
    portfolio
}

/// Who divides costs among more components.
fn second_portfolio(
    abstractions: &Arc<Abstractions>,
    memory: &MemoryPlan,
    without: &Without,
) -> Portfolio<'static> {
    let saturated = Saturated::new(abstractions).with_saturator(Saturator::Perimeter);
    let mut portfolio = portfolio(abstractions, without).with(saturated);
    if !without.has(Feature::LateAscent) {
        portfolio.add(ascent(abstractions, memory.portfolio / 4, without));
    }
    portfolio
}

fn portfolio(abstractions: &Arc<Abstractions>, without: &Without) -> Portfolio<'static> {
    let portfolio = Portfolio::new(abstractions);
    if without.has(Feature::Policy) { portfolio.in_order() } else { portfolio }
}

/// Ascent from where the last one ended.
fn ascent(abstractions: &Arc<Abstractions>, max_bytes: usize, without: &Without) -> Ascent {
    Ascent::new(abstractions, AscentConfig { max_bytes, ..ascent_config(without) })
}

/// How the store's ascent climbs.
pub(super) fn ascent_config(without: &Without) -> AscentConfig {
    let plain = without.has(Feature::LearnedRule);
    AscentConfig::stored(if plain { StepRule::PLAIN } else { StepRule::trained() })
}

/// The store of the first stage, and that of every heuristic that stores partitionings.
pub fn stored_config(memory: &MemoryPlan) -> StoredConfig {
    StoredConfig { max_bytes: memory.tables, ..StoredConfig::default() }
}

/// Partitionings over more components take longer, so there are fewer of them.
fn second_config(memory: &MemoryPlan) -> StoredConfig {
    let first = stored_config(memory);
    let schedule = ScheduleConfig {
        min_share: first.schedule.min_share / 2.0,
        max_share: first.schedule.max_share * 0.6,
        ..first.schedule
    };
    StoredConfig { schedule, ..first }
}
