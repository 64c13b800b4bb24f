//! Components, and splits of operators' costs among them.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2};
use planner::abstraction::{
    Abstractions, CartesianConfig, CegarConfig, ComponentId, ComponentShape, CutConfig, Distance,
    DistanceScratch, INFINITY, LandmarkConfig, Pattern, PatternLimits, cartesian_abstractions,
    cegar_patterns, cut_abstractions, has_cartesian_abstractions, interesting_patterns,
    landmark_abstractions, projections_within,
};
use planner::partition::{
    Ascent, AscentConfig, Canonical, Choice, CostPartitioning, Ocp, PartitionScratch, Partitioner,
    Saturated, StepRule, Uniform, random_walk_states,
};
use planner::task::{OpId, Value, VarId};
use planner::work::Budget;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::arrays::{Rows, States, indices, matrix, number, state_array, vector};
use crate::partitioning::{Partitioning, Partitionings, Shared, Split};
use crate::signals::Signals;
use crate::task::Task;

/// The components of a task: small abstractions that share the costs of its operators.
///
/// ``sources`` are those of ``apportion plan --components``: ``"systematic:2"`` (or another number),
/// ``"cegar"``, ``"cartesian"`` and ``"landmarks"``; ``patterns`` are lists of variables of one's own,
/// which come first.
/// A *pair* is a component and an operator that changes abstract states of it; ``pairs`` lists them, and a
/// share is the part of its operator's cost that a pair gets.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> components = Components(task)
/// >>> components
/// <4 components with 60 pairs>
/// >>> components.bound([1.0] * 60, task.initial)
/// array([58.])
#[pyclass(frozen, module = "apportion_workbench")]
pub(crate) struct Components {
    pub(crate) shared: Shared,
    left_out: usize,
}

#[pymethods]
impl Components {
    #[new]
    #[pyo3(signature = (task, sources=None, *, patterns=None))]
    fn new(
        py: Python<'_>,
        task: &Bound<'_, Task>,
        sources: Option<Vec<String>>,
        patterns: Option<Vec<Vec<usize>>>,
    ) -> PyResult<Components> {
        let data = Arc::clone(&task.get().data);
        // Patterns of one's own are all there is unless more is asked for.
        let usual = if patterns.is_some() { Vec::new() } else { vec!["systematic:2".to_string()] };
        let sources: Vec<Source> = sources
            .unwrap_or(usual)
            .iter()
            .map(|text| Source::read(text))
            .collect::<PyResult<_>>()?;
        let given: Vec<Pattern> = patterns
            .unwrap_or_default()
            .into_iter()
            .map(|pattern| read_pattern(&data.task, pattern))
            .collect::<PyResult<_>>()?;
        let (abstractions, left_out) = py.detach(|| {
            let task = &data.task;
            let mut patterns = given;
            for source in &sources {
                let more = source.patterns(task);
                more.into_iter().for_each(|p| {
                    if !patterns.contains(&p) {
                        patterns.push(p)
                    }
                });
            }
            let mut components = projections_within(task, &patterns, usize::MAX);
            let left_out = patterns.len() - components.len();
            for source in &sources {
                components.extend(source.others(task)?);
            }
            PyResult::Ok((Abstractions::of(task, components), left_out))
        })?;
        Ok(Components { shared: Shared { data, abstractions }, left_out })
    }

    /// How many patterns have too many transitions to be components.
    #[getter]
    fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether bounds hold in every assignment, or in the states of plans from the initial state only:
    /// components of a task that was reduced are pruned by facts that exclude each other.
    #[getter]
    fn holds_everywhere(&self) -> bool {
        self.shared.data.task.mutexes.is_empty()
    }

    /// The task.
    #[getter]
    fn task(&self) -> Task {
        Task { data: Arc::clone(&self.shared.data) }
    }

    /// Component and operator of each pair, component by component.
    ///
    /// >>> Components(Task(DOMAIN, PROBLEM)).pairs[:3]
    /// array([[ 0, 15],
    ///        [ 0, 16],
    ///        [ 0, 17]], dtype=int32)
    #[getter]
    fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let abstractions = &self.shared.abstractions;
        let of = |p: ComponentId| {
            let operators = abstractions.component(p).relevant_operators().iter();
            operators.flat_map(move |o| [p.0 as i32, o.0 as i32])
        };
        matrix(py, abstractions.ids().flat_map(of).collect(), abstractions.num_pairs(), 2)
    }

    /// The number of pairs.
    #[getter]
    fn num_pairs(&self) -> usize {
        self.shared.abstractions.num_pairs()
    }

    fn __len__(&self) -> usize {
        self.shared.abstractions.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Component> {
        let len = self.shared.abstractions.len();
        let from_end = if index < 0 { index + len as isize } else { index };
        match usize::try_from(from_end) {
            Ok(i) if i < len => Ok(Component { shared: self.shared.clone(), id: i.into() }),
            _ => Err(PyIndexError::new_err(format!("there are {len} components, and no {index}"))),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let of = |id| Component { shared: self.shared.clone(), id };
        let all: Vec<Component> = self.shared.abstractions.ids().map(of).collect();
        PyList::new(py, all)?.try_iter()
    }

    /// The abstract state that each state is mapped to, one column for each component.
    fn abstract_states<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let states = States::read(&self.shared.data, states)?;
        let components = self.shared.abstractions.components();
        let of = |s| components.iter().map(move |component| component.abstract_state(s) as i32);
        matrix(py, states.rows().flat_map(of).collect(), states.len(), components.len())
    }

    /// Different states of random walks of up to ``longest`` steps that are neither goals nor dead ends of
    /// a component, the initial state first: at most ``count``, fewer where no more are found.
    #[pyo3(signature = (count, longest=100, seed=2011))]
    fn random_walks<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        longest: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let Shared { data, abstractions } = &self.shared;
        let states = py.detach(|| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            random_walk_states(&data.task, abstractions, count, longest, &mut rng)
        });
        state_array(py, states.concat(), states.len(), data.task.variables.len())
    }

    /// Makes a partitioning for each state.
    ///
    /// ``by`` is ``"uniform"``, ``"scp"`` (saturated), ``"ascent"``, ``"ocp"`` (optimal) or ``"canonical"``
    /// (the most even optimal one, which is a function of the state).
    /// Dead ends of a component get the uniform one.
    ///
    /// >>> task = Task(DOMAIN, PROBLEM)
    /// >>> components = Components(task)
    /// >>> for by in ("uniform", "scp", "ocp"):
    /// ...     print(by, components.partition(task.initial, by).values[0].round(1))
    /// uniform 57.5
    /// scp 65.0
    /// ocp 69.1
    #[pyo3(signature = (states, by="scp"))]
    fn partition(
        &self,
        py: Python<'_>,
        states: &Bound<'_, PyAny>,
        by: &str,
    ) -> PyResult<Partitionings> {
        let by = Method::read(by)?;
        let states = States::read(&self.shared.data, states)?;
        let splits = py.detach(|| make_splits(&self.shared.abstractions, by, &states))?;
        Ok(Partitionings { shared: self.shared.clone(), splits })
    }

    /// A lower bound on h* of each state, for any shares: of one dimension for all states, or a row for
    /// each.
    ///
    /// What is negative or not a number counts as 0; where the shares of an operator add up to more than 1
    /// they are divided by their sum; costs are rounded down to integers.
    /// The bound is infinite for states that some component knows to be dead ends.
    fn bound(
        &self,
        py: Python<'_>,
        shares: &Bound<'_, PyAny>,
        states: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyArray1<f64>>> {
        let states = States::read(&self.shared.data, states)?;
        let shares = self.read_shares(shares, states.len())?;
        if shares.is_one() {
            let found = CostPartitioning::from_shares(&self.shared.abstractions, shares.first()?);
            return Partitioning::new(&self.shared, found).bound_of(py, &states);
        }
        let abstractions = &self.shared.abstractions;
        let scratch = &mut PartitionScratch::default();
        let mut values = Vec::with_capacity(states.len());
        shares.for_each(py, states.len(), |i, shares| {
            let found = CostPartitioning::from_shares(abstractions, shares);
            values.push(number(found.evaluate(states.row(i), scratch)));
            Ok(())
        })?;
        Ok(vector(py, values))
    }

    /// The sum of distances that ``bound`` rounds up, and a supergradient of it in the shares: how often
    /// shortest paths use a pair, times the operator's cost.
    ///
    /// The gradient is that of shares that do not add up to more than 1; it is zero at dead ends.
    fn bound_and_gradient<'py>(
        &self,
        py: Python<'py>,
        shares: &Bound<'_, PyAny>,
        states: &Bound<'_, PyAny>,
    ) -> PyResult<ValuesAndGradient<'py>> {
        let states = States::read(&self.shared.data, states)?;
        let shares = self.read_shares(shares, states.len())?;
        let abstractions = &self.shared.abstractions;
        let (pairs, unit) = (abstractions.num_pairs(), abstractions.divisor() as f64);
        let scratch = &mut PartitionScratch::default();
        let mut values = Vec::with_capacity(states.len());
        let mut gradient = vec![0.0; states.len() * pairs];
        shares.for_each(py, states.len(), |i, shares| {
            let row = &mut gradient[i * pairs..][..pairs];
            let partitioning = CostPartitioning::from_shares(abstractions, shares);
            let value = partitioning.value(states.row(i), scratch, |pair, o| {
                row[pair] += f64::from(abstractions.costs()[o.index()]) * unit;
            });
            if value.is_none() {
                row.fill(0.0);
            }
            values.push(value.map_or(f64::INFINITY, |value| value * unit));
            Ok(())
        })?;
        Ok((vector(py, values), matrix(py, gradient, states.len(), pairs)?))
    }

    /// The partitioning that shares make: see ``bound``.
    fn partitioning(&self, shares: &Bound<'_, PyAny>) -> PyResult<Partitioning> {
        let shares = self.read_shares(shares, 1)?;
        let found = CostPartitioning::from_shares(&self.shared.abstractions, shares.first()?);
        Ok(Partitioning::new(&self.shared, found))
    }

    /// The partitioning with these costs, one integer for each pair, in parts of 1/``scale`` of a unit;
    /// raises ``ValueError`` if an operator's costs add up to more than its own.
    #[pyo3(signature = (costs, scale=1))]
    fn partitioning_of_costs(
        &self,
        costs: &Bound<'_, PyAny>,
        scale: u32,
    ) -> PyResult<Partitioning> {
        let costs = indices(costs, "costs", u32::MAX as usize)?;
        let costs = costs.into_iter().map(|cost| cost as u32).collect();
        let found = CostPartitioning::new(&self.shared.abstractions, scale, costs);
        let found = found.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Partitioning::new(&self.shared, found))
    }

    /// Reads a partitioning that ``Partitioning.save`` wrote; it is checked anew.
    fn load_partitioning(&self, path: &Bound<'_, PyAny>) -> PyResult<Partitioning> {
        let numpy = path.py().import("numpy")?;
        let file = numpy.call_method1("load", (path,))?;
        let version: u32 = file.get_item("version")?.extract()?;
        if version != Partitioning::VERSION {
            let text =
                format!("the partitioning has version {version}, not {}", Partitioning::VERSION);
            return Err(PyValueError::new_err(text));
        }
        let known: u64 = file.get_item("components")?.extract()?;
        if known != self.shared.fingerprint() {
            let text = "the partitioning is one of other components";
            return Err(PyValueError::new_err(text));
        }
        let (costs, scale) = (file.get_item("costs")?, file.get_item("scale")?.extract()?);
        file.call_method0("close")?;
        self.partitioning_of_costs(&costs, scale)
    }

    fn __repr__(&self) -> String {
        let abstractions = &self.shared.abstractions;
        format!("<{} components with {} pairs>", abstractions.len(), abstractions.num_pairs())
    }
}

impl Components {
    fn read_shares<'py>(&self, shares: &Bound<'py, PyAny>, len: usize) -> PyResult<Rows<'py>> {
        Rows::read(shares, "shares", len, self.shared.abstractions.num_pairs())
    }
}

/// A value for each state, and a row of the gradient.
type ValuesAndGradient<'py> = (Py<PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// Makes a partitioning for a state, and says what none exceeds there, if that is known.
type Make<'a> = dyn FnMut(&[Value]) -> Option<(CostPartitioning, f64)> + 'a;

/// Reads a pattern: variables that are not derived, of fewer than 2³² abstract states.
fn read_pattern(task: &planner::task::Task, variables: Vec<usize>) -> PyResult<Pattern> {
    let wrong = |text: String| Err(PyValueError::new_err(text));
    if variables.is_empty() {
        return wrong("a pattern has at least one variable".into());
    }
    let count = task.variables.len();
    if let Some(var) = variables.iter().find(|&&var| var >= count) {
        return wrong(format!("variables are numbers from 0 to {}, not {var}", count as i64 - 1));
    }
    if let Some(var) = variables.iter().find(|&&var| task.is_derived(var.into())) {
        return wrong(format!("variable {var} is derived, and no pattern has it"));
    }
    let pattern = Pattern::new(variables.into_iter().map(VarId::from));
    match u32::try_from(pattern.num_states(task)) {
        Ok(_) => Ok(pattern),
        Err(_) => wrong("a pattern has fewer than 2³² abstract states".into()),
    }
}

/// Where components come from.
enum Source {
    Systematic(usize),
    Cegar,
    Cartesian,
    Landmarks,
}

impl Source {
    fn read(text: &str) -> PyResult<Source> {
        let size = text.strip_prefix("systematic:").and_then(|size| size.parse().ok());
        match (text, size) {
            (_, Some(size @ 1..)) => Ok(Source::Systematic(size)),
            ("cegar", _) => Ok(Source::Cegar),
            ("cartesian", _) => Ok(Source::Cartesian),
            ("landmarks", _) => Ok(Source::Landmarks),
            _ => Err(PyValueError::new_err(format!(
                "write \"systematic:N\", \"cegar\", \"cartesian\" or \"landmarks\", not \"{text}\""
            ))),
        }
    }

    fn patterns(&self, task: &planner::task::Task) -> Vec<Pattern> {
        match *self {
            Source::Systematic(size) => interesting_patterns(task, size, &PatternLimits::default()),
            Source::Cegar => cegar_patterns(task, &CegarConfig::default()),
            Source::Cartesian | Source::Landmarks => Vec::new(),
        }
    }

    /// The components that are no projections.
    fn others(&self, task: &planner::task::Task) -> PyResult<Vec<planner::abstraction::Component>> {
        let is_plain = has_cartesian_abstractions(task);
        match self {
            Source::Systematic(_) | Source::Cegar => Ok(Vec::new()),
            Source::Cartesian if is_plain => {
                Ok(cartesian_abstractions(task, &CartesianConfig::default()))
            }
            Source::Landmarks if is_plain => {
                let mut found = landmark_abstractions(task, &LandmarkConfig::default());
                let initial = [&task.initial[..]];
                let budget = &mut Budget::unlimited();
                found.extend(cut_abstractions(task, initial, &CutConfig::default(), budget));
                Ok(found)
            }
            Source::Cartesian | Source::Landmarks => Err(PyValueError::new_err(
                "only projections work for tasks with axioms or conditional effects",
            )),
        }
    }
}

/// Who divides costs.
#[derive(Clone, Copy)]
enum Method {
    Uniform,
    Saturated,
    Ascent,
    Optimal,
    Canonical,
}

impl Method {
    fn read(text: &str) -> PyResult<Method> {
        match text {
            "uniform" => Ok(Method::Uniform),
            "scp" => Ok(Method::Saturated),
            "ascent" => Ok(Method::Ascent),
            "ocp" => Ok(Method::Optimal),
            "canonical" => Ok(Method::Canonical),
            _ => Err(PyValueError::new_err(format!(
                "write \"uniform\", \"scp\", \"ascent\", \"ocp\" or \"canonical\", not \"{text}\""
            ))),
        }
    }
}

/// Whether some component knows that the goal cannot be reached.
fn is_dead_end(abstractions: &Abstractions, state: &[Value]) -> bool {
    let is_dead = |p: ComponentId| {
        let rank = abstractions.component(p).abstract_state(state);
        abstractions.distances(p)[rank as usize] == INFINITY
    };
    abstractions.has_mutex(state) || abstractions.ids().any(is_dead)
}

/// A split of the costs for each state.
fn make_splits(
    abstractions: &Arc<Abstractions>,
    by: Method,
    states: &States,
) -> PyResult<Vec<Split>> {
    let (signals, scratch) = (Signals::new(), &mut PartitionScratch::default());
    let mut uniform = Uniform::new(abstractions);
    let mut make: Box<Make<'_>> = match by {
        Method::Uniform => {
            let mut uniform = uniform.clone();
            Box::new(move |state| Some((uniform.best_for(state)?, f64::NAN)))
        }
        Method::Saturated => {
            let mut scp = Saturated::new(abstractions);
            Box::new(move |state| Some((scp.best_for(state)?, f64::NAN)))
        }
        Method::Ascent => {
            let config = AscentConfig::every_state(StepRule::trained());
            let mut ascent = Ascent::new(abstractions, config);
            Box::new(move |state| Some((ascent.best_for(state)?, f64::NAN)))
        }
        Method::Optimal => {
            let mut ocp = Ocp::new(abstractions);
            Box::new(move |state| Some((ocp.best_for(state)?, ocp.bounds().upper)))
        }
        Method::Canonical => {
            let mut canonical = Canonical::new(abstractions, Choice::Even);
            Box::new(move |state| {
                let found = canonical.shares_for(state, &mut Budget::unlimited())?;
                Some((CostPartitioning::from_shares(abstractions, &found.shares), found.upper))
            })
        }
    };
    let split = |state: &[Value]| {
        signals.check()?;
        let made = if is_dead_end(abstractions, state) { None } else { make(state) };
        let (partitioning, upper) = match made {
            Some(made) => made,
            None => (uniform.best_for(state).expect("there is always a uniform one"), f64::NAN),
        };
        Ok(Split::new(partitioning, state, upper, scratch))
    };
    states.rows().map(split).collect()
}

/// Transitions of a component; those that leave abstract state ``i`` are ``offsets[i]:offsets[i + 1]``.
#[pyclass(frozen, get_all, module = "apportion_workbench")]
pub(crate) struct Transitions {
    /// Where the transitions of each abstract state begin, and where the last ones end.
    offsets: Py<PyArray1<i64>>,
    /// The abstract state that each leads to.
    targets: Py<PyArray1<i32>>,
    /// Its label.
    labels: Py<PyArray1<i32>>,
}

/// A component: a small transition system that the task is seen through.
///
/// >>> components = Components(Task(DOMAIN, PROBLEM))
/// >>> components[2]
/// <pattern [0, 1] with 30 abstract states>
/// >>> components[2].goal_distances()[:6]
/// array([55., 55., 55.,  0., 55., 55.])
#[pyclass(frozen, module = "apportion_workbench")]
pub(crate) struct Component {
    shared: Shared,
    id: ComponentId,
}

impl Component {
    fn component(&self) -> &planner::abstraction::Component {
        self.shared.abstractions.component(self.id)
    }
}

#[pymethods]
impl Component {
    /// ``"pattern"``, ``"cartesian"`` or ``"landmark"``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.component().shape() {
            ComponentShape::Pattern(_) => "pattern",
            ComponentShape::Tree(_) => "cartesian",
            ComponentShape::Landmark(_) => "landmark",
        }
    }

    /// The variables that abstract states depend on.
    #[getter]
    fn variables(&self) -> Vec<u32> {
        self.component().variables().into_iter().map(|var| var.0).collect()
    }

    /// The number of abstract states.
    #[getter]
    fn num_states(&self) -> usize {
        self.component().num_states()
    }

    /// The values of the variables in each abstract state of a pattern; ``None`` for other components.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<i32>>>> {
        let component = self.component();
        let Some(pattern) = component.pattern() else { return Ok(None) };
        let ranks = 0..component.num_states() as u32;
        let values: Vec<Value> = ranks.flat_map(|rank| component.values(rank)).collect();
        Ok(Some(state_array(py, values, component.num_states(), pattern.len())?))
    }

    /// The abstract goals.
    #[getter]
    fn goals(&self, py: Python<'_>) -> Py<PyArray1<i32>> {
        vector(py, self.component().goals().iter().map(|&goal| goal as i32).collect())
    }

    /// The operators that change abstract states, in the order of the pairs; those of a label are
    /// neighbours.
    #[getter]
    fn operators(&self, py: Python<'_>) -> Py<PyArray1<i32>> {
        let operators = self.component().relevant_operators().iter();
        vector(py, operators.map(|o| o.0 as i32).collect())
    }

    /// Where the operators of each label begin: label ``l`` stands for
    /// ``operators[label_offsets[l]:label_offsets[l + 1]]``, which have the same transitions.
    #[getter]
    fn label_offsets(&self, py: Python<'_>) -> Py<PyArray1<i64>> {
        let component = self.component();
        let ends = component.labels().map(|label| component.label_range(label).end as i64);
        vector(py, [0].into_iter().chain(ends).collect())
    }

    /// The transitions that change the abstract state.
    #[getter]
    fn transitions(&self, py: Python<'_>) -> Transitions {
        let component = self.component();
        let (mut offsets, mut targets, mut labels) = (vec![0], Vec::new(), Vec::new());
        for state in 0..component.num_states() as u32 {
            for (_, label, to) in component.transitions_from(state) {
                targets.push(to as i32);
                labels.push(label.0 as i32);
            }
            offsets.push(targets.len() as i64);
        }
        let [targets, labels] = [targets, labels].map(|array| vector(py, array));
        Transitions { offsets: vector(py, offsets), targets, labels }
    }

    /// The distance from each abstract state to the nearest goal, infinite where there is no way.
    ///
    /// ``costs`` are integers, one for each of ``operators``; without them operators cost what they cost in
    /// the task.
    #[pyo3(signature = (costs=None))]
    fn goal_distances(
        &self,
        py: Python<'_>,
        costs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyArray1<f64>>> {
        let (component, abstractions) = (self.component(), &self.shared.abstractions);
        let number = |unit: f64| {
            move |&d: &Distance| if d == INFINITY { f64::INFINITY } else { f64::from(d) * unit }
        };
        let Some(costs) = costs else {
            let distances = abstractions.distances(self.id).iter();
            return Ok(vector(py, distances.map(number(abstractions.divisor() as f64)).collect()));
        };
        // No path visits a state twice, and sums of distances stay below 2³¹.
        let most = (1usize << 31) / component.num_states().max(2);
        let costs = indices(costs, "costs of an abstraction of this size", most)?;
        if costs.len() != component.relevant_operators().len() {
            let (given, needed) = (costs.len(), component.relevant_operators().len());
            let text = format!("{given} costs are given for {needed} operators");
            return Err(PyValueError::new_err(text));
        }
        let costs: Vec<Distance> = costs.into_iter().map(|cost| cost as Distance).collect();
        let mut label_costs = Vec::new();
        component.label_costs(&costs, &mut label_costs);
        let mut distances = vec![INFINITY; component.num_states()];
        component.goal_distances(&label_costs, &mut DistanceScratch::new(), &mut distances);
        Ok(vector(py, distances.iter().map(number(1.0)).collect()))
    }

    fn __repr__(&self) -> String {
        let (kind, states) = (self.kind(), self.num_states());
        match kind {
            "pattern" => format!("<pattern {:?} with {states} abstract states>", self.variables()),
            _ => format!("<{kind} abstraction with {states} abstract states>"),
        }
    }
}

/// The operator of each pair.
pub(crate) fn operator_of_pairs(abstractions: &Abstractions) -> impl Iterator<Item = OpId> {
    abstractions.components().iter().flat_map(|c| c.relevant_operators().iter().copied())
}
