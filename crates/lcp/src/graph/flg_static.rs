//! The FLG with static atoms: what the paper names as missing on logistics and miconic.
//!
//! N = V ∪ D_Π ∪ O ∪ C, the objects as in the AOAG but with their static surroundings:
//! - κ(c) = (ob, { r | r(c) is a static atom }): types and unary static predicates.
//! - the value d of v that stands for p(x₁,…,xₙ) or its negation is joined to each xᵢ with colour i,
//!   and to each object y of a static atom r(…,xᵢ,…,y,…) with a colour that names r, the positions
//!   of xᵢ and y in r, and i; but not if y occurs in a value of v itself.
//!
//! Two values whose objects are related to one object (two locations of a city), or of which one's
//! object is related to the other's (a passenger and the destination) are thus two steps apart,
//! so L=2 sees whether the goal or the current value is there.
//! Relations among the objects of one variable (roads, neighbouring cells, floors above others) are
//! left out because the variable's own operators show them at the same distance, and because
//! dense ones multiply colours (`experiments/engineering.md`).
//! Actions are joined to values only, as in the FLG: an action that does not touch the pattern stays
//! isolated, and hop sets are those of the FLG.
//! A pattern keeps an object iff a value of one of its variables is joined to it.
//!
//! Static relations of three and more arguments are seen through their pairs.
//! Tasks read from `.sas` hold no static atoms; their objects are coloured `ob` and related by
//! arguments only.

use planner::task::{Atom, FactMeaning, ObjectId, Task, VarId};
use rustc_hash::FxHashSet;

use super::{Colouring, EdgeColour, Entity, GraphKind, NodeColour, TaskGraph, flg};

/// The FLG with static atoms of a task.
pub(super) fn define(task: &Task) -> TaskGraph {
    let (mut graph, value_nodes) = flg::values(task, GraphKind::FlgStatic);
    let surroundings = Surroundings::new(task);
    let objects: Vec<u32> = (0..task.objects.len())
        .map(|c| {
            let colour = graph.node_colour(NodeColour::Object(surroundings.unary[c].clone()));
            graph.node(Entity::Object(ObjectId::from(c)), Colouring::Fixed(colour), &[])
        })
        .collect();

    for (v, variable) in task.variables.iter().enumerate() {
        let own: FxHashSet<ObjectId> =
            variable.values.iter().flat_map(arguments).copied().collect();
        for (meaning, &d) in variable.values.iter().zip(&value_nodes[v]) {
            for (i, x) in arguments(meaning).iter().enumerate() {
                let argument = i + 1;
                let colour = graph.edge_colour(EdgeColour::Argument(argument));
                graph.edge(d, objects[x.index()], colour);
                graph.own(objects[x.index()], VarId::from(v));
                for relation in &surroundings.related[x.index()] {
                    let Relation { atom, from, to } = *relation;
                    if own.contains(&atom.args[to]) {
                        continue;
                    }
                    let colour = graph.edge_colour(EdgeColour::Static {
                        predicate: task.predicates[atom.predicate.index()].name.clone(),
                        from: from + 1,
                        to: to + 1,
                        argument,
                    });
                    let y = objects[atom.args[to].index()];
                    graph.edge(d, y, colour);
                    graph.own(y, VarId::from(v));
                }
            }
        }
    }
    graph.finish()
}

/// The arguments of the atom that a value stands for.
fn arguments(meaning: &FactMeaning) -> &[ObjectId] {
    match meaning {
        FactMeaning::Atom(atom) | FactMeaning::NegatedAtom(atom) => &atom.args,
        FactMeaning::NoneOfThose => &[],
    }
}

/// The static atoms, by the objects that occur in them.
struct Surroundings<'a> {
    /// The names of the unary static atoms of each object, sorted.
    unary: Vec<Vec<String>>,
    /// For each object its occurrences in atoms with further arguments.
    related: Vec<Vec<Relation<'a>>>,
}

/// Argument `from` of a static atom, seen together with its argument `to`.
#[derive(Clone, Copy)]
struct Relation<'a> {
    atom: &'a Atom,
    from: usize,
    to: usize,
}

impl<'a> Surroundings<'a> {
    fn new(task: &'a Task) -> Surroundings<'a> {
        let mut unary = vec![Vec::new(); task.objects.len()];
        let mut related = vec![Vec::new(); task.objects.len()];
        for atom in &task.static_atoms {
            if let [x] = *atom.args {
                unary[x.index()].push(task.predicates[atom.predicate.index()].name.clone());
            }
            for (from, x) in atom.args.iter().enumerate() {
                let others = (0..atom.args.len()).filter(|&to| to != from);
                related[x.index()].extend(others.map(|to| Relation { atom, from, to }));
            }
        }
        for names in &mut unary {
            names.sort_unstable();
            names.dedup();
        }
        Surroundings { unary, related }
    }
}
