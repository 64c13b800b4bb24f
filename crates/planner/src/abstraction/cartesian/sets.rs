//! Cartesian sets of states, and the tree of splits that says which set a state is in.

use crate::task::{Fact, FactNumbers, Task, Value, VarId};

/// Sets of states, each the product of one set of values per variable.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    pub(super) facts: FactNumbers,
    /// A bit for each fact, and a number of words for each set.
    bits: Vec<u64>,
    words: usize,
}

impl Sets {
    /// The set of all states.
    pub(super) fn new(task: &Task) -> Sets {
        let facts = FactNumbers::new(task);
        let words = facts.len().div_ceil(64);
        Sets { facts, bits: vec![u64::MAX; words], words }
    }

    pub(super) fn len(&self) -> usize {
        self.bits.len() / self.words.max(1)
    }

    /// Whether some state of the set has the fact.
    #[inline]
    pub(super) fn contains(&self, set: u32, fact: Fact) -> bool {
        let bit = self.facts.of(fact);
        self.bits[set as usize * self.words + bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Whether two sets have a value of the variable in common that is among some facts.
    #[inline]
    pub(super) fn share_value(&self, a: u32, b: u32, var: VarId, among: Option<&[u64]>) -> bool {
        let (a, b) = (a as usize * self.words, b as usize * self.words);
        self.facts.words(var).any(|(word, bits)| {
            let possible = among.map_or(bits, |among| among[word] & bits);
            self.bits[a + word] & self.bits[b + word] & possible != 0
        })
    }

    /// Whether a set has a value among some facts for every variable.
    pub(super) fn has_values_among(&self, set: u32, facts: &[u64]) -> bool {
        let vars = (0..self.facts.num_variables()).map(VarId::from);
        vars.into_iter().all(|var| self.share_value(set, set, var, Some(facts)))
    }

    /// The number of values of a variable in a set.
    pub(super) fn count(&self, set: u32, var: VarId) -> usize {
        self.facts.values(var).filter(|&value| self.contains(set, Fact::new(var, value))).count()
    }

    /// Removes the values from the set and puts them into a new one, which is otherwise a copy.
    pub(super) fn split(&mut self, set: u32, var: VarId, wanted: &[Value]) -> u32 {
        let new = self.len() as u32;
        let start = set as usize * self.words;
        self.bits.extend_from_within(start..start + self.words);
        for value in self.facts.values(var) {
            let bit = self.facts.of(Fact::new(var, value));
            let from = if wanted.contains(&value) { set } else { new };
            self.bits[from as usize * self.words + bit / 64] &= !(1 << (bit % 64));
        }
        new
    }
}

/// Which set a state is in: a tree of splits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SplitTree {
    splits: Vec<Split>,
    /// Sets of values, one bit each.
    bits: Vec<u64>,
}

/// A set that was split by the values of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Split {
    var: u32,
    /// Where the wanted values begin among the bits.
    wanted: u32,
    /// Where other states go, and where those with wanted values go: another split, or with the
    /// highest bit a set.
    next: [u32; 2],
}

const LEAF: u32 = 1 << 31;

/// The values of a variable in blocks.
pub(in crate::abstraction) struct Weighed {
    pub(in crate::abstraction) var: VarId,
    pub(in crate::abstraction) domain_size: usize,
    /// Each value is in one block; each block has a weight.
    pub(in crate::abstraction) blocks: Vec<(Vec<Value>, u32)>,
}

/// Where in the tree each set hangs: the split and the side.
pub(super) type Place = (u32, usize);

impl SplitTree {
    /// The set that a state is in.
    #[inline]
    pub(crate) fn set_of(&self, state: &[Value]) -> u32 {
        let mut node = if self.splits.is_empty() { LEAF } else { 0 };
        while node & LEAF == 0 {
            let split = &self.splits[node as usize];
            let value = state[split.var as usize] as usize;
            let word = self.bits[split.wanted as usize + value / 64];
            node = split.next[(word >> (value % 64) & 1) as usize];
        }
        node & !LEAF
    }

    /// The number of splits; there is one more leaf.
    pub fn len(&self) -> usize {
        self.splits.len()
    }

    /// Whether there is only one leaf.
    pub fn is_empty(&self) -> bool {
        self.splits.is_empty()
    }

    /// The splits, the first one at the top: the variable, the wanted values, and where other
    /// states and those with wanted values go: the number of a split or a leaf, and whether it is a
    /// leaf.
    pub fn splits(
        &self,
    ) -> impl Iterator<Item = (VarId, impl Iterator<Item = Value>, [(u32, bool); 2])> {
        self.splits.iter().enumerate().map(|(i, split)| {
            let end = self.splits.get(i + 1).map_or(self.bits.len(), |next| next.wanted as usize);
            let words = self.bits[split.wanted as usize..end].iter().zip(0..);
            let values = words.flat_map(|(&word, w)| {
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| w * 64 + bit)
            });
            let next = split.next.map(|next| (next & !LEAF, next & LEAF != 0));
            (VarId(split.var), values, next)
        })
    }

    /// The variables that the sets depend on, in ascending order.
    pub(crate) fn variables(&self) -> Vec<VarId> {
        let mut variables: Vec<VarId> = self.splits.iter().map(|split| VarId(split.var)).collect();
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// Splits `set`, which hangs at `place`; where the old and the new set hang now.
    pub(super) fn split(
        &mut self,
        (set, new): (u32, u32),
        place: Option<Place>,
        var: VarId,
        (wanted, domain_size): (&[Value], usize),
    ) -> [Place; 2] {
        let split = self.splits.len() as u32;
        let first = self.bits.len();
        self.bits.resize(first + domain_size.div_ceil(64), 0);
        for &value in wanted {
            self.bits[first + value as usize / 64] |= 1 << (value % 64);
        }
        let next = [LEAF | set, LEAF | new];
        self.splits.push(Split { var: var.0, wanted: first as u32, next });
        if let Some((parent, side)) = place {
            self.splits[parent as usize].next[side] = split;
        }
        [(split, 0), (split, 1)]
    }

    /// The tree of a product: the number of a state's set is the sum of what its values weigh.
    pub(in crate::abstraction) fn product(variables: &[Weighed]) -> SplitTree {
        let mut tree = SplitTree::default();
        tree.grow(variables, 0);
        tree
    }

    /// Adds the tree below a set, parents before children; where it begins.
    fn grow(&mut self, variables: &[Weighed], set: u32) -> u32 {
        let Some((first, rest)) = variables.split_first() else { return LEAF | set };
        let [others @ .., (_, last)] = &first.blocks[..] else { return LEAF | set };
        let (mut top, mut above) = (None, None);
        for (values, weight) in others {
            let split = self.split((0, 0), above, first.var, (values, first.domain_size));
            let [place, (wanted, side)] = split;
            top = top.or(Some(place.0));
            above = Some(place);
            self.splits[wanted as usize].next[side] = self.grow(rest, set + weight);
        }
        let below = self.grow(rest, set + last);
        if let Some((split, side)) = above {
            self.splits[split as usize].next[side] = below;
        }
        top.unwrap_or(below)
    }

    /// Bytes of heap memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Split>() * self.splits.len() + 8 * self.bits.len()
    }
}
