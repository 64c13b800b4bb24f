//! The transitions of a projection, by the state at one of their ends.
//!
//! An operator has the same transitions whatever the variables are that it does not mention.
//! Such transitions are stored once per combination of values of the variables that are mentioned,
//! as a difference of ranks, and shared by all states with these values.
//! For a pair of variables with n values each this takes O(n²) instead of O(n³) memory, for
//! larger patterns O(operators) as long as operators mention few variables.

use smallvec::SmallVec;

use super::labels::for_each_combination;
use crate::csr::Csr;
use crate::task::Value;

/// One transition, seen from one of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arc {
    /// The rank of the other end is the rank of this end plus `delta` (wrapping).
    pub(super) delta: u32,
    /// The label.
    pub(super) label: u32,
}

/// The transitions that enter, or that leave, each state.
#[derive(Clone, Debug)]
pub(super) struct Transitions {
    /// The rows that make up the arcs of each state: `width` row numbers per state.
    rows: Vec<u32>,
    width: usize,
    /// The arcs of each row.
    arcs: Csr<Arc>,
    /// The number of transitions, shared ones counted once per state.
    len: usize,
}

/// The variables of a pattern as digits of a mixed-radix number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Radix {
    /// Domain size and place value of each variable of the pattern; the last has place value 1.
    pub(super) digits: Vec<Digit>,
    pub(super) num_states: u32,
}

/// One variable of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Digit {
    pub(super) size: u32,
    pub(super) place: u32,
}

impl Digit {
    /// The value of this variable in the abstract state.
    pub(super) fn of(self, state: u32) -> Value {
        state / self.place % self.size
    }
}

impl Radix {
    /// The digits, each with whether it is mentioned.
    pub(super) fn mentioned(&self, mentions: Mentions) -> impl Iterator<Item = (Digit, bool)> {
        let digits = self.digits.iter().enumerate();
        digits.map(move |(i, &digit)| (digit, mentions.contains(i)))
    }
}

/// A set of variables of a pattern, numbered within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Mentions(u64);

impl Mentions {
    pub(super) const NONE: Mentions = Mentions(0);

    /// All variables of a pattern.
    pub(super) fn all(radix: &Radix) -> Mentions {
        match radix.digits.len() {
            n @ 0..64 => Mentions((1 << n) - 1),
            _ => Mentions(u64::MAX),
        }
    }

    /// With one more variable; beyond the 64th, which few patterns have, all are taken together.
    pub(super) fn with(self, digit: usize) -> Mentions {
        if digit < 64 { Mentions(self.0 | 1 << digit) } else { Mentions(u64::MAX) }
    }

    pub(super) fn contains(self, digit: usize) -> bool {
        digit >= 64 || self.0 >> digit & 1 == 1
    }

    /// The variable that is mentioned if it is one.
    pub(super) fn single(self) -> Option<usize> {
        self.0.is_power_of_two().then_some(self.0.trailing_zeros() as usize)
    }
}

/// A set of transitions with the same label that differ only in variables they do not mention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) mentions: Mentions,
    /// The source where all variables that are not mentioned are 0.
    pub(super) from: u32,
    /// The target where they are.
    pub(super) to: u32,
    pub(super) label: u32,
}

/// Which end of the transitions they are looked up by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// By where they lead from.
    Source,
    /// By where they lead to.
    Target,
}

/// The rows of steps that mention the same variables.
struct Block {
    mentions: Mentions,
    first_row: u32,
    /// How many rows further the next value of each variable is.
    weights: Vec<u32>,
    /// How many transitions a step stands for.
    transitions: usize,
}

impl Block {
    fn row(&self, radix: &Radix, state: u32) -> u32 {
        let digits = radix.digits.iter().zip(&self.weights).filter(|(_, weight)| **weight > 0);
        self.first_row + digits.map(|(digit, weight)| digit.of(state) * weight).sum::<u32>()
    }
}

impl Transitions {
    /// Arranges the steps by the given end.
    pub(super) fn new(radix: &Radix, steps: &[Step], end: End) -> Transitions {
        let (blocks, num_rows) = blocks(radix, steps);
        let of = |step: &Step| block_of(&blocks, step.mentions);
        let len: usize = steps.iter().map(|step| of(step).transitions).sum();
        let ends = |step: &Step| {
            let (here, there) =
                if end == End::Source { (step.from, step.to) } else { (step.to, step.from) };
            (here, Arc { delta: there.wrapping_sub(here), label: step.label })
        };
        if is_rather_expanded(radix, blocks.len(), len) {
            let mut places: Vec<(u32, Arc)> = Vec::with_capacity(len);
            for step in steps {
                let (here, arc) = ends(step);
                let free = radix.mentioned(step.mentions).filter(|(_, mentioned)| !mentioned);
                let free: SmallVec<[Digit; 16]> = free.map(|(digit, _)| digit).collect();
                for_each_combination(here, &free, &mut |state| places.push((state, arc)));
            }
            let places = places.iter().map(|&(state, arc)| (state as usize, arc));
            let arcs = Csr::sorted(radix.num_states as usize, places);
            return Transitions { rows: (0..radix.num_states).collect(), width: 1, arcs, len };
        }
        let place = |step: &Step| {
            let (here, arc) = ends(step);
            (of(step).row(radix, here) as usize, arc)
        };
        let places: Vec<(usize, Arc)> = steps.iter().map(place).collect();
        let arcs = Csr::sorted(num_rows, places.iter().copied());

        // The rows of the states in which the first digits are 0, for fewer and fewer of these.
        let width = blocks.len();
        let mut rows = Vec::with_capacity(width * radix.num_states as usize);
        rows.extend(blocks.iter().map(|block| block.first_row));
        for (i, digit) in radix.digits.iter().enumerate().rev() {
            let count = rows.len();
            for value in 1..digit.size {
                for start in (0..count).step_by(width.max(1)) {
                    for (j, block) in blocks.iter().enumerate() {
                        rows.push(rows[start + j] + value * block.weights[i]);
                    }
                }
            }
        }
        Transitions { rows, width, arcs, len }
    }

    /// The number of transitions.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The arcs of a state.
    #[inline(always)]
    pub(super) fn of(&self, state: u32) -> impl Iterator<Item = &Arc> {
        let start = state as usize * self.width;
        let rows = &self.rows[start..start + self.width];
        rows.iter().flat_map(|&row| self.arcs.row(row as usize))
    }

    /// The number of arcs of a state.
    #[inline(always)]
    pub(super) fn degree(&self, state: u32) -> usize {
        let start = state as usize * self.width;
        let rows = &self.rows[start..start + self.width];
        rows.iter().map(|&row| self.arcs.offsets().range(row as usize).len()).sum()
    }

    /// Bytes of heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        4 * self.rows.len() + self.arcs.memory_bytes()
    }
}

fn block_of(blocks: &[Block], mentions: Mentions) -> &Block {
    let found = blocks.binary_search_by_key(&mentions, |block| block.mentions);
    &blocks[found.expect("every step has a block")]
}

/// What is shared must be looked for: where states have few transitions of many kinds, it takes
/// less memory and time to tell each state its own.
fn is_rather_expanded(radix: &Radix, num_blocks: usize, len: usize) -> bool {
    let look_ups = num_blocks.saturating_mul(radix.num_states as usize);
    radix.digits.len() > 2 && num_blocks > 1 && 2 * len <= look_ups
}

/// About how many transitions [`Transitions`] of these steps hold in memory; row numbers count as
/// half a transition for patterns of more than two variables.
pub(super) fn num_stored(radix: &Radix, steps: &[Step]) -> usize {
    if radix.digits.len() <= 2 {
        return steps.len();
    }
    let (blocks, _) = blocks(radix, steps);
    let transitions = |step: &Step| block_of(&blocks, step.mentions).transitions;
    let len: usize = steps.iter().map(transitions).sum();
    if is_rather_expanded(radix, blocks.len(), len) {
        return len;
    }
    steps.len() + blocks.len() * radix.num_states as usize / 2
}

/// A block for each set of variables that steps mention, and the number of all rows.
fn blocks(radix: &Radix, steps: &[Step]) -> (Vec<Block>, usize) {
    let mut all: Vec<Mentions> = Vec::new();
    for step in steps {
        if all.last() != Some(&step.mentions) && !all.contains(&step.mentions) {
            all.push(step.mentions);
        }
    }
    all.sort_unstable();
    let mut num_rows: u32 = 0;
    let block = |mentions: Mentions| {
        let first_row = num_rows;
        let mut size = 1;
        let mut weights = vec![0; radix.digits.len()];
        for (i, digit) in radix.digits.iter().enumerate().rev() {
            if mentions.contains(i) {
                weights[i] = size;
                size *= digit.size;
            }
        }
        num_rows = num_rows.checked_add(size).expect("fewer than 2³² rows");
        Block { mentions, first_row, weights, transitions: (radix.num_states / size) as usize }
    };
    let blocks = all.into_iter().map(block).collect();
    (blocks, num_rows as usize)
}
