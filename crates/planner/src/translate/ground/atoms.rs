//! Ground literals over the reachable atoms.

use smallvec::SmallVec;

use crate::task::{ObjectId, PredicateId};

use crate::translate::ground::join::ground_args;
use crate::translate::ground::relation::Relation;
use crate::translate::invariants::groups::FactId;
use crate::translate::normalize::lifted::Literal;

/// A ground literal of a fluent predicate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct GroundLiteral {
    pub(crate) fact: FactId,
    pub(crate) negated: bool,
}

impl GroundLiteral {
    pub(crate) fn negate(self) -> GroundLiteral {
        GroundLiteral { negated: !self.negated, ..self }
    }
}

/// A conjunction of ground literals.
pub(crate) type GroundCondition = SmallVec<[GroundLiteral; 6]>;

/// Whether a literal's atom can change, or what it always is.
pub(crate) enum Ground {
    Fluent(GroundLiteral),
    Always(bool),
}

/// The reachable atoms, and which predicates are fluent.
#[derive(Clone, Copy)]
pub(crate) struct Atoms<'a> {
    pub(crate) relations: &'a [Relation],
    pub(crate) fluent: &'a [bool],
}

impl Atoms<'_> {
    /// The atom, if it is reachable.
    pub(crate) fn find(&self, predicate: PredicateId, args: &[ObjectId]) -> Option<FactId> {
        let row = self.relations[predicate.index()].find(args)?;
        Some(FactId { predicate, row })
    }

    pub(crate) fn ground(&self, literal: &Literal, binding: &[ObjectId]) -> Ground {
        let args = ground_args(&literal.args, binding);
        let found = self.find(literal.predicate, &args);
        match found {
            Some(fact) if self.fluent[literal.predicate.index()] => {
                Ground::Fluent(GroundLiteral { fact, negated: literal.negated })
            }
            _ => Ground::Always(found.is_some() != literal.negated),
        }
    }

    /// The fluent part of a conjunction, or nothing if it is statically false.
    pub(crate) fn ground_condition(
        &self,
        literals: &[Literal],
        binding: &[ObjectId],
    ) -> Option<GroundCondition> {
        let mut out = GroundCondition::new();
        for literal in literals {
            match self.ground(literal, binding) {
                Ground::Fluent(literal) => out.push(literal),
                Ground::Always(true) => {}
                Ground::Always(false) => return None,
            }
        }
        Some(out)
    }
}
