//! What costs are divided among when a search takes longer than its first stage.
//!
//! Larger patterns, Cartesian abstractions or both join the components of the first stage: the
//! collection with which saturated cost partitioning gives most at states of random walks, if that
//! is more than partitionings over the first components give there.
//! Then landmarks join, if the values rise again: first those that are counted, then those of LM-cut
//! at the compared states.
//! `docs/explanation/components.md` has figures behind these choices.

use std::collections::HashSet;
use std::sync::Arc;

use super::bound::ascent_config;
use super::memory::MemoryPlan;
use super::without::{Feature, Without};
use crate::abstraction::{
    Abstractions, CartesianConfig, CegarConfig, Component, CutConfig, LandmarkConfig, Pattern,
    cartesian_abstractions, cegar_patterns, cut_abstractions, landmark_abstractions,
    projections_within,
};
use crate::estimate::Estimate;
use crate::partition::{
    Ascent, AscentConfig, PartitionScratch, Partitioner, Request, Saturated, Saturator, Start,
    Walks,
};
use crate::task::{Cost, Task, Value};
use crate::work::{Budget, SECOND, Work};

/// States at which collections are compared, …
const SAMPLES: usize = 10;

/// … as far as this much work goes for each comparison.
const COMPARISON: Work = SECOND / 4;

/// When more components are worth it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Worth {
    /// By which factor the sum of values has to rise.
    pub gain: f64,
    /// How many operators of average cost values have to mean: where it is one or two, larger
    /// tables cost more than they bring.
    pub least_steps: f64,
}

impl Default for Worth {
    fn default() -> Worth {
        Worth { gain: 1.02, least_steps: 3.0 }
    }
}

/// The larger patterns that may join.
fn cegar_config(memory: &MemoryPlan) -> CegarConfig {
    let usual = CegarConfig::default();
    CegarConfig {
        work: SECOND / 5,
        states: 100_000,
        total_states: 1_000_000,
        transitions: usual.transitions.min(memory.transitions()),
        ..usual
    }
}

/// The Cartesian abstractions that may join: small ones, for partitionings of which many are made.
fn cartesian_config(memory: &MemoryPlan) -> CartesianConfig {
    let usual = CartesianConfig::default();
    let transitions = usual.transitions.min(memory.transitions());
    CartesianConfig { states: 5_000, transitions, ..usual }
}

fn landmark_config(memory: &MemoryPlan) -> LandmarkConfig {
    let usual = LandmarkConfig::default();
    LandmarkConfig { transitions: usual.transitions.min(memory.transitions()), ..usual }
}

fn cut_config(memory: &MemoryPlan) -> CutConfig {
    let usual = CutConfig::default();
    CutConfig { operators: usual.operators.min(memory.transitions()), ..usual }
}

/// Whether the run is to end, which whoever builds components asks between two steps.
pub type Interrupt<'t> = Box<dyn Fn() -> bool + 't>;

/// The collection to go on with, if more components than the first ones are worth it and nobody
/// interrupts.
pub(super) fn larger_collection(
    task: &Task,
    first: &Arc<Abstractions>,
    memory: &MemoryPlan,
    without: &Without,
    worth: Worth,
    interrupt: &dyn Fn() -> bool,
) -> Option<Arc<Abstractions>> {
    if first.is_dead_end(&task.initial) {
        return None;
    }
    let go_on = || (!interrupt()).then_some(());
    let mut comparison = Comparison::new(task, first, without, worth);
    go_on()?;
    let candidates = candidates(task, first, memory, without);
    go_on()?;
    let mut best = comparison.best(candidates);
    go_on()?;
    let landmarks = landmark_config(memory);
    let counted = match without.has(Feature::Landmarks) {
        true => Vec::new(),
        false => landmark_abstractions(task, &landmarks),
    };
    go_on()?;
    let cuts = match without.has(Feature::Cuts) {
        true => Vec::new(),
        false => {
            let states = comparison.states.iter().map(|(state, _)| &state[..]);
            let budget = &mut Budget::new(landmarks.work);
            cut_abstractions(task, states, &cut_config(memory), budget)
        }
    };
    for more in [counted, cuts].iter().filter(|more| !more.is_empty()) {
        // Beside the first components alone they are cheaper to look at.
        let beside = [Some(first.clone()), best.clone()];
        for all in beside.into_iter().flatten() {
            go_on()?;
            best = comparison.best(vec![joined(task, &all, more)]).or(best);
        }
    }
    best
}

/// A collection and all its landmarks: those that are counted, and those of LM-cut at the initial
/// state and at states of random walks.
pub(super) fn with_landmarks(
    task: &Task,
    all: &Arc<Abstractions>,
    memory: &MemoryPlan,
) -> Arc<Abstractions> {
    let landmarks = landmark_config(memory);
    let mut more = landmark_abstractions(task, &landmarks);
    let budget = &mut Budget::new(landmarks.work);
    let states = samples(task, all, SAMPLES, budget);
    let states = states.iter().map(|state| &state[..]);
    more.extend(cut_abstractions(task, states, &cut_config(memory), budget));
    joined(task, all, &more)
}

/// A collection with more components.
fn joined(task: &Task, all: &Abstractions, more: &[Component]) -> Arc<Abstractions> {
    Abstractions::of(task, [all.components(), more].concat())
}

/// States at which collections are compared, with the highest values known.
struct Comparison {
    states: Vec<(Vec<Value>, Cost)>,
    /// The average cost of an operator that costs anything.
    average: f64,
    worth: Worth,
}

impl Comparison {
    /// What the store over the first components reaches, which is ascent's or that of greedy
    /// orders.
    /// As many steps as the store makes: with fewer, growth looks better than it is, and a dive over
    /// the first components may be all that the task needs.
    fn new(
        task: &Task,
        projections: &Arc<Abstractions>,
        without: &Without,
        worth: Worth,
    ) -> Comparison {
        let mut budget = Budget::new(COMPARISON);
        let config = AscentConfig { start: Start::Saturated, ..ascent_config(without) };
        let mut ascent = Ascent::new(projections, config);
        let mut orders = Saturated::new(projections);
        let mut states: Vec<(Vec<Value>, Cost)> = Vec::new();
        for state in samples(task, projections, SAMPLES, &mut budget) {
            let ascended = value(&mut ascent, &state, &mut budget);
            let known = ascended.max(value(&mut orders, &state, &mut budget));
            // Without work that is left, the last one may not have been what it can be.
            if budget.is_spent() && !states.is_empty() {
                break;
            }
            states.push((state, known));
        }
        let positive: Vec<Cost> =
            task.operators.iter().map(|o| o.cost).filter(|&c| c > 0).collect();
        let average = positive.iter().sum::<Cost>() as f64 / positive.len().max(1) as f64;
        Comparison { states, average: average.max(1.0), worth }
    }

    /// The collection whose values are highest, if they are clearly above those known so far, which
    /// they become then.
    fn best(&mut self, collections: Vec<Arc<Abstractions>>) -> Option<Arc<Abstractions>> {
        let mut budget = Budget::new(COMPARISON);
        let perimeter = |all| Saturated::new(all).with_saturator(Saturator::Perimeter);
        let mut orders_of: Vec<Saturated> = collections.iter().map(perimeter).collect();
        let mut values: Vec<Vec<Cost>> = Vec::new();
        for (state, known) in &self.states {
            let is_dead_end = |all: &Arc<Abstractions>| all.is_dead_end(state);
            if collections.iter().any(is_dead_end) {
                values.push(vec![*known; collections.len()]);
                continue;
            }
            let of_state = orders_of.iter_mut().map(|orders| value(orders, state, &mut budget));
            let of_state: Vec<Cost> = of_state.collect();
            if budget.is_spent() && !values.is_empty() {
                break;
            }
            values.push(of_state);
        }
        let compared = values.len();
        let known: Cost = self.states[..compared].iter().map(|(_, known)| known).sum();
        let sums: Vec<Cost> = (0..collections.len())
            .map(|collection| values.iter().map(|of_state| of_state[collection]).sum())
            .collect();
        // The first of the best: what comes later is larger.
        let (best, &sum) = sums.iter().enumerate().rev().max_by_key(|(_, sum)| **sum)?;
        let steps = sum as f64 / (compared.max(1) as f64 * self.average);
        let Worth { gain, least_steps } = self.worth;
        if (sum as f64) < known as f64 * gain || steps < least_steps {
            return None;
        }
        self.states.truncate(compared);
        for ((_, known), of_state) in self.states.iter_mut().zip(&values) {
            *known = of_state[best];
        }
        collections.into_iter().nth(best)
    }
}

/// The collections to choose from: the first components with larger patterns, with Cartesian
/// abstractions, and with both.
fn candidates(
    task: &Task,
    projections: &Arc<Abstractions>,
    memory: &MemoryPlan,
    without: &Without,
) -> Vec<Arc<Abstractions>> {
    let known: HashSet<&Pattern> =
        projections.components().iter().filter_map(|component| component.pattern()).collect();
    let mut patterns = match without.has(Feature::LargerPatterns) {
        true => Vec::new(),
        false => cegar_patterns(task, &cegar_config(memory)),
    };
    patterns.retain(|pattern| !known.contains(pattern));
    let larger = projections_within(task, &patterns, memory.larger_patterns);
    let cartesian = match without.has(Feature::Cartesian) {
        true => Vec::new(),
        false => cartesian_abstractions(task, &cartesian_config(memory)),
    };
    let with = |more: &[Component]| joined(task, projections, more);
    match (larger.is_empty(), cartesian.is_empty()) {
        (true, true) => Vec::new(),
        (true, false) => vec![with(&cartesian)],
        (false, true) => vec![with(&larger)],
        (false, false) => {
            let both = with(&[&larger[..], &cartesian].concat());
            vec![with(&larger), with(&cartesian), both]
        }
    }
}

/// States of random walks, the initial one first.
fn samples(
    task: &Task,
    projections: &Arc<Abstractions>,
    count: usize,
    budget: &mut Budget,
) -> Vec<Vec<Value>> {
    let mut walks = Walks::new(task, projections);
    if !projections.is_dead_end(&task.initial) {
        walks.expect(value(&mut Saturated::new(projections), &task.initial, budget));
    }
    std::iter::once(task.initial.clone()).chain((1..count).map(|_| walks.state())).collect()
}

/// The value that a partitioner gives to a state that is not a dead end.
fn value(partitioner: &mut dyn Partitioner, state: &[Value], budget: &mut Budget) -> Cost {
    let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
    let Some(found) = partitioner.partition(request) else { return 0 };
    match found.evaluate(state, &mut PartitionScratch::default()) {
        Estimate::AtLeast(h) => h,
        Estimate::DeadEnd => 0,
    }
}
