//! Searches, with bounds of the program or of Python.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use numpy::PyArray1;
use planner::abstraction::Abstractions;
use planner::heuristic::{EveryState, Heuristic, Maximum, Stored, StoredConfig};
use planner::partition::{CostPartitioning, Partitioner, Request};
use planner::plan::{Plan, validate};
use planner::search::{Limits, Outcome, Statistics, Stop};
use planner::strategy::{self, Config, Engines, Event};
use planner::work::{SECOND, Work};
use pyo3::exceptions::{PyAssertionError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Rows, state_array, vector};
use crate::components::Components;
use crate::partitioning::{Partitioning, Shared, of_one_collection};
use crate::signals::Signals;
use crate::task::{Task, TaskData};

/// What a search found.
#[pyclass(frozen, get_all, module = "apportion_workbench")]
pub(crate) struct PlanResult {
    /// ``"solved"``, ``"unsolvable"``, ``"out-of-time"`` or ``"out-of-memory"``.
    status: &'static str,
    /// The operators of an optimal plan.
    operators: Option<Py<PyArray1<i32>>>,
    /// Their names.
    plan: Option<Vec<String>>,
    /// The cost of the plan.
    cost: Option<u64>,
    /// No plan is cheaper; ``None`` if there is no plan.
    bound: Option<u64>,
    /// States taken from the open list and expanded.
    expanded: u64,
    /// States evaluated for the first time.
    evaluated: u64,
    /// The bound of the initial state; ``None`` for a dead end.
    initial_h: Option<u64>,
    /// Cost partitionings computed.
    partitionings: usize,
    /// Seconds of the search.
    seconds: f64,
}

#[pymethods]
impl PlanResult {
    fn __repr__(&self) -> String {
        let (status, expanded) = (self.status, self.expanded);
        match self.cost {
            Some(cost) => format!("<{status}: cost {cost}, {expanded} expanded>"),
            None => format!("<{status}: {expanded} expanded>"),
        }
    }
}

/// Finds an optimal plan.
///
/// Without more it is the program's default; a bound of one's own guides A*, which works alone then.
/// ``predictor`` has a method ``shares(states)`` that gives a row of shares of the pairs of ``components``
/// (or of its attribute of this name) for each state; it is asked for one state at a time.
/// ``use`` says where: at ``"every-state"``, or at a few, whose partitionings are ``"stored"`` and used
/// everywhere.
/// ``partitionings`` are a bound that is computed already: the maximum over them.
/// Whatever the shares are, plans are optimal.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> plan(task).cost
/// 70
/// >>> class Even:
/// ...     def __init__(self, components):
/// ...         self.components = components
/// ...     def shares(self, states):
/// ...         return np.ones((len(states), self.components.num_pairs))
/// >>> plan(task, predictor=Even(Components(task))).cost
/// 70
#[pyfunction]
#[pyo3(signature = (
    task, *, predictor=None, components=None, r#use="every-state", partitionings=None, time_limit=None,
    memory_limit=None
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn plan(
    py: Python<'_>,
    task: &Bound<'_, Task>,
    predictor: Option<Bound<'_, PyAny>>,
    components: Option<Bound<'_, Components>>,
    r#use: &str,
    partitionings: Option<Vec<PyRef<'_, Partitioning>>>,
    time_limit: Option<f64>,
    memory_limit: Option<usize>,
) -> PyResult<PlanResult> {
    let data = Arc::clone(&task.get().data);
    let bound = Guide::read(predictor, components, r#use, partitionings)?;
    if bound.shared().is_some_and(|shared| !Arc::ptr_eq(&shared.data, &data)) {
        return Err(PyValueError::new_err("the components are those of another task"));
    }
    let deadline = match time_limit {
        Some(seconds) if seconds > 0.0 => {
            Duration::try_from_secs_f64(seconds).ok().and_then(|d| Instant::now().checked_add(d))
        }
        Some(seconds) => {
            let text = format!("a time limit is more than 0 seconds, not {seconds}");
            return Err(PyValueError::new_err(text));
        }
        None => None,
    };
    let found = py.detach(|| search(&data, bound, deadline, memory_limit))?;
    found.into_python(py, &data)
}

/// Who gives the lower bound.
enum Guide {
    Usual,
    Predictor { shared: Shared, predictor: Py<PyAny>, is_stored: bool },
    Fixed { shared: Shared, partitionings: Vec<CostPartitioning> },
}

impl Guide {
    fn read(
        predictor: Option<Bound<'_, PyAny>>,
        components: Option<Bound<'_, Components>>,
        r#use: &str,
        partitionings: Option<Vec<PyRef<'_, Partitioning>>>,
    ) -> PyResult<Guide> {
        let is_stored = match r#use {
            "every-state" => false,
            "stored" => true,
            _ => {
                let text = format!("write \"every-state\" or \"stored\", not \"{use}\"");
                return Err(PyValueError::new_err(text));
            }
        };
        match (predictor, partitionings) {
            (Some(_), Some(_)) => {
                Err(PyValueError::new_err("give a predictor or partitionings, not both"))
            }
            (Some(predictor), None) => {
                let components = match components {
                    Some(components) => components,
                    None => {
                        let components = predictor.getattr_opt("components")?;
                        let text = "give the components that the predictor is for";
                        let components = components.ok_or_else(|| PyTypeError::new_err(text))?;
                        components.cast_into()?
                    }
                };
                let shared = components.get().shared.clone();
                Ok(Guide::Predictor { shared, predictor: predictor.unbind(), is_stored })
            }
            (None, Some(given)) => {
                let (shared, partitionings) = of_one_collection(&given)?;
                Ok(Guide::Fixed { shared, partitionings })
            }
            (None, None) if components.is_some() => {
                Err(PyValueError::new_err("components need a predictor"))
            }
            (None, None) => Ok(Guide::Usual),
        }
    }

    fn shared(&self) -> Option<&Shared> {
        match self {
            Guide::Usual => None,
            Guide::Predictor { shared, .. } | Guide::Fixed { shared, .. } => Some(shared),
        }
    }
}

/// What the search found, before it is told to Python.
struct Found {
    outcome: Outcome,
    lower: u64,
    statistics: Statistics,
    time: Duration,
}

/// Searches, without Python's lock.
fn search(
    data: &TaskData,
    bound: Guide,
    deadline: Option<Instant>,
    memory_bytes: Option<usize>,
) -> PyResult<Found> {
    let (signals, stop, raised) = (Signals::new(), AtomicBool::new(false), Raised::default());
    let started = Instant::now();
    let bound: Option<Box<dyn Heuristic + '_>> = match bound {
        Guide::Usual => None,
        Guide::Predictor { shared, predictor, is_stored } => {
            let (stop, raised) = (&stop, &raised);
            let asked = Asked { shared, predictor, stop, raised };
            Some(match is_stored {
                true => Box::new(Stored::new(asked, StoredConfig::default())),
                false => Box::new(EveryState::new(asked)),
            })
        }
        Guide::Fixed { shared, partitionings } => {
            Some(Box::new(Maximum::new(shared.abstractions, &partitionings)))
        }
    };
    let limits = Limits { deadline, memory_bytes, interrupt: Some(&stop), memory_in_use: None };
    // A bound of one's own is what a search is to show; the others need none.
    let engines = if bound.is_some() { Engines::Astar } else { Engines::All };
    let config = Config { limits, memory_bytes, bound, engines, ..Config::default() };
    let watch = |_: Event<'_>| {
        if signals.have_raised() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let solution = strategy::solve(&data.task, config, &watch);
    if let Some(error) = raised.take().or_else(|| signals.take()) {
        return Err(error);
    }
    let (outcome, statistics) = (solution.outcome.clone(), solution.statistics().clone());
    Ok(Found { outcome, lower: solution.bounds.lower(), statistics, time: started.elapsed() })
}

impl Found {
    fn into_python(self, py: Python<'_>, data: &TaskData) -> PyResult<PlanResult> {
        let Found { outcome, lower, statistics, time } = self;
        let (status, plan) = match outcome {
            Outcome::Solved(plan) => ("solved", Some(plan)),
            Outcome::Bounded(_) => unreachable!("an optimal plan was asked for"),
            Outcome::Unsolvable => ("unsolvable", None),
            Outcome::Stopped(Stop::OutOfMemory) => ("out-of-memory", None),
            Outcome::Stopped(Stop::OutOfTime | Stop::Interrupted) => ("out-of-time", None),
        };
        if let Some(plan) = &plan {
            py.detach(|| check_plan(data, plan))?;
        }
        let operators = plan.as_ref().map(|plan| &plan.operators);
        let names = |o: &Vec<_>| o.iter().map(|&op| data.task.operator_name(op)).collect();
        let numbers = |o: &Vec<planner::task::OpId>| o.iter().map(|op| op.0 as i32).collect();
        Ok(PlanResult {
            status,
            operators: operators.map(|o| vector(py, numbers(o))),
            plan: operators.map(names),
            cost: plan.as_ref().map(|plan| plan.cost),
            bound: (status != "unsolvable").then_some(lower),
            expanded: statistics.expanded,
            evaluated: statistics.evaluated,
            initial_h: statistics.initial_h,
            partitionings: statistics.heuristic.partitions_computed,
            seconds: time.as_secs_f64(),
        })
    }
}

/// Executes a plan before anybody sees it, by code that shares nothing with the search.
fn check_plan(data: &TaskData, plan: &Plan) -> PyResult<()> {
    let wrong = |error: &dyn std::fmt::Display| {
        PyAssertionError::new_err(format!("the plan found is wrong (a bug): {error}"))
    };
    plan.check(&data.task).map_err(|error| wrong(&error))?;
    if let Some((original, operators)) = &data.original {
        let operators = plan.operators.iter().map(|op| operators[op.index()]).collect();
        return check_plan(original, &Plan { operators, cost: plan.cost });
    }
    if let Some((domain, problem)) = &data.pddl {
        validate(domain, problem, &plan.to_text(&data.task)).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

/// What a predictor has raised.
#[derive(Default)]
struct Raised(std::cell::RefCell<Option<PyErr>>);

impl Raised {
    fn take(&self) -> Option<PyErr> {
        self.0.take()
    }
}

/// A predictor of Python as a partitioner; what it raises ends the search.
struct Asked<'s> {
    shared: Shared,
    predictor: Py<PyAny>,
    stop: &'s AtomicBool,
    raised: &'s Raised,
}

/// What a prediction counts as, for schedules: nobody can know what happens in Python.
const PREDICTION: Work = SECOND / 1000;

impl Asked<'_> {
    fn ask(&self, state: &[u32]) -> PyResult<CostPartitioning> {
        let abstractions = &self.shared.abstractions;
        Python::attach(|py| {
            let states = state_array(py, state.to_vec(), 1, state.len())?;
            let shares = self.predictor.bind(py).call_method1("shares", (states,))?;
            let shares = Rows::read(&shares, "shares", 1, abstractions.num_pairs())?;
            Ok(CostPartitioning::from_shares(abstractions, shares.first()?))
        })
    }
}

impl Partitioner for Asked<'_> {
    fn name(&self) -> &'static str {
        "python"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        &self.shared.abstractions
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        request.budget.spend(PREDICTION);
        match self.ask(request.state) {
            Ok(found) => Some(found),
            Err(error) => {
                self.raised.0.replace(Some(error));
                self.stop.store(true, Ordering::Relaxed);
                None
            }
        }
    }
}
