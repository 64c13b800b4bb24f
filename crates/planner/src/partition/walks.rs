//! States of random walks from the initial state, as the search may meet them.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::abstraction::Abstractions;
use crate::task::{RandomWalk, Task, Value};

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
        let rng = Xoshiro256PlusPlus::seed_from_u64(2011);
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
        let mut state = self.task.initial.clone();
        let length = (0..self.flips).filter(|_| self.rng.random()).count();
        for _ in 0..length {
            if self.walk.step(&mut state, &mut self.rng).is_none() {
                break;
            }
            if self.abstractions.is_dead_end(&state) {
                state.clone_from(&self.task.initial);
            }
        }
        state
    }
}
