//! States of random walks from the initial state, as the search may meet them.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashSet;

use crate::abstraction::Abstractions;
use crate::task::{AtDeadEnd, RandomWalk, Task, Value};

/// Makes states by random walks that begin again whenever they meet a dead end.
#[derive(Debug)]
pub struct Walks<'a> {
    task: &'a Task,
    abstractions: &'a Abstractions,
    walk: RandomWalk<'a>,
    rng: Xoshiro256PlusPlus,
    /// The number of coin flips that decide the length of a walk.
    flips: usize,
}

impl<'a> Walks<'a> {
    /// Walks of some steps.
    pub fn new(task: &'a Task, abstractions: &'a Abstractions) -> Walks<'a> {
        Walks::seeded(task, abstractions, 2011)
    }

    /// The same with other random numbers.
    pub fn seeded(task: &'a Task, abstractions: &'a Abstractions, seed: u64) -> Walks<'a> {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Walks { task, abstractions, walk: RandomWalk::new(task), rng, flips: 10 }
    }

    /// From now on walks have on average twice as many steps as a plan of cost `h` needs.
    pub fn expect(&mut self, h: u64) {
        let operators = &self.task.operators;
        let costs: f64 = operators.iter().map(|o| o.cost as f64).sum();
        let average = costs / operators.len().max(1) as f64;
        let is_known = h > 0 && average > 0.0;
        self.flips = if is_known { 4 * (h as f64 / average).round() as usize } else { 10 };
    }

    /// The last state of a walk.
    pub fn state(&mut self) -> Vec<Value> {
        let steps = (0..self.flips).filter(|_| self.rng.random()).count();
        let is_dead_end = |state: &[Value]| self.abstractions.is_dead_end(state);
        self.walk.end(steps, is_dead_end, AtDeadEnd::BeginAgain, &mut self.rng)
    }

    /// Up to `count` distinct states that are neither goals nor recognised dead ends, the initial
    /// state first; at most four walks for each.
    pub fn states(&mut self, count: usize) -> Vec<Vec<Value>> {
        let mut distinct = Distinct::new(self.task, self.abstractions);
        distinct.add(self.task.initial.clone());
        for _ in 0..4 * count {
            if distinct.states.len() >= count {
                break;
            }
            distinct.add(self.state());
        }
        distinct.states
    }
}

/// Distinct states that are neither goals nor recognised dead ends.
struct Distinct<'a> {
    task: &'a Task,
    abstractions: &'a Abstractions,
    seen: FxHashSet<Vec<Value>>,
    states: Vec<Vec<Value>>,
}

impl<'a> Distinct<'a> {
    fn new(task: &'a Task, abstractions: &'a Abstractions) -> Distinct<'a> {
        Distinct { task, abstractions, seen: FxHashSet::default(), states: Vec::new() }
    }

    fn add(&mut self, state: Vec<Value>) {
        let is_useful = !self.task.is_goal(&state) && !self.abstractions.is_dead_end(&state);
        if is_useful && self.seen.insert(state.clone()) {
            self.states.push(state);
        }
    }
}

/// Up to `count` distinct states that are neither goals nor recognised dead ends, the initial
/// state first.
///
/// Each walk has a length drawn uniformly up to `longest` and yields its last state; a walk ends
/// early where nothing is applicable or at a dead end.
pub fn random_walk_states(
    task: &Task,
    abstractions: &Abstractions,
    count: usize,
    longest: usize,
    rng: &mut impl Rng,
) -> Vec<Vec<Value>> {
    let mut walk = RandomWalk::new(task);
    let mut distinct = Distinct::new(task, abstractions);
    distinct.add(task.initial.clone());
    for _ in 0..4 * count {
        if distinct.states.len() >= count {
            break;
        }
        let steps = rng.random_range(0..=longest);
        let is_dead_end = |state: &[Value]| abstractions.is_dead_end(state);
        distinct.add(walk.end(steps, is_dead_end, AtDeadEnd::End, rng));
    }
    distinct.states
}
