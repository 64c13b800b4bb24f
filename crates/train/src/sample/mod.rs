//! Sampling: states of tasks with their optimal cost partitionings as labels.
//!
//! States come from random walks (the paper) or from a search ([`StateSource`](crate::dataset::config::StateSource)); dead ends and
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
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rayon::prelude::*;

use crate::dataset::config::{Labels, SampleConfig};
use crate::dataset::tasks::{Job, abstractions};
use crate::dataset::{DatasetError, SampledState, SampledTask, Writer, fingerprint};
use crate::generate::Random;
use labels::Labeller;
use states::states;

pub use labels::{LABEL_GAP, solver};

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
