//! Tasks and their states.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::files::find_domain_file;
use numpy::{PyArray1, PyArray2};
use planner::pddl::{self, Domain, Problem, Source, parse_domain, parse_problem};
use planner::reduce::{ReduceConfig, reduce};
use planner::search::{Stop, exact_distances, reachable_states};
use planner::task::{
    self, AtDeadEnd, Expander, ExpanderScratch, Fact, OpId, RandomWalk, Value, VarId,
};
use planner::testing::random_task;
use planner::translate::{Interrupt, TranslateError, TranslateOptions, sas, translate};
use planner::work::Budget;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::arrays::{States, indices, matrix, state_array, vector};
use crate::signals::Signals;

/// A task, what applies its operators, and the PDDL it comes from.
pub(crate) struct TaskData {
    pub(crate) task: task::Task,
    pub(crate) expander: Expander,
    pub(crate) pddl: Option<(Domain, Problem)>,
    /// The task that this one is a reduction of, and the number there of each operator.
    pub(crate) original: Option<(Arc<TaskData>, Vec<OpId>)>,
}

impl TaskData {
    fn new(task: task::Task, pddl: Option<(Domain, Problem)>) -> TaskData {
        TaskData { expander: Expander::new(&task), task, pddl, original: None }
    }
}

/// A variable and its value.
type Pair = (u32, u32);

/// Operator, condition and fact.
type ConditionalEffect = (usize, Vec<Pair>, Pair);

/// Facts in rows, one row for each operator: row ``i`` is ``offsets[i]:offsets[i + 1]``.
#[pyclass(frozen, get_all, module = "apportion_workbench")]
pub(crate) struct Facts {
    /// Where the rows begin, and where the last one ends.
    offsets: Py<PyArray1<i64>>,
    /// The variable of each fact.
    variables: Py<PyArray1<i32>>,
    /// Its value.
    values: Py<PyArray1<i32>>,
}

impl Facts {
    fn new<'f>(py: Python<'_>, rows: impl Iterator<Item = &'f [Fact]>) -> Facts {
        let (mut offsets, mut variables, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            variables.extend(row.iter().map(|fact| fact.var.0 as i32));
            values.extend(row.iter().map(|fact| fact.value as i32));
            offsets.push(variables.len() as i64);
        }
        let [variables, values] = [variables, values].map(|array| vector(py, array));
        Facts { offsets: vector(py, offsets), variables, values }
    }
}

/// The successors of states; those of state ``i`` are ``offsets[i]:offsets[i + 1]``.
#[pyclass(frozen, get_all, module = "apportion_workbench")]
pub(crate) struct Successors {
    /// Where the successors of each state begin, and where the last ones end.
    offsets: Py<PyArray1<i64>>,
    /// The operator that leads to each successor.
    operators: Py<PyArray1<i32>>,
    /// The successors.
    states: Py<PyArray2<i32>>,
}

/// A planning task in finite-domain representation.
///
/// ``domain`` and ``problem`` are files, or PDDL as text; ``domain`` alone is a ``.sas`` task, or a
/// problem file whose domain file is beside it.
/// A state is a row of integers, one value for each variable.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> task
/// <Task with 3 variables and 30 operators>
/// >>> task.initial
/// array([1, 1, 3], dtype=int32)
#[pyclass(frozen, module = "apportion_workbench")]
pub(crate) struct Task {
    pub(crate) data: Arc<TaskData>,
}

#[pymethods]
impl Task {
    #[new]
    #[pyo3(signature = (domain, problem=None))]
    fn new(
        py: Python<'_>,
        domain: &Bound<'_, PyAny>,
        problem: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Task> {
        let domain = Text::read(py, domain, "<domain>")?;
        let problem = problem.map(|problem| Text::read(py, problem, "<problem>")).transpose()?;
        let data = py.detach(|| load(domain, problem))?;
        Ok(Task { data: Arc::new(data) })
    }

    /// A small random task without names: for tests of bounds. The same seed gives the same task.
    ///
    /// >>> Task.random(7).random_walks(2).shape
    /// (2, 3)
    #[staticmethod]
    fn random(seed: u64) -> Task {
        Task { data: Arc::new(TaskData::new(random_task(seed), None)) }
    }

    /// The task without what h² invariants show to be on no plan; it knows which facts exclude each other.
    ///
    /// Bounds of components of this task hold in the states of plans from the initial state only:
    /// see ``holds_everywhere``. Its plans are plans of the original task: ``original_operators`` says
    /// which operators they consist of.
    fn reduce(&self, py: Python<'_>) -> Task {
        let data = Arc::clone(&self.data);
        let reduced = py.detach(move || {
            let budget = &mut Budget::unlimited();
            let reduction = reduce(&data.task, &ReduceConfig::default(), budget);
            let task = reduction.task().clone();
            let operators = task.operator_ids().map(|op| reduction.operator(op)).collect();
            let original = Some((Arc::clone(&data), operators));
            TaskData { original, ..TaskData::new(task, None) }
        });
        Task { data: Arc::new(reduced) }
    }

    /// For a task that ``reduce`` made, the original number of each operator; ``None`` for others.
    #[getter]
    fn original_operators(&self, py: Python<'_>) -> Option<Py<PyArray1<i32>>> {
        let (_, operators) = self.data.original.as_ref()?;
        Some(vector(py, operators.iter().map(|op| op.0 as i32).collect()))
    }

    /// Whether bounds hold in every assignment: the task knows of no facts that exclude each other.
    ///
    /// >>> Task.random(4).holds_everywhere, Task.random(4).reduce().holds_everywhere
    /// (True, False)
    #[getter]
    fn holds_everywhere(&self) -> bool {
        self.data.task.mutexes.is_empty()
    }

    /// The text of the task as a ``.sas`` file.
    fn to_sas(&self) -> String {
        sas::write(&self.data.task)
    }

    /// The number of values of each variable.
    #[getter]
    fn domain_sizes(&self, py: Python<'_>) -> Py<PyArray1<i32>> {
        let sizes = self.data.task.variables.iter().map(|v| v.domain_size() as i32);
        vector(py, sizes.collect())
    }

    /// The names of the values of each variable.
    ///
    /// >>> Task(DOMAIN, PROBLEM).facts[0][:3]
    /// ['Atom van-at(depot)', 'Atom van-at(market)', 'Atom van-at(mill)']
    #[getter]
    fn facts(&self) -> Vec<Vec<String>> {
        let task = &self.data.task;
        let names = |(var, variable): (usize, &task::Variable)| {
            let value = |value| task.fact_name(Fact::new(VarId::from(var), value));
            (0..variable.domain_size() as Value).map(value).collect()
        };
        task.variables.iter().enumerate().map(names).collect()
    }

    /// The names of the operators, as they stand in plans.
    #[getter]
    fn operators(&self) -> Vec<String> {
        let task = &self.data.task;
        task.operator_ids().map(|op| task.operator_name(op)).collect()
    }

    /// The name of the action schema of each operator.
    #[getter]
    fn schemas(&self) -> Vec<&str> {
        let task = &self.data.task;
        task.operators.iter().map(|o| &*task.schemas[o.schema.index()].name).collect()
    }

    /// The cost of each operator.
    #[getter]
    fn costs(&self, py: Python<'_>) -> Py<PyArray1<i64>> {
        vector(py, self.data.task.operators.iter().map(|o| o.cost as i64).collect())
    }

    /// The preconditions of each operator.
    ///
    /// >>> pre = Task(DOMAIN, PROBLEM).preconditions
    /// >>> pre.variables[pre.offsets[0]:pre.offsets[1]], pre.values[pre.offsets[0]:pre.offsets[1]]
    /// (array([0], dtype=int32), array([4], dtype=int32))
    #[getter]
    fn preconditions(&self, py: Python<'_>) -> Facts {
        Facts::new(py, self.data.task.operators.iter().map(|o| &o.pre[..]))
    }

    /// The effects of each operator that have no conditions.
    #[getter]
    fn effects(&self, py: Python<'_>) -> Facts {
        Facts::new(py, self.data.task.operators.iter().map(|o| &o.eff[..]))
    }

    /// The effects with conditions, as lists of ``(operator, condition, fact)``; a condition is a list of
    /// facts, and a fact a pair of a variable and a value.
    #[getter]
    fn conditional_effects(&self) -> Vec<ConditionalEffect> {
        let pair = |fact: &Fact| (fact.var.0, fact.value);
        let operators = self.data.task.operators.iter().enumerate();
        let effects = operators.flat_map(|(o, operator)| {
            let effects = operator.conditional.iter();
            effects.map(move |e| (o, e.condition.iter().map(pair).collect(), pair(&e.fact)))
        });
        effects.collect()
    }

    /// The goal: a row of a variable and its value for each fact.
    ///
    /// >>> Task(DOMAIN, PROBLEM).goal
    /// array([[1, 3],
    ///        [2, 5]], dtype=int32)
    #[getter]
    fn goal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let goal = &self.data.task.goal;
        let values = goal.iter().flat_map(|fact| [fact.var.0 as i32, fact.value as i32]);
        matrix(py, values.collect(), goal.len(), 2)
    }

    /// The initial state.
    #[getter]
    fn initial(&self, py: Python<'_>) -> Py<PyArray1<i32>> {
        vector(py, self.data.task.initial.iter().map(|&value| value as i32).collect())
    }

    /// The successors of states, in the order of a search.
    ///
    /// >>> task = Task(DOMAIN, PROBLEM)
    /// >>> found = task.successors(task.initial)
    /// >>> [task.operators[o] for o in found.operators]
    /// ['drive market depot', 'drive market north-quay']
    /// >>> found.states
    /// array([[0, 1, 3],
    ///        [3, 1, 3]], dtype=int32)
    fn successors(&self, py: Python<'_>, states: &Bound<'_, PyAny>) -> PyResult<Successors> {
        let states = States::read(&self.data, states)?;
        let data = &self.data;
        let width = data.task.variables.len();
        let found = py.detach(|| {
            let (signals, scratch) = (Signals::new(), &mut ExpanderScratch::default());
            let (mut offsets, mut operators, mut values) = (vec![0], Vec::new(), Vec::new());
            for state in states.rows() {
                signals.check()?;
                let first = operators.len();
                operators.extend_from_slice(data.expander.applicable(state, scratch));
                values.resize(width * operators.len(), 0);
                for (i, &op) in operators.iter().enumerate().skip(first) {
                    let after = &mut values[i * width..][..width];
                    data.expander.apply(&data.task, state, op, after, scratch);
                }
                offsets.push(operators.len() as i64);
            }
            PyResult::Ok((offsets, operators, values))
        });
        let (offsets, operators, values) = found?;
        Ok(Successors {
            offsets: vector(py, offsets),
            states: state_array(py, values, operators.len(), width)?.unbind(),
            operators: vector(py, operators.into_iter().map(|op| op.0 as i32).collect()),
        })
    }

    /// The states that operators lead to, one operator for each state.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'_, PyAny>,
        operators: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let data = &self.data;
        let (task, width) = (&data.task, data.task.variables.len());
        let states = States::read(data, states)?;
        let operators = indices(operators, "operators", task.operators.len())?;
        if operators.len() != states.len() {
            let (states, operators) = (states.len(), operators.len());
            let text = format!("{operators} operators are given for {states} states");
            return Err(PyValueError::new_err(text));
        }
        let scratch = &mut ExpanderScratch::default();
        let mut values = vec![0; states.len() * width];
        for (i, (state, op)) in states.rows().zip(operators).enumerate() {
            let op = OpId::from(op);
            if !task.operator(op).is_applicable(state) {
                let name = task.operator_name(op);
                let text = format!("state {i}: `{name}` is not applicable");
                return Err(PyValueError::new_err(text));
            }
            data.expander.apply(task, state, op, &mut values[i * width..][..width], scratch);
        }
        state_array(py, values, states.len(), width)
    }

    /// The states along a plan, the initial and the last one included.
    fn states_along<'py>(
        &self,
        py: Python<'py>,
        operators: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let task = &self.data.task;
        let operators = indices(operators, "operators", task.operators.len())?;
        let scratch = &mut ExpanderScratch::default();
        let mut state = task.initial.clone();
        let mut values = state.clone();
        let mut after = state.clone();
        for (i, &op) in operators.iter().enumerate() {
            let op = OpId::from(op);
            if !task.operator(op).is_applicable(&state) {
                let name = task.operator_name(op);
                let text = format!("step {}: `{name}` is not applicable", i + 1);
                return Err(PyValueError::new_err(text));
            }
            self.data.expander.apply(task, &state, op, &mut after, scratch);
            state.copy_from_slice(&after);
            values.extend_from_slice(&state);
        }
        state_array(py, values, operators.len() + 1, task.variables.len())
    }

    /// Whether each state satisfies the goal.
    ///
    /// >>> task = Task(DOMAIN, PROBLEM)
    /// >>> task.is_goal([task.initial, [0, 3, 5]])
    /// array([False,  True])
    fn is_goal(&self, py: Python<'_>, states: &Bound<'_, PyAny>) -> PyResult<Py<PyArray1<bool>>> {
        let states = States::read(&self.data, states)?;
        Ok(vector(py, states.rows().map(|state| self.data.task.is_goal(state)).collect()))
    }

    /// The initial state, then the last states of random walks of up to ``longest`` steps: those of
    /// ``apportion evaluate --states COUNT --walk LONGEST --seed SEED``.
    #[pyo3(signature = (count, longest=100, seed=2011))]
    fn random_walks<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        longest: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let task = &self.data.task;
        let values = py.detach(|| {
            let signals = Signals::new();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut walk = RandomWalk::new(task);
            let mut values = Vec::new();
            for i in 0..count {
                signals.check()?;
                let steps = if i == 0 { 0 } else { rng.random_range(0..=longest) };
                values.extend(walk.end(steps, |_| false, AtDeadEnd::End, &mut rng));
            }
            PyResult::Ok(values)
        })?;
        state_array(py, values, count, task.variables.len())
    }

    /// All states that can be reached from the initial state, the nearest first; raises
    /// ``MemoryError`` if there are more than ``most``.
    ///
    /// >>> Task(DOMAIN, PROBLEM).reachable().shape
    /// (180, 3)
    #[pyo3(signature = (most=1_000_000))]
    fn reachable<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let task = &self.data.task;
        let found = py.detach(|| {
            let signals = Signals::new();
            let found = reachable_states(task, &[&task.initial], most, &|| signals.have_raised());
            found.map_err(|stop| too_many(stop, &signals, most))
        });
        let found = found?;
        state_array(py, found.concat(), found.len(), task.variables.len())
    }

    /// h*: the cost of a cheapest plan from each state, infinite where there is none.
    ///
    /// Lists all states that can be reached, so it is for small tasks: raises ``MemoryError`` if there
    /// are more than ``most``.
    ///
    /// >>> task = Task(DOMAIN, PROBLEM)
    /// >>> task.exact([task.initial, [0, 3, 5]])
    /// array([70.,  0.])
    #[pyo3(signature = (states, most=1_000_000))]
    fn exact(
        &self,
        py: Python<'_>,
        states: &Bound<'_, PyAny>,
        most: usize,
    ) -> PyResult<Py<PyArray1<f64>>> {
        let states = States::read(&self.data, states)?;
        let task = &self.data.task;
        let found = py.detach(|| {
            let signals = Signals::new();
            let rows: Vec<&[Value]> = states.rows().collect();
            let found = exact_distances(task, &rows, most, &|| signals.have_raised());
            found.map_err(|stop| too_many(stop, &signals, most))
        });
        let number = |d: Option<u64>| d.map_or(f64::INFINITY, |d| d as f64);
        Ok(vector(py, found?.into_iter().map(number).collect()))
    }

    fn __repr__(&self) -> String {
        let task = &self.data.task;
        let (variables, operators) = (task.variables.len(), task.operators.len());
        format!("<Task with {variables} variables and {operators} operators>")
    }
}

/// Why states were not listed to the end.
fn too_many(stop: Stop, signals: &Signals, most: usize) -> PyErr {
    let text = || format!("more than {most} states can be reached, or too many transitions");
    match stop {
        Stop::Interrupted => signals.take().expect("only signals interrupt"),
        Stop::OutOfMemory | Stop::OutOfTime => PyMemoryError::new_err(text()),
    }
}

/// A file, or what one might hold.
struct Text {
    /// The file, or what to call a text in messages.
    name: PathBuf,
    is_file: bool,
    bytes: Vec<u8>,
}

impl Text {
    /// A string that begins with a bracket or with `begin_version`, after comments, is text.
    fn read(py: Python<'_>, given: &Bound<'_, PyAny>, name: &str) -> PyResult<Text> {
        if let Ok(text) = given.extract::<&str>() {
            let lines = text.lines().map(|line| line.split(';').next().unwrap_or_default().trim());
            let first = lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default();
            if first.starts_with('(') || first.starts_with("begin_version") {
                let bytes = text.as_bytes().to_vec();
                return Ok(Text { name: name.into(), is_file: false, bytes });
            }
        }
        let path: PathBuf = given.extract()?;
        let bytes = py.detach(|| read_file(&path))?;
        Ok(Text { name: path, is_file: true, bytes })
    }

    fn is_sas(&self) -> bool {
        self.bytes.trim_ascii_start().starts_with(b"begin_version")
    }

    fn source(&self) -> Source {
        Source::new(self.name.display().to_string(), &self.bytes)
    }
}

/// Reads a file, or raises what Python's `open` raises.
pub(crate) fn read_file(path: &Path) -> PyResult<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        let text = format!("cannot read {}: {error}", path.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            _ => PyOSError::new_err(text),
        }
    })
}

/// Reads and translates a task.
fn load(domain: Text, problem: Option<Text>) -> PyResult<TaskData> {
    let (domain, problem) = match problem {
        Some(problem) => (domain, problem),
        None if domain.is_sas() => {
            let text = String::from_utf8_lossy(&domain.bytes);
            let task = sas::read(&text).map_err(|error| {
                PyValueError::new_err(format!("{}: {error}", domain.name.display()))
            })?;
            return Ok(TaskData::new(task, None));
        }
        None => {
            let beside = if domain.is_file { find_domain_file(&domain.name) } else { None };
            let beside = beside.filter(|path| *path != domain.name).ok_or_else(|| {
                let name = domain.name.display();
                let text = format!("{name} has no domain file beside it");
                PyValueError::new_err(text)
            })?;
            (Text { bytes: read_file(&beside)?, name: beside, is_file: true }, domain)
        }
    };
    let wrong = |error: pddl::PddlError| PyValueError::new_err(error.to_string());
    let domain = parse_domain(domain.source()).map_err(wrong)?;
    let problem = parse_problem(problem.source(), &domain).map_err(wrong)?;
    let signals = Signals::new();
    let interrupt = &|| signals.have_raised().then_some(Interrupt::Cancelled);
    let options = TranslateOptions { interrupt, ..TranslateOptions::default() };
    let task = translate(&domain, &problem, &options).map_err(|error| match error {
        TranslateError::Pddl(error) => wrong(error),
        TranslateError::Interrupted(_) => signals.take().expect("only signals interrupt"),
    })?;
    Ok(TaskData::new(task, Some((domain, problem))))
}
