//! Pairs of facts that never hold together.
//!
//! A relation on facts as a bit matrix, and the mutexes of a task that was reduced
//! ([`crate::reduce`]), with the preconditions that they imply.
//! Memory: a bit for each ordered pair of facts.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Fact, FactNumbers, OpId, Task, Value, VarId};

/// A symmetric relation on facts, by their numbers; a fact may be related to itself.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FactPairs {
    len: usize,
    words: usize,
    bits: Vec<u64>,
}

impl FactPairs {
    /// The empty relation on so many facts.
    pub fn new(len: usize) -> FactPairs {
        let words = len.div_ceil(64);
        FactPairs { len, words, bits: vec![0; words * len] }
    }

    /// The number of facts.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The facts related to a fact, as bits.
    #[inline(always)]
    pub fn row(&self, fact: usize) -> &[u64] {
        &self.bits[fact * self.words..(fact + 1) * self.words]
    }

    /// That row, to be changed; who changes it changes the columns, too.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, fact: usize) -> &mut [u64] {
        &mut self.bits[fact * self.words..(fact + 1) * self.words]
    }

    /// Whether two facts are related.
    #[inline(always)]
    pub fn contains(&self, a: usize, b: usize) -> bool {
        self.row(a)[b / 64] >> (b % 64) & 1 == 1
    }

    /// Relates two facts.
    #[inline]
    pub fn insert(&mut self, a: usize, b: usize) {
        self.row_mut(a)[b / 64] |= 1 << (b % 64);
        self.row_mut(b)[a / 64] |= 1 << (a % 64);
    }

    /// Bytes that a relation on so many facts takes.
    pub fn bytes(len: usize) -> usize {
        len.div_ceil(64).saturating_mul(len).saturating_mul(8)
    }
}

/// The facts whose bits are set.
pub fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(i, &word)| {
        let next = |rest: &u64| Some(rest & rest.wrapping_sub(1)).filter(|&rest| rest != 0);
        let rests = std::iter::successors(Some(word).filter(|&word| word != 0), next);
        rests.map(move |rest| i * 64 + rest.trailing_zeros() as usize)
    })
}

/// Pairs of facts of a task that hold together in no state of any plan from the initial state.
///
/// "State of a plan": the initial state, those that its operators lead through, and the goal state
/// in which it ends.
/// So a pair may hold in a reachable state from which the goal cannot be reached, and in a state
/// from which it can, but which is not reachable.
/// Different values of a variable are always mutex, and a fact is mutex with itself if it holds in
/// no state of a plan.
/// The default knows nothing but the variables.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Mutexes {
    facts: FactNumbers,
    pairs: FactPairs,
    dead_ends: Arc<DeadEnds>,
    /// By operator the variables of preconditions that follow from mutexes, in order.
    implied: Vec<(OpId, VarId)>,
}

/// The mutex pairs that a reachable state may have: such a state is a dead end.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DeadEnds {
    facts: FactNumbers,
    /// By fact its row, or none.
    row_of: Vec<Option<u32>>,
    /// The facts that it makes a dead end with, as bits.
    rows: Vec<u64>,
}

impl DeadEnds {
    fn new(facts: &FactNumbers, pairs: &FactPairs) -> DeadEnds {
        let mut dead_ends = DeadEnds { facts: facts.clone(), row_of: Vec::new(), rows: Vec::new() };
        let words = facts.len().div_ceil(64);
        for fact in 0..facts.len() {
            // One of the two rows of a pair suffices.
            let is_first = ones(pairs.row(fact)).next().is_some_and(|other| other < fact);
            let row = (dead_ends.rows.len() / words.max(1)) as u32;
            dead_ends.row_of.push(is_first.then_some(row));
            if is_first {
                dead_ends.rows.extend_from_slice(pairs.row(fact));
            }
        }
        if dead_ends.rows.is_empty() { DeadEnds::default() } else { dead_ends }
    }

    /// Whether a state has such a pair.
    #[inline]
    pub fn contains(&self, state: &[Value]) -> bool {
        if self.rows.is_empty() {
            return false;
        }
        let words = self.facts.len().div_ceil(64);
        let mut bits: SmallVec<[u64; 32]> = SmallVec::from_elem(0, words);
        self.facts.of_state(state).for_each(|fact| bits[fact / 64] |= 1 << (fact % 64));
        self.facts.of_state(state).filter_map(|fact| self.row_of[fact]).any(|row| {
            let row = &self.rows[row as usize * words..][..words];
            row.iter().zip(&bits).any(|(row, bits)| row & bits != 0)
        })
    }
}

impl Mutexes {
    /// The mutexes of a task: pairs of numbers of its facts, those of them that reachable states may
    /// have, and the preconditions of its operators that follow.
    ///
    /// # Panics
    /// If a relation is on another number of facts.
    pub fn new(
        task: &Task,
        pairs: FactPairs,
        of_dead_ends: &FactPairs,
        mut implied: Vec<(OpId, VarId)>,
    ) -> Mutexes {
        let facts = FactNumbers::new(task);
        assert!(facts.len() == pairs.len() && facts.len() == of_dead_ends.len());
        let dead_ends = Arc::new(DeadEnds::new(&facts, of_dead_ends));
        implied.sort_unstable();
        Mutexes { facts, pairs, dead_ends, implied }
    }

    /// Whether any preconditions of an operator follow from others.
    pub fn imply_preconditions(&self, op: OpId) -> bool {
        self.implied.binary_search_by_key(&op, |(op, _)| *op).is_ok()
    }

    /// Whether an operator's precondition on a variable was not written into the task, but follows
    /// from the others: it tells nothing about how variables depend on each other.
    pub fn imply_precondition(&self, op: OpId, var: VarId) -> bool {
        self.implied.binary_search(&(op, var)).is_ok()
    }

    /// The mutex pairs that reachable states may have.
    pub fn dead_ends(&self) -> &Arc<DeadEnds> {
        &self.dead_ends
    }

    /// Whether nothing but the variables is known.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether two facts, or one fact given twice, hold together in no state of a plan.
    #[inline]
    pub fn contains(&self, a: Fact, b: Fact) -> bool {
        if a.var == b.var && a.value != b.value {
            return true;
        }
        !self.is_empty() && self.pairs.contains(self.facts.of(a), self.facts.of(b))
    }

    /// Whether some two of these facts are mutex, or one of them with itself.
    pub fn any_among(&self, facts: &[Fact]) -> bool {
        let pairs =
            facts.iter().enumerate().flat_map(|(i, &a)| facts[..=i].iter().map(move |&b| (a, b)));
        pairs.into_iter().any(|(a, b)| self.contains(a, b))
    }

    /// The numbers of the facts that rows have bits for.
    pub fn facts(&self) -> &FactNumbers {
        &self.facts
    }

    /// The facts mutex with a fact, as bits by their numbers; other values of its variable
    /// included.
    ///
    /// # Panics
    /// If nothing is known.
    #[inline]
    pub fn row(&self, fact: Fact) -> &[u64] {
        self.pairs.row(self.facts.of(fact))
    }

    /// The mutex pairs of facts of two different variables, the smaller one first, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (Fact, Fact)> {
        let facts: Vec<Fact> =
            if self.is_empty() { Vec::new() } else { self.facts.facts().collect() };
        (0..facts.len()).flat_map(move |a| {
            let fact = facts[a];
            let others = ones(self.pairs.row(a)).filter(move |&b| b > a);
            let others: Vec<Fact> =
                others.map(|b| facts[b]).filter(|other| other.var != fact.var).collect();
            others.into_iter().map(move |other| (fact, other))
        })
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        FactPairs::bytes(self.pairs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::VarId;
    use crate::testing::random_task;

    #[test]
    fn without_a_reduction_only_values_of_a_variable_exclude_each_other() {
        let mutexes = Mutexes::default();
        let fact = |var, value| Fact::new(VarId(var), value);
        assert!(mutexes.is_empty() && mutexes.pairs().next().is_none());
        assert!(mutexes.contains(fact(0, 0), fact(0, 1)));
        assert!(!mutexes.imply_precondition(OpId(0), VarId(0)));
        assert!(!mutexes.contains(fact(0, 0), fact(0, 0)));
        assert!(!mutexes.contains(fact(0, 0), fact(1, 0)));
    }

    #[test]
    fn pairs_are_those_of_different_variables() {
        let task = random_task(3);
        let numbers = FactNumbers::new(&task);
        let mut pairs = FactPairs::new(numbers.len());
        let (a, b) = (Fact::new(VarId(0), 1), Fact::new(VarId(1), 0));
        pairs.insert(numbers.of(a), numbers.of(b));
        pairs.insert(numbers.of(b), numbers.of(b));
        pairs.insert(numbers.of(a), numbers.of(Fact::new(VarId(0), 0)));
        let mut dead = FactPairs::new(numbers.len());
        dead.insert(numbers.of(a), numbers.of(b));
        let mutexes = Mutexes::new(&task, pairs, &dead, vec![(OpId(0), VarId(1))]);
        assert!(mutexes.imply_preconditions(OpId(0)) && !mutexes.imply_preconditions(OpId(1)));
        assert!(mutexes.imply_precondition(OpId(0), VarId(1)));
        assert!(!mutexes.imply_precondition(OpId(0), VarId(0)));
        let mut state = task.initial.clone();
        for (x, y) in [(0, 0), (1, 0), (1, 1)] {
            (state[0], state[1]) = (x, y);
            assert_eq!(mutexes.dead_ends().contains(&state), (x, y) == (1, 0));
        }
        assert_eq!(mutexes.pairs().collect::<Vec<_>>(), [(a, b)]);
        assert!(mutexes.contains(b, a) && mutexes.contains(b, b) && !mutexes.contains(a, a));
        assert!(mutexes.any_among(&[b]) && mutexes.any_among(&[a, b]));
        assert_eq!(ones(mutexes.row(a)).collect::<Vec<_>>().len(), 2);
    }

    #[test]
    fn bits_of_rows_are_found() {
        assert_eq!(ones(&[0b101, 0, 1 << 63]).collect::<Vec<_>>(), [0, 2, 191]);
        assert_eq!(ones(&[]).count(), 0);
    }
}
