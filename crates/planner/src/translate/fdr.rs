//! The task between encoding and output: finite-domain variables, conditional effects allowed.

use crate::pddl::Span;
use crate::task::{Cost, Fact, ObjectId, Value};

/// An effect: if `condition` holds then `fact` becomes true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FdrEffect {
    pub(super) fact: Fact,
    /// Sorted by variable.
    pub(super) condition: Box<[Fact]>,
    /// What to show if the condition cannot be removed.
    pub(super) span: Span,
}

/// An operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FdrOperator {
    /// Index of the lifted schema.
    pub(super) schema: u32,
    /// The arguments of the action.
    pub(super) args: Box<[ObjectId]>,
    /// Sorted by variable.
    pub(super) pre: Box<[Fact]>,
    pub(super) effects: Vec<FdrEffect>,
    pub(super) cost: Cost,
}

impl FdrOperator {
    /// The value required of `var`.
    pub(super) fn pre_on(&self, var: crate::task::VarId) -> Option<Value> {
        self.pre.binary_search_by_key(&var, |f| f.var).ok().map(|i| self.pre[i].value)
    }
}

/// A variable: the value `i` stands for `facts[i]` or, if `None`, for none of the others.
#[derive(Clone, Debug)]
pub(super) struct FdrVariable {
    pub(super) values: Vec<Option<super::groups::FactId>>,
    /// The axiom that computes the variable, if one does.
    pub(super) axiom: Option<usize>,
}

/// A task whose conditional effects and axioms have not been refused yet.
#[derive(Debug)]
pub(super) struct FdrTask {
    pub(super) variables: Vec<FdrVariable>,
    pub(super) mutex_groups: Vec<Vec<Fact>>,
    pub(super) init: Vec<Value>,
    pub(super) goal: Vec<Fact>,
    pub(super) operators: Vec<FdrOperator>,
}
