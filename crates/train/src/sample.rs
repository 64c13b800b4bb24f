//! Sampling: states of tasks with their optimal cost partitionings as labels.
//!
//! States come from random walks (the paper) or from a search ([`StateSource`]); dead ends and
//! goal states are left out.
//! Labels are optimal non-negative partitionings in which every operator's cost is given out
//! (Σ_P c^P(o) = c(o)), and their value h_OCP.
//!
//! Tasks are independent and run in parallel; each is written as soon as it and those before it
//! are done, so the file does not depend on the number of threads, and a run that was stopped
//! continues where the file ends.
//! A time limit per task cuts its states short, never the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lcp::self_training::walk::random_walk_states;
use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::heuristic::{Estimate, EveryState, Heuristic};
use planner::partition::{
    CostPartitioning, Ocp, OcpConfig, PartitionScratch, Partitioner, Saturated,
};
use planner::search::{self, Limits, Outcome};
use planner::task::{OpId, Task, Value};
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::dataset::{DatasetError, SampledTask, Source, Writer, fingerprint};
use crate::examples::LabelledState;
use crate::generate::Random;
use crate::loss::value_of;

/// Where states come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateSource {
    /// The ends of random walks from the initial state.
    Walk,
    /// The states of an optimal plan and others that A* evaluated with saturated partitionings.
    Search,
    /// Half of each.
    Both,
}

/// What is computed for a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Labels {
    /// Nothing; enough for training on the bound.
    None,
    /// An optimal partitioning and its value.
    Ocp,
}

/// How tasks are sampled.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SampleConfig {
    /// Where states come from.
    pub states: StateSource,
    /// States a task at most.
    pub per_task: usize,
    /// What is computed for them.
    pub labels: Labels,
    /// Seconds a task at most.
    pub time_limit_s: f64,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Default for SampleConfig {
    /// The paper's choices.
    fn default() -> SampleConfig {
        SampleConfig {
            states: StateSource::Walk,
            per_task: 500,
            labels: Labels::Ocp,
            time_limit_s: 1800.0,
            seed: 0,
        }
    }
}

/// The distance between lower and upper bound at which a partitioning counts as optimal, as a
/// share of the optimum.
pub const LABEL_GAP: f64 = 1e-3;

/// What makes the labels, for the header of the file.
pub fn solver() -> String {
    format!(
        "path-based column generation, Clarabel (interior point, no crossover) for the master, \
         relative gap {LABEL_GAP}"
    )
}

/// A task to be sampled.
pub struct Job {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// The task.
    pub task: Task,
}

/// The progress of sampling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleProgress {
    /// Tasks done.
    pub tasks: usize,
    /// Tasks in all.
    pub of: usize,
    /// States of the tasks done.
    pub states: usize,
}

/// Samples the jobs that are not in the file yet; false if `stop` was set before all were done.
pub fn sample(
    jobs: &[Job],
    config: &SampleConfig,
    writer: &mut Writer,
    stop: &AtomicBool,
    show: &(dyn Fn(SampleProgress) + Sync),
) -> Result<bool, DatasetError> {
    struct Ordered<'a> {
        writer: &'a mut Writer,
        waiting: BTreeMap<usize, SampledTask>,
        next: usize,
        progress: SampleProgress,
        error: Option<DatasetError>,
    }
    let progress = SampleProgress { tasks: 0, of: jobs.len(), states: 0 };
    let ordered =
        Mutex::new(Ordered { writer, waiting: BTreeMap::new(), next: 0, progress, error: None });
    jobs.par_iter().enumerate().for_each(|(i, job)| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let sampled = sample_task(job, config, stop);
        if stop.load(Ordering::Relaxed) {
            return; // Perhaps cut short.
        }
        let mut ordered = ordered.lock().expect("no thread panics while it writes");
        let ordered = &mut *ordered;
        ordered.waiting.insert(i, sampled);
        while let Some(task) = ordered.waiting.remove(&ordered.next) {
            ordered.next += 1;
            ordered.progress.tasks += 1;
            ordered.progress.states += task.states.len();
            if ordered.error.is_none() {
                ordered.error = ordered.writer.append(&task).err();
            }
            show(ordered.progress);
        }
    });
    let ordered = ordered.into_inner().expect("no thread panicked");
    match ordered.error {
        Some(error) => Err(error),
        None => Ok(ordered.next == jobs.len()),
    }
}

/// The projections that everything here is about.
pub fn abstractions(task: &Task) -> Abstractions {
    Abstractions::new(task, &interesting_patterns(task, 2, &PatternLimits::default()))
}

/// The states and labels of one task.
pub fn sample_task(job: &Job, config: &SampleConfig, stop: &AtomicBool) -> SampledTask {
    let deadline = Instant::now() + Duration::from_secs_f64(config.time_limit_s.clamp(0.0, 1e6));
    let abstractions = Arc::new(abstractions(&job.task));
    let mut random = Random::seed_from_u64(config.seed ^ name_seed(&job.name));
    let states = states(&job.task, &abstractions, config, deadline, stop, &mut random);
    let mut labeller = Labeller::new(&abstractions);
    let mut labelled = Vec::with_capacity(states.len());
    for values in states {
        if Instant::now() >= deadline || stop.load(Ordering::Relaxed) {
            break;
        }
        let (h_ocp, shares) = match config.labels {
            Labels::None => (None, None),
            Labels::Ocp => match labeller.label(&abstractions, &values) {
                Some((h, shares)) => (Some(h), Some(shares)),
                None => continue,
            },
        };
        labelled.push(LabelledState { values, h_ocp, shares });
    }
    SampledTask {
        name: job.name.clone(),
        source: job.source.clone(),
        fingerprint: fingerprint(&job.task),
        pairs: abstractions.num_pairs(),
        states: labelled,
    }
}

fn name_seed(name: &str) -> u64 {
    name.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

fn states(
    task: &Task,
    abstractions: &Arc<Abstractions>,
    config: &SampleConfig,
    deadline: Instant,
    stop: &AtomicBool,
    random: &mut Random,
) -> Vec<Vec<Value>> {
    let count = config.per_task;
    let walks = match config.states {
        StateSource::Walk => count,
        StateSource::Search => 0,
        StateSource::Both => count.div_ceil(2),
    };
    let mut states = Vec::new();
    if walks > 0 {
        let longest = walk_length(task, abstractions);
        states = random_walk_states(task, abstractions, walks, longest, random);
    }
    if walks < count {
        let found = search_states(task, abstractions, count - walks, deadline, stop, random);
        let known: FxHashSet<Vec<Value>> = states.iter().cloned().collect();
        states.extend(found.into_iter().filter(|state| !known.contains(state)));
    }
    states
}

/// Walks are up to four times as long as the initial state's distance estimate.
fn walk_length(task: &Task, abstractions: &Abstractions) -> usize {
    let partitioning = Saturated::new(abstractions).partition(abstractions, &task.initial, None);
    let value = partitioning.and_then(|partitioning| {
        value_of(abstractions, &partitioning, &task.initial, &mut PartitionScratch::default())
    });
    let cheapest = task.operators.iter().map(|o| o.cost).filter(|&c| c > 0).min().unwrap_or(1);
    let steps = value.unwrap_or(0.0) / cheapest as f64;
    ((4.0 * steps) as usize).clamp(10, 10_000)
}

/// The states of the plan that A* finds, and of the others it evaluates a random choice.
fn search_states(
    task: &Task,
    abstractions: &Arc<Abstractions>,
    count: usize,
    deadline: Instant,
    stop: &AtomicBool,
    random: &mut Random,
) -> Vec<Vec<Value>> {
    let scp = Saturated::new(abstractions);
    let enough = AtomicBool::new(false);
    let mut recorder = Recorder {
        heuristic: EveryState::new(abstractions.clone(), scp),
        random,
        most: count,
        met: 0,
        states: Vec::new(),
        evaluations: 50 * count,
        enough: &enough,
        stop,
    };
    let deadline = Instant::now() + (deadline.saturating_duration_since(Instant::now())) / 4;
    let config = search::Config {
        limits: Limits {
            deadline: Some(deadline),
            memory_bytes: Some(1 << 30),
            memory_in_use: None,
            interrupt: Some(&enough),
        },
        ..search::Config::default()
    };
    let result = search::astar(task, &mut recorder, config);
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
    /// After how many evaluations the search is stopped.
    evaluations: usize,
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
        if self.met >= self.evaluations || self.stop.load(Ordering::Relaxed) {
            self.enough.store(true, Ordering::Relaxed);
        }
        estimate
    }
}

/// Computes labels.
struct Labeller {
    ocp: Ocp,
    scratch: PartitionScratch,
}

impl Labeller {
    fn new(abstractions: &Abstractions) -> Labeller {
        let ocp = Ocp::with_config(
            abstractions,
            OcpConfig { gap: Some(LABEL_GAP), ..OcpConfig::default() },
        );
        Labeller { ocp, scratch: PartitionScratch::default() }
    }

    /// h_OCP and the optimal share of each pair; `None` for a dead end.
    fn label(&mut self, abstractions: &Abstractions, state: &[Value]) -> Option<(f64, Box<[f32]>)> {
        if abstractions.is_dead_end(state) {
            return None;
        }
        let partitioning = self.ocp.partition(abstractions, state, None)?;
        let h = value_of(abstractions, &partitioning, state, &mut self.scratch)?;
        // The upper bound is what no partitioning exceeds: ratios to it are never flattered.
        let h = h.max(self.ocp.bounds().upper.min(h * (1.0 + 2.0 * LABEL_GAP)));
        Some((h, shares(abstractions, &partitioning)))
    }
}

/// The share of its operator's cost that each pair has; what is left over is divided equally, so
/// that the shares of an operator sum to one.
fn shares(abstractions: &Abstractions, partitioning: &CostPartitioning) -> Box<[f32]> {
    let costs = partitioning.costs();
    let mut shares = vec![0.0; costs.len()];
    for o in 0..abstractions.num_operators() {
        let pairs = abstractions.operator_pairs(OpId::from(o));
        let cost = f64::from(abstractions.costs()[o]) * f64::from(partitioning.scale());
        let given: f64 = pairs.iter().map(|&(_, pair)| f64::from(costs[pair as usize])).sum();
        let rest = (cost - given) / pairs.len().max(1) as f64;
        for &(_, pair) in pairs {
            let share = (f64::from(costs[pair as usize]) + rest) / cost;
            shares[pair as usize] =
                if cost > 0.0 { share as f32 } else { 1.0 / pairs.len() as f32 };
        }
    }
    shares.into()
}
