//! The transitions of a projection, by the state at one of their ends.
//!
//! An operator that mentions only one variable of the pattern has the same transitions whatever
//! the other variables are.
//! Such transitions are stored once per value of that variable, as a difference of ranks, and
//! shared by all states with that value; only transitions that depend on several variables are
//! stored state by state.
//! For a pair of variables with n values each this takes O(n²) instead of O(n³) memory.

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

/// A set of transitions with the same label that differ only in variables they do not mention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Changes variable number `digit` of the pattern, whatever the values of the others.
    Single { digit: usize, from: Value, to: Value, label: u32 },
    /// Leads from one abstract state to another.
    Joint { from: u32, to: u32, label: u32 },
}

/// Which end of the transitions they are looked up by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// By where they lead from.
    Source,
    /// By where they lead to.
    Target,
}

impl Transitions {
    /// Arranges the steps by the given end.
    pub(super) fn new(radix: &Radix, steps: &[Step], end: End) -> Transitions {
        // Row numbers: the values of the first variable, of the second, …, then the states.
        let mut first_row = Vec::with_capacity(radix.digits.len());
        let mut num_rows = 0;
        for digit in &radix.digits {
            first_row.push(num_rows);
            num_rows += digit.size;
        }
        let has_joint = steps.iter().any(|step| matches!(step, Step::Joint { .. }));
        let first_joint_row = num_rows;
        if has_joint {
            num_rows += radix.num_states;
        }

        let placed = |step: &Step| -> (usize, Arc) {
            let (row_of, here, there, place, label) = match *step {
                Step::Single { digit, from, to, label } => {
                    (first_row[digit], from, to, radix.digits[digit].place, label)
                }
                Step::Joint { from, to, label } => (first_joint_row, from, to, 1, label),
            };
            let (here, there) = if end == End::Source { (here, there) } else { (there, here) };
            let delta = there.wrapping_sub(here).wrapping_mul(place);
            ((row_of + here) as usize, Arc { delta, label })
        };

        let arcs = Csr::sorted(num_rows as usize, steps.iter().map(placed));

        let width = radix.digits.len() + usize::from(has_joint);
        let mut rows = Vec::with_capacity(width * radix.num_states as usize);
        for state in 0..radix.num_states {
            for (digit, first) in radix.digits.iter().zip(&first_row) {
                rows.push(first + digit.of(state));
            }
            if has_joint {
                rows.push(first_joint_row + state);
            }
        }
        let mut transitions = Transitions { rows, width, arcs, len: 0 };
        transitions.len = (0..radix.num_states).map(|state| transitions.degree(state)).sum();
        transitions
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
