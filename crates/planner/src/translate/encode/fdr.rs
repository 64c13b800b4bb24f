//! The task between encoding and output.

use crate::task::{Axiom, Cost, Fact, ObjectId, Value, VarId};

/// An effect: if `condition` holds then `fact` becomes true.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FdrEffect {
    pub(crate) fact: Fact,
    /// Sorted by variable.
    pub(crate) condition: Box<[Fact]>,
}

/// Sorts effects, and removes those that others make superfluous: the same, or without condition.
pub(crate) fn remove_redundant(effects: &mut Vec<FdrEffect>) {
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
pub(crate) struct FdrOperator {
    /// Index of the lifted schema.
    pub(crate) schema: u32,
    /// The arguments of the action.
    pub(crate) args: Box<[ObjectId]>,
    /// Sorted by variable.
    pub(crate) pre: Box<[Fact]>,
    pub(crate) effects: Vec<FdrEffect>,
    pub(crate) cost: Cost,
}

impl FdrOperator {
    /// The value required of `var`.
    pub(crate) fn pre_on(&self, var: VarId) -> Option<Value> {
        self.pre.binary_search_by_key(&var, |f| f.var).ok().map(|i| self.pre[i].value)
    }
}

/// A variable: the value `i` stands for `facts[i]` or, if `None`, for none of the others.
#[derive(Clone, Debug)]
pub(crate) struct FdrVariable {
    pub(crate) values: Vec<Option<crate::translate::invariants::groups::FactId>>,
    /// The layer of the variable, if axioms compute it.
    pub(crate) layer: Option<u32>,
}

/// A task; derived variables have their default values in `init`.
#[derive(Debug)]
pub(crate) struct FdrTask {
    pub(crate) variables: Vec<FdrVariable>,
    pub(crate) mutex_groups: Vec<Vec<Fact>>,
    pub(crate) init: Vec<Value>,
    pub(crate) goal: Vec<Fact>,
    pub(crate) operators: Vec<FdrOperator>,
    pub(crate) axioms: Vec<Axiom>,
}
