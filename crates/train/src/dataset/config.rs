//! How the states of a file are sampled; the file says so in its header.

use serde::{Deserialize, Serialize};

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
    /// A vertex of the optimal partitionings, as a simplex solver returns one (the paper), and its
    /// value; a function of the state as well.
    Vertex,
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
    /// Seconds of work a task, as [`planner::work`] counts it.
    pub work_s: f64,
    /// So many states of a task are labelled even if that is more work.
    pub at_least: usize,
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
            labels: Labels::Vertex,
            pattern_size: pairs(),
            work_s: 1800.0,
            at_least: 60,
            seed: 0,
        }
    }
}
