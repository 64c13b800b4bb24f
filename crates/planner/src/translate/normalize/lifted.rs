//! The normalised lifted task: what grounding and invariant synthesis work on.
//!
//! Conditions are conjunctions of literals; disjunctions have become several schemas or effects,
//! existential quantifiers have become parameters, universal ones derived predicates.

use crate::pddl::{NumericExpression, Span, Term, TypeUnion, VariableId};
use crate::task::{PredicateId, SchemaId};

/// A possibly negated atom over terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Literal {
    pub(crate) predicate: PredicateId,
    pub(crate) negated: bool,
    pub(crate) args: Vec<Term>,
}

impl Literal {
    pub(crate) fn negate(mut self) -> Literal {
        self.negated = !self.negated;
        self
    }
}

/// A typed variable; its number is unique within its schema.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Variable {
    pub(crate) id: VariableId,
    pub(crate) types: TypeUnion,
}

/// A conjunction of literals with existentially quantified variables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Conjunction {
    pub(crate) variables: Vec<Variable>,
    pub(crate) literals: Vec<Literal>,
}

/// One effect: for all `variables`, if `condition` holds then `literal` becomes true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Effect {
    pub(crate) variables: Vec<Variable>,
    pub(crate) condition: Vec<Literal>,
    pub(crate) literal: Literal,
}

/// An action schema with a conjunctive precondition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Schema {
    /// The action it stems from; several schemas may share it.
    pub(crate) action: SchemaId,
    /// Where the action's name stands.
    pub(crate) span: Span,
    /// The parameters of the action, then those of existential quantifiers.
    pub(crate) parameters: Vec<Variable>,
    /// How many parameters are those of the action.
    pub(crate) num_action_parameters: usize,
    /// An upper bound of the variable numbers.
    pub(crate) num_variables: usize,
    pub(crate) precondition: Vec<Literal>,
    pub(crate) effects: Vec<Effect>,
    /// The amounts by which the action increases `total-cost`.
    pub(crate) costs: Vec<NumericExpression>,
}

/// A rule of a derived predicate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Axiom {
    pub(crate) head: Literal,
    /// The arguments of the head, then those that are quantified existentially.
    pub(crate) variables: Vec<Variable>,
    pub(crate) num_variables: usize,
    pub(crate) condition: Vec<Literal>,
    /// Where the rule or condition that it stems from stands.
    pub(crate) span: Span,
}

/// A normalised task.
#[derive(Clone, Debug)]
pub(crate) struct LiftedTask {
    /// Number of arguments of each predicate: those of the domain, `=`, then derived ones that
    /// normalisation introduced.
    pub(crate) arities: Vec<usize>,
    /// The predicate `=`.
    pub(crate) equality: PredicateId,
    pub(crate) schemas: Vec<Schema>,
    pub(crate) axioms: Vec<Axiom>,
    /// The goal, or nothing if it is plainly false.
    pub(crate) goal: Option<Vec<Literal>>,
}
