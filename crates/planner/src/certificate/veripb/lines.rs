//! Pseudo-Boolean constraints as text: variables, the lines of a formula and those of a proof.
//!
//! A constraint is Σ aᵢℓᵢ ≥ d over literals, with natural numbers aᵢ and d.
//! Constraints are numbered from 1, those of the formula first.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};
use std::ops::Not;

/// The number of a constraint.
pub(super) type Id = u64;

/// A coefficient or a degree.
pub(super) type Number = u128;

/// The state before an operator, or the one after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    Now,
    After,
}

/// A variable that is 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Var {
    /// A variable of the task has a value.
    Fact(When, usize, u32),
    /// A bit of the cost so far.
    Bit(When, u32),
    /// An operator is applied.
    Operator(usize),
    /// A variable of the task may change.
    Change(usize),
    /// The cost so far is at least so much.
    Cost(When, u64),
    /// The state's abstract state in a component is the one of this rank.
    Abstract(When, usize, usize),
    /// The state is a closed one, reached at no less than its cost.
    Closed(When, usize),
    /// Plans through this state cost enough by a bound.
    Bound(When, usize),
    /// The invariant holds.
    Invariant(When),
    /// How the invariant fails: at the beginning, at a goal, or by a step.
    Init,
    Goal,
    Step,
    /// What only proofs speak of.
    Auxiliary(usize),
}

impl Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let case = |when: When, now: char| match when {
            When::Now => now,
            When::After => now.to_ascii_uppercase(),
        };
        match *self {
            Var::Fact(when, var, value) => write!(f, "{}{var}_{value}", case(when, 'v')),
            Var::Bit(when, bit) => write!(f, "{}{bit}", case(when, 'g')),
            Var::Operator(op) => write!(f, "o{op}"),
            Var::Change(var) => write!(f, "u{var}"),
            Var::Cost(when, cost) => write!(f, "{}{cost}", case(when, 'c')),
            Var::Abstract(when, p, rank) => write!(f, "{}{p}_{rank}", case(when, 'a')),
            Var::Closed(when, state) => write!(f, "{}{state}", case(when, 's')),
            Var::Bound(when, bound) => write!(f, "{}{bound}", case(when, 'b')),
            Var::Invariant(when) => write!(f, "{}nv", case(when, 'i')),
            Var::Init => f.write_str("init"),
            Var::Goal => f.write_str("goal"),
            Var::Step => f.write_str("step"),
            Var::Auxiliary(number) => write!(f, "x{number}"),
        }
    }
}

/// A variable or its negation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Literal {
    pub(super) var: Var,
    is_negated: bool,
}

impl From<Var> for Literal {
    fn from(var: Var) -> Literal {
        Literal { var, is_negated: false }
    }
}

impl Not for Literal {
    type Output = Literal;

    fn not(self) -> Literal {
        Literal { is_negated: !self.is_negated, ..self }
    }
}

impl Not for Var {
    type Output = Literal;

    fn not(self) -> Literal {
        !Literal::from(self)
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_negated { "~" } else { "" }, self.var)
    }
}

/// A left-hand side.
pub(super) type Terms = Vec<(Number, Literal)>;

/// Literals with a coefficient of 1 each.
pub(super) fn ones<L: Into<Literal>>(literals: impl IntoIterator<Item = L>) -> Terms {
    literals.into_iter().map(|literal| (1, literal.into())).collect()
}

pub(super) fn total(terms: &Terms) -> Number {
    terms.iter().map(|(coefficient, _)| coefficient).sum()
}

fn constraint(terms: &Terms, degree: Number) -> String {
    let mut text = String::new();
    for (coefficient, literal) in terms.iter().filter(|(coefficient, _)| *coefficient > 0) {
        let _ = write!(text, "{coefficient} {literal} ");
    }
    let _ = write!(text, ">= {degree}");
    text
}

/// "If the gate is true, so is the constraint."
fn then(gate: Literal, terms: &Terms, degree: Number) -> (Terms, Number) {
    ([&[(degree, !gate)], &terms[..]].concat(), degree)
}

/// "If the constraint is true, so is the gate."
fn only_then(gate: Literal, terms: &Terms, degree: Number) -> (Terms, Number) {
    let rest = (total(terms) + 1).saturating_sub(degree);
    let negated = terms.iter().map(|&(coefficient, literal)| (coefficient, !literal));
    ([(rest, gate)].into_iter().chain(negated).collect(), rest)
}

/// A gate that is defined as a constraint: the numbers of both directions.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Gate {
    /// From the gate to the constraint.
    pub(super) then: Id,
    /// From the constraint to the gate.
    pub(super) only_then: Id,
}

/// A formula; it begins with its number of constraints, so it is kept until the end.
#[derive(Default)]
pub(super) struct Formula {
    text: String,
    constraints: Id,
    pub(super) variables: u64,
}

impl Formula {
    pub(super) fn comment(&mut self, comment: &str) {
        let _ = writeln!(self.text, "* {comment}");
    }

    pub(super) fn add(&mut self, terms: &Terms, degree: Number) -> Id {
        let _ = writeln!(self.text, "{} ;", constraint(terms, degree));
        self.constraints += 1;
        self.constraints
    }

    /// If a literal is true, so are all these.
    pub(super) fn implies(&mut self, literal: Literal, all: &Terms) -> Id {
        let (terms, degree) = then(literal, all, total(all));
        self.add(&terms, degree)
    }

    /// Defines a variable as a constraint.
    pub(super) fn define(&mut self, gate: Var, terms: &Terms, degree: Number) -> Gate {
        self.variables += 1;
        let [first, second] =
            [then, only_then].map(|direction| direction(gate.into(), terms, degree));
        Gate { then: self.add(&first.0, first.1), only_then: self.add(&second.0, second.1) }
    }

    /// Defines a variable as a disjunction: the clause from it to the others, and those from each
    /// of the others to it.
    pub(super) fn define_or(&mut self, gate: Var, any: &[Var]) -> (Id, Vec<Id>) {
        self.variables += 1;
        let (terms, degree) = then(gate.into(), &ones(any.iter().copied()), 1);
        let then = self.add(&terms, degree);
        let one = |var: &Var| self.add(&ones([!*var, gate.into()]), 1);
        (then, any.iter().map(one).collect())
    }

    /// Writes it; the number of constraints.
    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<Id> {
        writeln!(out, "* #variable= {} #constraint= {}", self.variables, self.constraints)?;
        out.write_all(self.text.as_bytes())?;
        Ok(self.constraints)
    }
}

/// A proof that is being written; the first error is kept until the end.
pub(super) struct Proof<'w> {
    out: &'w mut dyn Write,
    last: Id,
    auxiliaries: usize,
    error: Option<io::Error>,
}

impl<'w> Proof<'w> {
    /// Begins the proof about a formula with so many constraints.
    pub(super) fn new(out: &'w mut dyn Write, constraints: Id) -> Proof<'w> {
        let mut proof = Proof { out, last: constraints, auxiliaries: 0, error: None };
        proof.line(format_args!("pseudo-Boolean proof version 3.0\nf {constraints};"));
        proof
    }

    fn line(&mut self, text: fmt::Arguments<'_>) {
        if self.error.is_none() {
            self.error = writeln!(self.out, "{text}").err();
        }
    }

    /// A constraint that follows from some others by unit propagation, in this order.
    pub(super) fn rup(&mut self, terms: &Terms, degree: Number, from: &[Id]) -> Id {
        let mut hints = String::new();
        from.iter().for_each(|id| {
            let _ = write!(hints, " {id}");
        });
        self.line(format_args!("rup {} : ~{hints};", constraint(terms, degree)));
        self.last += 1;
        self.last
    }

    /// A clause that follows by unit propagation.
    pub(super) fn clause(&mut self, any: &[Literal], from: &[Id]) -> Id {
        self.rup(&ones(any.iter().copied()), 1, from)
    }

    /// A constraint by arithmetic.
    pub(super) fn sum(&mut self, sum: &Sum) -> Id {
        self.line(format_args!("pol {};", sum.text));
        self.last += 1;
        self.last
    }

    /// Defines a new variable as a constraint.
    pub(super) fn define(&mut self, terms: &Terms, degree: Number) -> (Var, Gate) {
        let gate = Var::Auxiliary(self.auxiliaries);
        self.auxiliaries += 1;
        let first = then(gate.into(), terms, degree);
        self.line(format_args!("red {} : {gate} -> 0;", constraint(&first.0, first.1)));
        let second = only_then(gate.into(), terms, degree);
        self.line(format_args!("red {} : {gate} -> 1;", constraint(&second.0, second.1)));
        self.last += 2;
        (gate, Gate { then: self.last - 1, only_then: self.last })
    }

    /// Ends with a contradiction.
    pub(super) fn finish(mut self, contradiction: Id) -> io::Result<()> {
        self.line(format_args!(
            "output NONE;\nconclusion UNSAT : {contradiction};\nend pseudo-Boolean proof;"
        ));
        self.error.map_or(Ok(()), Err)
    }
}

/// A sum of constraints and literals (each is at least 0), in reverse Polish notation.
#[derive(Default)]
pub(super) struct Sum {
    text: String,
}

impl Sum {
    fn push(&mut self, what: impl Display, factor: Number) {
        if factor == 0 {
            return;
        }
        let is_first = self.text.is_empty();
        let _ = write!(self.text, "{}{what}", if is_first { "" } else { " " });
        if factor > 1 {
            let _ = write!(self.text, " {factor} *");
        }
        if !is_first {
            self.text.push_str(" +");
        }
    }

    pub(super) fn add(&mut self, id: Id, factor: Number) {
        self.push(id, factor);
    }

    pub(super) fn add_literal(&mut self, literal: impl Into<Literal>, factor: Number) {
        self.push(literal.into(), factor);
    }

    /// Multiplies what there is by a positive number.
    pub(super) fn multiply(&mut self, factor: Number) {
        if factor > 1 {
            let _ = write!(self.text, " {factor} *");
        }
    }

    /// Divides and rounds up; by a number that no coefficient exceeds, what is left is a clause.
    pub(super) fn divide(&mut self, divisor: Number) {
        if divisor > 1 {
            let _ = write!(self.text, " {divisor} d");
        }
    }
}
