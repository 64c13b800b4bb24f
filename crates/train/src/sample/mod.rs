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

mod labels;
mod states;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use planner::abstraction::{Abstractions, PatternLimits, interesting_patterns};
use planner::task::{Task, Value};
use rand::SeedableRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::dataset::{DatasetError, SampledState, SampledTask, Source, Writer, fingerprint};
use crate::generate::Random;
use labels::Labeller;
use states::states;

pub use labels::{LABEL_GAP, solver};

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
    /// The most even optimal partitioning, a function of the state, and its value.
    Canonical,
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
    /// The most variables of a pattern.
    #[serde(default = "pairs", skip_serializing_if = "is_pairs")]
    pub pattern_size: usize,
    /// Seconds a task at most.
    pub time_limit_s: f64,
    /// The seed of all random numbers.
    pub seed: u64,
}

fn pairs() -> usize {
    2
}

fn is_pairs(&size: &usize) -> bool {
    size == pairs()
}

impl Default for SampleConfig {
    /// The paper's choices.
    fn default() -> SampleConfig {
        SampleConfig {
            states: StateSource::Walk,
            per_task: 500,
            labels: Labels::Ocp,
            pattern_size: pairs(),
            time_limit_s: 1800.0,
            seed: 0,
        }
    }
}

/// A task to be sampled.
pub struct Job {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// The task.
    pub task: Task,
    /// The states to label, if they are given.
    pub states: Option<Vec<Vec<Value>>>,
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

/// The projections that everything here is about: to patterns of at most so many variables.
pub fn abstractions(task: &Task, size: usize) -> Arc<Abstractions> {
    Abstractions::new(task, &interesting_patterns(task, size, &PatternLimits::default()))
}

/// The states and labels of one task.
pub fn sample_task(job: &Job, config: &SampleConfig, stop: &AtomicBool) -> SampledTask {
    let deadline = Instant::now() + Duration::from_secs_f64(config.time_limit_s.clamp(0.0, 1e6));
    let abstractions = abstractions(&job.task, config.pattern_size);
    let mut random = Random::seed_from_u64(config.seed ^ name_seed(&job.name));
    let states = match &job.states {
        Some(states) => states.clone(),
        None => states(&job.task, &abstractions, config, deadline, stop, &mut random),
    };
    let mut labeller = Labeller::new(config.labels, &abstractions);
    let mut labelled = Vec::with_capacity(states.len());
    for values in states {
        if Instant::now() >= deadline || stop.load(Ordering::Relaxed) {
            break;
        }
        let (h_ocp, shares) = match config.labels {
            Labels::None => (None, None),
            _ if abstractions.is_dead_end(&values) => continue,
            _ => match labeller.label(&values) {
                Some((h, shares)) => (Some(h), Some(shares)),
                None => continue,
            },
        };
        labelled.push(SampledState { values, h_ocp, shares });
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
