//! From the internal task to the public [`Task`].

use rustc_hash::FxHashMap;

use crate::pddl::{Domain, PddlError, Problem};
use crate::task::{
    Atom, Fact, FactMeaning, ObjectId, Operator, PredicateId, Symbol, Task, VarId, Variable,
};

use super::TranslateError;
use super::fdr::{FdrOperator, FdrTask};
use super::ground::Reachable;
use super::groups::{FactId, NameOrder};
use super::join::ground_args;
use super::lifted::LiftedTask;

/// A task with one variable, whose goal holds initially or never.
pub(super) fn trivial_task(domain: &Domain, problem: &Problem, solvable: bool) -> Task {
    let mut task = lifted_names(domain, problem);
    let first = task.objects.len();
    task.objects.extend(["val1".to_string(), "val2".to_string()]);
    let predicate = PredicateId::from(task.predicates.len());
    task.predicates.push(Symbol { name: "dummy".to_string(), arity: 1 });
    let value = |i: usize| {
        FactMeaning::Atom(Atom { predicate, args: Box::new([ObjectId::from(first + i)]) })
    };
    task.variables = vec![Variable { name: "var0".to_string(), values: vec![value(0), value(1)] }];
    task.initial = vec![0];
    task.goal = vec![Fact::new(VarId(0), u32::from(!solvable))];
    task.uses_metric = true;
    task
}

/// A task that holds nothing but names and the static atoms of the problem.
fn lifted_names(domain: &Domain, problem: &Problem) -> Task {
    let symbol = |name: &String, arity: usize| Symbol { name: name.clone(), arity };
    Task {
        objects: problem.objects.iter().map(|o| o.name.clone()).collect(),
        predicates: domain.predicates.iter().map(|p| symbol(&p.name, p.parameters.len())).collect(),
        schemas: domain.actions.iter().map(|a| symbol(&a.name, a.parameters.len())).collect(),
        uses_metric: problem.minimize_total_cost,
        ..Task::default()
    }
}

/// The first axiom that derives each derived fact.
pub(super) fn axioms_by_fact(
    lifted: &LiftedTask,
    reachable: &Reachable,
) -> FxHashMap<FactId, usize> {
    let mut out = FxHashMap::default();
    for (a, axiom) in lifted.axioms.iter().enumerate() {
        let mut binding = vec![ObjectId(u32::MAX); axiom.num_variables];
        for args in reachable.axiom_instances[a].iter() {
            for (variable, &object) in axiom.variables.iter().zip(args) {
                binding[variable.id.index()] = object;
            }
            let predicate = axiom.head.predicate;
            let args = ground_args(&axiom.head.args, &binding);
            if let Some(row) = reachable.relations[predicate.index()].find(&args) {
                out.entry(FactId { predicate, row }).or_insert(a);
            }
        }
    }
    out
}

/// Sorts the operators by name, and operators with one name by conditions and effects.
pub(super) fn sort_operators(task: &mut FdrTask, lifted: &LiftedTask, names: &NameOrder) {
    let rank = |o: &FdrOperator| names.schema(lifted.schemas[o.schema as usize].action);
    task.operators.sort_by(|a, b| {
        let by_name =
            rank(a).cmp(&rank(b)).then_with(|| names.args(&a.args).cmp(names.args(&b.args)));
        by_name.then_with(|| {
            let prevail = |o: &FdrOperator| -> Vec<Fact> {
                let changed = |f: &&Fact| o.effects.iter().all(|e| e.fact.var != f.var);
                o.pre.iter().filter(changed).copied().collect()
            };
            let effects = |o: &FdrOperator| {
                let mut out: Vec<_> = o
                    .effects
                    .iter()
                    .map(|e| (e.fact.var, o.pre_on(e.fact.var), e.fact.value, e.condition.clone()))
                    .collect();
                out.sort_unstable();
                out
            };
            prevail(a).cmp(&prevail(b)).then_with(|| effects(a).cmp(&effects(b)))
        })
    });
}

/// Refuses what the task type cannot hold and converts the rest.
pub(super) fn finish(
    fdr: FdrTask,
    domain: &Domain,
    problem: &Problem,
    lifted: &LiftedTask,
    reachable: &Reachable,
    constant: Vec<FactId>,
) -> Result<Task, TranslateError> {
    if let Some(axiom) = fdr.variables.iter().find_map(|variable| variable.axiom) {
        let origin = lifted.axioms[axiom].origin;
        let source = if origin.in_problem { &problem.source } else { &domain.source };
        let error = PddlError::unsupported(source, origin.span, origin.construct)
            .hint("it would need axioms, which this planner does not have");
        return Err(error.into());
    }
    let conditional = fdr.operators.iter().flat_map(|o| &o.effects);
    if let Some(effect) = conditional.into_iter().find(|e| !e.condition.is_empty()) {
        return Err(conditional_effect_error(domain, effect.span).into());
    }

    let mut task = lifted_names(domain, problem);
    let atom = |fact: FactId| Atom {
        predicate: fact.predicate,
        args: reachable.relations[fact.predicate.index()].row(fact.row).into(),
    };
    task.variables = fdr
        .variables
        .into_iter()
        .enumerate()
        .map(|(i, variable)| {
            let values = match variable.values.as_slice() {
                // The other value of a single fact is its negation.
                [Some(fact), None] => {
                    vec![FactMeaning::Atom(atom(*fact)), FactMeaning::NegatedAtom(atom(*fact))]
                }
                values => values
                    .iter()
                    .map(|value| {
                        value.map_or(FactMeaning::NoneOfThose, |f| FactMeaning::Atom(atom(f)))
                    })
                    .collect(),
            };
            Variable { name: format!("var{i}"), values }
        })
        .collect();
    task.initial = fdr.init;
    task.goal = fdr.goal;
    task.mutex_groups = fdr.mutex_groups;
    task.operators = fdr
        .operators
        .into_iter()
        .map(|o| {
            let mut eff: Vec<Fact> = o.effects.into_iter().map(|e| e.fact).collect();
            // Two values for one variable occur only in operators that are never applicable,
            // since they would violate the invariant behind the variable.
            eff.sort_unstable();
            eff.dedup_by_key(|fact| fact.var);
            Operator {
                schema: lifted.schemas[o.schema as usize].action,
                args: o.args,
                pre: o.pre,
                eff: eff.into(),
                cost: o.cost,
            }
        })
        .collect();
    let init = problem.init.iter();
    task.static_atoms = init.filter(|a| !reachable.fluent[a.predicate.index()]).cloned().collect();
    task.static_atoms.extend(constant.into_iter().map(atom));
    add_types(&mut task, domain, problem);
    Ok(task)
}

fn conditional_effect_error(domain: &Domain, span: crate::pddl::Span) -> PddlError {
    let text = domain.source.text();
    let is_when = text[span.start as usize..].get(1..).is_some_and(|rest| {
        rest.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("when"))
    });
    let (construct, hint) = if is_when {
        ("conditional effects are", "only conditions that are always true or false can be removed")
    } else {
        (
            "delete effects that depend on the state are",
            "add the deleted atom to the precondition, or delete it only where it holds",
        )
    };
    PddlError::unsupported(&domain.source, span, construct).hint(hint)
}

/// Adds the types, as predicates with one argument, and which objects have them.
///
/// A type that shares its name with a predicate is left out.
fn add_types(task: &mut Task, domain: &Domain, problem: &Problem) {
    for (i, ty) in domain.types.iter().enumerate().skip(1) {
        if domain.predicate(&ty.name).is_some() {
            continue;
        }
        let predicate = PredicateId::from(task.predicates.len());
        task.predicates.push(Symbol { name: ty.name.clone(), arity: 1 });
        for (o, object) in problem.objects.iter().enumerate() {
            if domain.is_instance(&object.types, &[i.into()]) {
                let args = Box::new([ObjectId::from(o)]);
                task.static_atoms.push(Atom { predicate, args });
            }
        }
    }
}
