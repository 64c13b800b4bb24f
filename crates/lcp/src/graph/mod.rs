//! Labelled graphs of planning tasks (paper, section "Graph Representation of Abstractions").
//!
//! A graph is *defined* once per task, for all states at the same time: [`TaskGraph`] holds every
//! node that any state can have, and says of each how its colour depends on at most one fact.
//! [`TaskGraph::of_state`] gives the paper's G(s), [`StateGraph::mask`] its G(s)^P.
//! One file per definition: [`flg`], [`aoag`], [`flg_static`].
//!
//! Guarantees: colours name predicates, schemas and argument positions, never objects, variables
//! or their order; so graphs of two tasks that differ only in those are isomorphic.
//! Masking leaves a graph that is a function of the pattern and the projected state.
//! Cost: linear in the size of the task.

use std::fmt;

use planner::task::{Fact, PredicateId};
use planner::task::{FactMeaning, ObjectId, OpId, Task, Value, VarId, Variable};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

pub mod aoag;
pub mod draw;
pub mod flg;
pub mod flg_static;

/// The graph definitions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum GraphKind {
    /// The FDR learning graph: variables, their values, actions.
    #[serde(rename = "flg")]
    Flg,
    /// The action-object-atom graph: objects, true or goal atoms, actions.
    #[serde(rename = "aoag")]
    Aoag,
    /// The FLG with the objects of each value and the static atoms that relate them.
    #[serde(rename = "flg+static")]
    FlgStatic,
}

impl GraphKind {
    /// All definitions.
    pub const ALL: [GraphKind; 3] = [GraphKind::Flg, GraphKind::Aoag, GraphKind::FlgStatic];

    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            GraphKind::Flg => "flg",
            GraphKind::Aoag => "aoag",
            GraphKind::FlgStatic => "flg+static",
        }
    }
}

impl fmt::Display for GraphKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for GraphKind {
    type Err = String;

    fn from_str(text: &str) -> Result<GraphKind, String> {
        GraphKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = GraphKind::ALL.map(GraphKind::name).join(", ");
            format!("unknown graph `{text}` (known: {names})")
        })
    }
}

/// Whether a fact holds in the state and whether it is a goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    /// True, not a goal (`av` of the FLG, `ap` of the AOAG).
    Achieved,
    /// False, not a goal (`uv`).
    Unachieved,
    /// True and a goal (`ag`).
    AchievedGoal,
    /// False and a goal (`ug`).
    UnachievedGoal,
}

impl Status {
    fn new(holds: bool, goal: bool) -> Status {
        match (holds, goal) {
            (true, false) => Status::Achieved,
            (false, false) => Status::Unachieved,
            (true, true) => Status::AchievedGoal,
            (false, true) => Status::UnachievedGoal,
        }
    }
}

/// The colour of a node (κ of the paper); its `Display` is the key by which colours of different
/// tasks are recognised as the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeColour {
    /// A variable.
    Variable,
    /// An object, with the sorted names of the unary static atoms that hold of it (none in AOAG).
    Object(Vec<String>),
    /// A fact: its status and ρ, the name of its predicate or pseudo-predicate.
    Fact(Status, String),
    /// An action, with the name of its schema.
    Action(String),
}

impl fmt::Display for NodeColour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeColour::Variable => f.write_str("var"),
            NodeColour::Object(types) => {
                f.write_str("ob")?;
                types.iter().try_for_each(|name| write!(f, " {name}"))
            }
            NodeColour::Fact(status, predicate) => {
                let status = match status {
                    Status::Achieved => "av",
                    Status::Unachieved => "uv",
                    Status::AchievedGoal => "ag",
                    Status::UnachievedGoal => "ug",
                };
                write!(f, "{status} {predicate}")
            }
            NodeColour::Action(schema) => write!(f, "action {schema}"),
        }
    }
}

/// The colour of an edge (l of the paper), with the same rôle of `Display`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeColour {
    /// From a variable to one of its values.
    VariableValue,
    /// From an action to a value it requires.
    Precondition,
    /// From an action to a value it sets.
    Effect,
    /// From an action to a value that a conditional effect of it requires.
    Condition,
    /// From an action to a value it sets under a condition.
    ConditionalEffect,
    /// From an atom or action to its argument at this position, counted from 1.
    Argument(usize),
    /// From the value p(x₁,…,xₙ) to an object y for which a static atom r(…,xᵢ,…,y,…) holds.
    Static {
        /// The static predicate r.
        predicate: String,
        /// The position of xᵢ in r, counted from 1.
        from: usize,
        /// The position of y in r, counted from 1.
        to: usize,
        /// The position i of xᵢ in p, counted from 1.
        argument: usize,
    },
}

impl fmt::Display for EdgeColour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdgeColour::VariableValue => f.write_str("var:val"),
            EdgeColour::Precondition => f.write_str("pre"),
            EdgeColour::Effect => f.write_str("eff"),
            EdgeColour::Condition => f.write_str("cond"),
            EdgeColour::ConditionalEffect => f.write_str("eff?"),
            EdgeColour::Argument(i) => write!(f, "{i}"),
            EdgeColour::Static { predicate, from, to, argument } => {
                write!(f, "{argument} {predicate} {from} {to}")
            }
        }
    }
}

/// What a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Entity {
    /// An action of the task.
    Action(OpId),
    /// A value of a variable: in the FLG the value, in the AOAG the atom it carries.
    Value(Fact),
    /// A variable.
    Variable(VarId),
    /// An object.
    Object(ObjectId),
}

/// How the colour of a node depends on the state; colours index [`TaskGraph::node_colours`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colouring {
    /// It does not.
    Fixed(u32),
    /// On whether a fact holds; without a colour the node is not in the graph.
    ByFact {
        /// The fact.
        fact: Fact,
        /// The colour where the fact holds.
        holds: Option<u32>,
        /// The colour where it does not.
        fails: Option<u32>,
    },
}

impl Colouring {
    fn in_state(self, state: &[Value]) -> Option<u32> {
        match self {
            Colouring::Fixed(colour) => Some(colour),
            Colouring::ByFact { fact, holds, fails } => {
                if state[fact.var.index()] == fact.value {
                    holds
                } else {
                    fails
                }
            }
        }
    }
}

/// A node of a [`TaskGraph`].
#[derive(Clone, Debug)]
pub struct Node {
    /// What it stands for.
    pub entity: Entity,
    /// Its colour in each state.
    pub colouring: Colouring,
    /// The variables it belongs to, ascending: a pattern keeps it iff it has one of them.
    /// Actions belong to none and are always kept.
    pub owners: SmallVec<[VarId; 1]>,
}

/// An undirected edge between two nodes; several edges of different colours may join the same two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// An index into the graph's `edge_colours`.
    pub colour: u32,
}

/// The graphs of all states of a task at once.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    kind: GraphKind,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    node_colours: Vec<NodeColour>,
    edge_colours: Vec<EdgeColour>,
    num_variables: usize,
    num_operators: usize,
}

impl TaskGraph {
    /// The graphs of `task` by the definition `kind`.
    pub fn new(task: &Task, kind: GraphKind) -> TaskGraph {
        match kind {
            GraphKind::Flg => flg::define(task),
            GraphKind::Aoag => aoag::define(task),
            GraphKind::FlgStatic => flg_static::define(task),
        }
    }

    /// The definition used.
    pub fn kind(&self) -> GraphKind {
        self.kind
    }

    /// All nodes; the first [`TaskGraph::num_operators`] are the actions, in the task's order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All edges, sorted.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The node colours that occur.
    pub fn node_colours(&self) -> &[NodeColour] {
        &self.node_colours
    }

    /// The edge colours that occur.
    pub fn edge_colours(&self) -> &[EdgeColour] {
        &self.edge_colours
    }

    /// The number of variables of the task.
    pub fn num_variables(&self) -> usize {
        self.num_variables
    }

    /// The number of operators of the task.
    pub fn num_operators(&self) -> usize {
        self.num_operators
    }

    /// G(s): the graph of one state (one value per variable).
    pub fn of_state(&self, state: &[Value]) -> StateGraph<'_> {
        let colours = self.nodes.iter().map(|node| node.colouring.in_state(state)).collect();
        StateGraph { graph: self, colours }
    }
}

/// G(s) or, once masked, G(s)^P.
#[derive(Clone, Debug)]
pub struct StateGraph<'a> {
    graph: &'a TaskGraph,
    /// The colour of each node of the task graph, none where the node is absent.
    colours: Vec<Option<u32>>,
}

impl StateGraph<'_> {
    /// G(s)^P: removes the nodes that belong to no variable of the pattern, and their edges.
    /// Action nodes stay, connected or not.
    pub fn mask(mut self, pattern: &[VarId]) -> Self {
        for (colour, node) in self.colours.iter_mut().zip(&self.graph.nodes) {
            let is_action = matches!(node.entity, Entity::Action(_));
            if !is_action && !node.owners.iter().any(|var| pattern.contains(var)) {
                *colour = None;
            }
        }
        self
    }

    /// The colour of each node of the task graph, none where the node is absent; they index
    /// [`TaskGraph::node_colours`].
    pub fn colours(&self) -> &[Option<u32>] {
        &self.colours
    }

    /// The nodes present: index in the task graph, what they stand for, colour.
    pub fn nodes(&self) -> impl Iterator<Item = (u32, Entity, &NodeColour)> {
        self.graph.nodes.iter().zip(&self.colours).enumerate().filter_map(|(i, (node, colour))| {
            colour.map(|c| (i as u32, node.entity, &self.graph.node_colours[c as usize]))
        })
    }

    /// The edges whose two ends are present, and their colours.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, &EdgeColour)> {
        let present = |node: u32| self.colours[node as usize].is_some();
        self.graph
            .edges
            .iter()
            .filter(move |edge| present(edge.a) && present(edge.b))
            .map(|edge| (edge.a, edge.b, &self.graph.edge_colours[edge.colour as usize]))
    }
}

/// Collects the nodes and edges of a definition; actions are added first.
struct GraphBuilder<'a> {
    task: &'a Task,
    goal: FxHashMap<VarId, Value>,
    graph: TaskGraph,
    node_colour_ids: FxHashMap<NodeColour, u32>,
    edge_colour_ids: FxHashMap<EdgeColour, u32>,
}

impl<'a> GraphBuilder<'a> {
    /// A graph that holds the actions, coloured by schema.
    fn with_actions(task: &'a Task, kind: GraphKind) -> GraphBuilder<'a> {
        let mut builder = GraphBuilder {
            task,
            goal: task.goal.iter().map(|fact| (fact.var, fact.value)).collect(),
            graph: TaskGraph {
                kind,
                nodes: Vec::new(),
                edges: Vec::new(),
                node_colours: Vec::new(),
                edge_colours: Vec::new(),
                num_variables: task.variables.len(),
                num_operators: task.operators.len(),
            },
            node_colour_ids: FxHashMap::default(),
            edge_colour_ids: FxHashMap::default(),
        };
        let schemas: Vec<u32> = task
            .schemas
            .iter()
            .map(|schema| builder.node_colour(NodeColour::Action(schema.name.clone())))
            .collect();
        for (o, operator) in task.operators.iter().enumerate() {
            let colouring = Colouring::Fixed(schemas[operator.schema.index()]);
            builder.node(Entity::Action(OpId::from(o)), colouring, &[]);
        }
        builder
    }

    fn node_colour(&mut self, colour: NodeColour) -> u32 {
        intern(&mut self.node_colour_ids, &mut self.graph.node_colours, colour)
    }

    fn edge_colour(&mut self, colour: EdgeColour) -> u32 {
        intern(&mut self.edge_colour_ids, &mut self.graph.edge_colours, colour)
    }

    fn node(&mut self, entity: Entity, colouring: Colouring, owners: &[VarId]) -> u32 {
        let id = u32::try_from(self.graph.nodes.len()).expect("a graph has less than 2^32 nodes");
        self.graph.nodes.push(Node { entity, colouring, owners: owners.into() });
        id
    }

    fn edge(&mut self, a: u32, b: u32, colour: u32) {
        self.graph.edges.push(Edge { a, b, colour });
    }

    /// Makes `owner` one of the variables that `node` belongs to.
    fn own(&mut self, node: u32, owner: VarId) {
        let owners = &mut self.graph.nodes[node as usize].owners;
        if let Err(position) = owners.binary_search(&owner) {
            owners.insert(position, owner);
        }
    }

    fn is_goal(&self, fact: Fact) -> bool {
        self.goal.get(&fact.var) == Some(&fact.value)
    }

    /// The colour of a fact with this status.
    fn fact_colour(&mut self, fact: Fact, holds: bool) -> u32 {
        let status = Status::new(holds, self.is_goal(fact));
        let meaning = &self.task.variable(fact.var).values[fact.value as usize];
        let predicate = predicate_name(self.task, meaning);
        self.node_colour(NodeColour::Fact(status, predicate))
    }

    /// The facts of all variables that patterns may hold.
    fn facts(&self) -> impl Iterator<Item = Fact> + use<> {
        let size = |v: &Variable| if v.derived.is_some() { 0 } else { v.domain_size() };
        let sizes: Vec<usize> = self.task.variables.iter().map(size).collect();
        sizes.into_iter().enumerate().flat_map(|(var, size)| {
            (0..size as Value).map(move |value| Fact::new(VarId::from(var), value))
        })
    }

    fn finish(mut self) -> TaskGraph {
        self.graph.edges.sort_unstable();
        self.graph.edges.dedup();
        self.graph
    }
}

fn intern<T: Clone + Eq + std::hash::Hash>(
    ids: &mut FxHashMap<T, u32>,
    items: &mut Vec<T>,
    item: T,
) -> u32 {
    *ids.entry(item).or_insert_with_key(|item| {
        items.push(item.clone());
        items.len() as u32 - 1
    })
}

/// ρ: the predicate of a value; `not p` for a negated atom, `<none of those>` for the value that
/// stands for no atom.
fn predicate_name(task: &Task, meaning: &FactMeaning) -> String {
    let name = |predicate: PredicateId| task.predicates[predicate.index()].name.as_str();
    match meaning {
        FactMeaning::Atom(atom) => name(atom.predicate).to_string(),
        FactMeaning::NegatedAtom(atom) => format!("not {}", name(atom.predicate)),
        FactMeaning::NoneOfThose => "<none of those>".to_string(),
    }
}
