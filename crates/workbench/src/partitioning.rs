//! Cost partitionings.

use std::sync::{Arc, OnceLock};

use numpy::{PyArray1, PyArray2};
use planner::abstraction::{Abstractions, ComponentId, INFINITY};
use planner::fnv::fnv;
use planner::partition::{CostPartitioning, GoalDistances, PartitionScratch};
use planner::task::Value;
use planner::translate::sas;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::OnceLockExt;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::arrays::{States, matrix, number, vector};
use crate::components::operator_of_pairs;
use crate::signals::Signals;
use crate::task::TaskData;

/// Components and the task that they are about.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) data: Arc<TaskData>,
    pub(crate) abstractions: Arc<Abstractions>,
}

impl Shared {
    /// A number that identifies the task, its components and their pairs.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut bytes = sas::write(&self.data.task).into_bytes();
        let mut push = |number: u32| bytes.extend_from_slice(&number.to_le_bytes());
        for p in self.abstractions.ids() {
            let component = self.abstractions.component(p);
            component.variables().iter().for_each(|var| push(var.0));
            push(component.num_states() as u32);
            for (from, label, to) in component.transitions() {
                [from, label.0, to].into_iter().for_each(&mut push);
            }
        }
        operator_of_pairs(&self.abstractions).for_each(|o| push(o.0));
        fnv(&bytes)
    }
}

/// A partitioning made for a state, its value there, and what no partitioning exceeds.
pub(crate) struct Split {
    pub(crate) partitioning: Arc<CostPartitioning>,
    pub(crate) value: f64,
    pub(crate) upper: f64,
}

impl Split {
    /// A partitioning that was made for a state; `upper` is what none exceeds there, in units of the
    /// collection.
    pub(crate) fn new(
        partitioning: CostPartitioning,
        state: &[Value],
        upper: f64,
        scratch: &mut PartitionScratch,
    ) -> Split {
        let unit = partitioning.abstractions().divisor() as f64;
        let value = partitioning.value(state, scratch, |_, _| {});
        let value = value.map_or(f64::INFINITY, |value| value * unit);
        Split { partitioning: Arc::new(partitioning), value, upper: upper * unit }
    }
}

/// Partitionings made for states, one for each: a sequence.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> found = Components(task).partition(task.random_walks(5), "ocp")
/// >>> len(found), found.shares.shape
/// (5, (5, 60))
/// >>> bool((found.values <= found.upper + 1e-9).all())
/// True
#[pyclass(frozen, module = "apportion_workbench")]
pub(crate) struct Partitionings {
    pub(crate) shared: Shared,
    pub(crate) splits: Vec<Split>,
}

impl Partitionings {
    fn of(&self, split: &Split) -> Partitioning {
        let partitioning = Arc::clone(&split.partitioning);
        Partitioning { shared: self.shared.clone(), partitioning, distances: OnceLock::new() }
    }
}

#[pymethods]
impl Partitionings {
    /// The part of its operator's cost that each pair gets, a row for each state.
    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let pairs = self.shared.abstractions.num_pairs();
        let mut shares = Vec::with_capacity(self.splits.len() * pairs);
        self.splits.iter().for_each(|split| shares.extend(split.partitioning.shares()));
        matrix(py, shares, self.splits.len(), pairs)
    }

    /// The sum of distances at the state that each was made for; infinite at dead ends.
    #[getter]
    fn values(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        vector(py, self.splits.iter().map(|split| split.value).collect())
    }

    /// What no partitioning of the components exceeds at the state, for ``"ocp"`` and ``"canonical"``; not
    /// a number where nobody asked.
    #[getter]
    fn upper(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        vector(py, self.splits.iter().map(|split| split.upper).collect())
    }

    fn __len__(&self) -> usize {
        self.splits.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Partitioning> {
        let len = self.splits.len();
        let from_end = if index < 0 { index + len as isize } else { index };
        let split = usize::try_from(from_end).ok().and_then(|i| self.splits.get(i));
        let split = split.ok_or_else(|| {
            PyIndexError::new_err(format!("there are {len} partitionings, and no {index}"))
        })?;
        Ok(self.of(split))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let all: Vec<Partitioning> = self.splits.iter().map(|split| self.of(split)).collect();
        PyList::new(py, all)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<{} partitionings>", self.splits.len())
    }
}

/// A checked cost partitioning: admissible in every state, whoever proposed it.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> components = Components(task)
/// >>> found = components.partition(task.initial)[0]
/// >>> found.bound(task.initial)
/// array([65.])
/// >>> found.save("found.npz")
/// >>> components.load_partitioning("found.npz") == found
/// True
#[pyclass(frozen, eq, module = "apportion_workbench")]
pub(crate) struct Partitioning {
    pub(crate) shared: Shared,
    pub(crate) partitioning: Arc<CostPartitioning>,
    distances: OnceLock<GoalDistances>,
}

impl PartialEq for Partitioning {
    fn eq(&self, other: &Partitioning) -> bool {
        Arc::ptr_eq(&self.shared.abstractions, &other.shared.abstractions)
            && self.partitioning == other.partitioning
    }
}

impl Partitioning {
    /// The version of the file that `save` writes.
    pub(crate) const VERSION: u32 = 1;

    pub(crate) fn new(shared: &Shared, partitioning: CostPartitioning) -> Partitioning {
        let partitioning = Arc::new(partitioning);
        Partitioning { shared: shared.clone(), partitioning, distances: OnceLock::new() }
    }

    fn distances(&self, py: Python<'_>) -> &GoalDistances {
        let compute = || self.partitioning.goal_distances(&mut PartitionScratch::default());
        self.distances.get_or_init_py_attached(py, || py.detach(compute))
    }

    pub(crate) fn bound_of(&self, py: Python<'_>, states: &States) -> PyResult<Py<PyArray1<f64>>> {
        let distances = self.distances(py);
        let values = py.detach(|| {
            let signals = Signals::new();
            let evaluate = |state| {
                signals.check()?;
                Ok(number(distances.evaluate(state)))
            };
            states.rows().map(evaluate).collect::<PyResult<Vec<f64>>>()
        });
        Ok(vector(py, values?))
    }
}

#[pymethods]
impl Partitioning {
    /// The costs of all pairs, in parts of 1/``scale`` of a unit of cost.
    #[getter]
    fn costs(&self, py: Python<'_>) -> Py<PyArray1<u32>> {
        vector(py, self.partitioning.costs().to_vec())
    }

    /// The number of parts of a unit.
    #[getter]
    fn scale(&self) -> u32 {
        self.partitioning.scale()
    }

    /// The part of its operator's cost that each pair gets.
    #[getter]
    fn shares(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        vector(py, self.partitioning.shares().collect())
    }

    /// Whether bounds hold in every assignment: see ``Components``.
    #[getter]
    fn holds_everywhere(&self) -> bool {
        self.shared.data.task.mutexes.is_empty()
    }

    /// A lower bound on h* of each state, infinite for dead ends of a component.
    fn bound(&self, py: Python<'_>, states: &Bound<'_, PyAny>) -> PyResult<Py<PyArray1<f64>>> {
        let states = States::read(&self.shared.data, states)?;
        self.bound_of(py, &states)
    }

    /// The distance from each abstract state of a component to the nearest goal, in units of cost.
    fn goal_distances(&self, py: Python<'_>, component: usize) -> PyResult<Py<PyArray1<f64>>> {
        let abstractions = &self.shared.abstractions;
        if component >= abstractions.len() {
            let text = format!("there are {} components, and no {component}", abstractions.len());
            return Err(PyIndexError::new_err(text));
        }
        let unit = abstractions.divisor() as f64 / f64::from(self.partitioning.scale());
        let table = self.distances(py).table(ComponentId::from(component));
        let number = |&d: &u32| if d == INFINITY { f64::INFINITY } else { f64::from(d) * unit };
        Ok(vector(py, table.iter().map(number).collect()))
    }

    /// Writes a ``.npz`` file that ``Components.load_partitioning`` reads.
    fn save(&self, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = path.py();
        let arrays = PyDict::new(py);
        arrays.set_item("version", Partitioning::VERSION)?;
        arrays.set_item("components", self.shared.fingerprint())?;
        arrays.set_item("scale", self.partitioning.scale())?;
        arrays.set_item("costs", self.costs(py))?;
        py.import("numpy")?.call_method("savez_compressed", (path,), Some(&arrays))?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        let (components, pairs) = (self.shared.abstractions.len(), self.partitioning.costs().len());
        format!("<partitioning among {components} components with {pairs} pairs>")
    }
}

/// The partitionings of a list, which are all among the same components.
pub(crate) fn of_one_collection(
    given: &[PyRef<'_, Partitioning>],
) -> PyResult<(Shared, Vec<CostPartitioning>)> {
    let first = given.first().ok_or_else(|| PyValueError::new_err("there are no partitionings"))?;
    let shared = first.shared.clone();
    for other in given {
        if !Arc::ptr_eq(&shared.abstractions, &other.shared.abstractions) {
            return Err(PyValueError::new_err("the partitionings are among different components"));
        }
    }
    Ok((shared, given.iter().map(|p| CostPartitioning::clone(&p.partitioning)).collect()))
}
