//! Labelled graphs of tasks, as arrays.

use std::sync::Arc;

use lcp::graph::{Entity, GraphKind, TaskGraph};
use numpy::{PyArray1, PyArray2};
use planner::task::{Value, VarId};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{States, indices, matrix, vector};
use crate::task::{Task, TaskData};

/// The graphs of all states of a task at once: ``"flg"``, ``"aoag"`` or ``"flg+static"``.
///
/// Nodes and edges are those of any state; what depends on the state is the colour of a node, and whether
/// it is there.
/// Colours have names that mean the same in all tasks of a domain.
///
/// >>> task = Task(DOMAIN, PROBLEM)
/// >>> graph = Graph(task, "flg")
/// >>> graph.colours(task.initial).shape == (1, graph.num_nodes)
/// True
/// >>> graph.colour_names[:2]
/// ['action drive', 'action cross-south']
#[pyclass(frozen, module = "apportion_workbench")]
pub(crate) struct Graph {
    data: Arc<TaskData>,
    graph: TaskGraph,
}

/// The graph of a state: nodes, and edges between places in ``nodes``.
#[pyclass(frozen, get_all, module = "apportion_workbench")]
pub(crate) struct StateGraph {
    /// The number in the task's graph of each node.
    nodes: Py<PyArray1<i32>>,
    /// The colour of each node.
    colours: Py<PyArray1<i32>>,
    /// The two ends of each edge: two rows.
    edges: Py<PyArray2<i32>>,
    /// The colour of each edge.
    edge_colours: Py<PyArray1<i32>>,
}

/// What stands for a node that is not there.
const ABSENT: i32 = -1;

impl Graph {
    /// The colour of each node in a state, masked to a pattern.
    fn colours_of(&self, state: &[Value], pattern: Option<&[VarId]>) -> Vec<Option<u32>> {
        let graph = self.graph.of_state(state);
        let graph = match pattern {
            Some(pattern) => graph.mask(pattern),
            None => graph,
        };
        graph.colours().to_vec()
    }

    fn read_pattern(&self, pattern: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<VarId>>> {
        let variables = self.data.task.variables.len();
        let read = |pattern| indices(pattern, "variables", variables);
        let pattern = pattern.map(read).transpose()?;
        Ok(pattern.map(|pattern| pattern.into_iter().map(VarId::from).collect()))
    }
}

#[pymethods]
impl Graph {
    #[new]
    #[pyo3(signature = (task, kind="flg"))]
    fn new(py: Python<'_>, task: &Bound<'_, Task>, kind: &str) -> PyResult<Graph> {
        let kind: GraphKind = kind.parse().map_err(PyValueError::new_err)?;
        let data = Arc::clone(&task.get().data);
        let graph = py.detach(|| TaskGraph::new(&data.task, kind));
        Ok(Graph { data, graph })
    }

    /// The definition.
    #[getter]
    fn kind(&self) -> &'static str {
        self.graph.kind().name()
    }

    /// The number of nodes; the operators come first, in the order of the task.
    #[getter]
    fn num_nodes(&self) -> usize {
        self.graph.nodes().len()
    }

    /// What each node stands for: ``("operator", o)``, ``("value", variable, value)``,
    /// ``("variable", variable)`` or ``("object", name)``.
    #[getter]
    fn entities<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let entity = |entity: Entity| match entity {
            Entity::Action(o) => ("operator", o.0).into_bound_py_any(py),
            Entity::Value(fact) => ("value", fact.var.0, fact.value).into_bound_py_any(py),
            Entity::Variable(var) => ("variable", var.0).into_bound_py_any(py),
            Entity::Object(object) => {
                ("object", &*self.data.task.objects[object.index()]).into_bound_py_any(py)
            }
        };
        self.graph.nodes().iter().map(|node| entity(node.entity)).collect()
    }

    /// The names of node colours.
    #[getter]
    fn colour_names(&self) -> Vec<String> {
        self.graph.node_colours().iter().map(ToString::to_string).collect()
    }

    /// The names of edge colours.
    #[getter]
    fn edge_colour_names(&self) -> Vec<String> {
        self.graph.edge_colours().iter().map(ToString::to_string).collect()
    }

    /// The two ends of each edge that some state has: two rows. Edges have no direction.
    #[getter]
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let edges = self.graph.edges();
        let ends = edges.iter().map(|e| e.a as i32).chain(edges.iter().map(|e| e.b as i32));
        matrix(py, ends.collect(), 2, edges.len())
    }

    /// The colour of each of these edges.
    #[getter]
    fn edge_colours(&self, py: Python<'_>) -> Py<PyArray1<i32>> {
        vector(py, self.graph.edges().iter().map(|edge| edge.colour as i32).collect())
    }

    /// The colour of each node in each state, -1 where a node is not there; an edge is there if both ends
    /// are. With ``pattern``, a list of variables, the graph is masked to it.
    #[pyo3(signature = (states, pattern=None))]
    fn colours<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'_, PyAny>,
        pattern: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let states = States::read(&self.data, states)?;
        let pattern = self.read_pattern(pattern)?;
        let colours = py.detach(|| {
            let mut colours = Vec::with_capacity(states.len() * self.graph.nodes().len());
            for state in states.rows() {
                let row = self.colours_of(state, pattern.as_deref());
                colours.extend(row.into_iter().map(|c| c.map_or(ABSENT, |colour| colour as i32)));
            }
            colours
        });
        matrix(py, colours, states.len(), self.graph.nodes().len())
    }

    /// The graph of one state, without what is not there.
    ///
    /// >>> task = Task(DOMAIN, PROBLEM)
    /// >>> graph = Graph(task, "aoag").of(task.initial, pattern=[0])
    /// >>> graph.nodes.shape == graph.colours.shape, graph.edges.shape[0]
    /// (True, 2)
    #[pyo3(signature = (state, pattern=None))]
    fn of(
        &self,
        py: Python<'_>,
        state: &Bound<'_, PyAny>,
        pattern: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<StateGraph> {
        let states = States::read(&self.data, state)?;
        if states.len() != 1 {
            return Err(PyValueError::new_err(format!(
                "one state is wanted, not {}",
                states.len()
            )));
        }
        let pattern = self.read_pattern(pattern)?;
        let all = self.colours_of(states.row(0), pattern.as_deref());
        let (mut nodes, mut colours) = (Vec::new(), Vec::new());
        let mut places = vec![ABSENT; all.len()];
        for (node, colour) in all.into_iter().enumerate() {
            if let Some(colour) = colour {
                places[node] = nodes.len() as i32;
                nodes.push(node as i32);
                colours.push(colour as i32);
            }
        }
        let place = |node: u32| places[node as usize];
        let is_there =
            |edge: &&lcp::graph::Edge| place(edge.a) != ABSENT && place(edge.b) != ABSENT;
        let edges: Vec<_> = self.graph.edges().iter().filter(is_there).collect();
        let ends = edges.iter().map(|e| place(e.a)).chain(edges.iter().map(|e| place(e.b)));
        Ok(StateGraph {
            nodes: vector(py, nodes),
            colours: vector(py, colours),
            edges: matrix(py, ends.collect(), 2, edges.len())?.unbind(),
            edge_colours: vector(py, edges.iter().map(|edge| edge.colour as i32).collect()),
        })
    }

    fn __repr__(&self) -> String {
        let (nodes, edges) = (self.graph.nodes().len(), self.graph.edges().len());
        format!("<{} with {nodes} nodes and {edges} edges>", self.graph.kind())
    }
}
