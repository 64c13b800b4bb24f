//! What validation compares with: uniform and saturated partitioning at the same states.

use lcp::training::bound::value_of;
use lcp::training::engine::Item;
use lcp::training::examples::{ExampleId, Examples, TaskExamples};
use planner::partition::{PartitionScratch, Partitioner, Saturated, Uniform};
use rayon::prelude::*;

/// Mean of h / reference over the states.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Baselines {
    /// Of uniform partitioning.
    pub(super) uniform: f64,
    /// Of saturated partitioning with a greedy order for the state.
    pub(super) scp: f64,
}

/// The states that count, with the h that a bound is measured against, and the baselines there.
///
/// The reference is h_OCP, or where it is not known the value of saturated partitioning (of uniform
/// partitioning where that is 0); dead ends and states with reference 0 do not count.
pub(super) fn baselines(examples: &Examples) -> (Vec<Item>, Baselines) {
    let values: Vec<(Item, f64, f64)> = examples
        .tasks
        .par_iter()
        .enumerate()
        .flat_map_iter(|(t, task)| of_task(t as u32, task))
        .collect();
    let mean = |value: fn(&(Item, f64, f64)) -> f64| {
        values.iter().map(|v| value(v) / v.0.reference).sum::<f64>() / values.len().max(1) as f64
    };
    let baselines = Baselines { uniform: mean(|v| v.1), scp: mean(|v| v.2) };
    (values.iter().map(|v| v.0).collect(), baselines)
}

fn of_task(t: u32, task: &TaskExamples) -> Vec<(Item, f64, f64)> {
    let abstractions = &task.abstractions;
    let mut scratch = PartitionScratch::default();
    let (mut uniform, mut saturated) = (Uniform::new(abstractions), Saturated::new(abstractions));
    let mut values = Vec::new();
    for (s, state) in task.states.iter().enumerate() {
        if abstractions.is_dead_end(&state.values) {
            continue;
        }
        let mut value = |partitioner: &mut dyn Partitioner| {
            let partitioning = partitioner.best_for(&state.values)?;
            value_of(&partitioning, &state.values, &mut scratch)
        };
        let (Some(uniform), Some(scp)) = (value(&mut uniform), value(&mut saturated)) else {
            continue;
        };
        let reference = state.h_ocp.unwrap_or(if scp > 0.0 { scp } else { uniform });
        if reference > 0.0 {
            let id = ExampleId { task: t, state: s as u32 };
            values.push((Item { id, reference }, uniform, scp));
        }
    }
    values
}
