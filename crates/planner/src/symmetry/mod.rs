//! Symmetries: permutations of facts that map a task onto itself.
//!
//! [`symmetries`] computes generators of the automorphism group of the task's description graph
//! (Pochter, Zohar, Rosenschein 2011; Shleyfman, Katz, Helmert, Sievers, Wehrle 2015).
//! An automorphism σ permutes variables and their values; it maps operators to operators of the
//! same cost, axioms to axioms of the same layer, default values to default values, and the goal
//! onto itself.
//! The initial state is not fixed.
//! So σ maps plans from a state s to plans from σ(s) of the same cost: h*(σ(s)) = h*(s) for every
//! assignment s, whether it can be reached or not.
//!
//! `graph.rs` describes the task as a graph, `partition.rs` refines colours, `automorphisms.rs`
//! finds candidates, and `generator.rs` checks each of them on the task itself.
//! What the first three do wrong costs generators; it cannot make one wrong.
//!
//! Conditional effects are vertices of their own; where several effects of an operator change one
//! variable, σ has to keep their order, because the last one that happens counts.
//! Axioms are vertices, too: an automorphism commutes with their evaluation, because it keeps
//! layers and defaults.
//!
//! Cost: a few passes over the graph for each generator that is found or tried in vain; all of it
//! spends from a budget, and [`Symmetries::complete`] says whether that was enough.

mod automorphisms;
mod generator;
mod graph;
mod partition;

pub use generator::{Generator, Move, OperatorIndex};

use crate::task::Task;
use crate::work::{Budget, Work};
use graph::Graph;

/// Generators of a group of automorphisms of a task.
#[derive(Clone, Debug, Default)]
pub struct Symmetries {
    /// The generators, ordered by the first variable that they move.
    pub generators: Vec<Generator>,
    /// Whether the search for them came to its end: they generate all automorphisms then, up to
    /// those that the order of conditional effects excludes.
    pub complete: bool,
}

/// How large the description of a task is: edges and facts.
fn size(task: &Task) -> usize {
    let effects = |o: &crate::task::Operator| {
        o.conditional.iter().map(|effect| effect.condition.len() + 2).sum::<usize>()
    };
    let of_operator = |o: &crate::task::Operator| o.pre.len() + o.eff.len() + effects(o) + 1;
    let edges: usize = task.operators.iter().map(of_operator).sum();
    let facts: usize = task.variables.iter().map(|variable| variable.domain_size()).sum();
    edges + facts
}

/// What it takes at least to look for the symmetries of a task.
pub fn least_work(task: &Task) -> Work {
    size(task) as Work * graph::EDGE
}

/// About how many bytes that takes.
pub fn bytes(task: &Task) -> usize {
    const BYTES_OF_AN_EDGE: usize = 32;
    size(task) * BYTES_OF_AN_EDGE
}

/// Computes generators of the automorphism group of a task, or of a subgroup if the budget is spent
/// before.
pub fn symmetries(task: &Task, budget: &mut Budget) -> Symmetries {
    if budget.left() < least_work(task) {
        return Symmetries::default();
    }
    let graph = Graph::new(task);
    budget.spend(least_work(task));
    let (mut generators, complete) = automorphisms::generators(task, &graph, budget);
    generators.sort_by_key(|generator| generator.moves()[0].from);
    let inverses: Vec<Generator> = generators.iter().filter_map(Generator::other_inverse).collect();
    generators.extend(inverses);
    Symmetries { generators, complete }
}
