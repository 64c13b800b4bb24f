//! A state of the PDDL task: the set of true atoms; conditions and effects executed on it.
//!
//! Works on the syntax tree as parsed, before normalisation and grounding, and shares no code with
//! them.
//! Quantifiers and derived predicates range over all objects of their types; positive atoms of a
//! conjunction are used to bind variables first, so that a rule such as
//! `(exists (?y) (and (on ?x ?y) (above ?y ?z)))` costs the matching atoms, not all objects.

use rustc_hash::FxHashSet;

use crate::pddl::{AtomSchema, Condition, Domain, Effect, Parameter, Problem, Term};
use crate::task::{Atom, ObjectId, PredicateId};

type Args = Box<[ObjectId]>;

/// The true atoms, by predicate.
#[derive(Clone)]
pub(super) struct World<'a> {
    domain: &'a Domain,
    problem: &'a Problem,
    atoms: Vec<FxHashSet<Args>>,
    /// Derived predicates in strata: a rule reads the negation of lower strata only.
    strata: Vec<Vec<usize>>,
}

/// The values of the variables of one owner; `None` is unbound.
pub(super) type Binding = Vec<Option<ObjectId>>;

/// A condition that must hold (`true`) or must not.
type Literal<'c> = (&'c Condition, bool);

/// A derived predicate depends on its own negation, so it has no meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NotStratified(pub(super) PredicateId);

/// The changes an action makes.
#[derive(Default)]
pub(super) struct Changes {
    add: Vec<Atom>,
    delete: Vec<Atom>,
}

impl<'a> World<'a> {
    /// The initial state.
    pub(super) fn new(
        domain: &'a Domain,
        problem: &'a Problem,
    ) -> Result<World<'a>, NotStratified> {
        let mut world = World {
            domain,
            problem,
            atoms: vec![FxHashSet::default(); domain.predicates.len()],
            strata: strata(domain)?,
        };
        for atom in &problem.init {
            world.atoms[atom.predicate.index()].insert(atom.args.clone());
        }
        world.derive();
        Ok(world)
    }

    /// The true atoms, derived ones included.
    #[cfg(test)]
    pub(super) fn true_atoms(&self) -> std::collections::BTreeSet<Atom> {
        let predicates = self.atoms.iter().enumerate();
        let atoms = predicates.flat_map(|(p, all)| all.iter().map(move |args| (p, args.clone())));
        atoms.map(|(p, args)| Atom { predicate: PredicateId::from(p), args }).collect()
    }

    /// Collects what an effect does in this state; `increase` is told of each cost effect.
    pub(super) fn collect(
        &self,
        effect: &Effect,
        binding: &mut Binding,
        changes: &mut Changes,
        increase: &mut dyn FnMut(&crate::pddl::NumericExpression, &Binding),
    ) {
        match effect {
            Effect::And(parts) => {
                for part in parts {
                    self.collect(part, binding, changes, increase);
                }
            }
            Effect::Add(atom) => changes.add.push(ground(atom, binding)),
            Effect::Delete(atom) => changes.delete.push(ground(atom, binding)),
            Effect::When(condition, effect, _) => {
                if self.holds((condition, true), binding) {
                    self.collect(effect, binding, changes, increase);
                }
            }
            Effect::Forall(parameters, effect, _) => {
                self.for_each_binding(parameters, binding, &mut |binding| {
                    self.collect(effect, binding, changes, increase);
                });
            }
            Effect::Increase(amount) => increase(amount, binding),
        }
    }

    /// Applies changes; what is both added and deleted is true afterwards.
    pub(super) fn apply(&mut self, changes: &Changes) {
        for atom in &changes.delete {
            self.atoms[atom.predicate.index()].remove(&atom.args);
        }
        for atom in &changes.add {
            self.atoms[atom.predicate.index()].insert(atom.args.clone());
        }
        self.derive();
    }

    /// Whether an object may stand for a parameter.
    pub(super) fn is_instance(&self, object: ObjectId, parameter: &Parameter) -> bool {
        let declared = &self.problem.objects[object.index()].types;
        self.domain.is_instance(declared, &parameter.types)
    }

    /// Whether a condition holds (or, with `false`, does not).
    ///
    /// A conjunction is a search for a binding of its variables (none, unless it starts with
    /// `exists`); a disjunction is the failure of the opposite conjunction.
    pub(super) fn holds(&self, literal: Literal, binding: &mut Binding) -> bool {
        match literal {
            (Condition::Not(inner), sign) => self.holds((inner, !sign), binding),
            (Condition::Atom(atom), sign) => self.contains(atom, binding) == sign,
            (Condition::Equal(a, b, _), sign) => (value(*a, binding) == value(*b, binding)) == sign,
            (Condition::And(_) | Condition::Exists(..), true)
            | (Condition::Or(_) | Condition::Forall(..), false) => {
                let mut conjunction = Conjunction::default();
                conjunction.add(literal);
                self.solve(conjunction, binding, &mut |_| true)
            }
            (condition, sign) => !self.holds((condition, !sign), binding),
        }
    }

    /// The parts of a conjunction that do not hold.
    pub(super) fn broken<'c>(
        &self,
        condition: &'c Condition,
        binding: &mut Binding,
    ) -> Vec<Literal<'c>> {
        let mut parts = Vec::new();
        let mut rest = vec![(condition, true)];
        while let Some(literal) = rest.pop() {
            match literal {
                (Condition::Not(inner), sign) => rest.push((inner, !sign)),
                (Condition::And(inner), true) | (Condition::Or(inner), false) => {
                    rest.extend(inner.iter().rev().map(|part| (part, literal.1)));
                }
                _ => parts.push(literal),
            }
        }
        parts.retain(|&literal| !self.holds(literal, binding));
        parts
    }

    fn contains(&self, atom: &AtomSchema, binding: &Binding) -> bool {
        let Atom { predicate, args } = ground(atom, binding);
        self.atoms[predicate.index()].contains(&args)
    }

    /// Calls `found` with bindings that satisfy a conjunction until it returns true; says whether
    /// it did.
    fn solve(
        &self,
        mut rest: Conjunction,
        binding: &mut Binding,
        found: &mut dyn FnMut(&mut Binding) -> bool,
    ) -> bool {
        // Parts without unbound variables are tests.
        let unbound = rest.unbound.clone();
        let is_unbound = |binding: &Binding, term: Term| match term {
            Term::Variable(v) => {
                binding[v.index()].is_none() && unbound.iter().any(|p| p.variable == v)
            }
            Term::Object(_) => false,
        };
        let mut open = Vec::new();
        for literal in std::mem::take(&mut rest.literals) {
            if mentions(literal.0, &mut |term| is_unbound(binding, term)) {
                open.push(literal);
            } else if !self.holds(literal, binding) {
                return false;
            }
        }
        rest.literals = open;

        // A positive atom binds its variables to the matching atoms of the state.
        let positive =
            rest.literals.iter().position(|&(c, sign)| sign && matches!(c, Condition::Atom(_)));
        if let Some(at) = positive {
            let (Condition::Atom(atom), _) = rest.literals.swap_remove(at) else { unreachable!() };
            let before = binding.clone();
            for args in &self.atoms[atom.predicate.index()] {
                if self.unify(atom, args, &unbound, binding)
                    && self.solve(rest.clone(), binding, found)
                {
                    binding.clone_from(&before);
                    return true;
                }
                binding.clone_from(&before);
            }
            return false;
        }

        // Otherwise the next variable takes every object of its type.
        let next = unbound.iter().find(|p| binding[p.variable.index()].is_none());
        let Some(&parameter) = next else { return found(binding) };
        for object in self.objects_of(parameter) {
            binding[parameter.variable.index()] = Some(object);
            if self.solve(rest.clone(), binding, found) {
                binding[parameter.variable.index()] = None;
                return true;
            }
        }
        binding[parameter.variable.index()] = None;
        false
    }

    /// Binds the unbound variables of an atom so that it equals a true one, if that is possible.
    fn unify(
        &self,
        atom: &AtomSchema,
        args: &[ObjectId],
        unbound: &[&Parameter],
        binding: &mut Binding,
    ) -> bool {
        atom.args.iter().zip(args).all(|(&term, &object)| match term {
            Term::Object(constant) => constant == object,
            Term::Variable(v) => match binding[v.index()] {
                Some(bound) => bound == object,
                None => {
                    binding[v.index()] = Some(object);
                    unbound.iter().any(|p| p.variable == v && self.is_instance(object, p))
                }
            },
        })
    }

    fn objects_of<'p>(&'p self, parameter: &'p Parameter) -> impl Iterator<Item = ObjectId> + 'p {
        let all = (0..self.problem.objects.len()).map(ObjectId::from);
        all.filter(|&object| self.is_instance(object, parameter))
    }

    fn for_each_binding(
        &self,
        parameters: &[Parameter],
        binding: &mut Binding,
        action: &mut dyn FnMut(&mut Binding),
    ) {
        let Some((first, rest)) = parameters.split_first() else { return action(binding) };
        let before = binding[first.variable.index()];
        for object in self.objects_of(first) {
            binding[first.variable.index()] = Some(object);
            self.for_each_binding(rest, binding, action);
        }
        binding[first.variable.index()] = before;
    }

    /// Recomputes the derived predicates, stratum by stratum, each to its least fixpoint.
    fn derive(&mut self) {
        for rule in &self.domain.derived {
            self.atoms[rule.predicate.index()].clear();
        }
        for stratum in 0..self.strata.len() {
            loop {
                let mut new = Vec::new();
                for &rule in &self.strata[stratum] {
                    let rule = &self.domain.derived[rule];
                    let mut conjunction = Conjunction::default();
                    conjunction.unbound.extend(&rule.parameters);
                    conjunction.add((&rule.condition, true));
                    let known = &self.atoms[rule.predicate.index()];
                    self.solve(conjunction, &mut vec![None; rule.num_variables], &mut |binding| {
                        let args = rule.parameters.iter().map(|p| bound(p, binding)).collect();
                        if !known.contains(&args) {
                            new.push((rule.predicate, args));
                        }
                        false
                    });
                }
                let mut changed = false;
                for (predicate, args) in new {
                    changed |= self.atoms[predicate.index()].insert(args);
                }
                if !changed {
                    break;
                }
            }
        }
    }
}

/// Literals that must all hold under one binding of the unbound variables.
#[derive(Clone, Default)]
struct Conjunction<'c> {
    unbound: Vec<&'c Parameter>,
    literals: Vec<Literal<'c>>,
}

impl<'c> Conjunction<'c> {
    /// Adds a literal; nested conjunctions are flattened, existential variables become unbound.
    fn add(&mut self, literal: Literal<'c>) {
        match literal {
            (Condition::Not(inner), sign) => self.add((inner, !sign)),
            (Condition::And(parts), true) | (Condition::Or(parts), false) => {
                for part in parts {
                    self.add((part, literal.1));
                }
            }
            (Condition::Exists(parameters, inner, _), true)
            | (Condition::Forall(parameters, inner, _), false) => {
                self.unbound.extend(parameters);
                self.add((inner, literal.1));
            }
            _ => self.literals.push(literal),
        }
    }
}

/// The object a term stands for; every variable of a test is bound.
fn value(term: Term, binding: &Binding) -> ObjectId {
    match term {
        Term::Object(object) => object,
        Term::Variable(v) => binding[v.index()].expect("tests are made when all is bound"),
    }
}

fn bound(parameter: &Parameter, binding: &Binding) -> ObjectId {
    value(Term::Variable(parameter.variable), binding)
}

pub(super) fn ground(atom: &AtomSchema, binding: &Binding) -> Atom {
    let args = atom.args.iter().map(|&term| value(term, binding)).collect();
    Atom { predicate: atom.predicate, args }
}

/// Whether some term of a condition satisfies a test.
fn mentions(condition: &Condition, test: &mut dyn FnMut(Term) -> bool) -> bool {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().any(|c| mentions(c, test)),
        Condition::Not(inner) | Condition::Forall(_, inner, _) | Condition::Exists(_, inner, _) => {
            mentions(inner, test)
        }
        Condition::Atom(atom) => atom.args.iter().any(|&term| test(term)),
        Condition::Equal(a, b, _) => test(*a) || test(*b),
    }
}

/// Groups rules into strata such that negation refers to lower strata only.
fn strata(domain: &Domain) -> Result<Vec<Vec<usize>>, NotStratified> {
    let n = domain.predicates.len();
    let mut derived = vec![false; n];
    for rule in &domain.derived {
        derived[rule.predicate.index()] = true;
    }
    let mut level = vec![0usize; n];
    // Levels rise until they satisfy every rule; more than n of them means a negative cycle.
    loop {
        let mut changed = false;
        for rule in &domain.derived {
            let head = rule.predicate.index();
            let mut needed = level[head];
            for_each_atom(&rule.condition, true, &mut |atom, sign| {
                let body = atom.predicate.index();
                if derived[body] {
                    needed = needed.max(level[body] + usize::from(!sign));
                }
            });
            if needed > n {
                return Err(NotStratified(rule.predicate));
            }
            changed |= needed > level[head];
            level[head] = needed;
        }
        if !changed {
            break;
        }
    }
    let levels = domain.derived.iter().map(|rule| level[rule.predicate.index()] + 1).max();
    let mut strata = vec![Vec::new(); levels.unwrap_or(0)];
    for (i, rule) in domain.derived.iter().enumerate() {
        strata[level[rule.predicate.index()]].push(i);
    }
    Ok(strata)
}

fn for_each_atom(condition: &Condition, sign: bool, action: &mut dyn FnMut(&AtomSchema, bool)) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => {
            for part in parts {
                for_each_atom(part, sign, action);
            }
        }
        Condition::Not(inner) => for_each_atom(inner, !sign, action),
        Condition::Forall(_, inner, _) | Condition::Exists(_, inner, _) => {
            for_each_atom(inner, sign, action);
        }
        Condition::Atom(atom) => action(atom, sign),
        Condition::Equal(..) => {}
    }
}
