//! The normalised lifted task: what grounding and invariant synthesis work on.
//!
//! Conditions are conjunctions of literals; disjunctions have become several schemas or effects,
//! existential quantifiers have become parameters, universal ones derived predicates.

use crate::pddl::{NumericExpression, Span, Term, TypeUnion, VariableId};
use crate::task::{PredicateId, SchemaId};

/// A possibly negated atom over terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Literal {
    pub(super) predicate: PredicateId,
    pub(super) negated: bool,
    pub(super) args: Vec<Term>,
}

impl Literal {
    pub(super) fn negate(mut self) -> Literal {
        self.negated = !self.negated;
        self
    }
}

/// A typed variable; its number is unique within its schema.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Variable {
    pub(super) id: VariableId,
    pub(super) types: TypeUnion,
}

/// A conjunction of literals with existentially quantified variables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Conjunction {
    pub(super) variables: Vec<Variable>,
    pub(super) literals: Vec<Literal>,
}

/// One effect: for all `variables`, if `condition` holds then `literal` becomes true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Effect {
    pub(super) variables: Vec<Variable>,
    pub(super) condition: Vec<Literal>,
    pub(super) literal: Literal,
}

/// An action schema with a conjunctive precondition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Schema {
    /// The action it stems from; several schemas may share it.
    pub(super) action: SchemaId,
    /// Where the action's name stands.
    pub(super) span: Span,
    /// The parameters of the action, then those of existential quantifiers.
    pub(super) parameters: Vec<Variable>,
    /// How many parameters are those of the action.
    pub(super) num_action_parameters: usize,
    /// An upper bound of the variable numbers.
    pub(super) num_variables: usize,
    pub(super) precondition: Vec<Literal>,
    pub(super) effects: Vec<Effect>,
    /// The amounts by which the action increases `total-cost`.
    pub(super) costs: Vec<NumericExpression>,
}

/// A rule of a derived predicate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Axiom {
    pub(super) head: Literal,
    /// The arguments of the head, then those that are quantified existentially.
    pub(super) variables: Vec<Variable>,
    pub(super) num_variables: usize,
    pub(super) condition: Vec<Literal>,
    /// Where the rule or condition that it stems from stands.
    pub(super) span: Span,
}

/// A normalised task.
#[derive(Clone, Debug)]
pub(super) struct LiftedTask {
    /// Number of arguments of each predicate: those of the domain, `=`, then derived ones that
    /// normalisation introduced.
    pub(super) arities: Vec<usize>,
    /// The predicate `=`.
    pub(super) equality: PredicateId,
    pub(super) schemas: Vec<Schema>,
    pub(super) axioms: Vec<Axiom>,
    /// The goal, or nothing if it is plainly false.
    pub(super) goal: Option<Vec<Literal>>,
}
