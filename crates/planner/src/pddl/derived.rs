//! Parser of the rules of derived predicates.

use crate::task::PredicateId;

use super::ast::{AtomSchema, Condition, DerivedRule, Effect, Parameter, TypeId};
use super::domain::declaration;
use super::error::{PddlError, did_you_mean};
use super::sexpr::{Node, NodeKind};
use super::symbols::{Scope, Symbols, count_arguments};

/// `(:derived (PREDICATE ?x …) CONDITION)`.
pub(super) fn derived_rule(
    symbols: &Symbols<'_>,
    section: &Node<'_>,
) -> Result<DerivedRule, PddlError> {
    let form = "`(:derived (PREDICATE ?x …) CONDITION)`";
    let Some([head, atom, condition]) = section.list() else {
        let span = section.list().map_or(section.span, |nodes| nodes[0].span);
        return Err(symbols.error(span, "a derived predicate has two parts").expected(form));
    };
    let (name, span, types) = declaration(symbols, atom, "derived predicate")?;
    let Some(predicate) = symbols.domain.predicate(name) else {
        let names = symbols.domain.predicates.iter().map(|p| p.name.as_str());
        return Err(symbols
            .error(span, format!("undeclared predicate `{name}`"))
            .expected("a predicate listed in `(:predicates …)`")
            .hint_if(did_you_mean(name, names)));
    };
    let declared = &symbols.domain.predicates[predicate.index()].parameters;
    if declared.len() != types.len() {
        return Err(symbols
            .error(span, format!("predicate `{name}` is given {}", count_arguments(types.len())))
            .expected(count_arguments(declared.len())));
    }
    let mut scope = Scope::default();
    // The head is a typed list behind the predicate's name.
    let variables = Node {
        span: atom.span,
        kind: NodeKind::List(atom.list().map_or(Vec::new(), |nodes| nodes[1..].to_vec())),
    };
    let mut parameters: Vec<Parameter> = symbols.parameters(&variables, &mut scope)?;
    for (parameter, types) in parameters.iter_mut().zip(declared) {
        // An untyped variable takes the type of the declaration.
        if parameter.types == [TypeId::OBJECT] {
            parameter.types.clone_from(types);
        }
    }
    scope.open(&parameters);
    let condition = symbols.condition(condition, &mut scope)?;
    let num_variables = scope.num_variables();
    Ok(DerivedRule { predicate, parameters, num_variables, condition, span: head.span })
}

/// Derived predicates change by their rules only.
pub(super) fn check_effects(
    symbols: &Symbols<'_>,
    effect: &Effect,
    derived: &[DerivedRule],
) -> Result<(), PddlError> {
    match effect {
        Effect::And(parts) => {
            parts.iter().try_for_each(|part| check_effects(symbols, part, derived))
        }
        Effect::Forall(_, body, _) | Effect::When(_, body, _) => {
            check_effects(symbols, body, derived)
        }
        Effect::Add(atom) | Effect::Delete(atom) => {
            let is_derived = |p: PredicateId| derived.iter().any(|rule| rule.predicate == p);
            if is_derived(atom.predicate) {
                let name = &symbols.domain.predicates[atom.predicate.index()].name;
                let message = format!("an action cannot change the derived predicate `{name}`");
                return Err(symbols.error(atom.span, message));
            }
            Ok(())
        }
        Effect::Increase(_) => Ok(()),
    }
}

/// No derived predicate may depend on its own negation (PDDL 2.2: the rules are stratified).
pub(super) fn check_strata(
    symbols: &Symbols<'_>,
    derived: &[DerivedRule],
) -> Result<(), PddlError> {
    let mut level: Vec<Option<usize>> = vec![None; symbols.domain.predicates.len()];
    derived.iter().for_each(|rule| level[rule.predicate.index()] = Some(0));
    // Levels rise until each is above those of negated conditions; on a cycle they never stop.
    let mut changed = true;
    while changed {
        changed = false;
        for rule in derived {
            let mut needed = 0;
            for_each_atom(&rule.condition, true, &mut |atom, sign| {
                if let Some(below) = level[atom.predicate.index()] {
                    needed = needed.max(below + usize::from(!sign));
                }
            });
            if needed > derived.len() {
                let name = &symbols.domain.predicates[rule.predicate.index()].name;
                let message = format!("derived predicate `{name}` depends on its own negation");
                return Err(symbols.error(rule.span, message));
            }
            let own = &mut level[rule.predicate.index()];
            changed |= *own < Some(needed);
            *own = (*own).max(Some(needed));
        }
    }
    Ok(())
}

/// Visits the atoms of a condition, each with whether it counts positively.
fn for_each_atom(condition: &Condition, sign: bool, visit: &mut dyn FnMut(&AtomSchema, bool)) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().for_each(|part| for_each_atom(part, sign, visit));
        }
        Condition::Not(part) => for_each_atom(part, !sign, visit),
        Condition::Forall(_, part, _) | Condition::Exists(_, part, _) => {
            for_each_atom(part, sign, visit);
        }
        Condition::Atom(atom) => visit(atom, sign),
        Condition::Equal(..) => {}
    }
}
