//! Operators with every precondition that mutexes imply.
//!
//! *Disambiguation* (Alcázar and Torralba 2015): where an operator is applied in a state of a plan,
//! neither that state nor the one after it has a mutex pair.
//! If this leaves a variable one value, that is a precondition; if it leaves none, the operator is
//! on no plan.

use super::FactPairs;
use crate::task::{FactNumbers, Task, VarId, ones};
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
        let mut values = Values::default();
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
            if !values.disambiguate(&self.facts, allowed, &mut self.pre[o], &self.eff[o]) {
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
#[derive(Default)]
pub(super) struct Values {
    before: Vec<u64>,
    pub(super) after: Vec<u64>,
}

impl Values {
    /// Adds the preconditions that follow; false if no plan can have such a step.
    ///
    /// Without effects this is about a partial state such as the goal.
    pub(super) fn disambiguate(
        &mut self,
        facts: &FactNumbers,
        allowed: &FactPairs,
        pre: &mut Vec<u32>,
        eff: &[u32],
    ) -> bool {
        if !are_allowed(allowed, eff) {
            return false;
        }
        let Values { before, after } = self;
        before.clear();
        before.resize(allowed.len().div_ceil(64), !0);
        pre.iter().for_each(|&fact| intersect(before, allowed.row(fact as usize)));
        after.clone_from(before);
        eff.iter().for_each(|&fact| intersect(after, allowed.row(fact as usize)));
        let mut added = true;
        while added {
            added = false;
            for var in 0..facts.num_variables() {
                let range = facts.range(VarId::from(var));
                let is_affected = eff.iter().any(|&fact| range.contains(&(fact as usize)));
                let row = if is_affected { &*before } else { &*after };
                let mut left = ones_in(row, range).filter(|&fact| allowed.contains(fact, fact));
                let Some(fact) = left.next() else { return false };
                if left.next().is_some() || pre.contains(&(fact as u32)) {
                    continue;
                }
                drop(left);
                pre.push(fact as u32);
                intersect(before, allowed.row(fact));
                intersect(after, allowed.row(fact));
                added = true;
            }
        }
        true
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

/// The bits that are set in a range.
pub(super) fn ones_in(words: &[u64], range: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
    let first = range.start / 64;
    let last = range.end.div_ceil(64).max(first);
    let from_here = ones(&words[first..last]).map(move |bit| first * 64 + bit);
    from_here.skip_while(move |&bit| bit < range.start).take_while(move |&bit| bit < range.end)
}
