//! Derived facts: their ground rules, and what a fact can be replaced by.
//!
//! A derived fact d holds iff the body of one of its rules does. So
//!
//! ```text
//!  d = body              if d has a single rule,
//! ¬d = ¬l₁ ∧ … ∧ ¬lₙ     if its rules have the bodies l₁, …, lₙ of one literal each,
//! ```
//!
//! and a condition that mentions d only in such a way needs no axiom.
//! Universal conditions are of the second kind when what is not static in them is a literal:
//! `(forall (?o) (imply (includes ?o ?p) (started ?o)))` is a conjunction for each ?p.
//! Facts that depend on themselves are never replaced.
//! Cost: linear in the rules, times [`MAX_LITERALS`] at worst.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::task::ObjectId;

use crate::translate::ground::Reachable;
use crate::translate::ground::atoms::{Atoms, GroundCondition, GroundLiteral};
use crate::translate::invariants::groups::FactId;
use crate::translate::normalize::lifted::LiftedTask;
use crate::translate::tarjan::strongly_connected_components;
use crate::translate::{Interrupt, Poll};

/// Longest conjunction that replaces a literal; beyond it an axiom is smaller.
const MAX_LITERALS: usize = 1000;

/// What stands for a literal.
pub(crate) enum Meaning<'a> {
    /// Nothing but the literal itself.
    Itself,
    /// This conjunction.
    Conjunction(&'a [GroundLiteral]),
    /// It is always true or always false.
    Always(bool),
}

/// The derived facts of a task.
#[derive(Default)]
pub(crate) struct Derived {
    index: FxHashMap<FactId, usize>,
    facts: Vec<DerivedFact>,
}

struct DerivedFact {
    fact: FactId,
    rules: Vec<GroundCondition>,
    /// The value it always has, if it has one.
    always: Option<bool>,
    /// What is equivalent to the fact and to its negation.
    positive: Option<GroundCondition>,
    negative: Option<GroundCondition>,
}

impl Derived {
    /// Collects the rules of all derived facts and finds what can replace them.
    pub(crate) fn new(
        lifted: &LiftedTask,
        reachable: &Reachable,
        poll: &Poll<'_>,
    ) -> Result<Derived, Interrupt> {
        let mut derived = Derived::default();
        if lifted.axioms.is_empty() {
            return Ok(derived);
        }
        let atoms = Atoms { relations: &reachable.relations, fluent: &reachable.fluent };
        let heads: FxHashSet<_> = lifted.axioms.iter().map(|axiom| axiom.head.predicate).collect();
        for predicate in (0..lifted.arities.len()).map(Into::into).filter(|p| heads.contains(p)) {
            for row in 0..reachable.relations[predicate.index()].len() as u32 {
                let fact = FactId { predicate, row };
                derived.index.insert(fact, derived.facts.len());
                derived.facts.push(DerivedFact {
                    fact,
                    rules: Vec::new(),
                    always: None,
                    positive: None,
                    negative: None,
                });
            }
        }
        for (axiom, instances) in lifted.axioms.iter().zip(&reachable.axiom_instances) {
            let mut binding = vec![ObjectId(u32::MAX); axiom.num_variables];
            for args in instances.iter() {
                poll.tick()?;
                for (variable, &object) in axiom.variables.iter().zip(args) {
                    binding[variable.id.index()] = object;
                }
                let head = atoms.ground_condition(std::slice::from_ref(&axiom.head), &binding);
                let body = atoms.ground_condition(&axiom.condition, &binding);
                if let (Some(head), Some(body)) = (head, body)
                    && let Some(head) = head.first()
                {
                    derived.facts[derived.index[&head.fact]].rules.push(body);
                }
            }
        }
        let depends_on = |fact: &DerivedFact| {
            let literals = fact.rules.iter().flatten();
            literals.filter_map(|l| derived.index.get(&l.fact).copied()).collect::<Vec<_>>()
        };
        let dependencies: Vec<Vec<usize>> = derived.facts.iter().map(depends_on).collect();
        for component in strongly_connected_components(&dependencies).iter().rev() {
            for &i in component {
                poll.tick()?;
                let recursive = component.len() > 1 || dependencies[i].contains(&i);
                derived.resolve(i, recursive);
            }
        }
        Ok(derived)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    pub(crate) fn contains(&self, fact: FactId) -> bool {
        self.index.contains_key(&fact)
    }

    /// The rules of a derived fact: their bodies.
    pub(crate) fn rules(&self, fact: FactId) -> &[GroundCondition] {
        &self.facts[self.index[&fact]].rules
    }

    /// What stands for a literal.
    pub(crate) fn meaning(&self, literal: GroundLiteral) -> Meaning<'_> {
        let Some(&i) = self.index.get(&literal.fact) else { return Meaning::Itself };
        let fact = &self.facts[i];
        if let Some(value) = fact.always {
            return Meaning::Always(value != literal.negated);
        }
        let conjunction = if literal.negated { &fact.negative } else { &fact.positive };
        conjunction.as_deref().map_or(Meaning::Itself, Meaning::Conjunction)
    }

    /// A conjunction in which some derived fact is replaced by what is equivalent to it, if there
    /// is such a fact.
    pub(crate) fn replace(&self, literals: &[GroundLiteral]) -> Option<GroundCondition> {
        let replaceable = |l: &GroundLiteral| matches!(self.meaning(*l), Meaning::Conjunction(_));
        literals.iter().any(replaceable).then(|| self.expand(literals.iter().copied()))?
    }

    /// Simplifies the rules of a fact, those of the facts it depends on being simple already, and
    /// finds out what is equivalent to it.
    fn resolve(&mut self, i: usize, recursive: bool) {
        let fact = self.facts[i].fact;
        let mut rules = std::mem::take(&mut self.facts[i].rules);
        rules.retain_mut(|body| self.simplify(body, fact));
        remove_dominated(&mut rules);
        let always = match rules.as_slice() {
            [] => Some(false),
            [body] if body.is_empty() => Some(true),
            _ => None,
        };
        let (mut positive, mut negative) = (None, None);
        if !recursive && always.is_none() {
            if let [body] = rules.as_slice() {
                positive = self.expand(body.iter().copied());
            }
            if rules.iter().all(|body| body.len() == 1) {
                negative = self.expand(rules.iter().map(|body| body[0].negate()));
            }
        }
        self.facts[i] = DerivedFact { fact, rules, always, positive, negative };
    }

    /// Sorts a body and removes what always holds; false if it never holds or is circular.
    fn simplify(&self, body: &mut GroundCondition, head: FactId) -> bool {
        let mut possible = true;
        body.retain(|literal| match self.meaning(*literal) {
            Meaning::Always(value) => {
                possible &= value;
                false
            }
            _ => true,
        });
        body.sort_unstable();
        body.dedup();
        let contradiction = body.windows(2).any(|pair| pair[0].fact == pair[1].fact);
        possible && !contradiction && !body.iter().any(|l| l.fact == head && !l.negated)
    }

    /// The conjunction of what stands for each of the literals, unless it is long.
    fn expand(&self, literals: impl Iterator<Item = GroundLiteral>) -> Option<GroundCondition> {
        let mut out = GroundCondition::new();
        for literal in literals {
            match self.meaning(literal) {
                Meaning::Conjunction(conjunction) => out.extend_from_slice(conjunction),
                _ => out.push(literal),
            }
            if out.len() > MAX_LITERALS {
                return None;
            }
        }
        out.sort_unstable();
        out.dedup();
        Some(out)
    }
}

/// Removes rules whose body contains that of another rule.
fn remove_dominated(rules: &mut Vec<GroundCondition>) {
    rules.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    rules.dedup();
    if rules.first().is_some_and(|body| body.is_empty()) {
        rules.truncate(1);
    }
    // Shorter bodies come first, and each is found by its first literal.
    let mut by_first: FxHashMap<GroundLiteral, Vec<usize>> = FxHashMap::default();
    let mut kept: Vec<GroundCondition> = Vec::with_capacity(rules.len());
    for body in rules.drain(..) {
        let contained = |&k: &usize| {
            let shorter: &GroundCondition = &kept[k];
            shorter.iter().all(|literal| body.binary_search(literal).is_ok())
        };
        let candidates = body.iter().filter_map(|literal| by_first.get(literal)).flatten();
        if candidates.into_iter().any(contained) {
            continue;
        }
        if let Some(&first) = body.first() {
            by_first.entry(first).or_default().push(kept.len());
        }
        kept.push(body);
    }
    *rules = kept;
}
