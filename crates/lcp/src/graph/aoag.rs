//! The action-object-atom graph (paper, section "Action-Object-Atom graph"), with all actions.
//!
//! N = C ∪ s ∪ G ∪ O.
//! E joins each atom p(x₁,…,xₙ) ∈ s ∪ G and each action a(x₁,…,xₙ) ∈ O to xᵢ, with colour i.
//! κ(c) = ob, κ(o) = sch(o), κ(p) = (ap | ag | ug, p) by whether the atom is in s and in G.
//! A pattern keeps the atoms its variables carry, the objects that occur in any of *their* atoms
//! (true or not, so that the mask does not depend on the state), and all actions.
//!
//! Readings: the paper's E ranges over s₀ ∪ G, which would leave the atoms of s unconnected; we
//! read s ∪ G. The lifted state holds positive atoms only, so a negated atom or "none of those"
//! is a node only where it is a goal, as the pseudo-predicate `not p`. Static atoms are absent.
//! Actions are seen through their arguments only, so effect conditions leave no trace; derived
//! variables have no nodes.

use planner::task::{FactMeaning, ObjectId, OpId, Task};

use super::{Colouring, EdgeColour, Entity, GraphBuilder, GraphKind, NodeColour, TaskGraph};

/// The AOAG of a task.
pub(super) fn define(task: &Task) -> TaskGraph {
    let mut graph = GraphBuilder::with_actions(task, GraphKind::Aoag);
    let ob = graph.node_colour(NodeColour::Object(Vec::new()));
    let objects: Vec<u32> = (0..task.objects.len())
        .map(|c| graph.node(Entity::Object(ObjectId::from(c)), Colouring::Fixed(ob), &[]))
        .collect();

    for (o, operator) in task.operators.iter().enumerate() {
        arguments(&mut graph, OpId::from(o).0, &operator.args, &objects);
    }
    for fact in graph.facts() {
        let (args, positive): (&[ObjectId], bool) =
            match &task.variable(fact.var).values[fact.value as usize] {
                FactMeaning::Atom(atom) => (&atom.args, true),
                FactMeaning::NegatedAtom(atom) => (&atom.args, false),
                FactMeaning::NoneOfThose => (&[], false),
            };
        for arg in args {
            graph.own(objects[arg.index()], fact.var);
        }
        let goal = graph.is_goal(fact);
        if !positive && !goal {
            continue;
        }
        let colouring = Colouring::ByFact {
            fact,
            holds: Some(graph.fact_colour(fact, true)),
            fails: goal.then(|| graph.fact_colour(fact, false)),
        };
        let p = graph.node(Entity::Value(fact), colouring, &[fact.var]);
        arguments(&mut graph, p, args, &objects);
    }
    graph.finish()
}

/// Joins an atom or action to its arguments.
fn arguments(graph: &mut GraphBuilder<'_>, node: u32, args: &[ObjectId], objects: &[u32]) {
    for (i, arg) in args.iter().enumerate() {
        let colour = graph.edge_colour(EdgeColour::Argument(i + 1));
        graph.edge(node, objects[arg.index()], colour);
    }
}
