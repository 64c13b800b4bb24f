//! Random small ADL tasks as PDDL text: quantifiers, disjunctions, conditional and universal
//! effects, deletes that the precondition does not protect, derived predicates.
//!
//! At most twelve atoms can change, so that all states can be listed.

use std::fmt::Write as _;

use rand::RngExt;

use super::{TestRng, rng};
use crate::pddl::{Source, parse_domain, parse_problem};
use crate::task::Task;
use crate::translate::{TranslateError, TranslateOptions, translate};

/// Domain and problem of a random ADL task; the same for the same seed.
pub fn random_adl(seed: u64) -> (String, String) {
    let mut writer = Writer { rng: rng(seed), predicates: Vec::new(), objects: Vec::new() };
    writer.task(seed)
}

/// The same task, translated.
pub fn random_adl_task(seed: u64) -> Task {
    let (domain, problem) = random_adl(seed);
    let parse = || -> Result<Task, TranslateError> {
        let domain = parse_domain(Source::new("domain", domain.as_bytes()))?;
        let problem = parse_problem(Source::new("problem", problem.as_bytes()), &domain)?;
        translate(&domain, &problem, &TranslateOptions::default())
    };
    parse().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{domain}\n{problem}"))
}

/// A predicate, and what may be done with it.
#[derive(Clone)]
struct Predicate {
    name: String,
    /// The types of its arguments: 0 is `object`, 1 and 2 are `a` and `b`.
    types: Vec<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fluent,
    Static,
    /// Derived, in this stratum.
    Derived(usize),
}

const TYPES: [&str; 3] = ["object", "a", "b"];

/// A variable in scope and its type.
type Scope = Vec<(String, usize)>;

/// Which predicates a formula may mention: derived ones below a stratum with any sign, those of
/// the stratum itself positively.
#[derive(Clone, Copy)]
struct Reach {
    below: usize,
    itself: bool,
}

const EVERYTHING: Reach = Reach { below: usize::MAX, itself: false };

struct Writer {
    rng: TestRng,
    predicates: Vec<Predicate>,
    /// Names and types, which are 1 or 2.
    objects: Vec<(String, usize)>,
}

impl Writer {
    fn below(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n)
    }

    fn some_type(&mut self) -> usize {
        [0, 0, 1, 2][self.below(4)]
    }

    fn chance(&mut self, p: f64) -> bool {
        self.rng.random_bool(p)
    }

    fn task(&mut self, seed: u64) -> (String, String) {
        for i in 0..2 + self.below(2) {
            // A type may be empty, but rarely is.
            let ty = if self.chance(0.1) { 1 + self.below(2) } else { 1 + i % 2 };
            self.objects.push((format!("o{i}"), ty));
        }
        let num_strata = self.below(3);
        self.declare("p", 0, Kind::Fluent);
        self.declare("q", 1, Kind::Fluent);
        if self.chance(0.6) {
            let arity = 1 + self.below(2);
            self.declare("r", arity, Kind::Fluent);
        }
        let arity = 1 + self.below(2);
        self.declare("s", arity, Kind::Static);
        for stratum in 0..num_strata {
            let arity = self.below(3);
            self.declare(&format!("d{stratum}"), arity, Kind::Derived(stratum));
        }

        let costs = self.chance(0.5);
        let mut domain = format!("(define (domain random-{seed})\n  (:requirements :adl");
        domain.push_str(if num_strata > 0 { " :derived-predicates" } else { "" });
        domain.push_str(if costs { " :action-costs" } else { "" });
        domain.push_str(")\n  (:types a b - object)\n  (:constants");
        for (name, ty) in &self.objects {
            let _ = write!(domain, " {name} - {}", TYPES[*ty]);
        }
        domain.push_str(")\n  (:predicates");
        for predicate in &self.predicates {
            let _ = write!(domain, " ({}", predicate.name);
            for (i, &ty) in predicate.types.iter().enumerate() {
                let _ = write!(domain, " ?x{i} - {}", TYPES[ty]);
            }
            domain.push(')');
        }
        domain.push_str(")\n");
        if costs {
            domain.push_str("  (:functions (total-cost) - number)\n");
        }
        for stratum in 0..num_strata {
            self.rules(stratum, &mut domain);
        }
        for i in 0..3 + self.below(4) {
            self.action(i, costs, &mut domain);
        }
        domain.push_str(")\n");

        let mut problem = format!("(define (problem p) (:domain random-{seed})\n  (:init");
        for predicate in self.predicates.clone() {
            if matches!(predicate.kind, Kind::Derived(_)) {
                continue;
            }
            for args in self.instances(&predicate) {
                if self.chance(0.4) {
                    let _ = write!(problem, " ({} {})", predicate.name, args.join(" "));
                }
            }
        }
        problem.push_str(")\n  (:goal (and");
        for _ in 0..2 + self.below(3) {
            let depth = self.below(3);
            let _ = write!(problem, " {}", self.formula(depth, EVERYTHING, &mut Scope::new()));
        }
        problem.push_str("))");
        problem.push_str(if costs { "\n  (:metric minimize (total-cost)))\n" } else { ")\n" });
        (domain, problem)
    }

    fn declare(&mut self, name: &str, arity: usize, kind: Kind) {
        let types = (0..arity).map(|_| self.some_type()).collect();
        self.predicates.push(Predicate { name: name.to_string(), types, kind });
    }

    /// All arguments that a predicate can have.
    fn instances(&self, predicate: &Predicate) -> Vec<Vec<String>> {
        let mut out = vec![Vec::new()];
        for &ty in &predicate.types {
            let fits = |object: &&(String, usize)| ty == 0 || object.1 == ty;
            let objects: Vec<&String> = self.objects.iter().filter(fits).map(|o| &o.0).collect();
            let extend = |args: Vec<String>| {
                let objects = objects.clone();
                objects
                    .into_iter()
                    .map(move |o| [args.as_slice(), std::slice::from_ref(o)].concat())
            };
            out = out.into_iter().flat_map(extend).collect();
        }
        out
    }

    fn rules(&mut self, stratum: usize, domain: &mut String) {
        let is_head = |p: &&Predicate| p.kind == Kind::Derived(stratum);
        let head = self.predicates.iter().find(is_head).expect("it is declared").clone();
        for rule in 0..1 + self.below(2) {
            let mut scope: Scope =
                head.types.iter().enumerate().map(|(i, &ty)| (format!("?x{i}"), ty)).collect();
            let variables = typed(&scope);
            let reach = Reach { below: stratum, itself: rule > 0 };
            let body = self.formula(2, reach, &mut scope);
            let _ = writeln!(domain, "  (:derived ({} {variables}) {body})", head.name);
        }
    }

    fn action(&mut self, i: usize, costs: bool, domain: &mut String) {
        let mut scope: Scope =
            (0..1 + self.below(2)).map(|v| (format!("?v{v}"), self.some_type())).collect();
        let parameters = typed(&scope);
        let depth = self.below(3);
        let precondition = self.formula(depth, EVERYTHING, &mut scope);
        let mut effects = String::new();
        for _ in 0..2 + self.below(3) {
            effects.push_str(&self.effect(2, &mut scope));
            effects.push(' ');
        }
        if costs {
            let _ = write!(effects, "(increase (total-cost) {})", self.below(4));
        }
        let _ = writeln!(
            domain,
            "  (:action act{i} :parameters ({parameters})\n    :precondition {precondition}\n    \
             :effect (and {effects}))"
        );
    }

    fn effect(&mut self, depth: usize, scope: &mut Scope) -> String {
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0..=2 => match self.atom(|p| p.kind == Kind::Fluent, scope) {
                Some(atom) if self.chance(0.5) => format!("(not {atom})"),
                Some(atom) => atom,
                None => "(and)".to_string(),
            },
            3 | 4 => {
                let condition = self.formula(1, EVERYTHING, scope);
                let body = self.effect(0, scope);
                format!("(when {condition} {body})")
            }
            _ => {
                let (variable, ty) = (format!("?e{}", scope.len()), self.some_type());
                scope.push((variable.clone(), ty));
                let body = self.effect(depth - 1, scope);
                scope.pop();
                format!("(forall ({variable} - {}) {body})", TYPES[ty])
            }
        }
    }

    fn formula(&mut self, depth: usize, reach: Reach, scope: &mut Scope) -> String {
        let choice = if depth == 0 { 0 } else { self.below(9) };
        match choice {
            0..=2 => {
                let negated = self.chance(0.3);
                if scope.len() > 1 && self.chance(0.1) {
                    let (a, b) = (self.below(scope.len()), self.below(scope.len()));
                    let equal = format!("(= {} {})", scope[a].0, scope[b].0);
                    return if negated { format!("(not {equal})") } else { equal };
                }
                let allowed = move |p: &Predicate| match p.kind {
                    Kind::Derived(stratum) => {
                        stratum < reach.below
                            || (reach.itself && !negated && stratum == reach.below)
                    }
                    _ => true,
                };
                match self.atom(allowed, scope) {
                    Some(atom) if negated => format!("(not {atom})"),
                    Some(atom) => atom,
                    None => "(and)".to_string(),
                }
            }
            3 | 4 => self.list("and", depth, reach, scope),
            5 => self.list("or", depth, reach, scope),
            6 => {
                // What is negated must not be recursive.
                let premise = self.formula(depth - 1, Reach { itself: false, ..reach }, scope);
                let conclusion = self.formula(depth - 1, reach, scope);
                format!("(imply {premise} {conclusion})")
            }
            quantifier => {
                let (variable, ty) = (format!("?y{}", scope.len()), self.some_type());
                scope.push((variable.clone(), ty));
                // Recursion through a universal quantifier is not supported.
                let universal = quantifier == 7;
                let inner = Reach { itself: reach.itself && !universal, ..reach };
                let body = self.formula(depth - 1, inner, scope);
                scope.pop();
                let word = if universal { "forall" } else { "exists" };
                format!("({word} ({variable} - {}) {body})", TYPES[ty])
            }
        }
    }

    fn list(&mut self, word: &str, depth: usize, reach: Reach, scope: &mut Scope) -> String {
        let parts: Vec<String> =
            (0..2 + self.below(2)).map(|_| self.formula(depth - 1, reach, scope)).collect();
        format!("({word} {})", parts.join(" "))
    }

    /// An atom over the variables in scope and the objects, of an allowed predicate.
    fn atom(&mut self, allowed: impl Fn(&Predicate) -> bool, scope: &Scope) -> Option<String> {
        // What changes is chosen more often.
        let weight = |p: &Predicate| if p.kind == Kind::Static { 1 } else { 4 };
        let candidates: Vec<Predicate> = self
            .predicates
            .iter()
            .filter(|p| allowed(p))
            .flat_map(|p| std::iter::repeat_n(p.clone(), weight(p)))
            .collect();
        let predicate = &candidates[self.below(candidates.len())];
        let mut atom = format!("({}", predicate.name);
        for &ty in &predicate.types {
            let terms = scope.iter().rev().chain(&self.objects);
            let fits = |term: &&(String, usize)| ty == 0 || term.1 == ty || term.1 == 0;
            let terms: Vec<String> = terms.filter(fits).map(|term| term.0.clone()).collect();
            if terms.is_empty() {
                return None;
            }
            // Variables more often than objects.
            let last = if self.chance(0.6) { terms.len().min(2) } else { terms.len() };
            let term = self.below(last);
            let _ = write!(atom, " {}", terms[term]);
        }
        Some(atom + ")")
    }
}

fn typed(scope: &Scope) -> String {
    let typed = scope.iter().map(|(name, ty)| format!("{name} - {}", TYPES[*ty]));
    typed.collect::<Vec<_>>().join(" ")
}
