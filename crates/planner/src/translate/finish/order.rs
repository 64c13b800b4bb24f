//! Order of the variables by the causal graph, and removal of irrelevant ones (Helmert 2006).
//!
//! Variables follow those they depend on. Within a strongly connected component the order is
//! greedy: next comes the variable with the least weight of arcs from variables that are not
//! placed yet, where the weight of an arc is the number of operators behind it and goal variables
//! weigh more.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use crate::task::VarId;

use crate::translate::encode::fdr::FdrTask;
use crate::translate::tarjan::strongly_connected_components;

/// Weight that arcs to goal variables have in addition, so that those come late.
const GOAL_WEIGHT: u64 = 100_000;

/// Sorts the variables and keeps those that the goal depends on.
pub(crate) fn order_variables(task: &mut FdrTask) {
    let graph = CausalGraph::new(task);
    let relevant = graph.relevant(task);
    let order: Vec<usize> = graph.order(task).into_iter().filter(|&v| relevant[v]).collect();
    let mut position: Vec<Option<VarId>> = vec![None; task.variables.len()];
    for (i, &var) in order.iter().enumerate() {
        position[var] = Some(VarId::from(i));
    }
    let rename = |fact: &mut crate::task::Fact| match position[fact.var.index()] {
        Some(var) => {
            fact.var = var;
            true
        }
        None => false,
    };
    let rename_all = |facts: &mut Vec<crate::task::Fact>| facts.retain_mut(rename);

    task.variables = order.iter().map(|&v| task.variables[v].clone()).collect();
    task.init = order.iter().map(|&v| task.init[v]).collect();
    rename_all(&mut task.goal);
    task.goal.sort_unstable();
    task.mutex_groups.iter_mut().for_each(rename_all);
    task.mutex_groups.retain(|group| group.iter().any(|fact| fact.var != group[0].var));
    task.operators.retain_mut(|operator| {
        operator.effects.retain_mut(|effect| {
            let mut condition = std::mem::take(&mut effect.condition).into_vec();
            rename_all(&mut condition);
            condition.sort_unstable();
            effect.condition = condition.into();
            rename(&mut effect.fact)
        });
        let mut pre = std::mem::take(&mut operator.pre).into_vec();
        rename_all(&mut pre);
        pre.sort_unstable();
        operator.pre = pre.into();
        !operator.effects.is_empty()
    });
    task.axioms.retain_mut(|axiom| {
        let mut condition = std::mem::take(&mut axiom.condition).into_vec();
        rename_all(&mut condition);
        condition.sort_unstable();
        axiom.condition = condition.into();
        rename(&mut axiom.head)
    });
}

/// Arcs from the variables of conditions to the variables of effects, with weights.
struct CausalGraph {
    /// For each variable its successors, sorted, with the weights of the arcs.
    successors: Vec<Vec<(usize, u64)>>,
}

impl CausalGraph {
    fn new(task: &FdrTask) -> CausalGraph {
        let mut weights: FxHashMap<(usize, usize), u64> = FxHashMap::default();
        for operator in &task.operators {
            for effect in &operator.effects {
                let target = effect.fact.var.index();
                for source in operator.pre.iter().chain(effect.condition.iter()) {
                    if source.var.index() != target {
                        *weights.entry((source.var.index(), target)).or_default() += 1;
                    }
                }
            }
        }
        for axiom in &task.axioms {
            for source in &axiom.condition {
                if source.var != axiom.head.var {
                    let arc = (source.var.index(), axiom.head.var.index());
                    *weights.entry(arc).or_default() += 1;
                }
            }
        }
        let mut successors = vec![Vec::new(); task.variables.len()];
        for ((source, target), weight) in weights {
            successors[source].push((target, weight));
        }
        successors.iter_mut().for_each(|targets: &mut Vec<_>| targets.sort_unstable());
        CausalGraph { successors }
    }

    /// The variables from which the graph leads to a goal variable.
    fn relevant(&self, task: &FdrTask) -> Vec<bool> {
        let mut predecessors = vec![Vec::new(); self.successors.len()];
        for (source, targets) in self.successors.iter().enumerate() {
            for &(target, _) in targets {
                predecessors[target].push(source);
            }
        }
        let mut relevant = vec![false; self.successors.len()];
        let mut stack: Vec<usize> = task.goal.iter().map(|fact| fact.var.index()).collect();
        while let Some(var) = stack.pop() {
            if !std::mem::replace(&mut relevant[var], true) {
                stack.extend(&predecessors[var]);
            }
        }
        relevant
    }

    fn order(&self, task: &FdrTask) -> Vec<usize> {
        let mut is_goal = vec![false; self.successors.len()];
        for fact in &task.goal {
            is_goal[fact.var.index()] = true;
        }
        let targets = |arcs: &Vec<(usize, u64)>| arcs.iter().map(|&(target, _)| target).collect();
        let components =
            strongly_connected_components(&self.successors.iter().map(targets).collect::<Vec<_>>());
        let mut component_of = vec![0; self.successors.len()];
        for (c, component) in components.iter().enumerate() {
            component.iter().for_each(|&var| component_of[var] = c);
        }
        let mut out = Vec::with_capacity(self.successors.len());
        for component in &components {
            let inside = |var: usize| -> Vec<(usize, u64)> {
                let mut arcs = Vec::new();
                for &(target, weight) in &self.successors[var] {
                    if component_of[target] == component_of[var] {
                        if is_goal[target] {
                            arcs.push((target, GOAL_WEIGHT + weight));
                        }
                        arcs.push((target, weight));
                    }
                }
                arcs
            };
            out.extend(acyclic_order(component, inside));
        }
        out
    }
}

/// An order of the nodes of a component in which little weight of arcs points backwards.
///
/// Ties: nodes with the same weight leave in the order in which they got it.
fn acyclic_order(
    component: &[usize],
    successors: impl Fn(usize) -> Vec<(usize, u64)>,
) -> Vec<usize> {
    if let [var] = component {
        return vec![*var];
    }
    let arcs: FxHashMap<usize, Vec<(usize, u64)>> =
        component.iter().map(|&var| (var, successors(var))).collect();
    let mut incoming: FxHashMap<usize, u64> = component.iter().map(|&var| (var, 0)).collect();
    for (target, weight) in component.iter().flat_map(|var| &arcs[var]) {
        *incoming.get_mut(target).expect("arcs stay in the component") += weight;
    }
    let mut queue: BTreeMap<u64, VecDeque<usize>> = BTreeMap::new();
    for &var in component {
        queue.entry(incoming[&var]).or_default().push_back(var);
    }
    let mut placed: FxHashMap<usize, bool> = FxHashMap::default();
    let mut out = Vec::with_capacity(component.len());
    while let Some(mut entry) = queue.first_entry() {
        let weight = *entry.key();
        let Some(var) = entry.get_mut().pop_front() else {
            entry.remove();
            continue;
        };
        // Entries of nodes that have been placed or have become lighter are out of date.
        if weight > incoming[&var] || placed.insert(var, true).is_some() {
            continue;
        }
        out.push(var);
        for &(target, weight) in &arcs[&var] {
            if !placed.contains_key(&target) {
                let left = incoming.get_mut(&target).expect("arcs stay in the component");
                // The extra weight of goal variables stays, so that they come late.
                let lifted = weight % GOAL_WEIGHT;
                if lifted > 0 {
                    *left -= lifted;
                    queue.entry(*left).or_default().push_back(target);
                }
            }
        }
    }
    out
}
