//! Operators with every precondition that mutexes imply.
//!
//! *Disambiguation* (Alcázar and Torralba 2015): where an operator is applied in a state of a plan,
//! neither that state nor the one after it has a mutex pair.
//! If this leaves a variable one value, that is a precondition; if it leaves none, the operator is
//! on no plan.

use super::FactPairs;
use crate::task::{FactNumbers, Task, VarId};
use crate::work::{Budget, Work};

/// The operators of a task without conditional effects; facts by their numbers.
pub(super) struct Operators {
    pub(super) facts: FactNumbers,
    /// The variable of each fact.
    pub(super) var_of: Vec<u32>,
    /// The preconditions, those that mutexes imply included.
    pub(super) pre: Vec<Vec<u32>>,
    pub(super) eff: Vec<Box<[u32]>>,
    /// Whether it may be on a plan.
    pub(super) is_kept: Vec<bool>,
}

/// What an update did.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// Operators were removed, …
    pub(super) removed: bool,
    /// … some of which the round before had applied, or preconditions were added.
    pub(super) matters_to_round: bool,
}

impl Operators {
    pub(super) fn new(task: &Task) -> Operators {
        let facts = FactNumbers::new(task);
        let numbers =
            |of: &[crate::task::Fact]| of.iter().map(|&fact| facts.of(fact) as u32).collect();
        Operators {
            var_of: facts.facts().map(|fact| fact.var.0).collect(),
            pre: task.operators.iter().map(|o| numbers(&o.pre)).collect(),
            eff: task.operators.iter().map(|o| Vec::into_boxed_slice(numbers(&o.eff))).collect(),
            is_kept: vec![true; task.operators.len()],
            facts,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.pre.len()
    }

    /// Whether an operator gives a variable a value.
    pub(super) fn affects(&self, o: usize, var: u32) -> bool {
        self.eff[o].iter().any(|&fact| self.var_of[fact as usize] == var)
    }

    /// The facts that are known after an operator: its effects, and preconditions that stay.
    pub(super) fn post(&self, o: usize) -> Vec<u32> {
        let stays = |&&fact: &&u32| !self.affects(o, self.var_of[fact as usize]);
        self.eff[o].iter().chain(self.pre[o].iter().filter(stays)).copied().collect()
    }

    /// Removes operators and adds preconditions, as far as the pairs that remain say so.
    ///
    /// Looks at operators that mention facts with changed rows; `was_applied` says which operators
    /// the last round could apply.
    pub(super) fn update(
        &mut self,
        allowed: &FactPairs,
        has_changed: &[bool],
        was_applied: &[bool],
        budget: &mut Budget,
    ) -> Change {
        let mut change = Change::default();
        let mut values = Values::new(&self.facts, allowed);
        for (o, &was_applied) in was_applied.iter().enumerate() {
            let mut mentions = self.pre[o].iter().chain(&self.eff[o]);
            if !self.is_kept[o] || !mentions.any(|&fact| has_changed[fact as usize]) {
                continue;
            }
            let known = self.pre[o].len();
            let words = allowed.len().div_ceil(64);
            budget.spend(
                ((known + self.eff[o].len()) * words / 2 + self.facts.num_variables()) as Work,
            );
            if !values.disambiguate(&mut self.pre[o], &self.eff[o]) {
                self.is_kept[o] = false;
                change.removed = true;
                change.matters_to_round |= was_applied;
            } else if self.pre[o].len() > known {
                change.matters_to_round = true;
            }
        }
        change
    }
}

/// The values that variables may have before and after an operator, as bits of facts.
pub(super) struct Values<'a> {
    allowed: &'a FactPairs,
    /// The facts that may hold.
    single: Vec<u64>,
    facts: &'a FactNumbers,
    var_of: Vec<u32>,
    before: Vec<u64>,
    pub(super) after: Vec<u64>,
    /// The variables that have a precondition, and those with an effect.
    is_known: Vec<bool>,
    is_affected: Vec<bool>,
}

/// What is left of a variable's values.
enum Left {
    Nothing,
    One(u32),
    Several,
}

impl<'a> Values<'a> {
    pub(super) fn new(facts: &'a FactNumbers, allowed: &'a FactPairs) -> Values<'a> {
        let words = allowed.len().div_ceil(64);
        let mut single = vec![0; words];
        let may_hold = (0..allowed.len()).filter(|&fact| allowed.contains(fact, fact));
        may_hold.for_each(|fact| single[fact / 64] |= 1 << (fact % 64));
        Values {
            allowed,
            single,
            facts,
            var_of: facts.facts().map(|fact| fact.var.0).collect(),
            before: vec![0; words],
            after: vec![0; words],
            is_known: vec![false; facts.num_variables()],
            is_affected: vec![false; facts.num_variables()],
        }
    }

    /// Adds the preconditions that follow; false if no plan can have such a step.
    ///
    /// Without effects this is about a partial state such as the goal.
    pub(super) fn disambiguate(&mut self, pre: &mut Vec<u32>, eff: &[u32]) -> bool {
        if !are_allowed(self.allowed, eff) {
            return false;
        }
        let Values { allowed, var_of, before, after, is_known, is_affected, .. } = self;
        is_known.fill(false);
        pre.iter().for_each(|&fact| is_known[var_of[fact as usize] as usize] = true);
        is_affected.fill(false);
        eff.iter().for_each(|&fact| is_affected[var_of[fact as usize] as usize] = true);
        before.copy_from_slice(&self.single);
        pre.iter().for_each(|&fact| intersect(before, allowed.row(fact as usize)));
        after.copy_from_slice(before);
        eff.iter().for_each(|&fact| intersect(after, allowed.row(fact as usize)));
        let mut looked_at = 0;
        while looked_at <= pre.len() {
            // Whatever was known stays possible, or nothing of its variable is left.
            let is_lost = |&fact: &u32| {
                let affected = self.is_affected[self.var_of[fact as usize] as usize];
                let row = if affected { &self.before } else { &self.after };
                row[fact as usize / 64] >> (fact % 64) & 1 == 0
            };
            if pre.iter().any(is_lost) {
                return false;
            }
            looked_at = pre.len() + 1;
            for var in 0..self.is_known.len() {
                if self.is_known[var] {
                    continue;
                }
                match self.left(var) {
                    Left::Nothing => return false,
                    Left::One(fact) => {
                        self.is_known[var] = true;
                        pre.push(fact);
                        intersect(&mut self.before, self.allowed.row(fact as usize));
                        intersect(&mut self.after, self.allowed.row(fact as usize));
                    }
                    Left::Several => {}
                }
            }
        }
        true
    }

    fn left(&self, var: usize) -> Left {
        let row = if self.is_affected[var] { &self.before } else { &self.after };
        let mut left = Left::Nothing;
        for (word, bits) in self.facts.words(VarId::from(var)) {
            let bits = row[word] & bits;
            left = match (left, bits.count_ones()) {
                (left, 0) => left,
                (Left::Nothing, 1) => Left::One(word as u32 * 64 + bits.trailing_zeros()),
                _ => return Left::Several,
            };
        }
        left
    }
}

/// Whether every two of these facts are in the relation, and each with itself.
pub(super) fn are_allowed(allowed: &FactPairs, facts: &[u32]) -> bool {
    let mut pairs = facts
        .iter()
        .enumerate()
        .flat_map(|(i, a)| facts[..=i].iter().map(move |b| (*a as usize, *b as usize)));
    pairs.all(|(a, b)| allowed.contains(a, b))
}

#[inline(always)]
pub(super) fn intersect(words: &mut [u64], with: &[u64]) {
    words.iter_mut().zip(with).for_each(|(word, with)| *word &= with);
}
