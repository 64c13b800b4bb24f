//! States as assignments of Boolean variables.
//!
//! A variable with d values takes ⌈log₂ d⌉ bits. Where d is not a power of two the first values have
//! codes that are one bit shorter (truncated binary code), so that every assignment is a state and
//! no set of states has to exclude codes without a meaning.
//! Bit i is level 2i before an operator and level 2i + 1 after it.
//! Derived variables follow from the others and have no bits.

use crate::task::{Fact, Task, Value, VarId};

/// A bit of a code: the pair of levels it belongs to, and its value.
type Bit = (u32, bool);

/// Where each variable has its bits.
pub(super) struct Encoding {
    codes: Vec<Code>,
    num_bits: u32,
}

#[derive(Clone, Copy, Default)]
struct Code {
    first: u32,
    /// The bits of the longest codes.
    bits: u32,
    /// How many values have codes that are one bit shorter.
    short: Value,
}

impl Encoding {
    /// Lays out the variables in this order, which has all that are not derived.
    pub(super) fn new(task: &Task, order: &[VarId]) -> Encoding {
        let mut codes = vec![Code::default(); task.variables.len()];
        let mut num_bits = 0;
        for &var in order {
            let size = task.variable(var).domain_size();
            let bits = usize::BITS - size.saturating_sub(1).leading_zeros();
            let short = ((1 << bits) - size) as Value;
            codes[var.index()] = Code { first: num_bits, bits, short };
            num_bits += bits;
        }
        Encoding { codes, num_bits }
    }

    /// The number of bits of a state.
    pub(super) fn num_bits(&self) -> u32 {
        self.num_bits
    }

    /// The bits of a variable, first to last.
    pub(super) fn bits(&self, var: VarId) -> std::ops::Range<u32> {
        let Code { first, bits, .. } = self.codes[var.index()];
        first..first + bits
    }

    /// The bits that say that a fact holds.
    pub(super) fn fact(&self, fact: Fact) -> impl Iterator<Item = Bit> + use<> {
        let Code { first, bits, short } = self.codes[fact.var.index()];
        let (code, length) = match fact.value < short {
            true => (fact.value, bits.saturating_sub(1)),
            false => (fact.value + short, bits),
        };
        (0..length).map(move |i| (first + i, code >> (length - 1 - i) & 1 == 1))
    }

    /// The literals of facts before an operator, sorted by level; at most one fact per variable.
    pub(super) fn before(&self, facts: &[Fact]) -> Vec<(u32, bool)> {
        let bits = facts.iter().flat_map(|&fact| self.fact(fact));
        let mut literals: Vec<(u32, bool)> = bits.map(|(bit, value)| (2 * bit, value)).collect();
        literals.sort_unstable();
        literals
    }

    /// The literals of facts after an operator, sorted by level; at most one fact per variable.
    pub(super) fn after(&self, facts: &[Fact]) -> Vec<(u32, bool)> {
        let mut literals = self.before(facts);
        literals.iter_mut().for_each(|literal| literal.0 += 1);
        literals
    }

    /// The bits of a state (one value per variable).
    pub(super) fn encode(&self, state: &[Value]) -> Vec<bool> {
        let mut bits = vec![false; self.num_bits as usize];
        for (var, &value) in state.iter().enumerate().filter(|(v, _)| self.codes[*v].bits > 0) {
            for (bit, is_set) in self.fact(Fact::new(var.into(), value)) {
                bits[bit as usize] = is_set;
            }
        }
        bits
    }

    /// The state with these literals before an operator, bits without one being 0; derived
    /// variables have their value in `state`.
    pub(super) fn decode(&self, literals: &[(u32, bool)], state: &mut [Value]) {
        let mut bits = vec![false; self.num_bits as usize];
        for &(level, value) in literals {
            bits[(level / 2) as usize] = value;
        }
        for (value, code) in state.iter_mut().zip(&self.codes).filter(|(_, code)| code.bits > 0) {
            let number = |length: u32| {
                let bits = &bits[code.first as usize..][..length as usize];
                bits.iter().fold(0, |number, &bit| number << 1 | bit as Value)
            };
            let prefix = number(code.bits - 1);
            *value = if prefix < code.short { prefix } else { number(code.bits) - code.short };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{FactMeaning, Variable};

    fn task(sizes: &[usize]) -> Task {
        let variable = |&size: &usize| Variable {
            name: String::new(),
            values: vec![FactMeaning::NoneOfThose; size],
            derived: None,
        };
        Task { variables: sizes.iter().map(variable).collect(), ..Task::default() }
    }

    /// Each assignment satisfies exactly one fact of each variable, the one that decoding tells.
    #[test]
    fn every_assignment_is_one_state() {
        let sizes = [3, 1, 2, 5, 4];
        let task = task(&sizes);
        let order = [4, 0, 3, 1, 2].map(VarId);
        let encoding = Encoding::new(&task, &order);
        assert_eq!(encoding.num_bits(), 2 + 1 + 3 + 2);
        let mut seen = std::collections::BTreeSet::new();
        for assignment in 0..1u32 << encoding.num_bits() {
            let is_set = |bit: u32| assignment >> bit & 1 == 1;
            let literals: Vec<_> =
                (0..encoding.num_bits()).map(|bit| (2 * bit, is_set(bit))).collect();
            let mut state = [0; 5];
            encoding.decode(&literals, &mut state);
            for (var, &size) in sizes.iter().enumerate() {
                for value in 0..size as Value {
                    let fact = Fact::new(var.into(), value);
                    let holds = encoding.fact(fact).all(|(bit, value)| is_set(bit) == value);
                    assert_eq!(holds, state[var] == value, "{assignment} {var} {value}");
                }
            }
            seen.insert(state);
        }
        assert_eq!(seen.len(), sizes.iter().product::<usize>());
    }

    #[test]
    fn decoding_inverts_encoding() {
        let sizes = [3, 1, 2, 5, 4];
        let encoding = Encoding::new(&task(&sizes), &[0, 1, 2, 3, 4].map(VarId));
        let state = [2, 0, 1, 4, 3];
        let bits = (0..).step_by(2).zip(encoding.encode(&state)).collect::<Vec<_>>();
        let mut decoded = [0; 5];
        encoding.decode(&bits, &mut decoded);
        assert_eq!(decoded, state);
    }
}
