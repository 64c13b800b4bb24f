//! Which states of a task are sampled: ends of random walks, and states that a search meets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lcp::training::bound::value_of;
use planner::abstraction::Abstractions;
use planner::heuristic::{Estimate, EveryState, Heuristic};
use planner::partition::{PartitionScratch, Partitioner, Saturated, Walks};
use planner::search::{self, Limits, Outcome};
use planner::task::{OpId, Task, Value};
use planner::work::{Budget, Work};
use rand::{RngExt, SeedableRng};
use rustc_hash::FxHashSet;

use crate::dataset::config::{SampleConfig, StateSource};
use crate::generate::Random;

/// The states of a task, none of them a goal or a recognised dead end.
pub(super) fn states(
    task: &Task,
    abstractions: &Arc<Abstractions>,
    config: &SampleConfig,
    seed: u64,
    work: &mut Budget,
    stop: &AtomicBool,
) -> Vec<Vec<Value>> {
    let count = config.per_task;
    let walks = match config.states {
        StateSource::Walk => count,
        StateSource::Search => 0,
        StateSource::Both => count.div_ceil(2),
    };
    let mut states = Vec::new();
    if walks > 0 {
        let mut walker = Walks::seeded(task, abstractions, seed);
        walker.expect(estimate(task, abstractions).round() as u64);
        states = walker.states(walks);
    }
    if walks < count {
        let random = &mut Random::seed_from_u64(seed);
        let found = search_states(task, abstractions, count - walks, random, work, stop);
        let known: FxHashSet<Vec<Value>> = states.iter().cloned().collect();
        states.extend(found.into_iter().filter(|state| !known.contains(state)));
    }
    states
}

/// The initial state's distance as saturated partitioning estimates it.
fn estimate(task: &Task, abstractions: &Arc<Abstractions>) -> f64 {
    let partitioning = Saturated::new(abstractions).best_for(&task.initial);
    let value = partitioning.and_then(|partitioning| {
        value_of(&partitioning, &task.initial, &mut PartitionScratch::default())
    });
    value.unwrap_or(0.0)
}

/// The states of the plan that A* finds, and of the others it evaluates a random choice.
fn search_states(
    task: &Task,
    abstractions: &Arc<Abstractions>,
    count: usize,
    random: &mut Random,
    work: &mut Budget,
    stop: &AtomicBool,
) -> Vec<Vec<Value>> {
    let scp = Saturated::new(abstractions);
    let enough = AtomicBool::new(false);
    let mut recorder = Recorder {
        heuristic: EveryState::new(scp),
        random,
        most: count,
        met: 0,
        states: Vec::new(),
        evaluations: 50 * count,
        most_work: work.left() / 4,
        enough: &enough,
        stop,
    };
    let config = search::Config {
        limits: Limits {
            deadline: None,
            memory_bytes: Some(1 << 30),
            memory_in_use: None,
            interrupt: Some(&enough),
        },
        ..search::Config::default()
    };
    let result = search::astar(task, &mut recorder, config);
    work.spend(recorder.heuristic.work().unwrap_or(0));
    let others = recorder.states;
    let mut states = match result.outcome {
        Outcome::Solved(plan) => states_along(task, &plan.operators),
        _ => vec![task.initial.clone()],
    };
    states.retain(|state| !task.is_goal(state));
    states.truncate(count);
    let known: FxHashSet<Vec<Value>> = states.iter().cloned().collect();
    let others = others.into_iter().filter(|s| !known.contains(s) && !task.is_goal(s));
    states.extend(others);
    states.truncate(count);
    states
}

fn states_along(task: &Task, operators: &[OpId]) -> Vec<Vec<Value>> {
    let mut state = task.initial.clone();
    let mut states = vec![state.clone()];
    for &op in operators {
        state = task.successor(&state, op);
        states.push(state.clone());
    }
    states
}

/// Keeps a uniformly random choice of the states that a search evaluates.
struct Recorder<'a, H> {
    heuristic: H,
    random: &'a mut Random,
    most: usize,
    met: usize,
    states: Vec<Vec<Value>>,
    /// After how many evaluations and how much work the search is stopped.
    evaluations: usize,
    most_work: Work,
    enough: &'a AtomicBool,
    stop: &'a AtomicBool,
}

impl<H: Heuristic> Heuristic for Recorder<'_, H> {
    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        let estimate = self.heuristic.evaluate(state);
        if let Estimate::AtLeast(_) = estimate {
            self.met += 1;
            if self.states.len() < self.most {
                self.states.push(state.to_vec());
            } else {
                let i = self.random.random_range(0..self.met);
                if i < self.most {
                    self.states[i] = state.to_vec();
                }
            }
        }
        let is_spent = self.heuristic.work().is_some_and(|work| work >= self.most_work);
        if self.met >= self.evaluations || is_spent || self.stop.load(Ordering::Relaxed) {
            self.enough.store(true, Ordering::Relaxed);
        }
        estimate
    }
}
