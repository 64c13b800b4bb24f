//! Cost partitioning by Lagrangian ascent.
//!
//! Climbs towards the optimal cost partitioning of a state by exponentiated subgradient steps
//! (ascent.rs), from the previous state's shares, from uniform ones or from given weights.
//! Anytime: whatever the number of steps, the result is a cost partitioning.
//! Stops early when its certificate says that no partitioning has a value that rounds to more,
//! or none that exceeds the bound to beat.
//! Cost of a step: at most one shortest path in each projection.

use std::time::{Duration, Instant};

use super::ascent::{Ascent, Bounds, StepSizes};
use super::{CostPartitioning, MEMORY_LIMIT, Partitioner};
use crate::abstraction::Abstractions;
use crate::task::{Cost, Value};

/// How the ascent runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LagrangianConfig {
    /// The number of steps for one state; more, up to [`LagrangianConfig::MOST`] times as many,
    /// as long as they keep raising the value.
    pub steps: usize,
    /// The time for one state.
    pub time: Duration,
    /// Where the ascent for a state begins.
    pub start: Start,
    /// The most bytes of what is known of abstract states, kept for the next state that has them.
    pub max_bytes: usize,
}

/// Where the ascent for a state begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At equal shares for all patterns where an operator matters.
    Uniform,
    /// Where the ascent for the previous state ended.
    Previous,
}

impl LagrangianConfig {
    /// How many times the number of steps may be made where they pay.
    pub const MOST: usize = 10;
}

impl Default for LagrangianConfig {
    fn default() -> LagrangianConfig {
        LagrangianConfig {
            steps: 100,
            time: Duration::MAX,
            start: Start::Previous,
            max_bytes: MEMORY_LIMIT,
        }
    }
}

const STEP_SIZES: StepSizes = StepSizes { first: 2.0, halving: 30.0 };

/// After how many steps the averages are evaluated first.
const FIRST_LOOK: usize = 8;

/// The least part of the gap that steps must close between two looks to be worth more of them.
const LEAST_RISE: f64 = 0.05;

/// Makes partitionings by ascent.
#[derive(Clone, Debug)]
pub struct Lagrangian {
    config: LagrangianConfig,
    ascent: Ascent,
    steps: u64,
}

impl Lagrangian {
    /// An ascent on the partitionings of a collection.
    pub fn new(abstractions: &Abstractions, config: LagrangianConfig) -> Lagrangian {
        Lagrangian { config, ascent: Ascent::new(abstractions, config.max_bytes), steps: 0 }
    }

    /// Sets the time for each state to come.
    pub fn set_time(&mut self, time: Duration) {
        self.config.time = time;
    }

    /// The steps made so far, for all states.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What is known of the optimal cost partitioning at the last state.
    pub fn bounds(&self) -> Bounds {
        self.ascent.bounds()
    }

    /// Like [`Partitioner::partition`], but begins at weights, one per pair of the collection,
    /// as a network might predict them.
    pub fn partition_from(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        weights: &[f32],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        self.ascent.set_weights(weights);
        self.climb(abstractions, state, beat)
    }

    fn climb(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        let beat = beat.map_or(f64::NEG_INFINITY, |h| (h / abstractions.divisor()) as f64);
        let started = Instant::now();
        self.ascent.begin(abstractions, state);
        let mut next_look = FIRST_LOOK;
        let mut last = self.ascent.bounds().lower;
        for step in 1..=LagrangianConfig::MOST * self.config.steps {
            self.ascent.step(STEP_SIZES);
            self.steps += 1;
            let is_late = started.elapsed() >= self.config.time;
            if step != next_look && !is_late {
                continue;
            }
            self.ascent.evaluate_averages();
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
        Some(self.ascent.finish(abstractions))
    }
}

impl Partitioner for Lagrangian {
    fn name(&self) -> &'static str {
        "lagrangian"
    }

    fn partition(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        if self.config.start == Start::Uniform {
            self.ascent.forget();
        }
        self.climb(abstractions, state, beat)
    }

    fn memory_bytes(&self) -> usize {
        self.ascent.memory_bytes()
    }
}
