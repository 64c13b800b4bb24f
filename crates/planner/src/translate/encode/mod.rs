//! Encoding of conditions over finite-domain variables (Helmert 2009, section 7).
//!
//! Conditions with two mutex facts are impossible.
//! A negative condition on a variable with several other values is multiplied out.

pub(crate) mod axioms;
pub(crate) mod fdr;
pub(crate) mod operators;

use smallvec::SmallVec;

use crate::task::{Fact, ObjectId, PredicateId, Value, VarId};

use crate::translate::ground::atoms::{Atoms, GroundCondition, GroundLiteral};
use crate::translate::ground::derived::{Derived, Meaning};
use crate::translate::invariants::groups::FactId;
use crate::translate::normalize::lifted::Literal;

/// A conjunction of facts, sorted by variable.
pub(super) type Condition = SmallVec<[Fact; 6]>;

/// A disjunction of conditions; usually one.
pub(super) type Disjunction = SmallVec<[Condition; 1]>;

/// The variables that facts belong to, and what is mutex.
pub(super) struct Encoding<'a> {
    pub(super) atoms: Atoms<'a>,
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
        atoms: Atoms<'a>,
    ) -> Encoding<'a> {
        let relations = atoms.relations;
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
            atoms,
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
}

/// Encodes conditions and operators; holds buffers between calls.
pub(super) struct Encoder<'a> {
    pub(super) encoding: &'a Encoding<'a>,
    pub(super) derived: &'a Derived,
    /// The fact that was last seen in each mutex group, and in which condition.
    seen: Vec<(u32, FactId)>,
    stamp: u32,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(encoding: &'a Encoding<'a>, derived: &'a Derived) -> Encoder<'a> {
        let nothing = FactId { predicate: PredicateId(u32::MAX), row: u32::MAX };
        let seen = vec![(0, nothing); encoding.num_groups];
        Encoder { encoding, derived, seen, stamp: 0 }
    }

    /// The ground form of a conjunction, without derived facts that need no axiom; nothing if it
    /// is plainly false.
    pub(super) fn ground_condition(
        &mut self,
        literals: &[Literal],
        binding: &[ObjectId],
    ) -> Option<GroundCondition> {
        let condition = self.encoding.atoms.ground_condition(literals, binding)?;
        self.replace_derived(condition)
    }

    /// Replaces derived facts by what is equivalent to them, unless that takes more conjunctions
    /// of facts: negations may not be single facts.
    pub(super) fn replace_derived(&mut self, literals: GroundCondition) -> Option<GroundCondition> {
        let derived = self.derived;
        if derived.is_empty() || !literals.iter().any(|l| derived.contains(l.fact)) {
            return Some(literals);
        }
        let (open, mut out): (GroundCondition, GroundCondition) =
            literals.into_iter().partition(|l| derived.contains(l.fact));
        let mut alternatives = self.num_conditions(&out);
        for literal in open {
            match derived.meaning(literal) {
                Meaning::Always(true) => {}
                Meaning::Always(false) => return None,
                Meaning::Itself => out.push(literal),
                Meaning::Conjunction(conjunction) => {
                    let before = out.len();
                    out.extend_from_slice(conjunction);
                    let count = self.num_conditions(&out);
                    if count > alternatives {
                        out.truncate(before);
                        out.push(literal);
                    } else {
                        alternatives = count;
                    }
                }
            }
        }
        Some(out)
    }

    /// The disjunction of conjunctions of facts that a conjunction of literals is.
    pub(super) fn conditions(&mut self, literals: &[GroundLiteral]) -> Disjunction {
        let Some(Alternatives { fixed, open }) = self.alternatives(literals) else {
            return Disjunction::new();
        };
        let mut out = Disjunction::from_buf([fixed]);
        for (var, values) in open {
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

    /// How many conjunctions of facts a conjunction of literals takes.
    pub(super) fn num_conditions(&mut self, literals: &[GroundLiteral]) -> usize {
        let Some(Alternatives { open, .. }) = self.alternatives(literals) else { return 0 };
        open.iter().fold(1, |n, (_, values)| n.saturating_mul(values.len()))
    }

    /// What a conjunction of literals asks of each variable; nothing if it is impossible.
    fn alternatives(&mut self, literals: &[GroundLiteral]) -> Option<Alternatives> {
        self.stamp += 1;
        let encoding = self.encoding;
        let mut fixed = Condition::new();
        for literal in literals.iter().filter(|l| !l.negated) {
            let fact = literal.fact;
            for &group in &encoding.groups_of[fact.predicate.index()][fact.row as usize] {
                let seen = &mut self.seen[group as usize];
                if seen.0 == self.stamp && seen.1 != fact {
                    return None;
                }
                *seen = (self.stamp, fact);
            }
            let Some(fact) = encoding.fact(fact) else { continue };
            match fixed.iter().find(|f| f.var == fact.var) {
                None => fixed.push(fact),
                Some(other) if *other == fact => {}
                Some(_) => return None,
            }
        }
        let mut excluded: SmallVec<[Fact; 4]> = SmallVec::new();
        for literal in literals.iter().filter(|l| l.negated) {
            let Some(fact) = encoding.fact(literal.fact) else { continue };
            match fixed.iter().find(|f| f.var == fact.var) {
                None => excluded.push(fact),
                Some(other) if *other == fact => return None,
                Some(_) => {}
            }
        }
        fixed.sort_unstable();
        excluded.sort_unstable();
        excluded.dedup();
        let open = excluded.chunk_by(|a, b| a.var == b.var).map(|facts| {
            let var = facts[0].var;
            let values = (0..encoding.range(var)).filter(|&v| facts.iter().all(|f| f.value != v));
            (var, values.collect())
        });
        Some(Alternatives { fixed, open: open.collect() })
    }
}

/// The values that a condition allows.
struct Alternatives {
    fixed: Condition,
    /// Variables that may have several values.
    open: SmallVec<[(VarId, SmallVec<[Value; 4]>); 2]>,
}
