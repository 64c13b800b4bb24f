//! What `auto` divides costs among when pairs of variables do not suffice.
//!
//! Larger patterns, Cartesian abstractions or both join the projections: those with which saturated
//! cost partitioning gives most at states of random walks, if that is more than over the projections
//! alone.
//! On 118 tasks of 60 domains that no committed result is about (neighbours of those of `medium`,
//! 12 s of processor time) larger patterns beside Cartesian abstractions solve 3 more and lose 1 (76
//! instead of 74); that was before collections were judged by the perimeter saturator, which solves
//! logistics98 prob02, prob07 and prob11 in 30 s.
//!
//! Then landmarks join: first those that are counted join the projections, or what was chosen, if that is clearly
//! more again: ferry p15 to p29 take 2 to 4 s of processor time and p30 takes 11 s, where without
//! them p17 and p19 to p30 are not solved in 30 s; freecell 9-3 takes 7 s instead of more than 15.
//! On 29 other tasks, of `paper` and `medium`, they change no expansion; they cost half a second of
//! work at most.
//! Those of LM-cut at the compared states come last: over pairs the value of data-network p13 rises
//! from 24 to 90 (its cost is 104), pathways p22 reaches f = 98 instead of 86 in 15 s, parking14
//! 12_7-04 is solved; petri-net-alignment p03 takes 13 s instead of 9.
//!
//! What did not pay: growing a collection in the same ways once more during the search, at states
//! whose values no longer rise. The values there do rise, by up to twice, but 19 growths on 48
//! unsolved tasks solved none in 12 s, and the search reached a lower bound in 9 of them.

use std::collections::HashSet;
use std::sync::Arc;

use planner::abstraction::{
    Abstractions, CartesianConfig, CegarConfig, Component, CutConfig, LandmarkConfig, Pattern,
    cartesian_abstractions, cegar_patterns, cut_abstractions, landmark_abstractions,
    projections_within,
};
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
    /// The larger patterns, if they may join, …
    pub cegar: Option<CegarConfig>,
    /// … as far as they fit into this.
    pub max_bytes: usize,
    /// The Cartesian abstractions, if they may join.
    pub cartesian: Option<CartesianConfig>,
    /// The landmarks, if they may join: those that are counted, …
    pub landmarks: Option<LandmarkConfig>,
    /// … and those of LM-cut.
    pub cuts: CutConfig,
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
        // With 10,000 and 200,000 states transport-opt14 p14 is not solved in 15 s, with these in 3 s.
        let cegar = CegarConfig {
            // Termes p11 in 4.7 s, with half a second of work in 5.6 s.
            work: SECOND / 5,
            states: 100_000,
            total_states: 1_000_000,
            ..CegarConfig::default()
        };
        ComponentsConfig {
            cegar: Some(cegar),
            max_bytes: 256 << 20,
            cartesian: Some(cartesian),
            landmarks: Some(LandmarkConfig::default()),
            cuts: CutConfig::default(),
            samples: 10,
            work: SECOND / 2,
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
        Some(second) => Box::new(second.after(&first)),
        None => Box::new(first),
    }
}

fn with_more_components(
    task: &Task,
    projections: &Arc<Abstractions>,
    config: &ComponentsConfig,
    stored: StoredConfig,
) -> Option<Stored<Saturated>> {
    let mut comparison = Comparison::new(task, projections, config);
    let mut best = comparison.best(collections(task, projections, config), config);
    if let Some(landmarks) = &config.landmarks {
        let counted = landmark_abstractions(task, landmarks);
        let states = comparison.states.iter().map(|(state, _)| &state[..]);
        let budget = &mut Budget::new(landmarks.work);
        let cuts = cut_abstractions(task, states, &config.cuts, budget);
        for more in [counted, cuts].iter().filter(|more| !more.is_empty()) {
            // Beside the projections alone they are cheaper to look at.
            let beside = [Some(projections.clone()), best.clone()];
            for all in beside.into_iter().flatten() {
                best = comparison.best(vec![joined(task, &all, more)], config).or(best);
            }
        }
    }
    let best = best?;
    // Ascent takes too long on components of this size: on ferry p15 and p18 it made the search
    // more than twice as long.
    let saturated = Saturated::new(&best).with_saturator(Saturator::Perimeter);
    // Half of the usual shares: termes p11 in 14.4 s instead of 19.3 s, ferry about the same. A dive
    // makes too many partitionings of this size: termes p11 in 18.3 s with, in 7.4 s without,
    // transport-opt14 p14 in 8.5 and 4.3 s, ferry p15 in 4.3 and 4.2 s, ferry p18 in 10.0 and 8.6 s.
    let schedule = ScheduleConfig {
        dive_after: Work::MAX,
        min_share: stored.schedule.min_share / 2.0,
        max_share: stored.schedule.max_share * 0.6,
        ..stored.schedule
    };
    Some(Stored::new(saturated, StoredConfig { schedule, ..stored }))
}

/// A collection and all its landmarks: those that are counted, and those of LM-cut at the initial
/// state and at states of random walks.
pub fn with_landmarks(
    task: &Task,
    all: &Arc<Abstractions>,
    config: &ComponentsConfig,
) -> Arc<Abstractions> {
    let Some(landmarks) = &config.landmarks else { return all.clone() };
    let mut more = landmark_abstractions(task, landmarks);
    let budget = &mut Budget::new(landmarks.work);
    let states = samples(task, all, config.samples, budget);
    let states = states.iter().map(|state| &state[..]);
    more.extend(cut_abstractions(task, states, &config.cuts, budget));
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
}

impl Comparison {
    /// What the store over projections reaches, which is ascent's or that of greedy orders.
    fn new(task: &Task, projections: &Arc<Abstractions>, config: &ComponentsConfig) -> Comparison {
        let mut budget = Budget::new(config.work / 2);
        let ascent = LagrangianConfig {
            steps: config.steps,
            start: Start::Saturated,
            ..LagrangianConfig::default()
        };
        let mut ascent = Lagrangian::new(projections, ascent);
        let mut orders = Saturated::new(projections);
        let mut states: Vec<(Vec<Value>, Cost)> = Vec::new();
        for state in samples(task, projections, config.samples, &mut budget) {
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
        Comparison { states, average: average.max(1.0) }
    }

    /// The collection whose values are highest, if they are clearly above those known so far, which
    /// they become then.
    fn best(
        &mut self,
        collections: Vec<Arc<Abstractions>>,
        config: &ComponentsConfig,
    ) -> Option<Arc<Abstractions>> {
        let mut budget = Budget::new(config.work / 2);
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
        if (sum as f64) < known as f64 * config.gain || steps < config.least_steps {
            return None;
        }
        self.states.truncate(compared);
        for ((_, known), of_state) in self.states.iter_mut().zip(&values) {
            *known = of_state[best];
        }
        collections.into_iter().nth(best)
    }
}

/// The collections to choose from: the projections with larger patterns, with Cartesian
/// abstractions, and with both.
fn collections(
    task: &Task,
    projections: &Arc<Abstractions>,
    config: &ComponentsConfig,
) -> Vec<Arc<Abstractions>> {
    let known: HashSet<&Pattern> =
        projections.components().iter().filter_map(|component| component.pattern()).collect();
    let mut patterns = config.cegar.map_or(Vec::new(), |cegar| cegar_patterns(task, &cegar));
    patterns.retain(|pattern| !known.contains(pattern));
    let larger = projections_within(task, &patterns, config.max_bytes);
    let cartesian = config.cartesian.map(|cartesian| cartesian_abstractions(task, &cartesian));
    let cartesian = cartesian.unwrap_or_default();
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

/// The value that a partitioner gives to a state that is no dead end.
fn value(partitioner: &mut dyn Partitioner, state: &[Value], budget: &mut Budget) -> Cost {
    let request = Request { state, beat: None, budget, elapsed: 0, initial: false };
    let Some(found) = partitioner.partition(request) else { return 0 };
    match found.evaluate(state, &mut PartitionScratch::default()) {
        Estimate::AtLeast(h) => h,
        Estimate::DeadEnd => 0,
    }
}
