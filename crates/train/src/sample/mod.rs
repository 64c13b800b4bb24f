//! Sampling: states of tasks with their optimal cost partitionings as labels.
//!
//! States come from random walks (the paper) or from a search ([`StateSource`](crate::dataset::config::StateSource)); dead ends and
//! goal states are left out.
//! Labels are optimal non-negative partitionings in which every operator's cost is given out
//! (Σ_P c^P(o) = c(o)), and their value h_OCP.
//!
//! Tasks are independent, run in parallel, may be divided among processes, and each is written as
//! soon as it is done ([`Parts`]): the file does not depend on how it was divided, and a run that was
//! stopped continues.
//! The states of a task are cut short by work, never by a clock: the same bytes on any machine.

mod labels;
mod states;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use planner::work::{Budget, SECOND, Work};
use rayon::prelude::*;

use crate::dataset::config::{Labels, SampleConfig};
use crate::dataset::tasks::{Job, abstractions};
use crate::dataset::{DatasetError, Parts, SampledState, SampledTask, fingerprint};
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

/// Samples the tasks that are not done yet, of those that a division leaves to this process; false if
/// `stop` was set before all were done.
pub fn sample(
    jobs: &[Job],
    config: &SampleConfig,
    parts: &Parts,
    division: Division,
    stop: &AtomicBool,
    show: &(dyn Fn(SampleProgress) + Sync),
) -> Result<bool, DatasetError> {
    let mut left = parts.left();
    left.retain(|&number| division.has(number));
    let progress = Mutex::new(SampleProgress { tasks: 0, of: left.len(), states: 0 });
    left.par_iter().try_for_each(|&number| {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let sampled = sample_task(&jobs[number], config, stop);
        if stop.load(Ordering::Relaxed) {
            return Ok(()); // Perhaps cut short.
        }
        parts.add(number, &sampled)?;
        let mut progress = progress.lock().expect("no thread panics while it shows");
        progress.tasks += 1;
        progress.states += sampled.states.len();
        show(*progress);
        Ok(())
    })?;
    let progress = progress.into_inner().expect("no thread panicked");
    Ok(progress.tasks == progress.of)
}

/// Which of the tasks a process samples: those whose number leaves a remainder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    /// The remainder.
    pub remainder: usize,
    /// What numbers are divided by.
    pub divisor: usize,
}

impl Division {
    /// All tasks.
    pub const WHOLE: Division = Division { remainder: 0, divisor: 1 };

    fn has(self, number: usize) -> bool {
        number % self.divisor == self.remainder
    }
}

/// The states and labels of one task.
pub fn sample_task(job: &Job, config: &SampleConfig, stop: &AtomicBool) -> SampledTask {
    let mut work = Budget::new((config.work_s.max(0.0) * SECOND as f64) as Work);
    let abstractions = abstractions(&job.task, config.pattern_size);
    let seed = config.seed ^ name_seed(&job.name);
    let states = match &job.states {
        Some(states) => states.clone(),
        None => states(&job.task, &abstractions, config, seed, &mut work, stop),
    };
    let mut labeller = Labeller::new(config.labels, &abstractions);
    let mut labelled = Vec::with_capacity(states.len());
    for values in states {
        let is_enough = work.is_spent() && labelled.len() >= config.at_least;
        if is_enough || stop.load(Ordering::Relaxed) {
            break;
        }
        let (h_ocp, shares) = match config.labels {
            Labels::None => (None, None),
            _ if abstractions.is_dead_end(&values) => continue,
            _ => match labeller.label(&values, &mut work) {
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
