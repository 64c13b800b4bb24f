//! The task between encoding and output.

use crate::task::{Axiom, Cost, Fact, ObjectId, Value, VarId};

/// An effect: if `condition` holds then `fact` becomes true.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FdrEffect {
    pub(super) fact: Fact,
    /// Sorted by variable.
    pub(super) condition: Box<[Fact]>,
}

/// Sorts effects, and removes those that others make superfluous: the same, or without condition.
pub(super) fn remove_redundant(effects: &mut Vec<FdrEffect>) {
    effects.sort_unstable();
    effects.dedup();
    let mut always: Option<Fact> = None;
    effects.retain(|effect| {
        // The effect without condition comes first among those on a fact.
        if effect.condition.is_empty() {
            always = Some(effect.fact);
            return true;
        }
        always != Some(effect.fact)
    });
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
    pub(super) fn pre_on(&self, var: VarId) -> Option<Value> {
        self.pre.binary_search_by_key(&var, |f| f.var).ok().map(|i| self.pre[i].value)
    }
}

/// A variable: the value `i` stands for `facts[i]` or, if `None`, for none of the others.
#[derive(Clone, Debug)]
pub(super) struct FdrVariable {
    pub(super) values: Vec<Option<super::groups::FactId>>,
    /// The layer of the variable, if axioms compute it.
    pub(super) layer: Option<u32>,
}

/// A task; derived variables have their default values in `init`.
#[derive(Debug)]
pub(super) struct FdrTask {
    pub(super) variables: Vec<FdrVariable>,
    pub(super) mutex_groups: Vec<Vec<Fact>>,
    pub(super) init: Vec<Value>,
    pub(super) goal: Vec<Fact>,
    pub(super) operators: Vec<FdrOperator>,
    pub(super) axioms: Vec<Axiom>,
}
