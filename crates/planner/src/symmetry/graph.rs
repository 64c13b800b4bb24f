//! The description graph of a task: variables, facts, operators, conditional effects and axioms.
//!
//! Edges join a variable and its facts; an operator and its preconditions, its effects and its
//! conditional effects; a conditional effect or an axiom and its conditions and its effect.
//! An edge to an effect is of another kind than one to a condition.

use crate::csr::Csr;
use crate::task::{Fact, FactNumbers, Task, VarId};
use crate::work::Work;

/// The work of following an edge.
pub(super) const EDGE: Work = 5;

/// A graph with coloured vertices and two kinds of edges; facts are the first vertices.
pub(super) struct Graph {
    pub(super) numbers: FactNumbers,
    /// By number, the facts.
    pub(super) facts: Vec<Fact>,
    /// By vertex: twice each neighbour, plus 1 if one of the two is an effect of the other.
    neighbours: Csr<u32>,
    /// The vertices of each colour.
    pub(super) classes: Vec<Vec<u32>>,
    /// The first vertex that is an operator, and the first behind the operators.
    operators: (u32, u32),
}

/// What no automorphism changes of a vertex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Colour {
    Fact { goal: bool, default: bool },
    Variable { size: usize, layer: Option<u32> },
    Operator { cost: u64 },
    ConditionalEffect,
    Axiom,
}

impl Graph {
    /// Describes a task. Cost linear in its size.
    pub(super) fn new(task: &Task) -> Graph {
        let numbers = FactNumbers::new(task);
        let facts: Vec<Fact> = numbers.facts().collect();
        let mut colours: Vec<Colour> = facts
            .iter()
            .map(|fact| Colour::Fact {
                goal: task.goal.contains(fact),
                default: task.variable(fact.var).derived.is_some_and(|d| d.default == fact.value),
            })
            .collect();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let number = |fact: &Fact| numbers.of(*fact) as u32;
        for (v, variable) in task.variables.iter().enumerate() {
            let vertex = colours.len() as u32;
            let layer = variable.derived.map(|derivation| derivation.layer);
            colours.push(Colour::Variable { size: variable.domain_size(), layer });
            edges.extend(numbers.range(VarId::from(v)).map(|fact| (vertex, fact as u32 * 2)));
        }
        let first_operator = colours.len() as u32;
        for operator in &task.operators {
            let vertex = colours.len() as u32;
            colours.push(Colour::Operator { cost: operator.cost });
            edges.extend(operator.pre.iter().map(|fact| (vertex, number(fact) * 2)));
            edges.extend(operator.eff.iter().map(|fact| (vertex, number(fact) * 2 + 1)));
        }
        let behind_operators = colours.len() as u32;
        for (operator, o) in task.operators.iter().zip(first_operator..) {
            for effect in &operator.conditional {
                let vertex = colours.len() as u32;
                colours.push(Colour::ConditionalEffect);
                edges.push((vertex, o * 2));
                edges.extend(effect.condition.iter().map(|fact| (vertex, number(fact) * 2)));
                edges.push((vertex, number(&effect.fact) * 2 + 1));
            }
        }
        for axiom in &task.axioms {
            let vertex = colours.len() as u32;
            colours.push(Colour::Axiom);
            edges.extend(axiom.condition.iter().map(|fact| (vertex, number(fact) * 2)));
            edges.push((vertex, number(&axiom.head) * 2 + 1));
        }
        let there = edges.iter().map(|&(vertex, next)| (vertex as usize, next));
        let back = edges.iter().map(|&(vertex, next)| {
            let (next, kind) = (next / 2, next % 2);
            (next as usize, vertex * 2 + kind)
        });
        let neighbours = Csr::sorted(colours.len(), there.chain(back));
        let mut by_colour: Vec<u32> = (0..colours.len() as u32).collect();
        by_colour.sort_by_key(|&vertex| colours[vertex as usize]);
        let same = |a: &u32, b: &u32| colours[*a as usize] == colours[*b as usize];
        let classes = by_colour.chunk_by(same).map(<[u32]>::to_vec).collect();
        let operators = (first_operator, behind_operators);
        Graph { numbers, facts, neighbours, classes, operators }
    }

    /// How many vertices there are.
    pub(super) fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// The edges of a vertex.
    #[inline]
    pub(super) fn neighbours(&self, vertex: u32) -> &[u32] {
        self.neighbours.row(vertex as usize)
    }

    /// The operators that have a fact among their preconditions or unconditional effects.
    pub(super) fn operators_of(&self, fact: usize) -> impl Iterator<Item = usize> {
        let (first, behind) = self.operators;
        let vertices = self.neighbours.row(fact).iter().map(|next| next / 2);
        let operators = vertices.filter(move |vertex| (first..behind).contains(vertex));
        operators.map(move |vertex| (vertex - first) as usize)
    }
}
