//! Saturated cost partitioning, improved by ascent.
//!
//! A greedy order gives each component what the state's distance needs of what others have left
//! (the perimeter saturator), which is quick and mostly good; a few steps of ascent (ascent/) from
//! near its shares make up for much of what the order did wrong.
//! The better of the two is returned, so no value is below that of the saturated partitioning.
//! Every state begins anew: unlike ascent from where the last one ended, the result is a function
//! of the state and of how ties of the order fall (but for [`ImprovedConfig::sparing`]).
//! Shares that somebody else predicts are improved in the same way ([`Improved::partition_from`]).
//! Cost: one distance computation and at most `steps` + 2 shortest paths in each component.

use std::sync::Arc;

use super::{Ascent, Bounds, StepRule};
use crate::abstraction::Abstractions;
use crate::partition::{
    CostPartitioning, MEMORY_LIMIT, Partitioner, Request, Saturated, Saturator,
};
use crate::task::{Cost, Value};
use crate::work::{self, Budget, Work};

/// How saturated partitionings are improved.
#[derive(Clone, PartialEq, Debug)]
pub struct ImprovedConfig {
    /// The most steps for one state.
    pub steps: usize,
    /// How steps are made.
    pub rule: StepRule,
    /// The most bytes of what is known of abstract states, kept for the next state that has them.
    pub max_bytes: usize,
    /// Whether some states are left with their saturated partitioning after ascent was in vain: the
    /// more of them, the more often in a row it was.
    pub sparing: bool,
}

impl Default for ImprovedConfig {
    fn default() -> ImprovedConfig {
        ImprovedConfig { steps: 25, rule: StepRule::PLAIN, max_bytes: MEMORY_LIMIT, sparing: false }
    }
}

/// By how much ascent must be better than the saturated partitioning, in units: more than the
/// integer grid takes away again.
const LEAST_RISE: f64 = 0.005;

/// The most states that are left alone in a row.
const LONGEST_PAUSE: u32 = 63;

/// Makes saturated partitionings and improves them.
#[derive(Clone, Debug)]
pub struct Improved {
    config: ImprovedConfig,
    saturated: Saturated,
    ascent: Ascent,
    steps: u64,
    /// The value of what the ascent began with, in units, as far as the ascent does not know it.
    floor: f64,
    /// How many states were to be left alone after the last ascent, and how many still are.
    pause: u32,
    waiting: u32,
    /// Whether the last state was climbed at.
    has_climbed: bool,
}

impl Improved {
    /// A partitioner for these components.
    pub fn new(abstractions: &Arc<Abstractions>, config: ImprovedConfig) -> Improved {
        Improved {
            saturated: Saturated::new(abstractions).with_saturator(Saturator::Perimeter),
            ascent: Ascent::new(abstractions, config.max_bytes),
            config,
            steps: 0,
            floor: 0.0,
            pause: 0,
            waiting: 0,
            has_climbed: false,
        }
    }

    /// Changes how steps are made.
    pub fn set_rule(&mut self, rule: StepRule, steps: usize) {
        (self.config.rule, self.config.steps) = (rule, steps);
    }

    /// The steps made so far, for all states.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What is known of the optimal cost partitioning at the last state.
    pub fn bounds(&self) -> Bounds {
        let bounds = self.ascent.bounds();
        Bounds { lower: bounds.lower.max(self.floor), ..bounds }
    }

    /// The values of the best partitionings after some numbers of steps, in ascending order, from a
    /// saturated partitioning for a state that is no dead end.
    pub fn trace(
        &mut self,
        found: &CostPartitioning,
        state: &[Value],
        rounds: &[usize],
        values: &mut Vec<f64>,
    ) {
        values.clear();
        self.ascent.begin_near(found, state, &mut Budget::unlimited());
        let mut made = 0;
        for &round in rounds {
            for _ in made..round {
                self.ascent.step(&self.config.rule);
            }
            made = round;
            self.ascent.evaluate_averages();
            values.push(self.ascent.bounds().lower);
        }
    }

    /// Like [`Partitioner::partition`], but begins at weights, one per pair of the collection, as a
    /// network might predict them; for every state that is asked about.
    pub fn partition_from(
        &mut self,
        weights: &[f32],
        request: Request<'_>,
    ) -> Option<CostPartitioning> {
        let Request { state, beat, budget, .. } = request;
        self.floor = 0.0;
        self.ascent.set_weights(weights);
        self.has_climbed = self.ascent.begin(state, budget);
        if self.has_climbed {
            self.ascent.soften();
        }
        let divisor = self.abstractions().divisor();
        let beat = beat.map_or(f64::NEG_INFINITY, |h| (h / divisor) as f64);
        (self.has_climbed && self.climb(beat, budget)).then(|| self.ascent.finish())
    }

    /// Climbs for the state; whether the bound to beat, in units, may be exceeded.
    fn climb(&mut self, beat: f64, budget: &mut Budget) -> bool {
        for step in 1..=self.config.steps {
            self.ascent.step(&self.config.rule);
            self.steps += 1;
            budget.spend(self.ascent.take_work());
            // A look at the flow costs less than a step, and often shows that there is no more to gain.
            if step.is_power_of_two() && step.trailing_zeros() % 2 == 0 {
                self.ascent.evaluate_flow();
                let bounds = self.bounds();
                if !bounds.may_exceed(beat) {
                    return false;
                }
                if bounds.are_closed() {
                    return true;
                }
            }
            if budget.is_spent() {
                break;
            }
        }
        self.ascent.evaluate_averages();
        budget.spend(self.ascent.take_work());
        true
    }
}

impl Partitioner for Improved {
    fn name(&self) -> &'static str {
        if self.config.rule.is_learned() { "lcp" } else { "scp+ascent" }
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        self.ascent.abstractions()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, beat, budget, elapsed, initial } = request;
        if self.waiting > 0 {
            self.waiting -= 1;
            self.has_climbed = false;
            let request = Request { state, beat, budget, elapsed, initial };
            return self.saturated.partition(request);
        }
        let found =
            self.saturated.partition(Request { state, beat: None, budget, elapsed, initial })?;
        self.floor = self.saturated.value() as f64;
        self.has_climbed = self.ascent.begin_near(&found, state, budget);
        if !self.has_climbed {
            return Some(found);
        }
        let divisor = self.abstractions().divisor();
        let beat = beat.map_or(f64::NEG_INFINITY, |h| (h / divisor) as f64);
        let may_exceed = self.climb(beat, budget);
        let (reached, floor) = (self.ascent.bounds().lower, self.floor);
        let is_in_vain = !may_exceed || (reached - LEAST_RISE).ceil() <= floor.max(beat);
        self.pause = if is_in_vain { (2 * self.pause + 1).min(LONGEST_PAUSE) } else { 0 };
        if self.config.sparing {
            self.waiting = self.pause;
        }
        if !may_exceed {
            None
        } else if reached > floor + LEAST_RISE {
            budget.spend(4 * work::PAIR * found.costs().len() as Work);
            Some(self.ascent.finish_over(&found))
        } else {
            Some(found)
        }
    }

    fn ceiling(&self) -> Option<Cost> {
        self.ascent.ceiling().filter(|_| self.has_climbed)
    }

    fn memory_bytes(&self) -> usize {
        self.ascent.memory_bytes()
    }
}
