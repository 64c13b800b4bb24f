//! How good a model is on states that it never saw.
//!
//! A model lists the states that it was trained on and those that it was chosen by; none of them
//! may be among those that it is judged on.

use std::collections::BTreeSet;

use lcp::model::{Model, ModelError};
use lcp::partitioner::Learned;
use lcp::predict::{MEMORY_LIMIT, Predictor, Softmax};
use lcp::training::bound::value_of;
use planner::partition::{
    Ascent, AscentConfig, PartitionScratch, Partitioner, Saturated, StepRule, Uniform,
};
use rayon::prelude::*;
use serde::Serialize;
use thiserror::Error;

use crate::dataset::tasks::TaskStates;
use crate::training::{TRAINED_ON, VALIDATED_ON};

/// Means over states of h / h_OCP.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Judgement {
    /// States with a known h_OCP > 0.
    pub states: usize,
    /// Tasks with such states.
    pub tasks: usize,
    /// Of the model's prediction.
    pub model: f64,
    /// Of saturated partitioning, one for the state.
    pub scp: f64,
    /// Of uniform partitioning.
    pub uniform: f64,
    /// The share of states where the prediction is within 1 % of the optimum.
    pub within_a_percent: f64,
    /// Whether the model says which states it saw; if so, none of them is among these.
    pub proved_unseen: bool,
    /// After steps of ascent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refined: Option<Refined>,
}

/// A second look: means of h / h_OCP after steps of learned ascent.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Refined {
    /// The most steps.
    pub steps: usize,
    /// From the model's prediction.
    pub model: f64,
    /// From the saturated partitioning.
    pub scp: f64,
}

/// Why a model cannot be judged.
#[derive(Debug, Error)]
pub enum JudgeError {
    /// The model is of another domain.
    #[error("{task}: {error}")]
    Model {
        /// The task.
        task: String,
        /// What does not fit.
        error: ModelError,
    },
    /// No state has a known optimum.
    #[error("no state with a known optimum; sample with --labels ocp")]
    NoStates,
    /// The model was made with some of the states.
    #[error("{count} of the states are among those that the model was {how}")]
    Seen {
        /// How many.
        count: usize,
        /// What they were used for.
        how: &'static str,
    },
}

/// Leaves out the states that a model was trained on or chosen by.
pub fn leave_out_seen(model: &Model, tasks: &mut [TaskStates]) {
    let lists = [TRAINED_ON, VALIDATED_ON].map(|name| model.provenance.settings.get(name));
    let seen: BTreeSet<u64> = lists.into_iter().flatten().flat_map(|list| listed(list)).collect();
    for task in tasks {
        let mut hashes = task.state_hashes().into_iter();
        task.states.retain(|_| hashes.next().is_some_and(|hash| !seen.contains(&hash)));
    }
}

/// Judges a model, with `steps` > 0 also after so many steps of ascent.
pub fn judge(
    model: &Model,
    tasks: &[TaskStates],
    softmax: Softmax,
    steps: usize,
) -> Result<Judgement, JudgeError> {
    let hashes: BTreeSet<u64> = tasks.par_iter().flat_map_iter(TaskStates::state_hashes).collect();
    let mut proved_unseen = true;
    for (name, how) in [(TRAINED_ON, "trained on"), (VALIDATED_ON, "chosen by")] {
        let Some(list) = model.provenance.settings.get(name) else {
            proved_unseen = false;
            continue;
        };
        let count = listed(list).filter(|hash| hashes.contains(hash)).count();
        if count > 0 {
            return Err(JudgeError::Seen { count, how });
        }
    }
    let of_tasks: Result<Vec<Vec<Ratios>>, JudgeError> =
        tasks.par_iter().map(|task| ratios(model, task, softmax, steps)).collect();
    let of_tasks = of_tasks?;
    let ratios: Vec<Ratios> = of_tasks.concat();
    if ratios.is_empty() {
        return Err(JudgeError::NoStates);
    }
    let mean = |i: usize| ratios.iter().map(|r| r[i]).sum::<f64>() / ratios.len() as f64;
    let near = ratios.iter().filter(|r| r[0] >= 0.99).count();
    Ok(Judgement {
        states: ratios.len(),
        tasks: of_tasks.iter().filter(|ratios| !ratios.is_empty()).count(),
        model: mean(0),
        scp: mean(1),
        uniform: mean(2),
        within_a_percent: near as f64 / ratios.len() as f64,
        proved_unseen,
        refined: (steps > 0).then(|| Refined { steps, model: mean(3), scp: mean(4) }),
    })
}

/// The hashes of a list as `training::hash_list` writes it.
fn listed(list: &str) -> impl Iterator<Item = u64> {
    let digits = list.as_bytes().chunks_exact(12);
    digits.filter_map(|hash| u64::from_str_radix(std::str::from_utf8(hash).ok()?, 16).ok())
}

/// h / h_OCP at a state of the prediction, of saturated and of uniform partitioning, and after steps
/// of ascent from the first two.
type Ratios = [f64; 5];

/// The ratios at each state of a task; without steps the last two are 0.
fn ratios(
    model: &Model,
    task: &TaskStates,
    softmax: Softmax,
    steps: usize,
) -> Result<Vec<Ratios>, JudgeError> {
    let TaskStates { name, task, abstractions, states } = task;
    model.check_task(task).map_err(|error| JudgeError::Model { task: name.clone(), error })?;
    let learned = |steps| {
        let predictor = Predictor::new(task, abstractions, model, softmax, MEMORY_LIMIT);
        Learned::new(predictor, StepRule::trained(), steps, MEMORY_LIMIT)
    };
    let mut partitioners: Vec<Box<dyn Partitioner>> = vec![
        Box::new(learned(0)),
        Box::new(Saturated::new(abstractions)),
        Box::new(Uniform::new(abstractions)),
    ];
    if steps > 0 {
        let rule = StepRule::trained();
        let config = AscentConfig { steps, rule, ..AscentConfig::every_state(StepRule::PLAIN) };
        partitioners.push(Box::new(learned(steps)));
        partitioners.push(Box::new(Ascent::new(abstractions, config)));
    }
    let mut scratch = PartitionScratch::default();
    let mut rows = Vec::new();
    for state in states {
        let Some(optimum) = state.h_ocp.filter(|h| *h > 0.0) else { continue };
        let mut row = [0.0; 5];
        for (ratio, partitioner) in row.iter_mut().zip(&mut partitioners) {
            let found = partitioner.best_for(&state.values);
            let h = found.and_then(|found| value_of(&found, &state.values, &mut scratch));
            *ratio = h.unwrap_or(0.0) / optimum;
        }
        rows.push(row);
    }
    Ok(rows)
}
