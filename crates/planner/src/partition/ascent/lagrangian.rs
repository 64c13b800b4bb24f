//! Cost partitioning by Lagrangian ascent.
//!
//! Climbs towards the optimal cost partitioning of a state by steps of the plain or the learned rule
//! (ascent/), from the previous state's shares, from saturated or from uniform ones.
//! Anytime: whatever the number of steps, the result is a cost partitioning.
//! Stops early when its certificate says that no partitioning has a value that rounds to more,
//! or none that exceeds the bound to beat.
//! Cost of a step: at most one shortest path in each component.

use std::sync::Arc;

use super::{Ascent, Bounds, StepRule};
use crate::abstraction::Abstractions;
use crate::partition::{CostPartitioning, MEMORY_LIMIT, Partitioner, Request, Saturated};
use crate::task::{Cost, OpId};
use crate::work::{self, Work};

/// How the ascent runs.
#[derive(Clone, PartialEq, Debug)]
pub struct LagrangianConfig {
    /// The number of steps for one state; more, up to [`LagrangianConfig::MOST`] times as many,
    /// as long as they keep raising the value.
    pub steps: usize,
    /// How steps are made after the first [`LagrangianConfig::EARLY`], which are plain.
    pub rule: StepRule,
    /// Where the ascent for a state begins.
    pub start: Start,
    /// The most bytes of what is known of abstract states, kept for the next state that has them.
    pub max_bytes: usize,
}

/// Where the ascent for a state begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At equal shares for all components where an operator matters.
    Uniform,
    /// At shares near those of the state's saturated cost partitioning.
    Saturated,
    /// Where the ascent for the previous state ended; for the first, as with `Saturated`.
    Previous,
}

impl LagrangianConfig {
    /// How many times the number of steps may be made where they pay.
    pub const MOST: usize = 10;

    /// So many steps are plain, which suffice where there is little to gain. With the learned rule
    /// from the beginning, after 8 and after 25 steps `auto` takes 1.32, 1.09 and 1.07 times as long
    /// as without on 8 tasks of blocks, 1.24, 1.21 and 1.10 times on 9 of visitall, and 0.85, 0.95
    /// and 0.79 times on 9 of logistics; that was before learned steps counted as more work.
    pub const EARLY: usize = 25;
}

impl Default for LagrangianConfig {
    fn default() -> LagrangianConfig {
        LagrangianConfig {
            steps: 100,
            rule: StepRule::PLAIN,
            start: Start::Previous,
            max_bytes: MEMORY_LIMIT,
        }
    }
}

/// After how many steps the averages are evaluated first.
const FIRST_LOOK: usize = 8;

/// The least part of the gap that steps must close between two looks to be worth more of them.
const LEAST_RISE: f64 = 0.05;

/// Makes partitionings by ascent.
#[derive(Clone, Debug)]
pub struct Lagrangian {
    config: LagrangianConfig,
    ascent: Ascent,
    saturated: Option<Saturated>,
    steps: u64,
}

impl Lagrangian {
    /// An ascent on the partitionings of a collection.
    pub fn new(abstractions: &Arc<Abstractions>, config: LagrangianConfig) -> Lagrangian {
        let saturated = (config.start != Start::Uniform).then(|| Saturated::new(abstractions));
        let ascent = Ascent::new(abstractions, config.max_bytes);
        Lagrangian { config, ascent, saturated, steps: 0 }
    }

    /// The steps made so far, for all states.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What is known of the optimal cost partitioning at the last state.
    pub fn bounds(&self) -> Bounds {
        self.ascent.bounds()
    }

    fn climb(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, beat, budget, .. } = request;
        let divisor = self.ascent.abstractions().divisor();
        let beat = beat.map_or(f64::NEG_INFINITY, |h| (h / divisor) as f64);
        if !self.ascent.begin(state, budget) {
            return None;
        }
        let mut next_look = FIRST_LOOK;
        let mut last = self.ascent.bounds().lower;
        for step in 1..=LagrangianConfig::MOST * self.config.steps {
            let is_early = step <= LagrangianConfig::EARLY;
            self.ascent.step(if is_early { &StepRule::PLAIN } else { &self.config.rule });
            self.steps += 1;
            budget.spend(self.ascent.take_work());
            let is_late = budget.is_spent();
            if step != next_look && !is_late {
                continue;
            }
            self.ascent.evaluate_averages();
            budget.spend(self.ascent.take_work());
            let bounds = self.ascent.bounds();
            if !bounds.may_exceed(beat) {
                return None;
            }
            let rise = bounds.lower - last;
            last = bounds.lower;
            let pays = rise > LEAST_RISE * (bounds.upper - bounds.lower);
            if bounds.are_closed() || is_late || step >= self.config.steps && !pays {
                break;
            }
            next_look += (step / 3).max(FIRST_LOOK);
        }
        Some(self.ascent.finish())
    }
}

impl Partitioner for Lagrangian {
    fn name(&self) -> &'static str {
        "lagrangian"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        self.ascent.abstractions()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, beat, budget, elapsed, initial } = request;
        match &mut self.saturated {
            None => self.ascent.forget(),
            Some(_) if self.config.start == Start::Previous && self.steps > 0 => {}
            Some(saturated) => {
                let found =
                    saturated.partition(Request { state, beat: None, budget, elapsed, initial })?;
                budget.spend(2 * work::PAIR * found.costs().len() as Work);
                self.ascent.set_weights(&near(&found));
            }
        }
        self.climb(Request { state, beat, budget, elapsed, initial })
    }

    fn ceiling(&self) -> Option<Cost> {
        self.ascent.ceiling()
    }

    fn memory_bytes(&self) -> usize {
        self.ascent.memory_bytes()
    }
}

/// Shares near those of a partitioning, none of them zero.
fn near(partitioning: &CostPartitioning) -> Vec<f32> {
    let (abstractions, costs) = (partitioning.abstractions(), partitioning.costs());
    let mut weights = vec![0.0; costs.len()];
    for o in (0..abstractions.num_operators()).map(OpId::from) {
        let pairs = abstractions.operator_pairs(o);
        let total: f32 = pairs.iter().map(|&(_, pair)| costs[pair as usize] as f32).sum();
        for &(_, pair) in pairs {
            let share = costs[pair as usize] as f32 / total.max(1.0);
            weights[pair as usize] = share + 1.0 / pairs.len() as f32;
        }
    }
    weights
}
