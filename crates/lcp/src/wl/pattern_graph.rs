//! G(·)^P for all states of a pattern at once, with indistinguishable operators merged.
//!
//! [`Adjacency`] indexes the task's graph once; [`PatternGraph::new`] cuts out one pattern in time
//! linear in the edges that touch it.

use planner::task::{OpId, Value, VarId};
use rustc_hash::FxHashMap;

use super::colours::{ABSENT, Colour};
use crate::graph::{Colouring, Edge, TaskGraph};

/// Colours of a task's graph as numbers of a vocabulary (dropped where it has none).
#[derive(Clone, Debug)]
pub(super) struct ColourNumbers {
    pub(super) nodes: Vec<Colour>,
    pub(super) edges: Vec<u32>,
}

/// The task's graph, indexed for cutting out patterns.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    /// Every node but the actions: its neighbours are `neighbours[starts[n]..starts[n+1]]`.
    starts: Vec<u32>,
    /// Neighbours (node, edge colour); ascending by node, then edge colour.
    neighbours: Vec<(u32, u32)>,
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
        let mut starts = vec![0u32; others.len() + 1];
        // Only edges with a non-action end exist; each is stored at its non-action ends.
        let ends = |edge: &Edge| [(edge.a, edge.b), (edge.b, edge.a)];
        for edge in graph.edges() {
            for (node, _) in ends(edge) {
                if let Some(n) = (node as usize).checked_sub(num_operators) {
                    starts[n + 1] += 1;
                }
            }
        }
        for n in 0..others.len() {
            starts[n + 1] += starts[n];
        }
        let mut next = starts.clone();
        let mut neighbours = vec![(0, 0); starts[others.len()] as usize];
        for edge in graph.edges() {
            for (node, other) in ends(edge) {
                if let Some(n) = (node as usize).checked_sub(num_operators) {
                    neighbours[next[n] as usize] = (other, numbers.edges[edge.colour as usize]);
                    next[n] += 1;
                }
            }
        }
        for n in 0..others.len() {
            neighbours[starts[n] as usize..starts[n + 1] as usize].sort_unstable();
        }

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
        Adjacency {
            starts,
            neighbours,
            colourings,
            nodes_of_variable,
            schema_of,
            schemas,
            num_operators,
        }
    }

    /// The number of operators of the task.
    pub(super) fn num_operators(&self) -> usize {
        self.num_operators
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        (self.starts.len() + self.schema_of.len()) * 4
            + self.neighbours.len() * 8
            + self.colourings.len() * 20
    }
}

/// One pattern's graph: nodes that the pattern keeps, then one node per class of operators.
#[derive(Clone, Debug)]
pub(super) struct PatternGraph {
    /// Nodes that are not operators; the class `c` is the node `num_others + c`.
    pub(super) num_others: usize,
    /// The neighbours of node `n` are `neighbours[starts[n]..starts[n+1]]`.
    pub(super) starts: Vec<u32>,
    /// (node, edge colour); of a class: ascending by node.
    pub(super) neighbours: Vec<(u32, u32)>,
    /// κ⁰ where no fact holds.
    pub(super) initial: Vec<Colour>,
    /// For each variable of the pattern and each of its values the nodes whose colour depends on
    /// it, and the colour where the fact holds.
    pub(super) by_fact: Vec<Vec<Vec<(u32, Colour)>>>,
    /// How many operators each class has.
    pub(super) class_size: Vec<u32>,
    /// The operators that have a neighbour, ascending, and their classes.
    touching: Vec<OpId>,
    touching_class: Vec<u32>,
    /// The class of the operators of each schema that have no neighbour (if there are any).
    isolated_class: Vec<u32>,
}

impl PatternGraph {
    /// Cuts out the pattern `vars`, whose variables have `domains` values.
    pub(super) fn new(
        adjacency: &Adjacency,
        vars: &[VarId],
        domains: &[usize],
        scratch: &mut ClassScratch,
    ) -> PatternGraph {
        let mut kept: Vec<u32> = Vec::new();
        for var in vars {
            kept.extend(&adjacency.nodes_of_variable[var.index()]);
        }
        kept.sort_unstable();
        kept.dedup();

        let classes = Classes::new(adjacency, &kept, scratch);
        let num_others = kept.len();
        let local: FxHashMap<u32, u32> =
            kept.iter().enumerate().map(|(i, &node)| (node, i as u32)).collect();

        // Edges between kept nodes that are no actions, then those of the classes, both ways.
        let mut edges: Vec<(u32, u32, u32)> = Vec::new();
        for (i, &node) in kept.iter().enumerate() {
            let range = adjacency.starts[node as usize]..adjacency.starts[node as usize + 1];
            for &(other, edge) in &adjacency.neighbours[range.start as usize..range.end as usize] {
                if let Some(other) = (other as usize).checked_sub(adjacency.num_operators)
                    && let Some(&other) = local.get(&(other as u32))
                {
                    edges.push((i as u32, other, edge));
                }
            }
        }
        for (c, neighbourhood) in classes.neighbourhoods.iter().enumerate() {
            let class = (num_others + c) as u32;
            for &(node, edge) in neighbourhood {
                edges.push((class, node, edge));
                edges.push((node, class, edge));
            }
        }
        edges.sort_unstable();
        let num_nodes = num_others + classes.sizes.len();
        let mut starts = vec![0; num_nodes + 1];
        for &(node, _, _) in &edges {
            starts[node as usize + 1] += 1;
        }
        for n in 0..num_nodes {
            starts[n + 1] += starts[n];
        }

        let mut by_fact: Vec<Vec<Vec<(u32, Colour)>>> =
            domains.iter().map(|&size| vec![Vec::new(); size]).collect();
        let mut initial = Vec::with_capacity(num_nodes);
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
        initial.extend(classes.schemas.iter().map(|&s| adjacency.schemas[s as usize].0));
        PatternGraph {
            num_others,
            starts,
            neighbours: edges.into_iter().map(|(_, other, edge)| (other, edge)).collect(),
            initial,
            by_fact,
            class_size: classes.sizes,
            touching: classes.touching,
            touching_class: classes.touching_class,
            isolated_class: classes.isolated_class,
        }
    }

    /// The number of nodes.
    pub(super) fn num_nodes(&self) -> usize {
        self.initial.len()
    }

    /// The number of classes of operators.
    pub(super) fn num_classes(&self) -> usize {
        self.class_size.len()
    }

    /// The neighbours of a node and the colours of the edges to them.
    #[inline]
    pub(super) fn neighbours(&self, node: usize) -> &[(u32, u32)] {
        &self.neighbours[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Whether a node is an operator or a neighbour of one.
    pub(super) fn is_in_hop_set(&self, node: usize) -> bool {
        // Neighbours ascend and operators come last.
        let is_class = |node: usize| node >= self.num_others;
        is_class(node) || self.neighbours(node).last().is_some_and(|&(u, _)| is_class(u as usize))
    }

    /// The classes of operators whose hop set has this node.
    #[inline]
    pub(super) fn classes_near(&self, node: usize) -> impl Iterator<Item = usize> {
        let own = node.checked_sub(self.num_others);
        let others = if own.is_some() { &[][..] } else { self.neighbours(node) };
        let others =
            others.iter().rev().map_while(|&(u, _)| (u as usize).checked_sub(self.num_others));
        own.into_iter().chain(others)
    }

    /// The class of an operator.
    #[inline]
    pub(super) fn class_of(&self, adjacency: &Adjacency, op: OpId) -> u32 {
        match self.touching.binary_search(&op) {
            Ok(i) => self.touching_class[i],
            Err(_) => self.isolated_class[adjacency.schema_of[op.index()] as usize],
        }
    }

    /// The operators with a neighbour and their classes.
    pub(super) fn touching(&self) -> impl Iterator<Item = (OpId, u32)> {
        self.touching.iter().copied().zip(self.touching_class.iter().copied())
    }

    /// The class of every operator, in order, appended to `out`.
    pub(super) fn classes(&self, adjacency: &Adjacency) -> impl Iterator<Item = u32> {
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
        self.neighbours.len() * 8
            + (self.starts.len() + self.initial.len() + self.class_size.len()) * 4
            + self.touching.len() * 8
            + self.by_fact.iter().flatten().map(|nodes| 24 + nodes.len() * 8).sum::<usize>()
    }
}

/// Buffers for [`PatternGraph::new`], one per task.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassScratch {
    /// The position in the trie of each operator; `u32::MAX` between calls.
    position: Vec<u32>,
}

/// Operators of a schema with the same masked neighbourhood.
struct Classes {
    /// The schema of each class.
    schemas: Vec<u32>,
    sizes: Vec<u32>,
    /// The (kept node, edge colour) pairs of each class, ascending.
    neighbourhoods: Vec<Vec<(u32, u32)>>,
    touching: Vec<OpId>,
    touching_class: Vec<u32>,
    isolated_class: Vec<u32>,
}

impl Classes {
    /// Sorts operators by neighbourhood with a trie: the root of a schema has no neighbour, a child
    /// has one (node, edge colour) more than its parent.
    fn new(adjacency: &Adjacency, kept: &[u32], scratch: &mut ClassScratch) -> Classes {
        const NOWHERE: u32 = u32::MAX;
        scratch.position.resize(adjacency.num_operators, NOWHERE);
        let position = &mut scratch.position;
        let num_schemas = adjacency.schemas.len();
        // (parent, node, edge colour) of each trie node; the first ones are the roots.
        let mut trie: Vec<(u32, u32, u32)> = (0..num_schemas as u32).map(|s| (s, 0, 0)).collect();
        let mut children: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
        let mut touching: Vec<OpId> = Vec::new();
        for (i, &node) in kept.iter().enumerate() {
            let range = adjacency.starts[node as usize]..adjacency.starts[node as usize + 1];
            for &(op, edge) in &adjacency.neighbours[range.start as usize..range.end as usize] {
                if op as usize >= adjacency.num_operators {
                    continue;
                }
                let at = &mut position[op as usize];
                if *at == NOWHERE {
                    touching.push(OpId(op));
                    *at = adjacency.schema_of[op as usize];
                }
                let step = (*at, i as u32, edge);
                *at = *children.entry(step).or_insert_with(|| {
                    trie.push(step);
                    trie.len() as u32 - 1
                });
            }
        }
        touching.sort_unstable();

        // Classes are the trie nodes where operators ended, and the roots where some remained.
        let mut remaining: Vec<u32> = adjacency.schemas.iter().map(|&(_, count)| count).collect();
        let mut class_at = vec![NOWHERE; trie.len()];
        let mut classes = Classes {
            schemas: Vec::new(),
            sizes: Vec::new(),
            neighbourhoods: Vec::new(),
            touching_class: Vec::with_capacity(touching.len()),
            touching,
            isolated_class: vec![NOWHERE; num_schemas],
        };
        for op in &classes.touching {
            let at = std::mem::replace(&mut position[op.index()], NOWHERE);
            let schema = adjacency.schema_of[op.index()];
            remaining[schema as usize] -= 1;
            let class = &mut class_at[at as usize];
            if *class == NOWHERE {
                *class = classes.sizes.len() as u32;
                classes.schemas.push(schema);
                classes.sizes.push(0);
                let mut path = Vec::new();
                let mut step = at;
                while step as usize >= num_schemas {
                    let (parent, node, edge) = trie[step as usize];
                    path.push((node, edge));
                    step = parent;
                }
                path.reverse();
                classes.neighbourhoods.push(path);
            }
            classes.sizes[*class as usize] += 1;
            classes.touching_class.push(*class);
        }
        for (schema, &count) in remaining.iter().enumerate() {
            if count > 0 {
                classes.isolated_class[schema] = classes.sizes.len() as u32;
                classes.schemas.push(schema as u32);
                classes.sizes.push(count);
                classes.neighbourhoods.push(Vec::new());
            }
        }
        classes
    }
}
