//! Synthesis of invariants: sets of atoms of which an action never makes more than one true that
//! it does not also take away (Helmert 2009, section 5).
//!
//! A candidate is a set of parts `predicate(parameters, counted)`; it is an invariant if no
//! schema is too heavy (adds two of its atoms) or unbalanced (adds one and deletes none).
//! An unbalanced schema refines the candidate by one of its delete effects.
//! Guarantees: the sum over an instance of an invariant never grows.
//! Cost: bounded by the numbers of candidates and the time given.

pub(crate) mod constraints;
pub(crate) mod groups;

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::pddl::Term;
use crate::task::{ObjectId, PredicateId};
use crate::work::Work;

use crate::translate::invariants::constraints::{Pairs, Solver, Sym, System};
use crate::translate::normalize::lifted::{LiftedTask, Literal};
use crate::translate::{Interrupt, Poll};

/// One predicate of an invariant and what its arguments are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Part {
    pub(super) predicate: PredicateId,
    /// For each argument the number of the invariant's parameter; `None` is the counted one.
    pub(super) args: Vec<Option<usize>>,
}

/// Parts with different predicates, sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Invariant {
    pub(super) parts: Vec<Part>,
}

impl Part {
    fn num_parameters(&self) -> usize {
        self.args.iter().flatten().count()
    }

    /// The arguments of an atom that stand at the parameters, in the order of the parameters.
    pub(super) fn parameters<T: Copy>(&self, args: &[T]) -> Vec<T> {
        let mut out: Vec<(usize, T)> =
            self.args.iter().zip(args).filter_map(|(p, &arg)| Some(((*p)?, arg))).collect();
        out.sort_by_key(|&(parameter, _)| parameter);
        out.into_iter().map(|(_, arg)| arg).collect()
    }
}

impl Invariant {
    fn part(&self, predicate: PredicateId) -> Option<&Part> {
        self.parts.iter().find(|part| part.predicate == predicate)
    }

    /// The equalities that make an atom one of this invariant's instance.
    fn cover(&self, atom: &Atom, parameters: &[Sym]) -> Pairs {
        let part = self.part(atom.predicate).expect("the atom's predicate is in the invariant");
        parameters.iter().copied().zip(part.parameters(&atom.args)).collect()
    }
}

/// A literal over symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Atom {
    predicate: PredicateId,
    negated: bool,
    args: Vec<Sym>,
}

#[derive(Clone, Debug)]
struct Effect {
    /// The variables of a universal effect.
    variables: Vec<Sym>,
    condition: Vec<Atom>,
    literal: Atom,
}

impl Effect {
    /// The effect with variables whose numbers are `shift` higher; parameters keep theirs.
    fn with_new_variables(mut self, shift: usize) -> Effect {
        let atoms = self.condition.iter_mut().chain(std::iter::once(&mut self.literal));
        for arg in atoms.flat_map(|atom| &mut atom.args) {
            if self.variables.contains(arg) {
                arg.0 += shift as u32;
            }
        }
        self.variables.iter_mut().for_each(|variable| variable.0 += shift as u32);
        self
    }
}

/// A schema prepared for the balance check.
struct Action {
    parameters: Vec<Sym>,
    precondition: Vec<Atom>,
    effects: Vec<Effect>,
    /// The effects with universal ones twice, under different variables: an instance may add
    /// two atoms through them.
    heavy_adds: Vec<Effect>,
    /// Symbols from here on are free to stand for parameters of invariants.
    first_free: u32,
}

/// Limits of the synthesis.
pub(super) struct Limits {
    pub(super) candidates: usize,
    pub(super) work: Work,
}

/// All invariants that are found within the limits, sorted.
pub(super) fn find_invariants(
    lifted: &LiftedTask,
    unequal: &[Vec<(usize, usize)>],
    limits: &Limits,
    poll: &Poll<'_>,
) -> Result<Vec<Invariant>, Interrupt> {
    let mut checker = BalanceChecker::new(lifted, unequal);
    let mut seen: FxHashSet<Invariant> = FxHashSet::default();
    let mut queue: VecDeque<Invariant> = VecDeque::new();
    let mut enqueue = |candidate: Invariant, queue: &mut VecDeque<Invariant>| {
        if seen.len() < limits.candidates && !seen.contains(&candidate) {
            seen.insert(candidate.clone());
            queue.push_back(candidate);
        }
    };
    for candidate in initial_candidates(lifted) {
        enqueue(candidate, &mut queue);
    }
    let mut invariants = Vec::new();
    while let Some(candidate) = queue.pop_front() {
        poll.check()?;
        if checker.work > limits.work {
            break;
        }
        match checker.check(&candidate) {
            Balance::Balanced => invariants.push(candidate),
            Balance::TooHeavy => {}
            Balance::Unbalanced(refinements) => {
                refinements.into_iter().for_each(|refined| enqueue(refined, &mut queue));
            }
        }
    }
    invariants.sort_unstable();
    Ok(invariants)
}

/// Single predicates that actions change, with each argument or none counted.
fn initial_candidates(lifted: &LiftedTask) -> Vec<Invariant> {
    let mut changed = vec![false; lifted.arities.len()];
    for effect in lifted.schemas.iter().flat_map(|s| &s.effects) {
        changed[effect.literal.predicate.index()] = true;
    }
    let mut out = Vec::new();
    for predicate in (0..changed.len()).filter(|&p| changed[p]) {
        let arity = lifted.arities[predicate];
        for counted in std::iter::once(None).chain((0..arity).map(Some)) {
            let mut parameters = 0..;
            let args = (0..arity)
                .map(|i| if Some(i) == counted { None } else { parameters.next() })
                .collect();
            let part = Part { predicate: PredicateId::from(predicate), args };
            out.push(Invariant { parts: vec![part] });
        }
    }
    out
}

enum Balance {
    Balanced,
    TooHeavy,
    Unbalanced(Vec<Invariant>),
}

struct BalanceChecker {
    equality: PredicateId,
    actions: Vec<Action>,
    /// The actions that add an atom of a predicate.
    threats: FxHashMap<PredicateId, Vec<usize>>,
    solver: Solver,
    work: Work,
}

/// Looking at a pair of effects for a pair of parts of an invariant.
const EFFECT_PAIR: Work = 100;

impl BalanceChecker {
    fn new(lifted: &LiftedTask, unequal: &[Vec<(usize, usize)>]) -> BalanceChecker {
        let mut symbols = Symbols { constants: FxHashMap::default(), offset: 0 };
        for schema in &lifted.schemas {
            let effects = schema.effects.iter();
            let literals = schema
                .precondition
                .iter()
                .chain(effects.flat_map(|e| e.condition.iter().chain(std::iter::once(&e.literal))));
            for term in literals.flat_map(|l| &l.args) {
                if let Term::Object(object) = term {
                    let next = symbols.constants.len() as u32;
                    symbols.constants.entry(*object).or_insert(Sym(next));
                }
            }
        }
        symbols.offset = symbols.constants.len() as u32;
        let mut actions = Vec::with_capacity(lifted.schemas.len());
        let mut threats: FxHashMap<PredicateId, Vec<usize>> = FxHashMap::default();
        for (i, schema) in lifted.schemas.iter().enumerate() {
            let parameters: Vec<Sym> =
                schema.parameters.iter().map(|v| symbols.variable(v.id.index())).collect();
            let mut precondition = symbols.atoms(&schema.precondition);
            for &(a, b) in &unequal[i] {
                let args = vec![parameters[a], parameters[b]];
                precondition.push(Atom { predicate: lifted.equality, negated: true, args });
            }
            let effect = |e: &crate::translate::normalize::lifted::Effect| Effect {
                variables: e.variables.iter().map(|v| symbols.variable(v.id.index())).collect(),
                condition: symbols.atoms(&e.condition),
                literal: symbols.atom(&e.literal),
            };
            let mut heavy_adds = Vec::new();
            for e in schema.effects.iter().filter(|e| !e.literal.negated) {
                heavy_adds.push(effect(e));
                if !e.variables.is_empty() {
                    heavy_adds.push(effect(e).with_new_variables(schema.num_variables));
                }
                let predicate_threats = threats.entry(e.literal.predicate).or_default();
                if predicate_threats.last() != Some(&i) {
                    predicate_threats.push(i);
                }
            }
            actions.push(Action {
                parameters,
                precondition,
                effects: schema
                    .effects
                    .iter()
                    .map(|e| match e.literal.negated {
                        // An instance of it may take away what another instance of a universal
                        // effect adds.
                        true => effect(e).with_new_variables(schema.num_variables),
                        false => effect(e),
                    })
                    .collect(),
                heavy_adds,
                first_free: symbols.offset + 2 * schema.num_variables as u32,
            });
        }
        let solver = Solver::new(symbols.offset);
        BalanceChecker { equality: lifted.equality, actions, threats, solver, work: 0 }
    }

    fn check(&mut self, candidate: &Invariant) -> Balance {
        let mut checked = vec![false; self.actions.len()];
        for part in &candidate.parts {
            for &i in self.threats.get(&part.predicate).map_or(&[][..], Vec::as_slice) {
                if std::mem::replace(&mut checked[i], true) {
                    continue;
                }
                let action = &self.actions[i];
                let pairs = action.heavy_adds.len() * candidate.parts.len();
                self.work += EFFECT_PAIR * (pairs * pairs) as Work;
                let arity = candidate.parts[0].num_parameters() as u32;
                let parameters: Vec<Sym> =
                    (action.first_free..action.first_free + arity).map(Sym).collect();
                let mut check = ActionCheck {
                    equality: self.equality,
                    candidate,
                    action,
                    parameters,
                    solver: &mut self.solver,
                };
                if check.is_too_heavy() {
                    return Balance::TooHeavy;
                }
                if let Some(add) = check.unbalanced_effect() {
                    return Balance::Unbalanced(refinements(candidate, action, add));
                }
            }
        }
        Balance::Balanced
    }
}

struct Symbols {
    constants: FxHashMap<ObjectId, Sym>,
    offset: u32,
}

impl Symbols {
    fn variable(&self, index: usize) -> Sym {
        Sym(self.offset + index as u32)
    }

    fn atom(&self, literal: &Literal) -> Atom {
        let sym = |term: &Term| match term {
            Term::Variable(v) => self.variable(v.index()),
            Term::Object(object) => self.constants[object],
        };
        Atom {
            predicate: literal.predicate,
            negated: literal.negated,
            args: literal.args.iter().map(sym).collect(),
        }
    }

    fn atoms(&self, literals: &[Literal]) -> Vec<Atom> {
        literals.iter().map(|literal| self.atom(literal)).collect()
    }
}

/// What holds when a certain add effect happens.
struct AddContext {
    /// The invariant's parameters are the arguments of the added atom, and no other variable is
    /// restricted.
    threat: System,
    /// The literals that are true.
    known: Vec<Atom>,
}

/// The check of one candidate against one action.
struct ActionCheck<'a> {
    equality: PredicateId,
    candidate: &'a Invariant,
    action: &'a Action,
    /// Symbols that stand for the parameters of the invariant.
    parameters: Vec<Sym>,
    solver: &'a mut Solver,
}

impl<'a> ActionCheck<'a> {
    /// Whether an instance of the action may add two atoms of an instance of the candidate.
    fn is_too_heavy(&mut self) -> bool {
        let adds: Vec<&Effect> = self
            .action
            .heavy_adds
            .iter()
            .filter(|e| self.candidate.part(e.literal.predicate).is_some())
            .collect();
        for (i, first) in adds.iter().enumerate() {
            for second in &adds[i + 1..] {
                let mut system = System::default();
                require_different(&mut system, &first.literal, &second.literal);
                for effect in [first, second] {
                    let cover = self.candidate.cover(&effect.literal, &self.parameters);
                    system.add_equalities(cover);
                }
                let absent = [first, second].map(|e| negation(&e.literal));
                let literals = self.action.precondition.iter().chain(&first.condition);
                let literals = literals.chain(&second.condition).chain(&absent);
                self.require_satisfiable(&mut system, literals);
                if self.solver.is_solvable(&system) {
                    return true;
                }
            }
        }
        false
    }

    /// An add effect that no delete effect balances.
    fn unbalanced_effect(&mut self) -> Option<&'a Effect> {
        let action = self.action;
        let relevant = |e: &&'a Effect| self.candidate.part(e.literal.predicate).is_some();
        let effects: Vec<&Effect> = action.effects.iter().filter(relevant).collect();
        let (deletes, adds): (Vec<&Effect>, Vec<&Effect>) =
            effects.into_iter().partition(|e| e.literal.negated);
        adds.into_iter().find(|add| {
            deletes.is_empty() || {
                let context = self.add_context(add);
                !deletes.iter().any(|delete| self.balances(delete, add, &context))
            }
        })
    }

    /// What is known when `add` adds an atom.
    ///
    /// The effect must be balanced whatever objects the variables of action and effect stand for:
    /// what covering the added atom does not make equal, to each other or to a constant, no
    /// solution may make equal.
    fn add_context(&mut self, add: &Effect) -> AddContext {
        let cover = self.candidate.cover(&add.literal, &self.parameters);
        let variables = [self.action.parameters.as_slice(), &add.variables].concat();
        let roots = self.solver.representatives(&cover, &variables);
        let mut threat = System::default();
        threat.add_equalities(cover);
        for (i, &variable) in variables.iter().enumerate() {
            if !self.solver.is_constant(roots[i]) {
                threat.add_not_constant(variable);
            }
            for (j, &other) in variables.iter().enumerate().skip(i + 1) {
                if roots[i] != roots[j] {
                    threat.add_inequality(smallvec![(variable, other)]);
                }
            }
        }
        let known = self.action.precondition.iter().chain(&add.condition).cloned();
        AddContext { threat, known: known.chain([negation(&add.literal)]).collect() }
    }

    /// Whether `delete` removes an atom of the instance that `add` adds to, whenever it adds.
    fn balances(&mut self, delete: &Effect, add: &Effect, context: &AddContext) -> bool {
        let mut balanced = System::default();
        // What is known must imply that the delete effect takes something away.
        let deleted = negation(&delete.literal);
        for literal in delete.condition.iter().chain([&deleted]) {
            let matches: SmallVec<[Pairs; 1]> = context
                .known
                .iter()
                .filter(|k| k.predicate == literal.predicate && k.negated == literal.negated)
                .map(|k| literal.args.iter().copied().zip(k.args.iter().copied()).collect())
                .collect();
            if matches.is_empty() {
                return false;
            }
            balanced.add_disjunction(matches);
        }
        balanced.add_equalities(self.candidate.cover(&delete.literal, &self.parameters));
        require_different(&mut balanced, &add.literal, &delete.literal);
        balanced.add_all(&context.threat);
        self.solver.is_solvable(&balanced)
    }

    /// Asks that the conjunction of `literals` can be true.
    fn require_satisfiable<'l>(
        &self,
        system: &mut System,
        literals: impl Iterator<Item = &'l Atom>,
    ) {
        let literals: Vec<&Atom> = literals.collect();
        for (i, literal) in literals.iter().enumerate() {
            if literal.predicate == self.equality {
                let pair = (literal.args[0], literal.args[1]);
                if literal.negated {
                    system.add_inequality(smallvec![pair]);
                } else {
                    system.add_equalities(smallvec![pair]);
                }
                continue;
            }
            for other in &literals[i + 1..] {
                if other.predicate == literal.predicate && other.negated != literal.negated {
                    require_different(system, literal, other);
                }
            }
        }
    }
}

fn negation(atom: &Atom) -> Atom {
    Atom { negated: !atom.negated, ..atom.clone() }
}

/// Asks that two atoms differ, if they have arguments to differ in.
fn require_different(system: &mut System, a: &Atom, b: &Atom) {
    if a.predicate == b.predicate && !a.args.is_empty() {
        system.add_inequality(a.args.iter().copied().zip(b.args.iter().copied()).collect());
    }
}

/// The candidate extended by an atom that `action` deletes and that can balance `add`.
fn refinements(candidate: &Invariant, action: &Action, add: &Effect) -> Vec<Invariant> {
    let part = candidate.part(add.literal.predicate).expect("the effect is relevant");
    let parameters = part.parameters(&add.literal.args);
    let mut out = Vec::new();
    for delete in action.effects.iter().filter(|e| e.literal.negated) {
        let atom = &delete.literal;
        if candidate.part(atom.predicate).is_some()
            || !(parameters.len()..=parameters.len() + 1).contains(&atom.args.len())
        {
            continue;
        }
        let counted = atom.args.len() - parameters.len();
        let mut args = vec![None; atom.args.len()];
        let mut emit = |args: &[Option<usize>]| {
            let mut parts = candidate.parts.clone();
            parts.push(Part { predicate: atom.predicate, args: args.to_vec() });
            parts.sort_unstable();
            out.push(Invariant { parts });
        };
        let mut used = vec![false; parameters.len()];
        assign(&atom.args, &parameters, counted, &mut used, &mut args, 0, &mut emit);
    }
    out
}

/// All ways to give each parameter to an argument with its value; `counted` arguments get none.
fn assign(
    values: &[Sym],
    parameters: &[Sym],
    counted: usize,
    used: &mut [bool],
    args: &mut Vec<Option<usize>>,
    at: usize,
    emit: &mut impl FnMut(&[Option<usize>]),
) {
    if at == values.len() {
        emit(args);
        return;
    }
    for parameter in 0..parameters.len() {
        if !used[parameter] && parameters[parameter] == values[at] {
            used[parameter] = true;
            args[at] = Some(parameter);
            assign(values, parameters, counted, used, args, at + 1, emit);
            used[parameter] = false;
        }
    }
    if counted > 0 {
        args[at] = None;
        assign(values, parameters, counted - 1, used, args, at + 1, emit);
    }
}
