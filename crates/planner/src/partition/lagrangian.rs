//! Cost partitioning by Lagrangian ascent.
//!
//! Climbs towards the optimal cost partitioning of a state by exponentiated subgradient steps
//! (ascent.rs), from the previous state's shares, from uniform ones or from given weights.
//! Anytime: whatever the number of steps, the result is a cost partitioning.
//! Stops early when its certificate says that no partitioning has a value that rounds to more,
//! or none that exceeds the bound to beat.
//! Cost of a step: at most one shortest path in each projection.

use super::ascent::{Ascent, Bounds, StepSizes, TOLERANCE};
use super::{CostPartitioning, Partitioner};
use crate::abstraction::Abstractions;
use crate::task::{Cost, Value};

/// How the ascent runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LagrangianConfig {
    /// The most steps for one state.
    pub steps: usize,
    /// Where the ascent for a state begins.
    pub start: Start,
}

/// Where the ascent for a state begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At equal shares for all patterns where an operator matters.
    Uniform,
    /// Where the ascent for the previous state ended.
    Previous,
}

impl Default for LagrangianConfig {
    fn default() -> LagrangianConfig {
        LagrangianConfig { steps: 100, start: Start::Previous }
    }
}

const STEP_SIZES: StepSizes = StepSizes { first: 2.0, halving: 30.0 };

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
        Lagrangian { config, ascent: Ascent::new(abstractions), steps: 0 }
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
        self.ascent.begin(abstractions, state);
        let mut next_look = 8;
        for step in 1..=self.config.steps {
            self.ascent.step(STEP_SIZES);
            self.steps += 1;
            if step == next_look || step == self.config.steps {
                next_look += (step / 3).max(8);
                self.ascent.evaluate_averages();
                let bounds = self.ascent.bounds();
                if bounds.upper - TOLERANCE <= beat {
                    return None;
                }
                if bounds.are_closed() {
                    break;
                }
            }
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
}
