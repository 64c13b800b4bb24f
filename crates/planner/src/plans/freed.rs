//! Freed variables: a few variables of a plan are planned anew, optimally, around the rest of it.
//!
//! Operators that change freed variables only are taken out; the others, the skeleton, keep their
//! order.
//! An operator counts as one that changes freed variables only also where its effects on others are
//! void: a robot may cross a place that it has painted before.
//! What is left is a shortest path over pairs (position in the skeleton, values of the freed
//! variables): at each position all operators that change freed variables only may be used, and the
//! next operator of the skeleton, once the freed variables have the values that it needs.
//! The values of all other variables at a position are known.
//! So the path found is the cheapest plan with this skeleton; it may be another plan of the same cost.
//!
//! Conditional effects are left alone where they would let freed variables change others, and tasks
//! with axioms altogether.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::relaxation::NONE;
use super::space::Space;
use crate::csr::Csr;
use crate::search::{OpenList, StateId};
use crate::task::{Cost, Fact, OpId, Operator, Task, Value, VarId};
use crate::work::Work;

/// What a node of the shortest-path problem takes.
const NODE: Work = 250;

/// A position in the skeleton and the values of the freed variables.
type Place = (u32, SmallVec<[Value; 6]>);

struct Node {
    place: Place,
    g: Cost,
    parent: u32,
    op: OpId,
    is_closed: bool,
}

/// An operator that changes freed variables only, at least where its other effects are void.
struct Own<'t> {
    op: OpId,
    operator: &'t Operator,
    /// What it needs of freed variables, by their place among these.
    pre: SmallVec<[(usize, Value); 4]>,
    /// Its effects on other variables, which have to be void.
    others: SmallVec<[Fact; 2]>,
}

/// By variable: the operators that may change it, each once.
pub(super) fn operators_by_variable(task: &Task) -> Csr<OpId> {
    let mut pairs: Vec<(usize, OpId)> = Vec::new();
    for op in task.operator_ids() {
        let start = pairs.len();
        for var in task.operator(op).affected() {
            if !pairs[start..].iter().any(|&(known, _)| known == var.index()) {
                pairs.push((var.index(), op));
            }
        }
    }
    Csr::sorted(task.variables.len(), pairs.into_iter())
}

/// The cheapest plan with the same skeleton, if it is found within so many nodes and costs no more.
pub(super) fn free(
    space: &mut Space<'_>,
    plan: &[OpId],
    freed: &[VarId],
    changing: &Csr<OpId>,
    max_nodes: usize,
    rng: &mut Xoshiro256PlusPlus,
    work: &mut Work,
) -> Option<Vec<OpId>> {
    let task = space.task;
    let place_of = |var: VarId| freed.iter().position(|&other| other == var);
    let others_of = |op: OpId| effects_on_others(task.operator(op), place_of);
    // What a plan's operators do to others is looked up where that may be nothing.
    let may_be_void = plan.iter().any(|&op| others_of(op).is_some_and(|eff| !eff.is_empty()));
    let states = may_be_void.then(|| space.trajectory(plan));
    *work += 20 * plan.len() as Work;
    if may_be_void {
        *work += (plan.len() * (task.variables.len() / 4 + 10)) as Work;
    }
    let is_void = |i: usize, fact: &Fact| {
        states.as_ref().is_some_and(|states| states.state(i)[fact.var.index()] == fact.value)
    };
    let (mut own_part, mut skeleton) = (Vec::new(), Vec::new());
    for (i, &op) in plan.iter().enumerate() {
        let is_own = others_of(op).is_some_and(|eff| eff.iter().all(|fact| is_void(i, fact)));
        if is_own { own_part.push(op) } else { skeleton.push(op) }
    }
    if own_part.is_empty() || skeleton.iter().any(|&op| is_entangled(task.operator(op), place_of)) {
        return None;
    }
    let most: Cost = own_part.iter().map(|&op| task.operator(op).cost).sum();
    // The freed variables have no meaning there.
    let others = space.trajectory(&skeleton);
    *work += (skeleton.len() * (task.variables.len() / 4 + 10)) as Work;

    let mut own: Vec<OpId> = freed
        .iter()
        .flat_map(|var| changing.row(var.index()))
        .copied()
        .filter(|&op| others_of(op).is_some())
        .collect();
    own.sort_unstable();
    own.dedup();
    // Ties are broken at random, so that plans of the same cost are found, too.
    own.shuffle(rng);
    *work += 30 * own.len() as Work;
    let own: Vec<Own<'_>> = own
        .iter()
        .map(|&op| {
            let operator = task.operator(op);
            let pre = operator.pre.iter();
            let pre = pre.filter_map(|fact| Some((place_of(fact.var)?, fact.value))).collect();
            Own { op, operator, pre, others: others_of(op).unwrap_or_default() }
        })
        .collect();
    // By the first value that an operator needs of a freed variable.
    let mut by_value: FxHashMap<(usize, Value), Vec<u32>> = FxHashMap::default();
    let mut by_none = Vec::new();
    for (i, own) in own.iter().enumerate() {
        match own.pre.first() {
            Some(&first) => by_value.entry(first).or_default().push(i as u32),
            None => by_none.push(i as u32),
        }
    }

    let first: Place = (0, freed.iter().map(|var| task.initial[var.index()]).collect());
    let mut known: FxHashMap<Place, u32> = FxHashMap::default();
    known.insert(first.clone(), 0);
    let no_op = OpId(NONE);
    let mut nodes = vec![Node { place: first, g: 0, parent: NONE, op: no_op, is_closed: false }];
    let mut open = OpenList::new();
    open.push(0, 0, StateId(0));
    let end = skeleton.len() as u32;
    while let Some((g, _, id)) = open.pop() {
        let node = &mut nodes[id.0 as usize];
        if node.is_closed || g > node.g {
            continue;
        }
        node.is_closed = true;
        *work += NODE;
        let (position, values) = node.place.clone();
        let has = |fact: &Fact| place_of(fact.var).is_none_or(|place| values[place] == fact.value);
        if position == end && task.goal.iter().all(has) {
            return Some(path_to(&nodes, id.0));
        }
        if nodes.len() > max_nodes {
            return None;
        }
        let others = others.state(position as usize);
        let value = |var: VarId| place_of(var).map_or(others[var.index()], |place| values[place]);
        let after = |operator: &Operator| {
            let mut after = values.clone();
            let mut set = |fact: &Fact| {
                if let Some(place) = place_of(fact.var) {
                    after[place] = fact.value;
                }
            };
            operator.eff.iter().for_each(&mut set);
            for effect in &operator.conditional {
                if effect.condition.iter().all(|fact| value(fact.var) == fact.value) {
                    set(&effect.fact);
                }
            }
            after
        };
        let mut reach = |place: Place, g: Cost, op: OpId| {
            if g > most {
                return;
            }
            let next = nodes.len() as u32;
            let i = *known.entry(place.clone()).or_insert(next);
            // Later positions first among equals.
            let left = u64::from(end - place.0);
            if i == next {
                nodes.push(Node { place, g, parent: id.0, op, is_closed: false });
            } else if g < nodes[i as usize].g {
                let node = &mut nodes[i as usize];
                (node.g, node.parent, node.op) = (g, id.0, op);
            } else {
                return;
            }
            open.push(g, left, StateId(i));
        };
        if position < end {
            let op = skeleton[position as usize];
            let operator = task.operator(op);
            if operator.pre.iter().all(has) {
                reach((position + 1, after(operator)), g, op);
            }
        }
        let by_value = values.iter().enumerate().filter_map(|at| by_value.get(&(at.0, *at.1)));
        for &i in by_value.flatten().chain(&by_none) {
            let own = &own[i as usize];
            *work += 4;
            if own.pre.iter().all(|&(place, value)| values[place] == value)
                && own.operator.pre.iter().all(|fact| value(fact.var) == fact.value)
                && own.others.iter().all(|fact| value(fact.var) == fact.value)
            {
                reach((position, after(own.operator)), g.saturating_add(own.operator.cost), own.op);
            }
        }
    }
    None
}

/// The effects of an operator on variables that are not freed, if all of them can be void; none if it
/// always changes such a variable, or may change one under a condition.
fn effects_on_others(
    operator: &Operator,
    place_of: impl Fn(VarId) -> Option<usize>,
) -> Option<SmallVec<[Fact; 2]>> {
    let is_other = |var: VarId| place_of(var).is_none();
    if operator.conditional.iter().any(|effect| is_other(effect.fact.var)) {
        return None;
    }
    let others = || operator.eff.iter().filter(|fact| is_other(fact.var));
    let is_change =
        |fact: &Fact| operator.pre.iter().any(|pre| pre.var == fact.var && pre.value != fact.value);
    (!others().any(is_change)).then(|| others().copied().collect())
}

/// Whether a conditional effect lets freed variables change another one.
fn is_entangled(operator: &Operator, place_of: impl Fn(VarId) -> Option<usize>) -> bool {
    operator.conditional.iter().any(|effect| {
        place_of(effect.fact.var).is_none()
            && effect.condition.iter().any(|fact| place_of(fact.var).is_some())
    })
}

fn path_to(nodes: &[Node], id: u32) -> Vec<OpId> {
    let mut path = Vec::new();
    let mut node = &nodes[id as usize];
    while node.parent != NONE {
        path.push(node.op);
        node = &nodes[node.parent as usize];
    }
    path.reverse();
    path
}
