//! Which symmetries of a smaller task a certificate can use.
//!
//! A certificate is about the original task as its rounds have left it: operators with every
//! precondition that follows, the pairs that are excluded, and variables that something needs.
//! A symmetry of the smaller task is one of that task, too, as a rule; where work did not suffice
//! for the last rounds, preconditions may follow from variables that the smaller task has not.
//! So each generator is looked at, as whoever checks the certificate does it: conditions (s3) and
//! (s5) of `docs/certificate.md`; the smaller task implies the others.
//!
//! Cost: for each generator, the operators with a moved fact, and the rows of the moved facts.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::{Invariants, Reduction};
use crate::csr::Csr;
use crate::symmetry::Generator;
use crate::task::{Cost, FactNumbers, FactPairs, OpId, Task};
use crate::work::{Budget, Work};

/// What rounds leave of a task, by the numbers of its facts.
#[derive(Clone, Debug)]
pub(super) struct Remains {
    allowed: FactPairs,
    /// The facts of variables that something needs, those left out that never hold; as bits.
    live: Vec<u64>,
    operators: Vec<Remaining>,
}

/// An operator that changes something that is needed, by live facts in ascending order.
#[derive(Clone, Debug)]
struct Remaining {
    pre: Box<[u32]>,
    eff: Box<[u32]>,
    cost: Cost,
}

impl Remains {
    /// Takes the pairs from invariants that have done their work.
    pub(super) fn new(task: &Task, invariants: &mut Invariants, needed: &[bool]) -> Remains {
        let allowed = std::mem::take(&mut invariants.allowed);
        let operators = &invariants.operators;
        let mut live = vec![0; allowed.len().div_ceil(64)];
        let is_live =
            |&fact: &usize| allowed.contains(fact, fact) && needed[operators.var_of[fact] as usize];
        (0..allowed.len()).filter(is_live).for_each(|fact| live[fact / 64] |= 1 << (fact % 64));
        let of_live = |facts: &[u32]| {
            let mut facts: Vec<u32> =
                facts.iter().filter(|&&fact| has(&live, fact)).copied().collect();
            facts.sort_unstable();
            facts.into_boxed_slice()
        };
        let remaining = |op: OpId| {
            let (o, cost) = (op.index(), task.operator(op).cost);
            Remaining { pre: of_live(&operators.pre[o]), eff: of_live(&operators.eff[o]), cost }
        };
        let kept = task.operator_ids().filter(|op| operators.is_kept[op.index()]).map(remaining);
        let operators = kept.filter(|operator| !operator.eff.is_empty()).collect();
        Remains { allowed, live, operators }
    }

    /// Whether the images of facts are excluded together where they are, and nowhere else.
    fn maps_pairs(&self, moved: &[(u32, u32)], budget: &mut Budget) -> bool {
        let mut fixed = self.live.clone();
        moved.iter().for_each(|&(fact, _)| fixed[fact as usize / 64] &= !(1 << (fact % 64)));
        budget.spend((moved.len() * (moved.len() + fixed.len())) as Work);
        moved.iter().all(|&(fact, image)| {
            let (row, other) = (self.allowed.row(fact as usize), self.allowed.row(image as usize));
            row.iter().zip(other).zip(&fixed).all(|((a, b), fixed)| (a ^ b) & fixed == 0)
                && moved.iter().all(|&(a, b)| has(row, a) == has(other, b))
        })
    }
}

fn has(bits: &[u64], fact: u32) -> bool {
    bits[fact as usize / 64] >> (fact % 64) & 1 == 1
}

/// The operators that remain, by what they do and by the facts that they mention.
struct Index<'r> {
    operators: &'r [Remaining],
    /// Hashes that do not depend on the order of facts, ascending.
    hashes: Vec<(u64, u32)>,
    by_fact: Csr<u32>,
    /// By fact its image.
    image: Vec<u32>,
}

impl<'r> Index<'r> {
    fn new(remains: &'r Remains, budget: &mut Budget) -> Index<'r> {
        let operators = &remains.operators[..];
        let image: Vec<u32> = (0..remains.allowed.len() as u32).collect();
        let mut hashes: Vec<(u64, u32)> =
            operators.iter().zip(0..).map(|(operator, o)| (hash(operator, &image), o)).collect();
        hashes.sort_unstable();
        let mentions = |(operator, o): (&'r Remaining, u32)| {
            operator.pre.iter().chain(&operator.eff).map(move |&fact| (fact as usize, o))
        };
        let by_fact = Csr::sorted(image.len(), operators.iter().zip(0..).flat_map(mentions));
        budget.spend(operators.iter().map(|o| (o.pre.len() + o.eff.len()) as Work * MENTION).sum());
        Index { operators, hashes, by_fact, image }
    }

    /// Whether operators with a moved fact have an image that costs no more.
    fn maps_operators(&mut self, moved: &[(u32, u32)], budget: &mut Budget) -> bool {
        moved.iter().for_each(|&(fact, image)| self.image[fact as usize] = image);
        let of_moved = moved.iter().flat_map(|&(fact, _)| self.by_fact.row(fact as usize));
        let mut operators: Vec<u32> = of_moved.copied().collect();
        operators.sort_unstable();
        operators.dedup();
        let has_image = |&o: &u32| {
            let operator = &self.operators[o as usize];
            budget.spend((operator.pre.len() + operator.eff.len()) as Work * MENTION);
            self.has_image(operator)
        };
        let all = operators.iter().all(has_image);
        moved.iter().for_each(|&(fact, _)| self.image[fact as usize] = fact);
        all
    }

    fn has_image(&self, operator: &Remaining) -> bool {
        let images = |facts: &[u32]| {
            let mut images: Vec<u32> =
                facts.iter().map(|&fact| self.image[fact as usize]).collect();
            images.sort_unstable();
            images
        };
        let hash = hash(operator, &self.image);
        let first = self.hashes.partition_point(|&(other, _)| other < hash);
        let same = self.hashes[first..].iter().take_while(|&&(other, _)| other == hash);
        let mut same = same.map(|&(_, o)| &self.operators[o as usize]).peekable();
        if same.peek().is_none() {
            return false;
        }
        let (pre, eff) = (images(&operator.pre), images(&operator.eff));
        same.any(|other| *other.pre == *pre && *other.eff == *eff && other.cost <= operator.cost)
    }
}

/// The work of mapping a fact of an operator.
const MENTION: Work = 20;

/// A hash of an operator's mapped facts, in any order.
fn hash(operator: &Remaining, image: &[u32]) -> u64 {
    let of = |(fact, kind): (&u32, u8)| {
        let mut hasher = FxHasher::default();
        (image[*fact as usize], kind).hash(&mut hasher);
        hasher.finish()
    };
    let (pre, eff) = (operator.pre.iter().map(|f| (f, 0)), operator.eff.iter().map(|f| (f, 1)));
    pre.chain(eff).map(of).fold(0, u64::wrapping_add)
}

impl Reduction<'_> {
    /// Leaves the generators of symmetries of the smaller task that a certificate can use; all, if
    /// rounds were not kept. Those for which the budget does not suffice are dropped, too.
    pub fn retain_provable(&self, generators: &mut Vec<Generator>, budget: &mut Budget) {
        if self.statistics.unsolvable {
            // Nothing is needed of what the smaller task still has.
            generators.clear();
        }
        let Some(remains) = &self.remains else { return };
        let (smaller, original) = (FactNumbers::new(&self.task), FactNumbers::new(self.original));
        let number: Vec<u32> =
            smaller.facts().map(|fact| original.of(self.fact(fact)) as u32).collect();
        let mut index = Index::new(remains, budget);
        generators.retain(|generator| {
            let moved = generator.facts(&smaller);
            let moved: Vec<(u32, u32)> =
                moved.map(|(a, b)| (number[a as usize], number[b as usize])).collect();
            !budget.is_spent()
                && remains.maps_pairs(&moved, budget)
                && index.maps_operators(&moved, budget)
        });
    }
}
