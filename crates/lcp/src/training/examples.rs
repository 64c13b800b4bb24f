//! Examples: sampled states with everything that the network and the losses read of them.
//!
//! A [`TaskExamples`] holds a task's projections, the places of its tokens, and for every
//! (pattern, abstract state) of its states the feature row of each place, computed once.
//! Rows are numbered across tasks, so that a batch may mix them.

use std::sync::Arc;

use planner::abstraction::{Abstractions, ComponentId};
use planner::task::{Task, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::network::tokens::{Batch, Sharing};
use crate::network::{NetworkConfig, Prior};
use crate::predict::{Softmax, TaskPositions};
use crate::prior::SaturatedPrior;
use crate::wl::{FeatureGenerator, RowId, RowTable, Vocabulary};

/// A state and what is known of its best partitioning.
#[derive(Clone, PartialEq, Debug)]
pub struct LabelledState {
    /// One value per variable.
    pub values: Vec<Value>,
    /// The value of the optimal partitioning, if it was computed.
    pub h_ocp: Option<f64>,
    /// The optimal share of its operator's cost for each pair, if it was computed.
    pub shares: Option<Box<[f32]>>,
}

impl LabelledState {
    /// A state of which nothing is known.
    pub fn new(values: Vec<Value>) -> LabelledState {
        LabelledState { values, h_ocp: None, shares: None }
    }
}

/// One task's examples.
pub struct TaskExamples {
    /// The task's projections.
    pub abstractions: Arc<Abstractions>,
    /// The places of its tokens.
    pub places: TaskPositions,
    /// The states.
    pub states: Vec<LabelledState>,
    /// The prior of each pair in each state, if the network has one.
    priors: Vec<Box<[f32]>>,
    /// For each pattern, where the rows of an abstract state begin in `row_of_place`.
    entries: Vec<FxHashMap<u32, u32>>,
    /// Rows in the order of a pattern's places.
    row_of_place: Vec<u32>,
}

/// The examples of several tasks under one vocabulary and one network.
#[derive(Default)]
pub struct Examples {
    /// The distinct feature rows of all tasks.
    pub rows: RowTable,
    /// The tasks.
    pub tasks: Vec<TaskExamples>,
}

/// A state among [`Examples`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExampleId {
    /// The task.
    pub task: u32,
    /// The state of the task.
    pub state: u32,
}

impl Examples {
    /// Adds states of a task: computes their features.
    pub fn add(
        &mut self,
        task: &Task,
        abstractions: &Arc<Abstractions>,
        states: Vec<LabelledState>,
        vocabulary: &Arc<Vocabulary>,
        (config, softmax): (&NetworkConfig, Softmax),
    ) {
        let places = TaskPositions::new(abstractions, config, softmax);
        let mut features =
            FeatureGenerator::new(task, abstractions, vocabulary.clone(), usize::MAX);
        let mut entries = vec![FxHashMap::default(); abstractions.len()];
        let mut row_of_place = Vec::new();
        let mut number_of_row: FxHashMap<u32, u32> = FxHashMap::default();
        for state in &states {
            let rows = features.state_rows(&state.values);
            for (p, entries) in entries.iter_mut().enumerate() {
                let rank = abstract_state(abstractions, p, &state.values);
                if entries.contains_key(&rank) {
                    continue;
                }
                let start = row_of_place.len();
                entries.insert(rank, start as u32);
                places.feature_rows(rows.pattern(p), p, &mut row_of_place);
                for row in &mut row_of_place[start..] {
                    *row = *number_of_row.entry(*row).or_insert_with(|| {
                        self.rows.intern_row(rows.row_table().row(RowId(*row))).0
                    });
                }
            }
        }
        let priors = match config.prior {
            Prior::None => Vec::new(),
            Prior::Saturated => {
                let mut prior = SaturatedPrior::new(abstractions);
                states.iter().map(|state| prior.of_state(&state.values).into()).collect()
            }
        };
        let abstractions = abstractions.clone();
        let task = TaskExamples { abstractions, places, states, priors, entries, row_of_place };
        self.tasks.push(task);
    }

    /// Places of all (pattern, abstract state) pairs: what adding the tasks took.
    pub fn places(&self) -> usize {
        self.tasks.iter().map(|task| task.row_of_place.len()).sum()
    }

    /// In how many tasks each of `features` features occurs.
    pub fn support(&self, features: usize) -> Vec<usize> {
        let mut support = vec![0; features];
        let mut last_task = vec![usize::MAX; features];
        for (t, task) in self.tasks.iter().enumerate() {
            let rows: FxHashSet<u32> = task.row_of_place.iter().copied().collect();
            for &(feature, _) in rows.iter().flat_map(|&row| self.rows.row(RowId(row))) {
                let feature = feature as usize;
                support[feature] += usize::from(last_task[feature] != t);
                last_task[feature] = t;
            }
        }
        support
    }

    /// Drops features from all rows, as if the vocabulary did not list them.
    pub fn retain_features(&mut self, keep: &[bool]) {
        let old = std::mem::take(&mut self.rows);
        let mut number = Vec::with_capacity(old.num_rows());
        for row in 0..old.num_rows() as u32 {
            let mut kept = old.row(RowId(row)).to_vec();
            kept.retain(|&(feature, _)| keep[feature as usize]);
            number.push(self.rows.intern_row(&kept).0);
        }
        for task in &mut self.tasks {
            task.row_of_place.iter_mut().for_each(|row| *row = number[*row as usize]);
        }
    }

    /// All states, task by task.
    pub fn ids(&self) -> impl Iterator<Item = ExampleId> + '_ {
        let of_task = |(t, task): (usize, &TaskExamples)| {
            (0..task.states.len() as u32).map(move |state| ExampleId { task: t as u32, state })
        };
        self.tasks.iter().enumerate().flat_map(of_task)
    }

    /// A state with its task.
    pub fn example(&self, id: ExampleId) -> (&TaskExamples, &LabelledState) {
        let task = &self.tasks[id.task as usize];
        (task, &task.states[id.state as usize])
    }

    /// The prior of each pair in a state, if the network has one.
    pub fn prior(&self, id: ExampleId) -> Option<&[f32]> {
        self.tasks[id.task as usize].priors.get(id.state as usize).map(|prior| &**prior)
    }

    /// The tokens of several states.
    pub fn batch(&self, config: &NetworkConfig, sharing: Sharing, ids: &[ExampleId]) -> Batch {
        let rows: Vec<Vec<u32>> = ids
            .iter()
            .map(|&id| {
                let (task, state) = self.example(id);
                task.row_of_position(state)
            })
            .collect();
        let positions = ids.iter().map(|id| &self.tasks[id.task as usize].places.positions);
        Batch::of_tasks(config, sharing, positions.zip(rows.iter().map(Vec::as_slice)))
    }
}

impl TaskExamples {
    /// The feature row of each position in a state.
    pub fn row_of_position(&self, state: &LabelledState) -> Vec<u32> {
        let positions = &self.places.positions;
        let mut rows = vec![0; positions.len()];
        for (p, entries) in self.entries.iter().enumerate() {
            let start = entries[&abstract_state(&self.abstractions, p, &state.values)] as usize;
            let places = positions.of_pattern(p);
            for (&position, &row) in places.iter().zip(&self.row_of_place[start..]) {
                rows[position as usize] = row;
            }
        }
        rows
    }
}

fn abstract_state(abstractions: &Abstractions, pattern: usize, state: &[Value]) -> u32 {
    abstractions.component(ComponentId::from(pattern)).abstract_state(state)
}
