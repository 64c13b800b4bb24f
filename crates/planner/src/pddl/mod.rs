//! PDDL: from text to a typed syntax tree.
//!
//! Stages: [`Source`] → words and lists (iterative, nesting limited) → [`Domain`] and [`Problem`]
//! with all names resolved and checked.
//! Supported: `:strips`, `:typing` (hierarchies, `either`), constants, `:equality`, negative,
//! disjunctive and quantified conditions, universal and conditional effects, derived predicates,
//! `:action-costs`.
//! Guarantees: no input makes it panic, hang or overflow the stack; every error is a
//! [`PddlError`] that shows the place, what was expected and, where possible, a hint; what is
//! accepted although it is probably a mistake is listed as warnings of domain and problem.

mod ast;
mod definitions;
mod derived;
mod domain;
mod error;
mod formula;
mod problem;
mod sexpr;
mod source;
mod symbols;
mod types;

pub use ast::{
    ActionSchema, AtomSchema, Condition, DerivedRule, Domain, Effect, Function, FunctionId,
    NumericExpression, Object, Parameter, Predicate, Problem, Term, Type, TypeId, TypeUnion,
    VariableId,
};
pub use definitions::{Definitions, definitions};
pub use domain::parse_domain;
pub use error::{PddlError, PddlErrorKind, PddlReport};
pub use problem::parse_problem;
pub use source::{Location, Source, Span};
