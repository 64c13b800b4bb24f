//! Cost partitionings by ascent.
//!
//! A climb (climb/) begins near a saturated partitioning of the state, where the climb for the
//! previous state ended, or at shares that somebody else predicts, and goes on for a number of steps.
//! Anytime: whatever the number of steps, the result is a cost partitioning.
//! A climb stops early when its certificate says that no partitioning has a value that rounds to
//! more, or none that exceeds the bound to beat.
//! Cost: at most one shortest path in each component for a step, beside one distance computation
//! for the saturated partitioning.

use std::sync::Arc;

use super::climb::{Climb, ValueBounds};
use super::step::StepRule;
use crate::abstraction::Abstractions;
use crate::partition::{
    CostPartitioning, MEMORY_LIMIT, Partitioner, Request, Saturated, Saturator,
};
use crate::task::{Cost, OpId, Value};
use crate::work::{self, Budget, Work};

/// How partitionings are made by ascent.
#[derive(Clone, PartialEq, Debug)]
pub struct AscentConfig {
    /// Where the climb for a state begins.
    pub start: Start,
    /// The number of steps for one state.
    pub steps: usize,
    /// How steps are made.
    pub rule: StepRule,
    /// The most bytes of what is known of abstract states, kept for the next state that has them.
    pub max_bytes: usize,
}

/// Where the climb for a state begins, and how long it lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Near the state's saturated partitioning, and for the number of steps.
    /// The better of the two is the result, which is a function of the state and of how ties of
    /// the greedy order fall.
    Saturated,
    /// The same, but after a climb in vain some states keep their saturated partitioning: the more
    /// of them, the more often in a row it was in vain.
    SaturatedSparing,
    /// Where the climb for the previous state ended, and for up to ten times the number of
    /// steps as long as they pay. The first ones of a state are plain.
    Previous,
}

impl AscentConfig {
    /// Steps from near a saturated partitioning, for every state.
    pub fn every_state(rule: StepRule) -> AscentConfig {
        AscentConfig { start: Start::Saturated, steps: 25, rule, max_bytes: MEMORY_LIMIT }
    }

    /// Steps from where the last ones ended, for the few states of a store.
    pub fn stored(rule: StepRule) -> AscentConfig {
        AscentConfig { start: Start::Previous, steps: 100, rule, max_bytes: MEMORY_LIMIT }
    }
}

/// A climb that goes on from the previous one lasts for at most so many times the number of steps.
const MOST_ROUNDS: usize = 10;

/// So many of its steps are plain, which suffice where there is little to gain.
const EARLY: usize = 25;

/// After how many of its steps the averages are evaluated first.
const FIRST_LOOK: usize = 8;

/// The least part of the gap that its steps must close between two looks to be worth more of them.
const LEAST_PART: f64 = 0.05;

/// By how much a climb must be better than the saturated partitioning, in units: more than the
/// integer grid takes away again.
const LEAST_RISE: f64 = 0.005;

/// The most states that are left alone in a row.
const LONGEST_PAUSE: u32 = 63;

/// Makes partitionings by ascent.
#[derive(Clone, Debug)]
pub struct Ascent {
    config: AscentConfig,
    saturated: Saturated,
    climb: Climb,
    steps: u64,
    /// The value of what the climb began with, in units, as far as the climb does not know it.
    floor: f64,
    /// How many states were to be left alone after the last climb, and how many still are.
    pause: u32,
    waiting: u32,
    /// Whether there was a climb for the last state.
    has_climbed: bool,
}

impl Ascent {
    /// A partitioner for these components.
    pub fn new(abstractions: &Arc<Abstractions>, config: AscentConfig) -> Ascent {
        let saturated = Saturated::new(abstractions);
        Ascent {
            saturated: match config.start {
                Start::Previous => saturated,
                _ => saturated.with_saturator(Saturator::Perimeter),
            },
            climb: Climb::new(abstractions, config.max_bytes),
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
    pub fn bounds(&self) -> ValueBounds {
        let bounds = self.climb.bounds();
        ValueBounds { lower: bounds.lower.max(self.floor), ..bounds }
    }

    /// The values of the best partitionings after some numbers of steps, in ascending order, from a
    /// saturated partitioning for a state that is not a dead end.
    pub fn trace(
        &mut self,
        found: &CostPartitioning,
        state: &[Value],
        rounds: &[usize],
        values: &mut Vec<f64>,
    ) {
        values.clear();
        self.climb.begin_near(found, state, &mut Budget::unlimited());
        let mut made = 0;
        for &round in rounds {
            for _ in made..round {
                self.climb.step(&self.config.rule);
            }
            made = round;
            self.climb.evaluate_averages();
            values.push(self.climb.bounds().lower);
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
        self.climb.set_weights(weights);
        self.has_climbed = self.climb.begin(state, budget);
        if self.has_climbed {
            self.climb.soften();
        }
        let beat = self.in_units(beat);
        (self.has_climbed && self.climb_for_steps(beat, budget)).then(|| self.climb.finish())
    }

    /// The bound to beat, in units.
    fn in_units(&self, beat: Option<Cost>) -> f64 {
        let divisor = self.abstractions().divisor();
        beat.map_or(f64::NEG_INFINITY, |h| (h / divisor) as f64)
    }

    fn step(&mut self, rule: &StepRule, budget: &mut Budget) {
        self.climb.step(rule);
        self.steps += 1;
        budget.spend(self.climb.take_work());
    }

    /// Makes the number of steps; whether the bound to beat, in units, may be exceeded.
    fn climb_for_steps(&mut self, beat: f64, budget: &mut Budget) -> bool {
        let rule = self.config.rule.clone();
        for step in 1..=self.config.steps {
            self.step(&rule, budget);
            // A look at the flow costs less than a step, and often shows that there is no more to
            // gain.
            if step.is_power_of_two() && step.trailing_zeros() % 2 == 0 {
                self.climb.evaluate_flow();
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
        self.climb.evaluate_averages();
        budget.spend(self.climb.take_work());
        true
    }

    /// Makes steps while they pay; whether the bound to beat, in units, may be exceeded.
    fn climb_while_it_pays(&mut self, beat: f64, budget: &mut Budget) -> bool {
        let rule = self.config.rule.clone();
        let mut next_look = FIRST_LOOK;
        let mut last = self.climb.bounds().lower;
        for step in 1..=MOST_ROUNDS * self.config.steps {
            self.step(if step <= EARLY { &StepRule::PLAIN } else { &rule }, budget);
            let is_late = budget.is_spent();
            if step != next_look && !is_late {
                continue;
            }
            self.climb.evaluate_averages();
            budget.spend(self.climb.take_work());
            let bounds = self.climb.bounds();
            if !bounds.may_exceed(beat) {
                return false;
            }
            let rise = bounds.lower - last;
            last = bounds.lower;
            let pays = rise > LEAST_PART * (bounds.upper - bounds.lower);
            if bounds.are_closed() || is_late || step >= self.config.steps && !pays {
                break;
            }
            next_look += (step / 3).max(FIRST_LOOK);
        }
        true
    }

    /// A partitioning by a climb that goes on from the previous one.
    fn go_on(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, beat, budget, elapsed, initial } = request;
        if self.steps == 0 {
            let request = Request { state, beat: None, budget, elapsed, initial };
            let found = self.saturated.partition(request)?;
            budget.spend(2 * work::PAIR * found.costs().len() as Work);
            self.climb.set_weights(&near(&found));
        }
        let beat = self.in_units(beat);
        self.has_climbed = self.climb.begin(state, budget);
        (self.has_climbed && self.climb_while_it_pays(beat, budget)).then(|| self.climb.finish())
    }

    /// A partitioning by a climb from near a saturated one.
    fn begin_anew(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
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
        self.has_climbed = self.climb.begin_near(&found, state, budget);
        if !self.has_climbed {
            return Some(found);
        }
        let beat = self.in_units(beat);
        let may_exceed = self.climb_for_steps(beat, budget);
        let (reached, floor) = (self.climb.bounds().lower, self.floor);
        let is_in_vain = !may_exceed || (reached - LEAST_RISE).ceil() <= floor.max(beat);
        self.pause = if is_in_vain { (2 * self.pause + 1).min(LONGEST_PAUSE) } else { 0 };
        if self.config.start == Start::SaturatedSparing {
            self.waiting = self.pause;
        }
        if !may_exceed {
            None
        } else if reached > floor + LEAST_RISE {
            budget.spend(4 * work::PAIR * found.costs().len() as Work);
            Some(self.climb.finish_over(&found))
        } else {
            Some(found)
        }
    }
}

impl Partitioner for Ascent {
    fn name(&self) -> &'static str {
        "ascent"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        self.climb.abstractions()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        match self.config.start {
            Start::Previous => self.go_on(request),
            Start::Saturated | Start::SaturatedSparing => self.begin_anew(request),
        }
    }

    fn ceiling(&self) -> Option<Cost> {
        self.climb.ceiling().filter(|_| self.has_climbed)
    }

    fn memory_bytes(&self) -> usize {
        self.climb.memory_bytes()
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
