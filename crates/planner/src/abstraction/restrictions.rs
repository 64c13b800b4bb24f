//! What mutexes say of abstract transitions (Haslum, Bonet and Geffner 2005).
//!
//! Where an operator is applied in a state of a plan, no fact of that state is mutex with its
//! preconditions, and no fact of the next state with its effects or with preconditions that stay.
//! So an abstract transition is dropped if it needs a variable to have such a value.
//! Distances only rise, and they are admissible for the states of plans from the initial state (see
//! [`crate::reduce`]).
//! Abstract states with mutex pairs may have any distance.
//!
//! In a projection, transitions are shared by all values of a variable that their operator does not
//! mention.
//! If the operator restricts it, each value that is left takes transitions of its own; so projections
//! do without that unless at least half of the values go.
//! On pipesworld-tankage p15 this takes 1.5 s instead of 5.6 s, on airport p26 2.3 s instead of 13.3 s.
//!
//! Without mutexes nothing is restricted, and nothing is stored.
//! Cost: O(operators · (facts they mention · facts / 64 + variables)), and a bit for each operator
//! and variable.

use smallvec::SmallVec;

use crate::task::{Fact, FactNumbers, Mutexes, OpId, Operator, Task, Value, VarId};

/// Values of one variable, as bits.
pub(super) type Values = SmallVec<[u64; 1]>;

/// A variable that an operator does not change is restricted if one of so many values goes.
const LEAST_PART: usize = 2;

/// Which operators restrict which variables that they have no precondition on.
#[derive(Clone, Debug, Default)]
pub(super) struct Restrictions {
    words: usize,
    bits: Vec<u64>,
}

impl Restrictions {
    pub(super) fn new(task: &Task) -> Restrictions {
        if task.mutexes.is_empty() {
            return Restrictions::default();
        }
        let facts = FactNumbers::new(task);
        let words = task.variables.len().div_ceil(64);
        let mut bits = vec![0; words * task.operators.len()];
        let mut never = [0; 2].map(|_: u8| vec![0; facts.len().div_ceil(64)]);
        for (operator, row) in task.operators.iter().zip(bits.chunks_mut(words.max(1))) {
            unite(&mut never[0], &task.mutexes, &operator.pre);
            unite(&mut never[1], &task.mutexes, &operator.eff);
            for var in (0..task.variables.len()).map(VarId::from) {
                if operator.pre_on(var).is_some() {
                    continue;
                }
                let stays = operator.eff_on(var).is_none();
                let excluded = facts.words(var).map(|(word, bits)| {
                    let after = if stays { never[1][word] } else { 0 };
                    ((never[0][word] | after) & bits).count_ones() as usize
                });
                let (excluded, all): (usize, usize) = (excluded.sum(), facts.range(var).len());
                let is_worth_it = !stays || excluded * LEAST_PART >= all;
                let is_restricted = excluded > 0 && is_worth_it;
                row[var.index() / 64] |= u64::from(is_restricted) << (var.index() % 64);
            }
        }
        Restrictions { words, bits }
    }

    /// Whether an operator restricts a variable that it has no precondition on.
    #[inline]
    pub(super) fn has(&self, op: OpId, var: VarId) -> bool {
        let (word, bit) = (var.index() / 64, var.index() % 64);
        self.words > 0 && self.bits[op.index() * self.words + word] >> bit & 1 == 1
    }

    /// Bytes of heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.bits[..])
    }
}

/// By operator the facts that may hold before it, as bits.
///
/// Of variables with a precondition these are all.
#[derive(Clone, Debug)]
pub(super) struct PossibleFacts {
    words: usize,
    bits: Vec<u64>,
}

/// The most memory for that; larger tasks are not restricted.
const MAX_BYTES: usize = 1 << 26;

impl PossibleFacts {
    pub(super) fn new(task: &Task) -> Option<PossibleFacts> {
        let facts = FactNumbers::new(task);
        let words = facts.len().div_ceil(64);
        if task.mutexes.is_empty() || 8 * words * task.operators.len() > MAX_BYTES {
            return None;
        }
        let mut bits = vec![0; words * task.operators.len()];
        let mut never = [0; 2].map(|_: u8| vec![0; words]);
        for (operator, row) in task.operators.iter().zip(bits.chunks_mut(words.max(1))) {
            unite(&mut never[0], &task.mutexes, &operator.pre);
            unite(&mut never[1], &task.mutexes, &operator.eff);
            for (word, never) in row.iter_mut().zip(never[0].iter().zip(&never[1])) {
                *word = !(never.0 | never.1);
            }
            for fact in operator.eff.iter().chain(&operator.pre) {
                let has_pre = operator.pre_on(fact.var).is_some();
                for (word, bits) in facts.words(fact.var) {
                    let before = if has_pre { !0 } else { !never[0][word] };
                    row[word] = row[word] & !bits | before & bits;
                }
            }
        }
        Some(PossibleFacts { words, bits })
    }

    #[inline]
    pub(super) fn before(&self, op: OpId) -> &[u64] {
        &self.bits[op.index() * self.words..][..self.words]
    }
}

/// The facts that are mutex with one of these.
fn unite(row: &mut [u64], mutexes: &Mutexes, facts: &[Fact]) {
    row.fill(0);
    for &fact in facts {
        row.iter_mut().zip(mutexes.row(fact)).for_each(|(word, other)| *word |= other);
    }
}

/// The values that a variable may have before an operator without a precondition on it.
pub(super) fn values_before(task: &Task, operator: &Operator, var: VarId) -> Values {
    let stays = operator.eff_on(var).is_none();
    let eff: &[Fact] = if stays { &operator.eff } else { &[] };
    values_with(task, [&operator.pre, eff], var)
}

/// The values of a variable that are mutex with none of these facts.
///
/// A fact of the variable itself leaves no value but its own.
pub(super) fn values_with(task: &Task, facts: [&[Fact]; 2], var: VarId) -> Values {
    let size = task.variable(var).domain_size();
    let mut values: Values = SmallVec::from_elem(!0, size.div_ceil(64));
    if let (Some(last), rest @ 1..) = (values.last_mut(), size % 64) {
        *last = (1 << rest) - 1;
    }
    let first = task.mutexes.facts().of(Fact::new(var, 0));
    for &fact in facts.iter().copied().flatten() {
        let row = task.mutexes.row(fact);
        for (word, values) in values.iter_mut().enumerate() {
            *values &= !bits_from(row, first + 64 * word);
        }
    }
    values
}

/// The 64 bits of a row that begin at this one; 0 beyond its end.
#[inline]
fn bits_from(row: &[u64], bit: usize) -> u64 {
    let word = |i: usize| row.get(i).copied().unwrap_or(0);
    let (i, shift) = (bit / 64, bit % 64);
    if shift == 0 { word(i) } else { word(i) >> shift | word(i + 1) << (64 - shift) }
}

/// Whether a value is among these.
#[inline(always)]
pub(super) fn contains(values: &[u64], value: Value) -> bool {
    values[value as usize / 64] >> (value % 64) & 1 == 1
}
