//! From the internal task to the public [`Task`].

pub(crate) mod order;
pub(crate) mod simplify;

use crate::pddl::{Domain, Problem};
use crate::task::{
    Atom, ConditionalEffect, Derivation, Fact, FactMeaning, ObjectId, Operator, PredicateId,
    Symbol, Task, VarId, Variable,
};

use crate::translate::encode::fdr::{FdrOperator, FdrTask};
use crate::translate::ground::Reachable;
use crate::translate::invariants::groups::{FactId, NameOrder};
use crate::translate::normalize::lifted::LiftedTask;

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
    task.variables = vec![Variable {
        name: "var0".to_string(),
        values: vec![value(0), value(1)],
        derived: None,
    }];
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

/// Converts the task and gives its derived variables their initial values.
pub(super) fn finish(
    fdr: FdrTask,
    domain: &Domain,
    problem: &Problem,
    lifted: &LiftedTask,
    reachable: &Reachable,
    constant: Vec<FactId>,
) -> Task {
    let mut task = lifted_names(domain, problem);
    if !fdr.axioms.is_empty() {
        add_predicates_of_conditions(&mut task, lifted);
    }
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
            let default = fdr.init[i];
            let derived = variable.layer.map(|layer| Derivation { layer, default });
            Variable { name: format!("var{i}"), values, derived }
        })
        .collect();
    task.initial = fdr.init;
    task.goal = fdr.goal;
    task.mutex_groups = fdr.mutex_groups;
    task.operators = fdr
        .operators
        .into_iter()
        .map(|o| {
            let (plain, conditional): (Vec<_>, Vec<_>) =
                o.effects.into_iter().partition(|e| e.condition.is_empty());
            let mut eff: Vec<Fact> = plain.into_iter().map(|e| e.fact).collect();
            // Two values for one variable occur only in operators that are never applicable,
            // since they would violate the invariant behind the variable.
            eff.sort_unstable();
            eff.dedup_by_key(|fact| fact.var);
            let mut conditional: Vec<ConditionalEffect> = conditional
                .into_iter()
                .map(|e| ConditionalEffect { condition: e.condition, fact: e.fact })
                .collect();
            conditional.sort_unstable_by(|a, b| {
                a.fact.cmp(&b.fact).then_with(|| a.condition.cmp(&b.condition))
            });
            Operator {
                schema: lifted.schemas[o.schema as usize].action,
                args: o.args,
                pre: o.pre,
                eff: eff.into(),
                conditional: conditional.into(),
                cost: o.cost,
            }
        })
        .collect();
    task.axioms = fdr.axioms;
    let mut initial = std::mem::take(&mut task.initial);
    task.evaluate_axioms(&mut initial);
    task.initial = initial;
    let init = problem.init.iter();
    task.static_atoms = init.filter(|a| !reachable.fluent[a.predicate.index()]).cloned().collect();
    task.static_atoms.extend(constant.into_iter().map(atom));
    add_types(&mut task, domain, problem);
    task
}

/// Names the predicates that normalisation introduced, as Fast Downward does.
fn add_predicates_of_conditions(task: &mut Task, lifted: &LiftedTask) {
    task.predicates.push(Symbol { name: "=".to_string(), arity: 2 });
    let first = task.predicates.len();
    for (i, &arity) in lifted.arities[first..].iter().enumerate() {
        task.predicates.push(Symbol { name: format!("new-axiom@{i}"), arity });
    }
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
