//! Small tasks for tests: random ones, and the same task written down differently.

use planner::abstraction::Pattern;
use planner::task::{
    Atom, ConditionalEffect, Fact, FactMeaning, ObjectId, Operator, PredicateId, SchemaId, Symbol,
    Task, Value, VarId, Variable,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A random task: a few variables with all kinds of values, operators of all shapes, static atoms.
pub(crate) fn random_task(seed: u64) -> Task {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let symbols = |prefix: &str, arities: &[usize]| -> Vec<Symbol> {
        let symbol = |(i, &arity): (usize, &usize)| Symbol { name: format!("{prefix}{i}"), arity };
        arities.iter().enumerate().map(symbol).collect()
    };
    let predicates = symbols("p", &[0, 1, 2, 2, 1, 2, 3]);
    let schemas = symbols("a", &[0, 1, 2, 3]);
    let objects: Vec<String> = (0..5).map(|i| format!("o{i}")).collect();
    let random_args = |rng: &mut Xoshiro256PlusPlus, arity: usize| -> Box<[ObjectId]> {
        (0..arity).map(|_| ObjectId(rng.random_range(0..5))).collect()
    };

    let mut fluent_atoms: Vec<Atom> = (0..40)
        .map(|_| {
            let predicate = rng.random_range(0..4);
            let args = random_args(&mut rng, predicates[predicate].arity);
            Atom { predicate: PredicateId::from(predicate), args }
        })
        .collect();
    fluent_atoms.sort();
    fluent_atoms.dedup();
    fluent_atoms.shuffle(&mut rng);
    let variables: Vec<Variable> = (0..rng.random_range(1..5))
        .map(|v| {
            let mut atoms: Vec<Atom> =
                (0..rng.random_range(1..4)).filter_map(|_| fluent_atoms.pop()).collect();
            let values = if atoms.len() == 1 {
                let atom = atoms.remove(0);
                vec![FactMeaning::Atom(atom.clone()), FactMeaning::NegatedAtom(atom)]
            } else {
                let mut values: Vec<FactMeaning> =
                    atoms.into_iter().map(FactMeaning::Atom).collect();
                if rng.random_bool(0.5) {
                    values.push(FactMeaning::NoneOfThose);
                }
                values
            };
            Variable { name: format!("var{v}"), values, derived: None }
        })
        .collect();

    let partial = |rng: &mut Xoshiro256PlusPlus, p: f64| -> Vec<Fact> {
        let mut facts = Vec::new();
        for (v, variable) in variables.iter().enumerate() {
            if rng.random_bool(p) {
                let value = rng.random_range(0..variable.domain_size() as Value);
                facts.push(Fact::new(VarId::from(v), value));
            }
        }
        facts
    };
    // Every third task has conditional effects.
    let conditional = |rng: &mut Xoshiro256PlusPlus| -> Box<[ConditionalEffect]> {
        let count = if seed.is_multiple_of(3) { rng.random_range(0..4) } else { 0 };
        let effects = (0..count).flat_map(|_| {
            let condition: Box<[Fact]> = partial(rng, 0.4).into();
            partial(rng, 0.3)
                .into_iter()
                .filter(|_| !condition.is_empty())
                .map(|fact| ConditionalEffect { condition: condition.clone(), fact })
                .collect::<Vec<_>>()
        });
        effects.collect()
    };
    let operators = (0..rng.random_range(1..16))
        .map(|_| {
            let schema = rng.random_range(0..schemas.len());
            Operator {
                schema: SchemaId::from(schema),
                args: random_args(&mut rng, schemas[schema].arity),
                pre: partial(&mut rng, 0.4).into(),
                eff: partial(&mut rng, 0.4).into(),
                conditional: conditional(&mut rng),
                cost: rng.random_range(0..3),
            }
        })
        .collect();
    let static_atoms = (0..rng.random_range(0..6))
        .map(|_| {
            let predicate = rng.random_range(4..7);
            let args = random_args(&mut rng, predicates[predicate].arity);
            Atom { predicate: PredicateId::from(predicate), args }
        })
        .collect();
    let goal = partial(&mut rng, 0.6);
    let initial = random_state(&variables, &mut rng);
    Task {
        variables,
        operators,
        axioms: Vec::new(),
        initial,
        goal,
        mutex_groups: Vec::new(),
        mutexes: Default::default(),
        uses_metric: true,
        objects,
        predicates,
        schemas,
        static_atoms,
    }
}

/// A random value for each variable.
pub(crate) fn random_state(variables: &[Variable], rng: &mut Xoshiro256PlusPlus) -> Vec<Value> {
    variables.iter().map(|v| rng.random_range(0..v.domain_size() as Value)).collect()
}

/// The same task with everything in another order and objects renamed.
pub(crate) struct Rewritten {
    /// The task.
    pub(crate) task: Task,
    /// The new place of each variable.
    pub(crate) variable: Vec<VarId>,
    /// For each old variable the new number of each value.
    pub(crate) value: Vec<Vec<Value>>,
    /// The new place of each operator.
    pub(crate) operator: Vec<usize>,
}

impl Rewritten {
    /// A state of the original task as one of the rewritten task.
    pub(crate) fn state(&self, state: &[Value]) -> Vec<Value> {
        let mut out = vec![0; state.len()];
        for (v, &value) in state.iter().enumerate() {
            out[self.variable[v].index()] = self.value[v][value as usize];
        }
        out
    }

    /// A pattern of the original task as one of the rewritten task.
    pub(crate) fn pattern(&self, pattern: &Pattern) -> Pattern {
        Pattern::new(pattern.variables().iter().map(|v| self.variable[v.index()]))
    }
}

/// Writes a task down differently.
pub(crate) fn rewrite(task: &Task, seed: u64) -> Rewritten {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut shuffled = |n: usize| {
        let mut places: Vec<usize> = (0..n).collect();
        places.shuffle(&mut rng);
        places
    };
    let variable = shuffled(task.variables.len());
    let value: Vec<Vec<Value>> = task
        .variables
        .iter()
        .map(|v| shuffled(v.domain_size()).into_iter().map(|d| d as Value).collect())
        .collect();
    let operator = shuffled(task.operators.len());
    let object = shuffled(task.objects.len());
    let predicate = shuffled(task.predicates.len());
    let schema = shuffled(task.schemas.len());
    let static_atom = shuffled(task.static_atoms.len());

    let args = |args: &[ObjectId]| args.iter().map(|o| ObjectId::from(object[o.index()])).collect();
    let atom = |a: &Atom| Atom {
        predicate: PredicateId::from(predicate[a.predicate.index()]),
        args: args(&a.args),
    };
    let meaning = |m: &FactMeaning| match m {
        FactMeaning::Atom(a) => FactMeaning::Atom(atom(a)),
        FactMeaning::NegatedAtom(a) => FactMeaning::NegatedAtom(atom(a)),
        FactMeaning::NoneOfThose => FactMeaning::NoneOfThose,
    };
    let fact = |f: &Fact| {
        let v = f.var.index();
        Fact::new(VarId::from(variable[v]), value[v][f.value as usize])
    };
    let facts = |facts: &[Fact]| {
        let mut facts: Vec<Fact> = facts.iter().map(fact).collect();
        facts.sort_unstable();
        facts
    };
    let variables = place(&task.variables, &variable, |old, v| Variable {
        name: format!("renamed{old}"),
        values: place(
            &v.values,
            &value[old].iter().map(|&d| d as usize).collect::<Vec<_>>(),
            |_, m| meaning(m),
        ),
        derived: v.derived,
    });
    let operators = place(&task.operators, &operator, |_, o| Operator {
        schema: SchemaId::from(schema[o.schema.index()]),
        args: args(&o.args),
        pre: facts(&o.pre).into(),
        eff: facts(&o.eff).into(),
        conditional: o
            .conditional
            .iter()
            .map(|e| ConditionalEffect {
                condition: facts(&e.condition).into(),
                fact: fact(&e.fact),
            })
            .collect(),
        cost: o.cost,
    });
    let mut goal: Vec<Fact> = task.goal.iter().map(fact).collect();
    goal.reverse();
    let rewritten = Task {
        initial: Vec::new(),
        goal,
        mutex_groups: Vec::new(),
        mutexes: Default::default(),
        uses_metric: task.uses_metric,
        objects: place(&task.objects, &object, |_, name| format!("renamed-{name}")),
        predicates: place(&task.predicates, &predicate, |_, p| p.clone()),
        schemas: place(&task.schemas, &schema, |_, s| s.clone()),
        static_atoms: place(&task.static_atoms, &static_atom, |_, a| atom(a)),
        axioms: Vec::new(),
        variables,
        operators,
    };
    let variable = variable.into_iter().map(VarId::from).collect();
    let mut out = Rewritten { task: rewritten, variable, value, operator };
    out.task.initial = out.state(&task.initial);
    out
}

/// Puts item `i` at `places[i]`.
fn place<T, U>(items: &[T], places: &[usize], mut map: impl FnMut(usize, &T) -> U) -> Vec<U> {
    let mut placed: Vec<(usize, U)> =
        items.iter().enumerate().map(|(i, item)| (places[i], map(i, item))).collect();
    placed.sort_by_key(|&(place, _)| place);
    placed.into_iter().map(|(_, item)| item).collect()
}
