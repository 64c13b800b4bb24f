//! G(·)^P for all states of a pattern at once, with indistinguishable operators merged.
//!
//! [`Adjacency`] indexes the task's graph once; [`PatternGraph::new`] cuts out one pattern in time
//! linear in the edges that touch it.

use planner::abstraction::Component;
use planner::csr::Csr;
use planner::task::{OpId, Value, VarId};
use rustc_hash::FxHashMap;

use super::colours::{ABSENT, Colour};
use crate::graph::{Colouring, TaskGraph};

/// Colours of a task's graph as numbers of a vocabulary (dropped where it has none).
#[derive(Clone, Debug)]
pub(super) struct ColourNumbers {
    pub(super) nodes: Vec<Colour>,
    pub(super) edges: Vec<u32>,
}

/// The task's graph, indexed for cutting out patterns.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    /// Of every node but the actions the neighbours (node, edge colour), ascending.
    neighbours: Csr<(u32, u32)>,
    colourings: Vec<NodeColouring>,
    /// The non-action nodes that belong to each variable, ascending.
    nodes_of_variable: Vec<Vec<u32>>,
    /// The colour of each action's schema, as an index into `schemas`.
    schema_of: Vec<u32>,
    /// The colour of each schema that has an action, and how many actions.
    schemas: Vec<(Colour, u32)>,
    num_operators: usize,
}

/// The colour of a node, as numbers of the vocabulary or marks.
#[derive(Clone, Copy, Debug)]
enum NodeColouring {
    Fixed(Colour),
    ByFact { var: VarId, value: Value, holds: Colour, fails: Colour },
}

impl Adjacency {
    /// Indexes `graph` under the colour numbers of a vocabulary.
    pub(super) fn new(graph: &TaskGraph, numbers: &ColourNumbers) -> Adjacency {
        let num_operators = graph.num_operators();
        let others = &graph.nodes()[num_operators..];
        // Only edges with a non-action end exist; each is stored at its non-action ends.
        let ends = graph.edges().iter().flat_map(|edge| {
            let colour = numbers.edges[edge.colour as usize];
            let neighbour = move |(node, other): (u32, u32)| {
                Some(((node as usize).checked_sub(num_operators)?, (other, colour)))
            };
            [(edge.a, edge.b), (edge.b, edge.a)].into_iter().filter_map(neighbour)
        });
        let mut neighbours = Csr::sorted(others.len(), ends);
        (0..others.len()).for_each(|n| neighbours.row_mut(n).sort_unstable());

        let number = |colour: Option<u32>| colour.map_or(ABSENT, |c| numbers.nodes[c as usize]);
        let colourings = others
            .iter()
            .map(|node| match node.colouring {
                Colouring::Fixed(colour) => NodeColouring::Fixed(number(Some(colour))),
                Colouring::ByFact { fact, holds, fails } => NodeColouring::ByFact {
                    var: fact.var,
                    value: fact.value,
                    holds: number(holds),
                    fails: number(fails),
                },
            })
            .collect();

        let mut nodes_of_variable = vec![Vec::new(); graph.num_variables()];
        for (n, node) in others.iter().enumerate() {
            for var in &node.owners {
                nodes_of_variable[var.index()].push(n as u32);
            }
        }

        let mut schemas: Vec<(Colour, u32)> = Vec::new();
        let mut schema_ids = FxHashMap::default();
        let schema_of = graph.nodes()[..num_operators]
            .iter()
            .map(|node| {
                let Colouring::Fixed(colour) = node.colouring else {
                    unreachable!("the colour of an action is its schema")
                };
                let id = *schema_ids.entry(colour).or_insert_with(|| {
                    schemas.push((numbers.nodes[colour as usize], 0));
                    schemas.len() as u32 - 1
                });
                schemas[id as usize].1 += 1;
                id
            })
            .collect();
        Adjacency { neighbours, colourings, nodes_of_variable, schema_of, schemas, num_operators }
    }

    /// The number of operators of the task.
    pub(super) fn num_operators(&self) -> usize {
        self.num_operators
    }

    /// The neighbours of a node that is not an action, actions first, ascending.
    fn neighbours(&self, node: u32) -> &[(u32, u32)] {
        self.neighbours.row(node as usize)
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.schema_of.len() * 4 + self.neighbours.memory_bytes() + self.colourings.len() * 20
    }
}

/// One pattern's graph: nodes that the pattern keeps, then one node per class of operators.
#[derive(Clone, Debug)]
pub(super) struct PatternGraph {
    /// Nodes that are not operators; the class `c` is the node `num_others + c`.
    pub(super) num_others: usize,
    /// The neighbours of each node (node, edge colour), ascending.
    neighbours: Csr<(u32, u32)>,
    /// κ⁰ where no fact holds.
    pub(super) initial: Vec<Colour>,
    /// For each variable of the pattern and each of its values the nodes whose colour depends on
    /// it, and the colour where the fact holds.
    pub(super) by_fact: Vec<Vec<Vec<(u32, Colour)>>>,
}

impl PatternGraph {
    /// Cuts out the pattern `vars`, whose variables have `domains` values.
    /// With its projection, operators of different labels are in different classes.
    pub(super) fn new(
        adjacency: &Adjacency,
        vars: &[VarId],
        domains: &[usize],
        projection: Option<&Component>,
        scratch: &mut ClassScratch,
    ) -> (PatternGraph, OperatorClasses) {
        let mut kept: Vec<u32> = Vec::new();
        for var in vars {
            kept.extend(&adjacency.nodes_of_variable[var.index()]);
        }
        kept.sort_unstable();
        kept.dedup();
        let (classes, neighbourhoods) = OperatorClasses::new(adjacency, &kept, projection, scratch);
        let neighbours = edges(adjacency, &kept, &neighbourhoods.pairs);

        let mut by_fact: Vec<Vec<Vec<(u32, Colour)>>> =
            domains.iter().map(|&size| vec![Vec::new(); size]).collect();
        let mut initial = Vec::with_capacity(neighbours.len());
        for (i, &node) in kept.iter().enumerate() {
            initial.push(match adjacency.colourings[node as usize] {
                NodeColouring::Fixed(colour) => colour,
                NodeColouring::ByFact { var, value, holds, fails } => {
                    let position = vars.iter().position(|&v| v == var);
                    // A node is kept through the variable that its colour depends on.
                    let position = position.expect("the pattern has the variable of its values");
                    by_fact[position][value as usize].push((i as u32, holds));
                    fails
                }
            });
        }
        let schemas = neighbourhoods.schemas.iter();
        initial.extend(schemas.map(|&schema| adjacency.schemas[schema as usize].0));
        (PatternGraph { num_others: kept.len(), neighbours, initial, by_fact }, classes)
    }

    /// The number of nodes.
    pub(super) fn num_nodes(&self) -> usize {
        self.initial.len()
    }

    /// The number of classes of operators.
    pub(super) fn num_classes(&self) -> usize {
        self.num_nodes() - self.num_others
    }

    /// The neighbours of a node and the colours of the edges to them.
    #[inline]
    pub(super) fn neighbours(&self, node: usize) -> &[(u32, u32)] {
        self.neighbours.row(node)
    }

    /// Whether a node is an operator or a neighbour of one.
    pub(super) fn is_in_hop_set(&self, node: usize) -> bool {
        self.classes_near(node).next().is_some()
    }

    /// The classes of operators whose hop set has this node.
    #[inline]
    pub(super) fn classes_near(&self, node: usize) -> impl Iterator<Item = usize> {
        let own = node.checked_sub(self.num_others);
        let others = if own.is_some() { &[][..] } else { self.neighbours(node) };
        // Neighbours ascend and operators come last.
        let class = |&(u, _): &(u32, u32)| (u as usize).checked_sub(self.num_others);
        own.into_iter().chain(others.iter().rev().map_while(class))
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.neighbours.memory_bytes()
            + self.initial.len() * 4
            + self.by_fact.iter().flatten().map(|nodes| 24 + nodes.len() * 8).sum::<usize>()
    }
}

/// The edges of a pattern's graph, by node and ascending: kept nodes first, then classes.
fn edges(adjacency: &Adjacency, kept: &[u32], neighbourhoods: &Csr<(u32, u32)>) -> Csr<(u32, u32)> {
    let local: FxHashMap<u32, u32> =
        kept.iter().enumerate().map(|(i, &node)| (node, i as u32)).collect();
    let among_kept = |node: u32| {
        adjacency.neighbours(node).iter().filter_map(|&(other, edge)| {
            let other = other.checked_sub(adjacency.num_operators as u32)?;
            local.get(&other).map(|&other| (other, edge))
        })
    };
    let of_kept = kept
        .iter()
        .enumerate()
        .flat_map(|(i, &node)| among_kept(node).map(move |neighbour| (i, neighbour)));
    let of_classes = (0..neighbourhoods.len()).flat_map(|c| {
        let class = kept.len() + c;
        neighbourhoods.row(c).iter().flat_map(move |&(node, edge)| {
            [(class, (node, edge)), (node as usize, (class as u32, edge))]
        })
    });
    Csr::sorted(kept.len() + neighbourhoods.len(), of_kept.chain(of_classes))
}

/// Buffers for [`PatternGraph::new`], one per task.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassScratch {
    /// The position in the trie of each operator; [`NOWHERE`] between calls.
    position: Vec<u32>,
    trie: Vec<Step>,
    children: FxHashMap<Step, u32>,
}

const NOWHERE: u32 = u32::MAX;

/// A step down the trie: from a parent, one (kept node, edge colour) more, or ([`LABEL`], label).
type Step = (u32, u32, u32);

/// Stands for the node in the last step of operators that have a label.
const LABEL: u32 = u32::MAX;

/// The label of classes without one.
pub(super) const NO_LABEL: u32 = u32::MAX;

/// Which operators have the same schema, the same masked neighbourhood and, if labels are told
/// apart, the same label.
#[derive(Clone, Debug)]
pub(super) struct OperatorClasses {
    /// How many operators each class has.
    pub(super) sizes: Vec<u32>,
    /// The label of each class, or [`NO_LABEL`]; empty if labels are not told apart.
    pub(super) labels: Vec<u32>,
    /// The operators that have a neighbour or a label, ascending, and their classes.
    touching: Vec<OpId>,
    touching_class: Vec<u32>,
    /// The class of the other operators of each schema (if there are any).
    isolated_class: Vec<u32>,
}

/// What the operators of each class have in common.
#[derive(Default)]
struct Neighbourhoods {
    /// The schema of each class.
    schemas: Vec<u32>,
    /// The neighbours of each class (kept node, edge colour), ascending.
    pairs: Csr<(u32, u32)>,
}

impl OperatorClasses {
    /// Sorts operators by neighbourhood with a trie: the root of a schema has no neighbour, a child
    /// has one (node, edge colour) more than its parent, and labels come last.
    fn new(
        adjacency: &Adjacency,
        kept: &[u32],
        projection: Option<&Component>,
        scratch: &mut ClassScratch,
    ) -> (OperatorClasses, Neighbourhoods) {
        let ClassScratch { position, trie, children } = scratch;
        position.resize(adjacency.num_operators, NOWHERE);
        children.clear();
        trie.clear();
        let num_schemas = adjacency.schemas.len();
        trie.extend((0..num_schemas as u32).map(|schema| (schema, 0, 0)));
        let mut touching: Vec<OpId> = Vec::new();
        let mut descend = |op: u32, node: u32, edge: u32| {
            let at = &mut position[op as usize];
            if *at == NOWHERE {
                touching.push(OpId(op));
                *at = adjacency.schema_of[op as usize];
            }
            let step = (*at, node, edge);
            *at = *children.entry(step).or_insert_with(|| {
                trie.push(step);
                trie.len() as u32 - 1
            });
        };
        for (i, &node) in kept.iter().enumerate() {
            let neighbours = adjacency.neighbours(node).iter();
            for &(op, edge) in neighbours.take_while(|n| (n.0 as usize) < adjacency.num_operators) {
                descend(op, i as u32, edge);
            }
        }
        for label in projection.into_iter().flat_map(Component::labels) {
            let operators = projection.into_iter().flat_map(|p| p.label_operators(label));
            operators.for_each(|op| descend(op.0, LABEL, label.0));
        }
        touching.sort_unstable();

        // Classes are the trie nodes where operators ended, and the roots where some remained.
        let mut remaining: Vec<u32> = adjacency.schemas.iter().map(|&(_, count)| count).collect();
        let mut class_at = vec![NOWHERE; trie.len()];
        let (mut sizes, mut labels) = (Vec::new(), Vec::new());
        let mut neighbourhoods = Neighbourhoods::default();
        let mut upwards = Vec::new();
        let mut touching_class = Vec::with_capacity(touching.len());
        for op in &touching {
            let at = std::mem::replace(&mut position[op.index()], NOWHERE);
            let schema = adjacency.schema_of[op.index()];
            remaining[schema as usize] -= 1;
            let class = &mut class_at[at as usize];
            if *class == NOWHERE {
                *class = sizes.len() as u32;
                sizes.push(0);
                let (mut step, mut label) = (at, NO_LABEL);
                while step as usize >= num_schemas {
                    let (parent, node, edge) = trie[step as usize];
                    match node {
                        LABEL => label = edge,
                        _ => upwards.push((node, edge)),
                    }
                    step = parent;
                }
                labels.push(label);
                neighbourhoods.pairs.push(upwards.drain(..).rev());
                neighbourhoods.schemas.push(schema);
            }
            sizes[*class as usize] += 1;
            touching_class.push(*class);
        }
        let mut isolated_class = vec![NOWHERE; num_schemas];
        for (schema, &count) in remaining.iter().enumerate().filter(|&(_, &count)| count > 0) {
            isolated_class[schema] = sizes.len() as u32;
            sizes.push(count);
            labels.push(NO_LABEL);
            neighbourhoods.pairs.push([]);
            neighbourhoods.schemas.push(schema as u32);
        }
        if projection.is_none() {
            labels.clear();
        }
        let classes = OperatorClasses { sizes, labels, touching, touching_class, isolated_class };
        (classes, neighbourhoods)
    }

    /// The number of classes.
    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The class of an operator.
    #[inline]
    pub(super) fn class_of(&self, adjacency: &Adjacency, op: OpId) -> u32 {
        match self.touching.binary_search(&op) {
            Ok(i) => self.touching_class[i],
            Err(_) => self.isolated_class[adjacency.schema_of[op.index()] as usize],
        }
    }

    /// The operators with a neighbour or a label, ascending, and their classes.
    pub(super) fn touching(&self) -> impl Iterator<Item = (OpId, u32)> {
        self.touching.iter().copied().zip(self.touching_class.iter().copied())
    }

    /// The class of every operator, in order.
    pub(super) fn of_all(&self, adjacency: &Adjacency) -> impl Iterator<Item = u32> {
        let mut touching = self.touching().peekable();
        adjacency.schema_of.iter().enumerate().map(move |(op, &schema)| {
            match touching.next_if(|&(next, _)| next.index() == op) {
                Some((_, class)) => class,
                None => self.isolated_class[schema as usize],
            }
        })
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        (self.sizes.len() + self.labels.len() + self.isolated_class.len()) * 4
            + self.touching.len() * 8
    }
}
