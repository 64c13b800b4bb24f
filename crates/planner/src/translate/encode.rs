//! Encoding of conditions over finite-domain variables (Helmert 2009, section 7).
//!
//! Conditions with two mutex facts are impossible.
//! A negative condition on a variable with several other values is multiplied out.

use smallvec::SmallVec;

use crate::task::{Fact, ObjectId, PredicateId, Value, VarId};

use super::groups::FactId;
use super::join::ground_args;
use super::lifted::Literal;
use super::relation::Relation;

/// A conjunction of facts, sorted by variable.
pub(super) type Condition = SmallVec<[Fact; 6]>;

/// A disjunction of conditions; usually one.
pub(super) type Disjunction = SmallVec<[Condition; 1]>;

/// A ground literal of a fluent predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GroundLiteral {
    pub(super) fact: FactId,
    pub(super) negated: bool,
}

pub(super) type GroundCondition = SmallVec<[GroundLiteral; 6]>;

/// The variables that facts belong to, and what is mutex.
pub(super) struct Encoding<'a> {
    pub(super) relations: &'a [Relation],
    pub(super) fluent: &'a [bool],
    /// By predicate and row.
    fact_of: Vec<Vec<Option<Fact>>>,
    /// The mutex groups that a fact belongs to, by predicate and row.
    groups_of: Vec<Vec<SmallVec<[u32; 2]>>>,
    num_groups: usize,
    /// The number of values of each variable; the last is "none of those".
    ranges: Vec<Value>,
}

impl<'a> Encoding<'a> {
    pub(super) fn new(
        variables: &[Vec<FactId>],
        groups: &[Vec<FactId>],
        relations: &'a [Relation],
        fluent: &'a [bool],
    ) -> Encoding<'a> {
        let mut fact_of: Vec<Vec<Option<Fact>>> =
            relations.iter().map(|r| vec![None; r.len()]).collect();
        for (var, facts) in variables.iter().enumerate() {
            for (value, fact) in facts.iter().enumerate() {
                fact_of[fact.predicate.index()][fact.row as usize] =
                    Some(Fact::new(VarId::from(var), value as Value));
            }
        }
        let mut groups_of: Vec<Vec<SmallVec<[u32; 2]>>> =
            relations.iter().map(|r| vec![SmallVec::new(); r.len()]).collect();
        for (g, group) in groups.iter().enumerate() {
            for fact in group {
                groups_of[fact.predicate.index()][fact.row as usize].push(g as u32);
            }
        }
        Encoding {
            relations,
            fluent,
            fact_of,
            groups_of,
            num_groups: groups.len(),
            ranges: variables.iter().map(|facts| facts.len() as Value + 1).collect(),
        }
    }

    /// The fact that stands for a reachable atom.
    pub(super) fn fact(&self, fact: FactId) -> Option<Fact> {
        self.fact_of[fact.predicate.index()][fact.row as usize]
    }

    /// The number of values of a variable, "none of those" included.
    pub(super) fn range(&self, var: VarId) -> Value {
        self.ranges[var.index()]
    }

    pub(super) fn none_of_those(&self, var: VarId) -> Fact {
        Fact::new(var, self.range(var) - 1)
    }

    /// The atom, if it is reachable.
    pub(super) fn find(&self, predicate: PredicateId, args: &[ObjectId]) -> Option<FactId> {
        let row = self.relations[predicate.index()].find(args)?;
        Some(FactId { predicate, row })
    }
}

/// Whether a literal's atom can change, or what it always is.
pub(super) enum Ground {
    Fluent(GroundLiteral),
    Always(bool),
}

/// Encodes conditions and operators; holds buffers between calls.
pub(super) struct Encoder<'a> {
    pub(super) encoding: &'a Encoding<'a>,
    /// The fact that was last seen in each mutex group, and in which condition.
    seen: Vec<(u32, FactId)>,
    stamp: u32,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(encoding: &'a Encoding<'a>) -> Encoder<'a> {
        let nothing = FactId { predicate: PredicateId(u32::MAX), row: u32::MAX };
        Encoder { encoding, seen: vec![(0, nothing); encoding.num_groups], stamp: 0 }
    }

    pub(super) fn ground(&self, literal: &Literal, binding: &[ObjectId]) -> Ground {
        let encoding = self.encoding;
        let args = ground_args(&literal.args, binding);
        let found = encoding.find(literal.predicate, &args);
        match found {
            Some(fact) if encoding.fluent[literal.predicate.index()] => {
                Ground::Fluent(GroundLiteral { fact, negated: literal.negated })
            }
            _ => Ground::Always(found.is_some() != literal.negated),
        }
    }

    /// The fluent part of a conjunction, or nothing if it is statically false.
    pub(super) fn ground_condition(
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

    /// The goal as facts, or nothing if it is impossible.
    ///
    /// Requires that the facts it negates have variables of their own.
    pub(super) fn goal(&mut self, goal: &[Literal]) -> Option<Vec<Fact>> {
        let condition = self.ground_condition(goal, &[])?;
        self.conditions(&condition).pop().map(SmallVec::into_vec)
    }

    /// The disjunction of conjunctions of facts that a conjunction of literals is.
    pub(super) fn conditions(&mut self, literals: &[GroundLiteral]) -> Disjunction {
        self.stamp += 1;
        let encoding = self.encoding;
        let mut fixed = Condition::new();
        for literal in literals.iter().filter(|l| !l.negated) {
            let fact = literal.fact;
            for &group in &encoding.groups_of[fact.predicate.index()][fact.row as usize] {
                let seen = &mut self.seen[group as usize];
                if seen.0 == self.stamp && seen.1 != fact {
                    return Disjunction::new();
                }
                *seen = (self.stamp, fact);
            }
            let Some(fact) = encoding.fact(fact) else { continue };
            match fixed.iter().find(|f| f.var == fact.var) {
                None => fixed.push(fact),
                Some(other) if *other == fact => {}
                Some(_) => return Disjunction::new(),
            }
        }
        let mut excluded: SmallVec<[Fact; 4]> = SmallVec::new();
        for literal in literals.iter().filter(|l| l.negated) {
            let Some(fact) = encoding.fact(literal.fact) else { continue };
            match fixed.iter().find(|f| f.var == fact.var) {
                None => excluded.push(fact),
                Some(other) if *other == fact => return Disjunction::new(),
                Some(_) => {}
            }
        }
        fixed.sort_unstable();
        let mut out = Disjunction::from_buf([fixed]);
        excluded.sort_unstable();
        excluded.dedup();
        for facts in excluded.chunk_by(|a, b| a.var == b.var) {
            let var = facts[0].var;
            let values = (0..encoding.range(var)).filter(|&v| facts.iter().all(|f| f.value != v));
            let values: SmallVec<[Value; 4]> = values.collect();
            let mut product = Disjunction::with_capacity(out.len() * values.len());
            for condition in &out {
                for &value in &values {
                    let at = condition.partition_point(|f| f.var < var);
                    let mut longer = condition.clone();
                    longer.insert(at, Fact::new(var, value));
                    product.push(longer);
                }
            }
            out = product;
        }
        out
    }
}
