//! Encoding of the axioms that the task needs: those of derived facts in conditions of operators,
//! in the goal, and in conditions of needed axioms.
//!
//! Layers are the lowest possible: above those of negated facts, not below those of others.

use rustc_hash::FxHashMap;

use crate::pddl::{Domain, PddlError};
use crate::task::{Axiom, Fact, VarId};

use crate::translate::encode::Encoder;
use crate::translate::encode::fdr::FdrTask;
use crate::translate::invariants::groups::FactId;
use crate::translate::normalize::lifted::LiftedTask;
use crate::translate::tarjan::strongly_connected_components;
use crate::translate::{Poll, TranslateError};

/// Adds the axioms, and the layers of derived variables, to a task.
pub(crate) fn encode_axioms(
    task: &mut FdrTask,
    encoder: &mut Encoder<'_>,
    lifted: &LiftedTask,
    domain: &Domain,
    poll: &Poll<'_>,
) -> Result<(), TranslateError> {
    if encoder.derived.is_empty() {
        return Ok(());
    }
    let mut derived_vars: FxHashMap<VarId, FactId> = FxHashMap::default();
    for (v, variable) in task.variables.iter().enumerate() {
        if let Some(&fact) =
            variable.values.iter().flatten().find(|f| encoder.derived.contains(**f))
        {
            derived_vars.insert(VarId::from(v), fact);
        }
    }
    let effects = task.operators.iter().flat_map(|o| &o.effects);
    let conditions = task.operators.iter().map(|o| &o.pre).chain(effects.map(|e| &e.condition));
    // The needed derived variables, each once, in the order in which they are found.
    let mut needed: Vec<VarId> = Vec::new();
    let mut position: FxHashMap<VarId, usize> = FxHashMap::default();
    let mut need = |fact: Fact, needed: &mut Vec<VarId>| {
        if derived_vars.contains_key(&fact.var) && !position.contains_key(&fact.var) {
            position.insert(fact.var, needed.len());
            needed.push(fact.var);
        }
    };
    conditions.flatten().chain(&task.goal).for_each(|&fact| need(fact, &mut needed));

    let mut next = 0;
    while let Some(&var) = needed.get(next) {
        next += 1;
        let fact = derived_vars[&var];
        let head = encoder.encoding.fact(fact).expect("a derived fact is a value");
        for body in encoder.derived.rules(fact) {
            poll.tick()?;
            let Some(body) = encoder.replace_derived(body.clone()) else { continue };
            for condition in encoder.conditions(&body) {
                condition.iter().for_each(|&fact| need(fact, &mut needed));
                if !condition.contains(&head) {
                    task.axioms.push(Axiom { head, condition: condition.into_vec().into() });
                }
            }
        }
    }
    task.axioms.sort_unstable();
    task.axioms.dedup();

    let layers = layers(task, &needed, &position).map_err(|var| {
        let predicate = derived_vars[&var].predicate;
        let axiom = lifted.axioms.iter().find(|axiom| axiom.head.predicate == predicate);
        let span = axiom.map_or_else(Default::default, |axiom| axiom.span);
        let construct = "recursion through a universally quantified condition is";
        PddlError::unsupported(&domain.source, span, construct)
    })?;
    for (&var, layer) in needed.iter().zip(layers) {
        task.variables[var.index()].layer = Some(layer);
    }
    Ok(())
}

/// The layer of each needed variable, or one that depends on its own negation.
fn layers(
    task: &FdrTask,
    needed: &[VarId],
    position: &FxHashMap<VarId, usize>,
) -> Result<Vec<u32>, VarId> {
    let mut dependencies = vec![Vec::new(); needed.len()];
    for axiom in &task.axioms {
        let head = position[&axiom.head.var];
        for fact in &axiom.condition {
            if let Some(&dependency) = position.get(&fact.var) {
                let negated = fact.value == task.init[fact.var.index()];
                dependencies[head].push((dependency, negated));
            }
        }
    }
    let successors: Vec<Vec<usize>> =
        dependencies.iter().map(|d| d.iter().map(|&(i, _)| i).collect()).collect();
    let components = strongly_connected_components(&successors);
    let mut component_of = vec![0; needed.len()];
    for (c, component) in components.iter().enumerate() {
        component.iter().for_each(|&i| component_of[i] = c);
    }
    let mut layers = vec![0u32; needed.len()];
    for (c, component) in components.iter().enumerate().rev() {
        let mut layer = 0;
        for &i in component {
            for &(dependency, negated) in &dependencies[i] {
                if component_of[dependency] != c {
                    layer = layer.max(layers[dependency] + u32::from(negated));
                } else if negated {
                    return Err(needed[i]);
                }
            }
        }
        component.iter().for_each(|&i| layers[i] = layer);
    }
    Ok(layers)
}
